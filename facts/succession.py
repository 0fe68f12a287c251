"""Which overwrites of one memory come next to each other, byte by byte: what is needed to put them and their readers in order.

Of n overwrites of the same bytes each but the first has one before it, so there are n - 1 pairs and not n²: that the first
comes before the last follows.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import pairwise

from schedulog.facts.area import Area, meeting

Pair = tuple[int, int]


def successive(writes: Sequence[Area], reads: Sequence[Area]) -> Iterator[Pair]:
    """The pairs (i, j), i < j, of areas of one memory that perhaps have bytes in common, each once: where j is a write too,
    the next one to some of them; where j is a read of what was there before all writes, i is the first write to some of them.

    Writes are numbered first, in their order, and reads after them. From any write to each later one that it meets
    (`Area.meets`) leads a chain of pairs that meet; and to each write that a read meets one from a write in a pair with it.
    """
    areas = [*writes, *reads]
    runs = {i: one for i, one in enumerate(areas) if one.is_run}
    yield from _along(runs, len(writes))
    if len(runs) < len(areas):
        yield from _among_groups(areas, len(writes))


def _along(runs: Mapping[int, Area], writes: int) -> Iterator[Pair]:
    """The pairs of runs of bytes: at each byte where one begins or ends, the neighbours among the writes that are there."""
    begins: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for i, one in runs.items():
        begins.setdefault(one.first, []).append(i)
        ends.setdefault(one.last + 1, []).append(i)
    here, reading = _Here(), dict[int, None]()
    found: dict[Pair, None] = {}
    for at in sorted(begins.keys() | ends.keys()):
        closed, opened = ends.get(at, ()), begins.get(at, ())
        first = here.first
        changed = [i for i in (*reversed(closed), *opened) if i < writes]
        for i in changed:
            here.toggle(i)
        for j in closed:
            reading.pop(j, None)
        late = [j for j in opened if j >= writes]
        reading.update(dict.fromkeys(late))
        found.update(dict.fromkeys(pair for i in changed for pair in here.neighbours(i)))
        if here.first is not None:
            found.update(((here.first, j), None) for j in (late if here.first == first else reading))
    yield from found


class _Here:
    """The writes to one byte, in their order."""

    def __init__(self) -> None:
        self._writes: list[int] = []

    @property
    def first(self) -> int | None:
        return self._writes[0] if self._writes else None

    def toggle(self, i: int) -> None:
        """Write `i` begins or ends here."""
        if self._has(i):
            del self._writes[bisect_left(self._writes, i)]
        else:
            insort(self._writes, i)

    def neighbours(self, i: int) -> Iterator[Pair]:
        """The pairs of which `i` is one, or between which it was."""
        at = bisect_left(self._writes, i)
        yield from pairwise(self._writes[max(at - 1, 0) : at + 1 + self._has(i)])

    def _has(self, i: int) -> bool:
        at = bisect_left(self._writes, i)
        return at < len(self._writes) and self._writes[at] == i


@dataclass(frozen=True, eq=False, slots=True)
class _Group:
    """Areas that are the same one: `writes` to it and `reads` of it, in order."""

    area: Area
    writes: list[int]
    reads: list[int]


def _among_groups(areas: Sequence[Area], writes: int) -> Iterator[Pair]:
    """The pairs of which one at least is no run of bytes. The members of two areas that meet have one order together."""
    known: dict[Hashable, _Group] = {}
    for i, one in enumerate(areas):
        if one.first <= one.last:
            group = known.setdefault(one.key, _Group(one, [], []))
            (group.writes if i < writes else group.reads).append(i)
    written = [group for group in known.values() if group.writes]
    groups = [*written, *(group for group in known.values() if group.reads)]
    wanted = frozenset(i for i, group in enumerate(groups) if not group.area.is_run)
    for i, j in meeting([group.area for group in groups], len(written), wanted):
        yield from _first(groups[i], groups[j]) if j >= len(written) else _in_turn(groups[i], groups[j])
    for group in written:
        if not group.area.is_run:
            yield from pairwise(group.writes)


def _first(group: _Group, read: _Group) -> Iterator[Pair]:
    return ((group.writes[0], j) for j in read.reads)


def _in_turn(one: _Group, other: _Group) -> Iterator[Pair]:
    """Neighbours in the order of both, of which one is of either."""
    turns = merge(((i, False) for i in one.writes), ((j, True) for j in other.writes))
    return ((i, j) for (i, a), (j, b) in pairwise(turns) if a != b)
