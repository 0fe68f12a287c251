"""What users pass to Tensor operations, turned into nodes, dtypes, axes and shapes."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from schedulog.errors import GraphError, UsageError
from schedulog.facts import build, compose
from schedulog.facts.dtype import DType, float64, from_numpy, named
from schedulog.facts.node import Node, Shape
from schedulog.facts.symbolic import Expr, Size, equal, less, lower_bound, prod, sizes_text
from schedulog.numeric import Operand, converted, fits
from schedulog.origin import caller

Axes = int | Sequence[int] | None


def operand(x: Any) -> Operand:
    """A tensor's node, a Python number or symbolic size as it is, or an array as a node.

    Raises GraphError (SL202, SL219).
    """
    node = getattr(x, "node", None)
    if isinstance(node, Node):
        return node
    return x if type(x) in (bool, int, float) or isinstance(x, Expr) else stored(x, None)


def stored(data: Any, dtype: DTypeLike | DType | None, label: str = "", device: str = "") -> Node:
    """A copy of an array, list or number as a node; a number is a constant. Raises GraphError (SL202, SL219)."""
    wanted = None if dtype is None else kind_of(dtype).to_numpy()
    try:
        values = np.asarray(data, wanted)
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError("SL219", f"{type(data).__name__} is no array", reason=str(error)) from None
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if values.shape:
        return build.array(values, device=device)
    return build.const(values.item(), from_numpy(values.dtype), (), device, label)


def kind_of(dtype: DTypeLike | DType) -> DType:
    """An element type from ours, numpy's or a name. Raises GraphError (SL202)."""
    if isinstance(dtype, DType):
        return dtype
    if dtype == "bfloat16":
        return named("bfloat16")
    try:
        return from_numpy(np.dtype(dtype))
    except TypeError:
        return named(str(dtype))


def axes_of(axis: int | Sequence[Size] | None, n: Node) -> tuple[int, ...]:
    """Axes counted from the left; None means all. Raises GraphError (SL215): no such axis, or one twice."""
    rank = len(n.shape)
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, Sequence) else np.atleast_1d(np.asarray(axis))
    chosen = tuple(compose.axis_index(axis_number(a), rank) for a in given)
    if len(set(chosen)) < len(chosen):
        raise GraphError("SL215", f"one axis twice in {axis}")
    return chosen


def axis_number(axis: Any) -> int:
    """The number of an axis. Raises GraphError (SL215): something else, which would be rounded to the wrong axis."""
    try:
        return operator.index(axis)
    except TypeError:
        kind = "symbolic" if isinstance(axis, Expr) else f"a {type(axis).__name__}"
        raise GraphError("SL215", f"axis {axis}", reason=f"which axis is meant cannot be {kind}") from None


def flat(sizes: Sequence[Any]) -> Shape:
    """`f(2, 3)` and `f((2, 3))` both mean (2, 3). Raises UsageError SL730 for what are no integers."""
    nested = len(sizes) == 1 and not _is_size(sizes[0])
    try:
        inner = chain.from_iterable(sizes) if nested else sizes
        return tuple(map(_size, inner))
    except TypeError as error:
        given = sizes[0] if nested else tuple(sizes)
        raise UsageError("SL730", f"a shape or an order of axes cannot be {given!r}", where=caller(), reason=str(error),
                         help="give integers: (2, 3)") from None  # fmt: skip


def _is_size(x: Any) -> bool:
    """An array has `__index__` whatever its shape, and a value for it only as a single number."""
    return isinstance(x, Expr) or (hasattr(x, "__index__") and np.shape(x) == ())


def whole_shape(shape: Shape, n: Node) -> Shape:
    """The shape with its one -1 replaced by what is left.

    Raises GraphError (SL221): that is not a whole number, or not surely the same number of elements.
    """
    sizes, known, whole = list(shape), prod(s for s in shape if s != -1), prod(n.shape)
    if sizes.count(-1) == 1 and lower_bound(known) > 0 and whole % known == 0:
        sizes[sizes.index(-1)] = whole // known
    if any(lower_bound(size) < 0 for size in sizes) or equal(prod(sizes), whole) is None:
        raise GraphError("SL221", f"cannot reshape {sizes_text(n.shape)} to {sizes_text(shape)}",
                         reason="the number of elements must be the same, whatever the variables are")  # fmt: skip
    return tuple(sizes)


def inside(bounds: Sequence[tuple[Size, Size]], n: Node) -> list[tuple[Size, Size]]:
    """Windows [begin, end) of a value's axes.

    Raises GraphError (SL221): the variables may put one outside; UsageError SL730.
    """
    windows = _pairs("bounds", bounds)
    for size, (begin, end) in zip(n.shape, windows, strict=False):
        _ascending("shrink", 0, begin, end, size)
    return windows


def padding(widths: Sequence[tuple[Size, Size]]) -> list[tuple[Size, Size]]:
    """Zeros before and after each axis.

    Raises GraphError (SL221): the variables may make one negative; UsageError SL730.
    """
    pairs = _pairs("widths", widths)
    for size in chain.from_iterable(pairs):
        _ascending("pad", 0, size)
    return pairs


def _pairs(argument: str, given: Any) -> list[tuple[Size, Size]]:
    try:
        return [(_size(begin), _size(end)) for begin, end in given]
    except (TypeError, ValueError) as error:
        raise UsageError("SL730", f"`{argument}` cannot be {given!r}", where=caller(), reason=str(error),
                         help="give a pair of integers for each axis: [(0, 1), (2, 2)]") from None  # fmt: skip


def _size(given: Any) -> Size:
    return given if isinstance(given, Expr) else operator.index(given)


def _ascending(movement: str, *sizes: Size) -> None:
    """Leaves what is wrong whatever the variables are to the movement itself."""
    for low, high in pairwise(sizes):
        if isinstance(less(high, low), Expr):
            raise GraphError("SL221", f"{movement} for which it is not clear whether {low} <= {high}",
                             reason="it has to be right whatever the variables are",
                             help="give the variables bounds that tell")  # fmt: skip


def fitted(value: Any, shape: Shape, like: Node) -> Node:
    """A value to be written: cast to the dtype of `like` and broadcast to `shape`. Raises GraphError (SL211, SL216)."""
    given = operand(value)
    if isinstance(given, float):
        if like.dtype.is_integer and not (math.isfinite(given) and fits(int(given), like.dtype)):
            raise GraphError(
                "SL216", f"{given} does not fit {like.dtype}", help="cast the tensor to a wider type first"
            )
        given = build.const(given, float64, (), like.device)
    n = converted(given, like.dtype, like.device)
    surplus = max(0, len(n.shape) - len(shape))
    if all(size == 1 for size in n.shape[:surplus]):
        n = build.reshape(n, n.shape[surplus:])
    return compose.broadcast_to(n, shape)
