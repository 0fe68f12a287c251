"""Views as integers: each distinct view of a graph has one number, and compositions are remembered."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from itertools import pairwise

from schedulog.facts.symbolic import less, prod, upper_bound
from schedulog.facts.view import ViewStack


class Looks:
    """The views of one graph, numbered in order of first appearance, with the functions the rules may call on them.

    Any number of threads may call them.
    """

    def __init__(self) -> None:
        self._number: dict[ViewStack, int] = {}
        self._view: list[ViewStack] = []
        self._composed: dict[tuple[int, int], int] = {}
        self._adding = threading.Lock()

    def number(self, view: ViewStack) -> int:
        found = self._number.get(view)
        return self._added(view) if found is None else found

    def _added(self, view: ViewStack) -> int:
        with self._adding:
            found = self._number.get(view)
            if found is None:
                found = len(self._view)
                self._view.append(view)  # first: whoever sees the number may ask for its view
                self._number[view] = found
            return found

    def view(self, number: int) -> ViewStack:
        return self._view[number]

    def __len__(self) -> int:
        return len(self._view)

    def compose(self, inner: int, outer: int) -> int:
        """`outer` looking at what `inner` shows."""
        key = (inner, outer)
        found = self._composed.get(key)
        if found is None:
            if self._view[outer].contiguous and self._view[outer].shape == self._view[inner].shape:
                found = inner
            else:
                found = self.number(self._view[inner].then(self._view[outer]))
            self._composed[key] = found
        return found

    def contiguous_size(self, view: int) -> int:
        """The number of elements of a contiguous view, else -1."""
        look = self._view[view]
        return look.size if look.contiguous else -1

    def view_size(self, view: int) -> int:
        return self._view[view].size

    def view_count(self, view: int) -> int:
        """How many views the stack has."""
        return len(self._view[view].views)

    def masked(self, view: int) -> int:
        """1 if some view of the stack has a mask."""
        return int(self._view[view].masked)

    def mask_size(self, view: int) -> int:
        """Elements inside the mask of the outermost view."""
        mask = self._view[view].views[-1].mask
        return self.view_size(view) if mask is None else math.prod(upper_bound(e - b) for b, e in mask)

    def shows_more(self, view: int, whole: int) -> int:
        """1 unless `view` surely shows no more elements than `whole` has (an undecided comparison counts as 1)."""
        return int(less(prod(self._view[whole].shape), prod(self._view[view].shape)) != 0)

    def overlap(self, one: int, other: int) -> int:
        """1 unless the two views of one buffer surely touch different elements."""
        first, last = _extent(self._view[one])
        begin, end = _extent(self._view[other])
        return int(first <= end and begin <= last and not _apart(self._view[one], self._view[other]))

    def aligned(self, view: int, other: int) -> int:
        """1 if every element `view` shows is surely the one `other` shows at the same place."""
        one, two = self._view[view], self._view[other]
        if len(one.views) != 1 or len(two.views) != 1 or one.shape != two.shape:
            return 0
        inner, outer = one.views[0], two.views[0]
        return int(inner.strides == outer.strides and inner.offset == outer.offset)

    def in_order(self, view: int) -> int:
        """1 if `view` shows the elements of its buffer in their order (see `_in_order`)."""
        return int(_in_order(self._view[view]))

    def stride(self, view: int, axis: int) -> int:
        """Elements between neighbours on an axis, masks ignored; 1 where that is no one number, 0 where it repeats."""
        found = self._view[view].real_strides()[axis]
        return found if isinstance(found, int) else 1

    def functions(self) -> Mapping[str, Callable[..., int]]:
        """What `@name` means in a rule."""
        return {
            "compose": self.compose,
            "contiguous_size": self.contiguous_size,
            "view_size": self.view_size,
            "view_count": self.view_count,
            "masked": self.masked,
            "mask_size": self.mask_size,
            "shows_more": self.shows_more,
            "overlap": self.overlap,
            "aligned": self.aligned,
            "stride": self.stride,
            "in_order": self.in_order,
        }


def _in_order(look: ViewStack) -> bool:
    """Contiguous; or one view that is, its repeated axes taken once; or one view that shows what a mask leaves of it.

    These are the views through which tinygrad 0.10.2 lets an assign read its own target.
    """
    if look.contiguous or len(look.views) != 1:
        return look.contiguous
    view = look.views[0]
    if view.mask is not None:
        return look.shrink(view.mask) == ViewStack.of_shape(view.shape).shrink(view.mask)
    axes = zip(view.shape, view.strides, strict=True)
    return look.shrink(tuple((0, 1 if stride == 0 else size) for size, stride in axes)).contiguous


def _extent(look: ViewStack) -> tuple[int, int]:
    """The smallest and largest element of the buffer that may be touched (first > last: none)."""
    inner = look.views[0]
    low = high = 0
    for position, (size, stride) in enumerate(zip(inner.shape, inner.strides, strict=True)):
        begin, end = (0, size) if inner.mask is None else inner.mask[position]
        corners = (stride * begin, stride * (end - 1))
        if upper_bound(end - begin) <= 0:
            return (1, 0)
        low += min(_lower(c) for c in corners)
        high += max(upper_bound(c) for c in corners)
    return (low + _lower(inner.offset), high + upper_bound(inner.offset))


def _lower(size: object) -> int:
    return -upper_bound(-size)  # type: ignore[operator]


def _apart(one: ViewStack, other: ViewStack) -> bool:
    """Whether two single views with equal strides select windows of one grid that differ in some axis."""
    if len(one.views) != 1 or len(other.views) != 1:
        return False
    window = _window(one), _window(other)
    if window[0] is None or window[1] is None:
        return False
    return any(a[1] <= b[0] or b[1] <= a[0] for a, b in _shared_axes(window[0], window[1]))


def _window(look: ViewStack) -> dict[int, tuple[int, int]] | None:
    """Per stride, the range of grid coordinates a positive-stride integer view touches; None if it is not such a view."""
    view = look.views[0]
    parts = [(st, s) for st, s in zip(view.strides, view.shape, strict=True) if st != 0]
    if view.mask is not None or not isinstance(view.offset, int):
        return None
    if any(not isinstance(st, int) or not isinstance(s, int) or st < 0 for st, s in parts):
        return None
    strides = sorted({st for st, _ in parts if isinstance(st, int)}, reverse=True)
    if len(strides) != len(parts):
        return None
    extents = {st: s for st, s in parts if isinstance(st, int) and isinstance(s, int)}
    rest, found = view.offset, {}
    for stride in strides:
        found[stride] = (rest // stride, rest // stride + extents[stride])
        rest %= stride
    return found if rest == 0 else None


def _shared_axes(
    one: dict[int, tuple[int, int]], other: dict[int, tuple[int, int]]
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Ranges on axes both views have, where both grids nest (each range stays below the next larger stride)."""
    if set(one) != set(other):
        return []
    strides = sorted(one, reverse=True)
    for larger, smaller in pairwise(strides):
        if larger % smaller or max(one[smaller][1], other[smaller][1]) > larger // smaller:
            return []
    return [(one[s], other[s]) for s in strides]
