"""Softmax and the normalizations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from schedulog.facts.dtype import float32
from schedulog.facts.onnx.call import Call, Lowering
from schedulog.facts.onnx.ops.activation import scaled, shifted
from schedulog.facts.onnx.ops.elementwise import power
from schedulog.facts.onnx.ops.reduction import mean_over, norm1, norm2
from schedulog.facts.onnx.ops.windows import Windows, show
from schedulog.facts.onnx.values import (
    Value,
    alu,
    cast,
    drop_axes,
    insert_axes,
    like,
    node_of,
    reduce,
    reshape,
    shape_of,
)
from schedulog.facts.ops import Op


def softmax_over(value: Value, axes: Sequence[int]) -> Value:
    """exp(x) / sum(exp(x)) over `axes`, less the maximum first so that exp cannot overflow."""
    powers = alu(Op.EXP, alu(Op.SUB, value, reduce("MAX", value, axes)))
    return alu(Op.FDIV, powers, reduce("ADD", powers, axes))


def log_softmax_over(value: Value, axes: Sequence[int]) -> Value:
    """The logarithm of softmax, without the division that would lose small values."""
    centred = alu(Op.SUB, value, reduce("MAX", value, axes))
    return alu(Op.SUB, centred, alu(Op.LOG, reduce("ADD", alu(Op.EXP, centred), axes)))


def _softmax_axes(call: Call) -> tuple[int, ...]:
    """One axis; before operator set 13 that axis and all after it, taken as one."""
    rank, flattens = len(shape_of(call.value())), call.opset < 13
    axis = call.integer("axis", 1 if flattens else -1)
    if flattens and axis == rank:
        return ()
    first = call.axis(axis, rank)
    return tuple(range(first, rank)) if flattens else (first,)


def _per_channel(value: Value, rank: int) -> Value:
    """A vector laid along axis 1 of a value with `rank` axes."""
    return insert_axes(value, (0, *range(2, rank)))


def _channel_operands(call: Call, indices: Sequence[int]) -> list[Value]:
    """Operands of one number per channel. Raises GraphError (SL245) if they have another shape."""
    channels = shape_of(call.value())[1:2]
    values = [call.value(i) for i in indices]
    if not channels or any(shape_of(v) != channels for v in values):
        shapes = ", ".join(str(list(v.shape)) for v in values)
        raise call.mismatch(
            f"numbers per channel of shapes {shapes} for a value of {list(call.value().shape)}"
        )
    return values


def _batch_normalization(call: Call) -> Value:
    """x * factor + offset with stored statistics; the factor and the offset fold where the statistics are constants."""
    value, rank = call.value(), len(shape_of(call.value()))
    epsilon = call.number("epsilon", 1e-5)
    call.ignore("momentum")
    if call.opset < 7:
        call.ignore("consumed_inputs")
        call.require("is_test", 0, 1)
    call.require("training_mode", 0, 0)
    call.require("spatial", 1, 1)
    if call.wanted > 1:
        raise call.refuse("batch statistics among its outputs")
    scale, bias, mean, variance = _channel_operands(call, range(1, 5))
    factor = alu(Op.FDIV, cast(scale, variance.dtype), alu(Op.SQRT, shifted(variance, epsilon)))
    offset = alu(Op.SUB, cast(bias, variance.dtype), alu(Op.MUL, cast(mean, variance.dtype), factor))
    wide = alu(Op.MUL, cast(value, variance.dtype), _per_channel(factor, rank))
    return cast(alu(Op.ADD, wide, _per_channel(offset, rank)), value.dtype)


def standardized(value: Value, axes: Sequence[int], epsilon: float) -> tuple[Value, Value, Value]:
    """(value - mean) / sqrt(variance + epsilon) over `axes`, with the mean and the reciprocal of that root."""
    mean = mean_over(value, tuple(axes))
    centred = alu(Op.SUB, value, mean)
    variance = mean_over(alu(Op.MUL, centred, centred), tuple(axes))
    inverse = alu(Op.RECIP, alu(Op.SQRT, shifted(variance, epsilon)))
    return alu(Op.MUL, centred, inverse), mean, inverse


def _instance_normalization(call: Call) -> Value:
    value, (scale, bias) = call.value(), _channel_operands(call, (1, 2))
    rank = len(shape_of(value))
    plain, _, _ = standardized(value, range(2, rank), call.number("epsilon", 1e-5))
    return alu(Op.ADD, alu(Op.MUL, plain, _per_channel(scale, rank)), _per_channel(bias, rank))


def _layer_normalization(call: Call) -> Sequence[Value]:
    value, rank = call.value(), len(shape_of(call.value()))
    axis = call.axis(call.integer("axis", -1), rank)
    call.require("stash_type", 1, 1)
    wide = cast(value, float32) if value.dtype.bits < 32 else value
    plain, mean, inverse = standardized(wide, range(axis, rank), call.number("epsilon", 1e-5))
    result = alu(Op.MUL, cast(plain, value.dtype), call.value(1))
    bias = call.optional(2)
    result = result if bias is None else alu(Op.ADD, result, bias)
    if result.shape != value.shape:
        raise call.mismatch(f"a scale or bias that makes {list(result.shape)} of {list(value.shape)}")
    return [result, mean, inverse]


def _group_normalization(call: Call) -> Value:
    value, shape, groups = call.value(), shape_of(call.value()), call.integer("num_groups", 0)
    if call.opset < 21:
        raise call.refuse("scale per group (operator sets below 21)")
    call.require("stash_type", 1, 1)
    if len(shape) < 2 or groups < 1 or shape[1] % groups:
        raise call.mismatch(f"{groups} groups of {list(shape)}")
    wide = cast(value, float32) if value.dtype.bits < 32 else value
    split = reshape(wide, (shape[0], groups, shape[1] // groups, *shape[2:]))
    plain, _, _ = standardized(split, range(2, len(shape) + 1), call.number("epsilon", 1e-5))
    joined = cast(reshape(plain, shape), value.dtype)
    scale, bias = (_per_channel(v, len(shape)) for v in _channel_operands(call, (1, 2)))
    return alu(Op.ADD, alu(Op.MUL, joined, scale), bias)


def _lp_normalization(call: Call) -> Value:
    value = call.value()
    axis = call.axis(call.integer("axis", -1), len(shape_of(value)))
    order = call.integer("p", 2)
    if order not in (1, 2):
        raise call.mismatch(f"p={order}")
    norm = norm1(value, (axis,)) if order == 1 else norm2(value, (axis,))
    zero = alu(Op.CMPEQ, norm, like(norm, 0))
    return alu(Op.WHERE, zero, like(value, 0), alu(Op.FDIV, value, norm))


def _local_response_normalization(call: Call) -> Value:
    """x / (bias + alpha / size * (sum of squares of `size` neighbouring channels)) ** beta."""
    value, shape, size = call.value(), shape_of(call.value()), call.integer("size", 0)
    if len(shape) < 2 or size < 1:
        raise call.mismatch(f"{size} neighbours in {list(shape)}")
    alpha, beta, bias = call.number("alpha", 1e-4), call.number("beta", 0.75), call.number("bias", 1)
    squares = reshape(alu(Op.MUL, value, value), (shape[0], *shape[1:2], math.prod(shape[2:])))
    before = (size - 1) // 2
    look = Windows((size, 1), (1, 1), (1, 1), (before, 0), (size - 1 - before, 0), shape_of(squares)[1:],
                   shape_of(squares)[1:])  # fmt: skip
    summed = reshape(drop_axes(reduce("ADD", show(node_of(squares), look), (3, 4)), (3, 4)), shape)
    base = shifted(scaled(summed, alpha / size), bias)
    return alu(Op.FDIV, value, power(base, like(base, beta)))


LOWERINGS: Final[Mapping[str, Lowering]] = MappingProxyType(
    {
        "BatchNormalization": _batch_normalization,
        "GroupNormalization": _group_normalization,
        "InstanceNormalization": _instance_normalization,
        "LRN": _local_response_normalization,
        "LayerNormalization": _layer_normalization,
        "LogSoftmax": lambda call: log_softmax_over(call.value(), _softmax_axes(call)),
        "LpNormalization": _lp_normalization,
        "Softmax": lambda call: softmax_over(call.value(), _softmax_axes(call)),
    }
)
