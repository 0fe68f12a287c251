"""Smallest parts of a list that still have a property.

Delta debugging: Zeller and Hildebrandt, Simplifying and isolating failure-inducing input, IEEE TSE 28(2), 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")


def minimal(items: Sequence[Item], breaks: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """A part of `items`, in their order, that `breaks` and does not once any single item is taken away.

    `items` as a whole must break. Asks `breaks` about n log n times for one guilty item, at most n squared times.
    """
    kept, parts = list(items), 2
    if not kept or breaks([]):
        return []
    while len(kept) > 1:
        smaller = _smaller(kept, parts, breaks)
        if smaller is not None:
            parts = max(2, min(parts - 1, len(smaller))) if len(smaller) > len(kept) // parts + 1 else 2
            kept = smaller
        elif parts == len(kept):
            break
        else:
            parts = min(len(kept), 2 * parts)
    return kept


def _smaller(kept: list[Item], parts: int, breaks: Callable[[Sequence[Item]], bool]) -> list[Item] | None:
    """One of `parts` slices that breaks by itself, or else what is left without one of them."""
    edges = [len(kept) * i // parts for i in range(parts + 1)]
    slices = list(pairwise(edges))
    for first, last in slices:
        if breaks(kept[first:last]):
            return kept[first:last]
    for first, last in slices if parts > 2 else ():
        rest = kept[:first] + kept[last:]
        if breaks(rest):
            return rest
    return None
