"""Views as integers: each distinct view of a graph has one number, and compositions are remembered."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping

from schedulog.facts.area import Area, area
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
        self._area: dict[tuple[int, int], Area] = {}
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

    def area(self, view: int, width: int) -> Area:
        """The bytes of memory that `view` touches, counted in elements of `width` bytes."""
        key = (view, width)
        found = self._area.get(key)
        if found is None:
            found = self._area[key] = area(self._view[view], width)
        return found

    def overlap(self, one: int, width: int, other: int, other_width: int) -> int:
        """1 unless the two views of one buffer surely touch different bytes, each in elements of its own width in bytes."""
        return int(self.area(one, width).meets(self.area(other, other_width)))

    def aligned(self, view: int, width: int, other: int, other_width: int) -> int:
        """1 if every element `view` shows is surely the one `other` shows at the same place, in elements of one width."""
        one, two = self._view[view], self._view[other]
        if width != other_width or len(one.views) != 1 or len(two.views) != 1 or one.shape != two.shape:
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

    These are the views through which tinygrad 0.10.2 lets an assign read its own target, in as few as can express them.
    """
    look = look.simplify()
    if look.contiguous or len(look.views) != 1:
        return look.contiguous
    view = look.views[0]
    if view.mask is not None:
        return look.shrink(view.mask) == ViewStack.of_shape(view.shape).shrink(view.mask)
    axes = zip(view.shape, view.strides, strict=True)
    return look.shrink(tuple((0, 1 if stride == 0 else size) for size, stride in axes)).contiguous
