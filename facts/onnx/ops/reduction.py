"""Reductions over axes, and the positions of extremes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from schedulog.facts.dtype import int64
from schedulog.facts.node import ReduceOp
from schedulog.facts.onnx.call import Call, Lowering
from schedulog.facts.onnx.ops.elementwise import absolute, divide, is_nan, reversed_order
from schedulog.facts.onnx.values import (
    Known,
    Value,
    alu,
    constant,
    drop_axes,
    insert_axes,
    like,
    reduce,
    shape_of,
)
from schedulog.facts.ops import Op

Axes = tuple[int, ...]
_OF_FLOATS: Final = frozenset({"ReduceL2", "ReduceLogSum", "ReduceLogSumExp"})


def _over(compute: Callable[[Value, Axes], Value]) -> Lowering:
    """A reduction with the axes, `keepdims` and `noop_with_empty_axes` of the call."""

    def lower(call: Call) -> Value:
        value = call.value()
        if call.op_type in _OF_FLOATS:
            call.require_float(value)
        keep, nothing = call.flag("keepdims", True), call.flag("noop_with_empty_axes")
        axes = call.axes(1, len(shape_of(value))) or ()
        if not axes and not nothing:
            axes = tuple(range(len(shape_of(value))))
        result = compute(value, axes)
        return result if keep else drop_axes(result, axes)

    return lower


def _plain(op: ReduceOp) -> Callable[[Value, Axes], Value]:
    return lambda value, axes: reduce(op, value, axes)


def minimum_over(value: Value, axes: Axes) -> Value:
    """The smallest element, by the largest of the reversed order."""
    return reversed_order(reduce("MAX", reversed_order(value), axes))


def mean_over(value: Value, axes: Axes) -> Value:
    """The sum divided by the count; of integers rounded toward zero."""
    total = reduce("ADD", value, axes)
    return divide(total, like(total, math.prod(shape_of(value)[a] for a in axes)))


def _sum_square(value: Value, axes: Axes) -> Value:
    return reduce("ADD", alu(Op.MUL, value, value), axes)


def norm1(value: Value, axes: Axes) -> Value:
    """The sum of magnitudes."""
    return reduce("ADD", absolute(value), axes)


def norm2(value: Value, axes: Axes) -> Value:
    """The square root of the sum of squares."""
    return alu(Op.SQRT, _sum_square(value, axes))


def _log_sum(value: Value, axes: Axes) -> Value:
    return alu(Op.LOG, reduce("ADD", value, axes))


def log_sum_exp(value: Value, axes: Axes) -> Value:
    """log(sum(exp(x))), less the maximum first so that exp cannot overflow; an infinite maximum is not subtracted."""
    largest = reduce("MAX", value, axes)
    infinite = alu(Op.CMPEQ, absolute(largest), like(largest, float("inf")))
    shift = alu(Op.WHERE, infinite, like(largest, 0), largest)
    total = reduce("ADD", alu(Op.EXP, alu(Op.SUB, value, shift)), axes)
    return alu(Op.ADD, alu(Op.LOG, total), shift)


def _arg_max(call: Call, value: Value) -> Value:
    axis = call.axis(call.integer("axis", 0), len(shape_of(value)))
    keep, last = call.flag("keepdims", True), call.flag("select_last_index")
    count = shape_of(value)[axis]
    if count == 0:
        raise call.mismatch("the position of the largest of no elements")
    hit = alu(Op.CMPEQ, value, reduce("MAX", value, (axis,)))
    if value.dtype.is_float:
        hit = alu(Op.OR, hit, is_nan(value))
    order = np.arange(count) if last else np.arange(count)[::-1]
    ranks = Known(order.reshape([count if i == axis else 1 for i in range(len(shape_of(value)))]))
    best = reduce("MAX", alu(Op.WHERE, hit, ranks, constant(-1, int64)), (axis,))
    found = best if last else alu(Op.SUB, constant(count - 1, int64), best)
    return found if keep else drop_axes(found, (axis,))


def _cumulative_sum(call: Call) -> Value:
    """Each sum compares all positions with its own: the cost is quadratic in the length of the axis."""
    value, rank = call.value(), len(shape_of(call.value()))
    axis = call.axis(call.one_integer(1, "axes", 0), rank)
    exclusive, backward = call.flag("exclusive"), call.flag("reverse")
    count = shape_of(value)[axis]
    place, other = np.arange(count)[:, None], np.arange(count)[None, :]
    if backward:
        place, other = -place, -other
    taken = other < place if exclusive else other <= place
    mask = Known(taken.reshape(*(1,) * axis, count, count, *(1,) * (rank - axis - 1)))
    terms = alu(Op.WHERE, mask, insert_axes(value, (axis,)), like(value, 0))
    return drop_axes(reduce("ADD", terms, (axis + 1,)), (axis + 1,))


LOWERINGS: Final[Mapping[str, Lowering]] = MappingProxyType(
    {
        "ArgMax": lambda call: _arg_max(call, call.value()),
        "ArgMin": lambda call: _arg_max(call, reversed_order(call.value())),
        "CumSum": _cumulative_sum,
        "ReduceL1": _over(norm1),
        "ReduceL2": _over(norm2),
        "ReduceLogSum": _over(_log_sum),
        "ReduceLogSumExp": _over(log_sum_exp),
        "ReduceMax": _over(_plain("MAX")),
        "ReduceMean": _over(mean_over),
        "ReduceMin": _over(minimum_over),
        "ReduceProd": _over(_plain("MUL")),
        "ReduceSum": _over(_plain("ADD")),
        "ReduceSumSquare": _over(_sum_square),
    }
)
