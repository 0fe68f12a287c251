"""Which arguments an operation can have, checked where its node is made, so that no graph holds others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from schedulog.errors import GraphError
from schedulog.facts.dtype import DType
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Size, upper_bound
from schedulog.facts.view import ViewStack
from schedulog.facts.views.reach import shows_once
from schedulog.facts.views.single import check_axes

REDUCTIONS: Final = ("ADD", "MUL", "MAX")
"""What a REDUCE_AXIS can reduce by."""

MOST_BYTES: Final = 1 << 56
"""The size of the largest value: indices and sums of such sizes stay within the 64 bits of code and databases."""

MEMORY: Final = frozenset({Op.BUFFER, Op.ASSIGN})
"""What stands for memory, under views and windows, so that an assign can write to it."""


def check_reduction(op: str, axes: Sequence[int], rank: int) -> None:
    """Raises GraphError SL213 for an unknown operation, and axes that do not exist, stand twice or are not ascending."""
    if op not in REDUCTIONS:
        raise GraphError("SL213", f"a reduction by {op}", help=f"there are {', '.join(REDUCTIONS)}")
    if any(not 0 <= axis < rank for axis in axes):
        raise GraphError("SL213", f"axes {tuple(axes)} of a reduction over {rank} axes",
                         reason=f"an axis is a number from 0 to {rank - 1}" if rank else "a scalar has none")  # fmt: skip
    if len(set(axes)) < len(axes):
        raise GraphError("SL213", f"axes {tuple(axes)} of a reduction", reason="an axis stands twice",
                         help="name each axis once")  # fmt: skip
    if list(axes) != sorted(axes):
        raise GraphError("SL213", f"axes {tuple(axes)} of a reduction", reason="they are not ascending",
                         help=f"write them in order: {tuple(sorted(axes))}")  # fmt: skip


def check_target(target: str, op: Op, look: ViewStack) -> None:
    """Raises GraphError SL214 for an assign to what is no memory, or has not one place for each value.

    `op` is the operation under the views and windows of the target, which messages call `target`; `look` is its outermost
    view.
    """
    if op not in MEMORY:
        raise GraphError("SL214", f"cannot assign to {target}", reason="only memory can be written to",
                         help="assign to a tensor that is realized")  # fmt: skip
    if look.size == 0:
        return
    if look.masked:
        raise GraphError("SL214", f"cannot assign to {target}",
                         reason="the view shows padding, where there is no memory to write to",
                         help="assign to the part that is not padding")  # fmt: skip
    if not all(shows_once(view) for view in look.views):
        raise GraphError("SL214", f"cannot assign to {target}",
                         reason="the view shows one element of memory at several places, which would be several "
                         "values for it", help="assign to a view that shows each element once")  # fmt: skip


def check_pieces(held: int, width: int) -> None:
    """Raises GraphError SL213 for an assign that counts memory, whose elements have `held` bytes, in others than parts of them."""
    if width == 0 or held % width:
        raise GraphError("SL213", f"an assign of elements of {width} bytes to memory whose elements have {held}",
                         reason="it counts memory in whole parts of its elements",
                         help="bitcast the value to a narrower type")  # fmt: skip


def no_bool(target: str, dtype: DType) -> GraphError:
    """The error for an assign of the bytes of another type to memory of bool."""
    return GraphError("SL214", f"cannot assign {dtype} to {target}",
                      reason="the memory holds bool, that is 0 and 1, and other bytes could be written to it",
                      help="cast the values to bool and assign them without a bitcast")  # fmt: skip


def check_size(shape: Sequence[Size], dtype: DType) -> None:
    """Raises GraphError SL226 for a value of more bytes than any machine can count, symbolic sizes at their maximum; SL227
    for one of more axes than an array can have.

    An axis without elements counts as one of 1: arrays of numpy, too, have no room for huge axes beside it.
    """
    check_axes(tuple(shape))
    count = math.prod(shape)
    if not isinstance(count, int) or not count:
        count = math.prod(upper_bound(size) or 1 for size in shape)
    if count * dtype.itemsize > MOST_BYTES:
        raise GraphError(
            "SL226", f"a value of {count:,} x {dtype}", reason=f"it has more than {MOST_BYTES:,} bytes"
        )


def check_window(shape: Sequence[Size], dtype: DType, held: int) -> None:
    """Raises GraphError SL225 for a window that is larger than the `held` bytes it looks at; or as `check_size` does."""
    check_size(shape, dtype)
    needed = math.prod(upper_bound(size) for size in shape) * dtype.itemsize
    if needed > held:
        raise GraphError("SL225", f"a window of {needed} bytes into {held}",
                         help="a window shows at most what its source holds")  # fmt: skip
