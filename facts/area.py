"""Which bytes of memory a view touches, and which of many areas may meet, without a look at every pair."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from schedulog.facts.symbolic import Size, upper_bound
from schedulog.facts.view import View, ViewStack

Range = tuple[int, int]
Box = tuple[Range, ...]
Grid = tuple[int, ...]

MOST_STEPS: Final = 8
"""Steps of a grid on which many areas are laid to find those that may meet: each costs time for every area."""


@dataclass(frozen=True, slots=True)
class Area:
    """Some of the bytes `first` to `last` of a memory (first > last: none of it).

    `axes` maps steps in bytes, all positive, to how many places there are along each: the bytes are `first` plus any sum of
    steps. None where a view is too involved to tell, so that only the two ends are known.
    """

    first: int
    last: int
    axes: Mapping[int, int] | None = None

    @property
    def is_run(self) -> bool:
        """Whether it is all bytes from the first to the last, and some."""
        return self.axes is not None and self.first <= self.last and self.axes.keys() <= {1}

    @property
    def key(self) -> Hashable:
        """Equal for equal areas."""
        return (self.first, self.last, None if self.axes is None else frozenset(self.axes.items()))

    def meets(self, other: Area) -> bool:
        """False only where no byte is in both areas."""
        if max(self.first, other.first) > min(self.last, other.last):
            return False
        if self.axes is None or other.axes is None:
            return True
        grid = _grid((self, other))
        return grid is None or _cross(self.box(grid), other.box(grid))

    def box(self, grid: Grid) -> Box:
        """The places [begin, end) along each step of `grid` among which the area is; what is carried over widens it.

        The grid has every step of the area, the largest first, each a multiple of the next.
        """
        assert self.axes is not None
        begins, rest = [], self.first
        for step in grid:
            begins.append(rest // step)
            rest %= step
        found: list[Range] = []
        carried = 0
        for at in reversed(range(len(grid))):
            end = begins[at] + self.axes.get(grid[at], 1) + carried
            room = grid[at - 1] // grid[at] if at else end
            carried = (end - 1) // room
            found.append((0, room) if end > room else (begins[at], end))
        return tuple(reversed(found))


def area(look: ViewStack, width: int) -> Area:
    """What `look` touches of memory, if elements as it counts them have `width` bytes; symbolic sizes at their most."""
    inner = look.views[0]
    exact = _exact(inner, width) if len(look.views) == 1 else None
    if exact is not None:
        return exact
    low = high = 0
    for (begin, end), stride in zip(_visible(inner), inner.strides, strict=True):
        if upper_bound(end - begin) <= 0:
            return Area(1, 0)
        corners = (stride * begin, stride * (end - 1))
        low += min(map(_lower_bound, corners))
        high += max(map(upper_bound, corners))
    first, last = low + _lower_bound(inner.offset), high + upper_bound(inner.offset)
    return Area(first * width, last * width + width - 1)


def _visible(view: View) -> Sequence[tuple[Size, Size]]:
    return tuple((0, size) for size in view.shape) if view.mask is None else view.mask


def _lower_bound(size: Size) -> int:
    return -upper_bound(-size)


def _exact(view: View, width: int) -> Area | None:
    """The area of a view whose sizes are known and whose axes have steps of their own; None for another."""
    if not isinstance(view.offset, int):
        return None
    first = view.offset * width
    axes = {1: width} if width > 1 else {}
    for (begin, end), stride in zip(_visible(view), view.strides, strict=True):
        if not (isinstance(begin, int) and isinstance(end, int) and isinstance(stride, int)):
            return None
        if end <= begin:
            return Area(1, 0)
        first += stride * width * (begin if stride > 0 else end - 1)
        if stride != 0 and end - begin > 1:
            step = abs(stride) * width
            if step in axes:
                return None
            axes[step] = end - begin
    joined = _joined(axes)
    return Area(first, first + sum(step * (count - 1) for step, count in joined.items()), joined)


def _joined(axes: Mapping[int, int]) -> dict[int, int]:
    """Axes that go on where a shorter one ends are one with it."""
    found: dict[int, int] = {}
    small = 1
    for step in sorted(axes):
        if found and step == small * found[small]:
            found[small] *= axes[step]
        else:
            found[step], small = axes[step], step
    return found


def _grid(areas: Sequence[Area]) -> Grid | None:
    """The steps of all areas, the largest first; None if one is no multiple of the next."""
    steps = sorted({1, *(step for one in areas for step in one.axes or ())}, reverse=True)
    return None if any(large % small for large, small in pairwise(steps)) else tuple(steps)


def _cross(one: Box, other: Box) -> bool:
    return all(a < d and c < b for (a, b), (c, d) in zip(one, other, strict=True))


def meeting(areas: Sequence[Area], writes: int, wanted: AbstractSet[int]) -> Iterator[tuple[int, int]]:
    """The pairs of areas of one memory that may meet: (i, j), i < j, the first among the `writes` that stand first, one of
    them at least `wanted`, as every area must be that is no run of bytes.

    Areas that lie on one grid are compared along the axis of the grid that tells most of them apart, so that neither
    many slices, nor many columns, nor many tiles take a look at every pair. The cost is near that of sorting them, and
    of the pairs that come near each other along that axis.
    """
    grid = _grid(areas[:writes])
    boxes = _boxes(areas, grid if grid is not None and len(grid) <= MOST_STEPS else ())
    if boxes:
        axis = min(range(len(grid or ())), key=lambda k: _crowding([box[k] for box in boxes.values()]))
        along = {i: box[axis] for i, box in boxes.items()}
        yield from ((i, j) for i, j in _sweep(along, wanted, writes) if _cross(boxes[i], boxes[j]))
    rough = wanted - boxes.keys()
    if rough:
        ends = {i: (one.first, one.last + 1) for i, one in enumerate(areas)}
        yield from _sweep(ends, rough, writes)


def _boxes(areas: Sequence[Area], grid: Grid) -> dict[int, Box]:
    steps = frozenset(grid)
    fits = (i for i, one in enumerate(areas) if one.axes is not None and one.axes.keys() <= steps)
    return {i: areas[i].box(grid) for i in fits} if grid else {}


def _crowding(ranges: Sequence[Range]) -> int:
    """How many pairs of ranges meet."""
    begins, ends = sorted(b for b, _ in ranges), sorted(e for _, e in ranges)
    pairs = ended = 0
    for at, begin in enumerate(begins):
        while ends[ended] <= begin:
            ended += 1
        pairs += at - ended
    return pairs


def _sweep(ranges: Mapping[int, Range], wanted: AbstractSet[int], writes: int) -> Iterator[tuple[int, int]]:
    """The pairs of ranges that meet, the first a write, one of them wanted: each once, in one pass over the sorted ends."""
    still: dict[tuple[bool, bool], dict[int, None]] = {
        (a, b): {} for a in (False, True) for b in (False, True)
    }
    closing: list[tuple[int, int]] = []
    for i in sorted((i for i, (begin, end) in ranges.items() if begin < end), key=lambda i: ranges[i]):
        begin, end = ranges[i]
        kind = (i < writes, i in wanted)
        while closing and closing[0][0] <= begin:
            _, done = heapq.heappop(closing)
            del still[done < writes, done in wanted][done]
        for other, there in still.items():
            if (kind[0] or other[0]) and (kind[1] or other[1]):
                yield from ((min(i, j), max(i, j)) for j in there)
        still[kind][i] = None
        heapq.heappush(closing, (end, i))
