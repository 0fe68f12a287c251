"""Basic indexing: integers, slices, None and Ellipsis become one range per axis and a shape."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from schedulog.errors import GraphError
from schedulog.facts.build import reshape
from schedulog.facts.compose import select
from schedulog.facts.node import Node


@dataclass(frozen=True, slots=True)
class Selection:
    """The positions chosen of each axis, and the shape the chosen elements have in the end."""

    ranges: tuple[range, ...]
    shape: tuple[int, ...]

    def window(self, source: Node, label: str = "") -> Node:
        """The chosen elements with every axis of the source still there."""
        return select(source, self.ranges, label)

    def of(self, source: Node, label: str = "") -> Node:
        """The chosen elements in the shape they have in the end."""
        return reshape(self.window(source, label), self.shape, label)


def selection(key: Any, shape: tuple[int, ...]) -> Selection:
    """What `[key]` chooses of a value of `shape`, as in numpy.

    Raises GraphError: SL215 an integer out of range, SL218 too many indices or anything but basic indexing.
    """
    ranges: list[range] = []
    sizes: list[int] = []
    for part in _full(key if isinstance(key, tuple) else (key,), len(shape)):
        if part is None:
            sizes.append(1)
            continue
        size = shape[len(ranges)]
        if isinstance(part, slice):
            ranges.append(range(*_slice_indices(part, size)))
            sizes.append(len(ranges[-1]))
        else:
            ranges.append(_single(part, size, len(ranges)))
    return Selection(tuple(ranges), tuple(sizes))


def _full(key: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    """The key with the Ellipsis, given or understood at the end, written out."""
    dots = [i for i, part in enumerate(key) if part is Ellipsis]
    used = sum(part is not None and part is not Ellipsis for part in key)
    if len(dots) > 1 or used > rank:
        what = "two Ellipses" if len(dots) > 1 else f"{used} indices of a value with {rank} axes"
        raise GraphError("SL218", what)
    at = dots[0] if dots else len(key)
    return key[:at] + (slice(None),) * (rank - used) + key[at + 1 :]


def _slice_indices(part: slice, size: int) -> tuple[int, int, int]:
    try:
        return part.indices(size)
    except (TypeError, ValueError) as error:
        raise GraphError("SL218", f"slice {part}", reason=str(error)) from None


def _single(part: Any, size: int, axis: int) -> range:
    try:
        at = operator.index(part) if not isinstance(part, bool) else None
    except TypeError:
        at = None
    if at is None:
        raise GraphError("SL218", f"index of type {type(part).__name__}",
                         reason="only integers, slices, None and ... index a tensor",
                         help="use where() for masks, and compose.gather for positions that are data")  # fmt: skip
    if not -size <= at < size:
        raise GraphError("SL215", f"index {at} on axis {axis} of size {size}")
    return range(at % size, at % size + 1)
