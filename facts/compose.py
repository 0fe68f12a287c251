"""Composed operations: broadcasting, slices, products and the like, made of the nodes of `build`.

Shared by the front ends. Values pass exactly: a concatenation or a gather keeps -0.0, NaN and infinities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from schedulog.errors import GraphError
from schedulog.facts.build import (
    alu,
    array,
    cast,
    const,
    expand,
    flip,
    pad,
    permute,
    reduce,
    reshape,
    shrink,
    view,
)
from schedulog.facts.dtype import DType, bool_, int64
from schedulog.facts.node import ConstArg, Node, ReduceOp, Shape, node
from schedulog.facts.ops import Op
from schedulog.facts.size_value import size_value
from schedulog.facts.symbolic import Size, equal, prod, sizes_text
from schedulog.facts.view import View, ViewStack


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape all `shapes` broadcast to, as in numpy: aligned at the right, 1 stretches.

    Raises GraphError (SL211) if they do not.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Size] = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            if equal(result[axis], 1) is True:
                result[axis] = size
            elif equal(size, 1) is not True and equal(size, result[axis]) is not True:
                raise _no_broadcast(shapes)
    return tuple(result)


def _no_broadcast(shapes: Sequence[Shape]) -> GraphError:
    return GraphError(
        "SL211",
        f"shapes {' and '.join(map(sizes_text, shapes))} do not broadcast",
        reason="aligned at the right, two sizes must be equal or one of them 1",
        help="reshape one of them first",
    )


def broadcast_to(source: Node, shape: Sequence[Size], label: str = "") -> Node:
    """`source` repeated to `shape`: axes come at the left, sizes of 1 stretch. Raises GraphError (SL211)."""
    target = tuple(shape)
    missing = len(target) - len(source.shape)
    if missing < 0 or broadcast_shapes(source.shape, target) != target:
        raise _no_broadcast((source.shape, target))
    if source.op is Op.CONST:
        return node(
            Op.CONST, (), ConstArg(source.arg.value, target, source.device), source.dtype, source.label
        )
    return expand(reshape(source, (1,) * missing + source.shape, label), target, label)


def elementwise(op: Op, *operands: Node, label: str = "") -> Node:
    """`op` on operands broadcast to one shape, of one dtype. Raises GraphError (SL211, SL212)."""
    shape = broadcast_shapes(*(operand.shape for operand in operands))
    return alu(op, *(broadcast_to(operand, shape) for operand in operands), label=label)


def binary(op: Op, left: Node, right: Node, label: str = "") -> Node:
    """`left op right`, broadcast; both have one dtype. Raises GraphError (SL211, SL212)."""
    return elementwise(op, left, right, label=label)


def where(condition: Node, if_true: Node, if_false: Node, label: str = "") -> Node:
    """`if_true` where the bool `condition` holds, else `if_false`. Raises GraphError (SL211, SL212)."""
    return elementwise(Op.WHERE, condition, if_true, if_false, label=label)


def full_like(source: Node, value: bool | float) -> Node:
    """`value` in the shape, dtype and device of `source`."""
    return const(value, source.dtype, source.shape, source.device)


def axis_index(axis: int, rank: int) -> int:
    """`axis` counted from the left; negative ones count from the right. Raises GraphError (SL215)."""
    if not -rank <= axis < rank:
        raise GraphError(
            "SL215",
            f"axis {axis} of a value with {rank} axes",
            help=f"use {-rank} to {rank - 1}",
        )
    return axis % rank


def drop_axes(source: Node, axes: Sequence[int], label: str = "") -> Node:
    """Without the given axes, which have size 1. Raises GraphError (SL221) if one has another size."""
    return reshape(source, tuple(s for i, s in enumerate(source.shape) if i not in axes), label)


def insert_axis(source: Node, axis: int, label: str = "") -> Node:
    """With an axis of size 1 put before position `axis` of the source."""
    return reshape(source, (*source.shape[:axis], 1, *source.shape[axis:]), label)


def concat(nodes: Sequence[Node], axis: int, label: str = "") -> Node:
    """`nodes` one after the other along `axis`; other sizes and the dtypes must be equal.

    Each part is padded to the whole and picked by WHERE where it lies: adding would turn -0.0 into 0.0.
    Raises GraphError: SL211 sizes differ, SL212 dtypes differ, SL213 no parts, SL215 no such axis.
    """
    if not nodes:
        raise GraphError("SL213", "nothing to concatenate")
    axis = axis_index(axis, len(nodes[0].shape))
    _check_parts(nodes, axis)
    ends = list(accumulate(part.shape[axis] for part in nodes))
    result = _placed(nodes[0], axis, 0, ends[-1] - ends[0], label)
    for part, end in zip(nodes[1:], ends[1:], strict=True):
        begin, rest = end - part.shape[axis], ends[-1] - end
        here = _placed(full_mask(part), axis, begin, rest)
        result = alu(Op.WHERE, here, _placed(part, axis, begin, rest), result, label=label)
    return result


def full_mask(source: Node) -> Node:
    """True in the shape of `source`."""
    return const(True, bool_, source.shape, source.device)


def _placed(source: Node, axis: int, before: Size, after: Size, label: str = "") -> Node:
    return pad(
        source,
        [(before, after) if i == axis else (0, 0) for i in range(len(source.shape))],
        label,
    )


def _check_parts(nodes: Sequence[Node], axis: int) -> None:
    first = nodes[0]
    for part in nodes[1:]:
        alike = len(part.shape) == len(first.shape) and all(
            i == axis or equal(a, b) is True
            for i, (a, b) in enumerate(zip(first.shape, part.shape, strict=True))
        )
        if not alike:
            raise GraphError(
                "SL211",
                f"cannot concatenate {sizes_text(first.shape)} and {sizes_text(part.shape)} along axis {axis}",
                reason="all other sizes must be equal",
            )
        if part.dtype != first.dtype:
            raise GraphError(
                "SL212",
                f"cannot concatenate {first.dtype} and {part.dtype}",
                help="cast one of them first",
            )


@dataclass(frozen=True, slots=True)
class Window:
    """Positions on an axis: `size` of them from `begin` on, `step` apart."""

    begin: Size
    step: int
    size: Size

    @staticmethod
    def of(positions: range) -> Window:
        """The positions of a Python range."""
        return Window(positions.start, positions.step, len(positions))

    @property
    def ends(self) -> tuple[Size, Size]:
        """From the least position up to, not including, the one after the greatest."""
        last = self.begin + (self.size - 1) * self.step
        return (self.begin, last + 1) if self.step > 0 else (last, self.begin + 1)


def select(source: Node, positions: Sequence[range | Window], label: str = "") -> Node:
    """The elements at `positions`, one range or window per axis; every position lies inside its axis."""
    windows = [p if isinstance(p, Window) else Window.of(p) for p in positions]
    shape = tuple(window.size for window in windows)
    if 0 in shape or 0 in source.shape:
        return const(0, source.dtype, shape, source.device, label)
    if all(abs(window.step) == 1 for window in windows):
        part = shrink(source, [window.ends for window in windows], label)
        backwards = [window.step < 0 for window in windows]
        return flip(part, backwards, label) if any(backwards) else part
    strides = row_major(source.shape)
    offset = sum((w.begin * stride for w, stride in zip(windows, strides, strict=True)), start=0)
    steps = tuple(w.step * stride for w, stride in zip(windows, strides, strict=True))
    return view(source, ViewStack((View.create(shape, steps, offset),)), label)


def row_major(shape: Shape) -> Shape:
    """The strides of a packed array of `shape`, in elements; the last axis is the fastest."""
    strides: list[Size] = []
    step: Size = 1
    for size in reversed(shape):
        strides.append(step)
        step = step * size
    return tuple(reversed(strides))


def reduced(
    op: ReduceOp,
    source: Node,
    axes: Sequence[int],
    keepdims: bool = False,
    label: str = "",
) -> Node:
    """Reduced over `axes`, which vanish unless `keepdims`; negative ones count from the right.

    Raises GraphError (SL215) for an axis that does not exist.
    """
    chosen = [axis_index(axis, len(source.shape)) for axis in axes]
    kept = reduce(op, source, chosen, label)
    return kept if keepdims else drop_axes(kept, chosen, label)


def mean(source: Node, axes: Sequence[int], keepdims: bool = False, label: str = "") -> Node:
    """The mean over `axes` of a float value: its sum divided by the count, NaN over nothing.

    Raises GraphError: SL215 no such axis.
    """
    count = prod(source.shape[axis_index(axis, len(source.shape))] for axis in dict.fromkeys(axes))
    total = reduced("ADD", source, axes, keepdims, label)
    if isinstance(count, int):
        return alu(Op.FDIV, total, full_like(total, count), label=label)
    return binary(Op.FDIV, total, cast(size_value(count), total.dtype), label)


def softmax(source: Node, axis: int, label: str = "") -> Node:
    """exp(x) / sum(exp(x)) along `axis` of a float value, less its maximum first lest exp overflow."""
    axis = axis_index(axis, len(source.shape))
    largest = reduce("MAX", source, (axis,), label)
    powers = alu(Op.EXP, binary(Op.SUB, source, largest, label), label=label)
    return binary(Op.FDIV, powers, reduce("ADD", powers, (axis,), label), label)


def matmul(left: Node, right: Node, label: str = "") -> Node:
    """The matrix product as numpy's `@`: a 1-D operand's missing axis vanishes, leading axes broadcast.

    Products stand in shape (..., m, n, k), reduced over k; the n axis is the fastest of the output.
    Raises GraphError: SL211 sizes do not fit, SL212 dtypes differ.
    """
    if not left.shape or not right.shape or equal(left.shape[-1], right.shape[-2:][0]) is not True:
        raise GraphError("SL211", f"matrix product of shapes {sizes_text(left.shape)} and {sizes_text(right.shape)}",
                         reason="the left's last size must be the right's last but one (or only one)",
                         help="transpose or reshape one of them first")  # fmt: skip
    rows = insert_axis(left, 0) if len(left.shape) == 1 else left
    columns = insert_axis(right, 1) if len(right.shape) == 1 else right
    products = binary(
        Op.MUL,
        insert_axis(rows, len(rows.shape) - 1),
        insert_axis(swap_last(columns), len(columns.shape) - 2),
        label,
    )
    result = reduced("ADD", products, (-1,), label=label)
    rank = len(result.shape)
    vanishing = [rank - 2] * (len(left.shape) == 1) + [rank - 1] * (len(right.shape) == 1)
    return drop_axes(result, vanishing, label)


def swap_last(source: Node, label: str = "") -> Node:
    """The last two axes swapped."""
    rank = len(source.shape)
    return permute(source, (*range(rank - 2), rank - 1, rank - 2), label)


def arange(count: int, dtype: DType, device: str = "", label: str = "") -> Node:
    """0, 1, ... count - 1, as a buffer with contents."""
    values = np.arange(count).astype(dtype.to_numpy())
    return array(values, label, device)


def gather(table: Node, indices: Node, axis: int, label: str = "") -> Node:
    """`numpy.take(table, indices, axis)` where the indices are only known when it runs.

    Every position is compared with every index: the cost is table size x number of indices. Negative indices
    count from the end; one out of range, which code cannot refuse, gives the dtype's minimum (-inf), as MAX of nothing
    does.

    Raises GraphError: SL212 the indices are not integers, SL215 no such axis.
    """
    if not indices.dtype.is_integer:
        raise GraphError(
            "SL212",
            f"indices of dtype {indices.dtype}",
            help="cast them to an integer type",
        )
    axis = axis_index(axis, len(table.shape))
    count, places = table.shape[axis], len(indices.shape)
    before, after = table.shape[:axis], table.shape[axis + 1 :]
    wanted = reshape(
        _from_start(cast(indices, int64), count),
        (*indices.shape, *(1 for _ in after), 1),
    )
    hit = binary(Op.CMPEQ, wanted, arange(_known(count), int64, table.device))
    last = permute(table, (*(i for i in range(len(table.shape)) if i != axis), axis))
    values = reshape(last, (*before, *(1 for _ in range(places)), *after, count))
    chosen = where(hit, values, const(table.dtype.minimum(), table.dtype, (), table.device), label)
    return reduced("MAX", chosen, (-1,), label=label)


def _known(size: Size) -> int:
    if isinstance(size, int):
        return size
    raise GraphError("SL213", "a gather along an axis of symbolic size",
                     reason="indices are compared with every place of the axis",
                     help="pad the axis to its greatest size first")  # fmt: skip


def _from_start(indices: Node, count: Size) -> Node:
    negative = alu(Op.CMPLT, indices, full_like(indices, 0))
    return alu(
        Op.WHERE,
        negative,
        alu(Op.ADD, indices, full_like(indices, _known(count))),
        indices,
    )
