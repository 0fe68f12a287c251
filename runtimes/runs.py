"""Which runs of consecutive elements a view shows, so that no others need to be read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedulog.errors import DeviceError
from schedulog.facts.view import ViewStack
from schedulog.runtimes.strided import Look, Values, look

Array = NDArray[Any]
Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Runs of one length: `starts` are their first elements. Read row by row they hold what the view shows, in `shape`
    once axes are put back in `order`, those of `backwards` reversed and those of one element repeated."""

    starts: Indices
    length: int
    sorted_shape: tuple[int, ...]
    order: tuple[int, ...]
    backwards: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def repeats(self) -> bool:
        """Whether the view shows elements more than once."""
        return math.prod(self.sorted_shape) != math.prod(self.shape)

    def spread(self, value: Array) -> Array:
        """The rows that hold `value` where the view shows each element once: `arranged` backwards."""
        turned = np.flip(value, self.backwards) if self.backwards else value
        return np.ascontiguousarray(turned.transpose(self.order)).reshape(len(self.starts), self.length)

    def arranged(self, value: Array) -> Array:
        """The rows as the view shows them, contiguous."""
        back = np.argsort(self.order) if self.order else ()
        placed = value.reshape(self.sorted_shape).transpose(tuple(int(axis) for axis in back))
        turned = np.flip(placed, self.backwards) if self.backwards else placed
        return np.ascontiguousarray(np.broadcast_to(turned, self.shape)).reshape(self.shape)


def rows(shape: Sequence[int], strides: Sequence[int], offset: int, size: int) -> Rows | None:
    """The runs of a plain strided view of `size` elements; None if it shows some element twice at different places.

    Raises DeviceError SL521 if the view leaves the memory.
    """
    whole = tuple(shape)
    if 0 in whole:
        return Rows(np.empty(0, np.int64), 0, whole, tuple(range(len(whole))), (), whole)
    reach = [(n - 1) * stride for n, stride in zip(whole, strides, strict=True)]
    first, last = (offset + sum(r for r in reach if r * sign > 0) for sign in (-1, 1))
    _check_inside(first, last, size)
    counts = [1 if stride == 0 else n for n, stride in zip(whole, strides, strict=True)]
    steps = [abs(stride) for stride in strides]
    order = sorted(range(len(whole)), key=lambda axis: (-steps[axis], axis))
    outer, length = _innermost([counts[axis] for axis in order], [steps[axis] for axis in order])
    if outer is None:
        return None
    starts = np.full((), first, np.int64)
    for axis in order[:outer]:
        starts = np.add.outer(starts, np.arange(counts[axis], dtype=np.int64) * steps[axis])
    turned = tuple(axis for axis, stride in enumerate(strides) if stride < 0)
    shape_sorted = tuple(counts[axis] for axis in order)
    return Rows(starts.reshape(-1), length, shape_sorted, tuple(order), turned, whole)


def _innermost(counts: Sequence[int], steps: Sequence[int]) -> tuple[int | None, int]:
    """How many axes stand before those that form one run, and the run's length; (None, 0) if axes overlap."""
    extent = length = 1
    outer = len(counts)
    joined = True
    for axis in reversed(range(len(counts))):
        if counts[axis] == 1:
            outer = axis if joined else outer
            continue
        if steps[axis] < extent:
            return None, 0
        joined = joined and steps[axis] == length
        if joined:
            length *= counts[axis]
            outer = axis
        extent = steps[axis] * (counts[axis] - 1) + extent
    return outer, length


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """The distinct elements a view shows, ascending, and for each place which of them stands there.

    A place that a mask hides has the number of elements, one behind the last.
    """

    distinct: Indices
    where: Indices

    def runs(self) -> Iterator[tuple[int, int]]:
        """The ranges of `distinct` that are consecutive elements."""
        if len(self.distinct):
            breaks = np.flatnonzero(np.diff(self.distinct) != 1) + 1
            edges = [0, *breaks.tolist(), len(self.distinct)]
            yield from pairwise(edges)


def elements(stack: ViewStack, variables: Values, size: int) -> Elements:
    """The elements that any stack of views shows of memory of `size` elements, each place worked out by itself.

    Raises DeviceError SL521 if one lies outside.
    """
    looks = [look(view, variables) for view in stack.views]
    shape = looks[-1].shape
    at, seen = _step(looks[-1], np.indices(shape, np.int64, sparse=True), np.ones(shape, bool))
    for outer in reversed(looks[:-1]):
        at, seen = _step(outer, _unravelled(np.where(seen, at, 0), outer.shape), seen)
    distinct, inverse = np.unique(at[seen], return_inverse=True)
    if len(distinct):
        _check_inside(int(distinct[0]), int(distinct[-1]), size)
    where = np.full(shape, len(distinct), np.int64)
    where[seen] = inverse.reshape(-1)
    return Elements(distinct, where)


def _step(view: Look, index: Sequence[Indices], seen: NDArray[np.bool_]) -> tuple[Indices, NDArray[np.bool_]]:
    """The element of what `view` looks at, and whether it shows one, for each index."""
    at = np.full(seen.shape, view.offset, np.int64)
    for along, stride in zip(index, view.strides, strict=True):
        at += along * stride
    for along, (begin, end) in zip(index, view.mask or (), strict=False):
        seen = seen & (along >= begin) & (along < end)
    return at, seen


def _unravelled(flat: Indices, shape: Sequence[int]) -> list[Indices]:
    """The index along each axis of the element number `flat` of an array of `shape`."""
    found = []
    for axis, count in enumerate(shape):
        below = math.prod(shape[axis + 1 :])
        found.append(flat // below % count if below and count else np.zeros_like(flat))
    return found


def _check_inside(first: int, last: int, size: int) -> None:
    if first < 0 or last >= size:
        raise DeviceError("SL521", f"a view touches elements {first} to {last} of {size}")
