"""Stacks of views: what movement operations do to a base, composed, compared, inverted and indexed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from schedulog.errors import GraphError
from schedulog.facts.lazy import lazy
from schedulog.facts.symbolic import (
    Size,
    Variable,
    less,
    prod,
    substitute,
    surely_equal,
    upper_bound,
)
from schedulog.facts.views import movement
from schedulog.facts.views.index import locate, stride_of
from schedulog.facts.views.json import view_from_json, view_to_json
from schedulog.facts.views.merge import merge
from schedulog.facts.views.reshape import reshape
from schedulog.facts.views.single import Shape, View, plain_ints

__all__ = ["View", "ViewStack"]


@dataclass(frozen=True, init=False)
class ViewStack:
    """How a consumer looks at a base: a row of views, the last the outermost, each looking at what the one before shows.

    Equal stacks are equal values; the hash is kept.
    """

    views: tuple[View, ...]

    def __init__(self, views: tuple[View, ...]) -> None:
        # As the dataclass would do it, at half the cost.
        self.__dict__["views"] = views

    @staticmethod
    def of_shape(shape: Shape) -> ViewStack:
        """The plain look at a base of this shape."""
        shape = tuple(shape)
        return _plain(shape) if plain_ints(shape) else ViewStack((View.create(shape),))

    def __hash__(self) -> int:
        return self._hash

    @lazy
    def _hash(self) -> int:
        return hash(self.views)

    @property
    def shape(self) -> Shape:
        """The shape the consumer sees."""
        return self.views[-1].shape

    @property
    def size(self) -> int:
        """Number of elements the consumer sees, symbolic axes at their maximum."""
        return self.views[-1].size

    @property
    def contiguous(self) -> bool:
        """True if the consumer sees the base from its first element on, in order: one view, and that contiguous."""
        return len(self.views) == 1 and self.views[0].contiguous

    @lazy
    def masked(self) -> bool:
        """True if some view has a mask, so that the consumer may see zeros that are not in the base."""
        return any(view.mask is not None for view in self.views)

    def covers(self, size: int) -> bool:
        """True if this shows all `size` elements of the base, each once and in order."""
        return self.contiguous and self.size == size

    def then(self, outer: ViewStack) -> ViewStack:
        """`outer` looking at what this shows, in as few views as can express it."""
        stack = self
        for view in outer.views:
            stack = ViewStack((*stack.views, view)).simplify()
        return stack

    def simplify(self) -> ViewStack:
        """The stack with its last views merged as long as one view can express two."""
        views = self.views
        while len(views) >= 2:
            merged = merge(views[-2], views[-1])
            if merged is None:
                break
            views = (*views[:-2], merged)
        return self if views is self.views else ViewStack(views)

    def _outermost(self, view: View) -> ViewStack:
        return ViewStack((*self.views[:-1], view))

    def reshape(self, shape: Shape) -> ViewStack:
        """The same elements in another shape. Raises GraphError SL221 if their number differs."""
        shape = tuple(shape)
        reshaped = reshape(self.views[-1], shape)
        if reshaped is None:
            return ViewStack((*self.views, View.create(shape)))
        return self._outermost(reshaped)

    def permute(self, order: Sequence[int]) -> ViewStack:
        """Axis k of the result is axis `order[k]`. Raises GraphError SL221."""
        return self._outermost(movement.permute(self.views[-1], order))

    def expand(self, shape: Shape) -> ViewStack:
        """Axes of one element repeated. Raises GraphError SL221 if another axis would change."""
        return self._outermost(movement.expand(self.views[-1], tuple(shape)))

    def pad(self, widths: movement.Ranges) -> ViewStack:
        """(begin, end) zeros around each axis. Raises GraphError SL221 if negative."""
        return self._outermost(movement.pad(self.views[-1], tuple(widths)))

    def shrink(self, ranges: movement.Ranges) -> ViewStack:
        """The part from begin up to, not including, end of each axis. Raises GraphError SL221 outside the shape."""
        return self._outermost(movement.shrink(self.views[-1], tuple(ranges)))

    def flip(self, axes: Sequence[bool]) -> ViewStack:
        """The axes where `axes` is true, backwards. Raises GraphError SL221 for another number of axes."""
        return self._outermost(movement.flip(self.views[-1], axes))

    def blocks(self, sizes: Shape) -> ViewStack:
        """The same look at a base whose every element is a row-major block of `sizes`, which become the last axes."""
        return ViewStack(tuple(_of_blocks(view, sizes) for view in self.views))

    def index(self, indices: Sequence[Size]) -> tuple[Size, tuple[Size, ...]]:
        """The position in the base that the element at `indices` shows, and the guards under which it shows it.

        `indices` has one entry for each axis, within the shape. Each guard is a condition that must be 1 for the
        element to come from the base (elsewhere it is 0); a guard that never holds makes the guards (0,). Where all
        guards hold, the position lies within the base. Raises GraphError SL221 for another number of indices.
        """
        if len(indices) != len(self.shape):
            raise movement.refused("index", self.shape, list(indices), "one index for each axis is needed")
        return locate(self.views, indices)

    def invert(self, shape: Shape) -> ViewStack | None:
        """The view back: a base of `shape` as a look at what this shows, or None.

        It exists where what is not masked shows every element of the base exactly once.
        """
        bases = (tuple(shape), *(view.shape for view in self.views[:-1]))
        inverted = []
        for view, base in zip(reversed(self.views), reversed(bases), strict=True):
            back = _inverted(view, base)
            if back is None:
                return None
            inverted.append(back)
        return ViewStack(tuple(inverted)).reshape(tuple(shape))

    def real_strides(self) -> tuple[Size | None, ...]:
        """How far one step along each axis goes in the base, masks ignored; None where that is not constant."""
        if len(self.views) == 1 and self.views[0].mask is None:
            return self.views[0].strides
        axes = [Variable(f"axis {k}", 0, max(0, upper_bound(s) - 1)) for k, s in enumerate(self.shape)]
        position, _ = self.index([a if a.max else 0 for a in axes])
        return tuple(stride_of(position, axis, axes) for axis in axes)

    def variables(self) -> frozenset[Variable]:
        """The variables that occur anywhere in the views."""
        if len(self.views) == 1:
            return self.views[0].variables
        return frozenset(v for view in self.views for v in view.variables)

    def substitute(self, mapping: Mapping[Variable, Size]) -> ViewStack:
        """The stack with variables replaced."""
        return ViewStack(tuple(view.map(lambda size: substitute(size, mapping)) for view in self.views))

    def bound(self) -> ViewStack:
        """The stack with each bound variable replaced by its value."""
        return self.substitute({v: v.value for v in self.variables() if v.value is not None})

    def to_json(self) -> list[dict[str, Any]]:
        """A list of {shape, strides, offset, mask}, the outermost view last."""
        return [view_to_json(view) for view in self.views]

    @staticmethod
    def from_json(obj: Any) -> ViewStack:
        """What `to_json` wrote, or a view of the recorded corpus. Raises GraphError SL222 for anything else."""
        if not isinstance(obj, list) or not obj:
            raise GraphError(
                "SL222", f"{str(obj)[:80]} is not a row of views", reason="expected a list of views"
            )
        return ViewStack(tuple(view_from_json(entry) for entry in obj))


@lru_cache(maxsize=4096)
def _plain(shape: Shape) -> ViewStack:
    return ViewStack((View.create(shape),))


def _of_blocks(view: View, sizes: Shape) -> View:
    whole, block = View.create(sizes), prod(sizes)
    strides = (*(stride * block for stride in view.strides), *whole.strides)
    mask = None if view.mask is None else (*view.mask, *((0, size) for size in sizes))
    return View.create((*view.shape, *sizes), strides, view.offset * block, mask)


def _inverted(view: View, base: Shape) -> View | None:
    """A look at what `view` shows, in the order of the base; None if some element is missing or shown twice."""
    whole = View.create(view.shape)
    if view.mask is not None:
        whole, view = movement.shrink(whole, view.mask), movement.shrink(view, view.mask)
    backwards = [less(s, 0) == 1 for s in view.strides]
    whole, view = movement.flip(whole, backwards), movement.flip(view, backwards)
    order = sorted(range(len(view.shape)), key=lambda k: -upper_bound(view.strides[k]))
    whole, view = movement.permute(whole, order), movement.permute(view, order)
    return whole if view.contiguous and surely_equal(prod(view.shape), prod(base)) else None
