"""Which row each box stands in, and in which order: layers by longest path, orders by barycentres.

K. Sugiyama, S. Tagawa and M. Toda: Methods for visual understanding of hierarchical system structures, IEEE
Transactions on Systems, Man and Cybernetics 11, 1981. Cost: linear in boxes and bends, times a few sweeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_SWEEPS: Final = 6
_LONGEST_BENT: Final = 12
"""Rows that an edge may cross and still be led between the boxes."""

_MOST_BENDS: Final = 4
"""Bends a picture may have, per box."""


@dataclass(frozen=True, slots=True)
class Layered:
    """`rows` holds boxes (their numbers) and bends (numbers from `boxes` on), from left to right, sources above users.

    `bends` gives, for edges led between boxes, the bends passed, from the source on.
    """

    boxes: int
    rows: tuple[tuple[int, ...], ...]
    bends: Mapping[tuple[int, int], tuple[int, ...]]
    above: Sequence[Sequence[int]]
    below: Sequence[Sequence[int]]


def layered(widths: Sequence[float], edges: Sequence[tuple[int, int]], widest: float) -> Layered:
    """Rows for boxes numbered so that sources come before users; an edge that goes back is drawn, and has no say.

    A row whose boxes are together wider than `widest` is broken into several.
    """
    forward = [(a, b) for a, b in dict.fromkeys(edges) if a < b]
    layers = _layers(len(widths), forward)
    rows = _broken(_ordered(_grouped(layers), *_neighbours(len(widths), forward)), widths, widest)
    row_of = {box: at for at, row in enumerate(rows) for box in row}
    bends, count = _bends(forward, row_of, len(widths))
    for (source, _), chain in bends.items():
        for step, bend in enumerate(chain, 1):
            rows[row_of[source] + step].append(bend)
    steps = [pair for edge in forward for pair in _steps(edge, bends.get(edge, ()))]
    above, below = _neighbours(count, steps)
    return Layered(
        len(widths), tuple(tuple(row) for row in _ordered(rows, above, below)), bends, above, below
    )


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest path from a box without sources; those stand right above their first user instead of at the top."""
    layer = [0] * count
    lowest = [count] * count
    has_source = [False] * count
    for a, b in sorted(edges, key=lambda edge: edge[1]):
        layer[b] = max(layer[b], layer[a] + 1)
        has_source[b] = True
    for a, b in edges:
        lowest[a] = min(lowest[a], layer[b] - 1)
    return [layer[n] if has_source[n] or lowest[n] == count else max(0, lowest[n]) for n in range(count)]


def _grouped(layers: Sequence[int]) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for box, layer in enumerate(layers):
        rows[layer].append(box)
    return [row for row in rows if row]


def _neighbours(count: int, edges: Sequence[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        above[b].append(a)
        below[a].append(b)
    return above, below


def _ordered(
    rows: Sequence[Sequence[int]], above: Sequence[Sequence[int]], below: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Each row sorted by the mean place of neighbours, in sweeps down and up. Places are shares of the row's length."""
    ordered = [list(row) for row in rows]
    place: dict[int, float] = {}
    for row in ordered:
        _note(row, place)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        neighbours = above if down else below
        for row in ordered if down else reversed(ordered):
            row.sort(key=lambda box: _mean([place[n] for n in neighbours[box]], place[box]))
            _note(row, place)
    return ordered


def _note(row: Sequence[int], place: dict[int, float]) -> None:
    for at, box in enumerate(row):
        place[box] = (at + 0.5) / len(row)


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _broken(rows: Sequence[Sequence[int]], widths: Sequence[float], widest: float) -> list[list[int]]:
    """Rows of about equal width, none wider than `widest` unless one box is."""
    found: list[list[int]] = []
    for row in rows:
        total = sum(widths[box] for box in row)
        room = total / max(1, -(-int(total) // int(widest)))
        found.append([])
        used = 0.0
        for box in row:
            if found[-1] and used + widths[box] / 2 > room:
                found.append([])
                used = 0.0
            found[-1].append(box)
            used += widths[box]
    return found


def _bends(
    edges: Sequence[tuple[int, int]], row_of: Mapping[int, int], first: int
) -> tuple[dict[tuple[int, int], tuple[int, ...]], int]:
    """Numbers for the bends of edges that cross rows, the shortest edges first, as long as there may be more."""
    bends: dict[tuple[int, int], tuple[int, ...]] = {}
    count, most = first, first * (1 + _MOST_BENDS)
    for a, b in sorted(edges, key=lambda edge: row_of[edge[1]] - row_of[edge[0]]):
        crossed = row_of[b] - row_of[a] - 1
        if 0 < crossed <= _LONGEST_BENT and count + crossed <= most:
            bends[a, b] = tuple(range(count, count + crossed))
            count += crossed
    return bends, count


def _steps(edge: tuple[int, int], chain: Sequence[int]) -> list[tuple[int, int]]:
    stops = [edge[0], *chain, edge[1]]
    return list(pairwise(stops))
