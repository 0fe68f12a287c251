"""One view: how a multi-dimensional index becomes a position in a flat base, and where it shows nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from schedulog.errors import GraphError
from schedulog.facts.lazy import lazy
from schedulog.facts.symbolic import (
    Size,
    Variable,
    less,
    quotient,
    remainder,
    sizes_text,
    upper_bound,
    variables,
)

Shape = tuple[Size, ...]
Mask = tuple[tuple[Size, Size], ...]

MOST_AXES: Final = 64
"""As many as an array of numpy's has, in which values are given and asked for."""


def check_axes(shape: Shape, where: str = "") -> None:
    """Raises GraphError SL227 for a shape of more axes than an array can have."""
    if len(shape) > MOST_AXES:
        raise GraphError("SL227", f"a shape of {len(shape):,} axes", where=where,
                         reason=f"an array has at most {MOST_AXES}", help="reshape it to fewer axes")  # fmt: skip


@dataclass(frozen=True, init=False)
class View:
    """Index i shows the element `offset + sum(i[k] * strides[k])` of the base, or 0 where `mask` leaves i out.

    `mask` gives the visible range (begin, end) of each axis, or is None where all is visible. Make views with
    `View.create`, which brings them into canonical form.
    """

    shape: Shape
    strides: Shape
    offset: Size
    mask: Mask | None

    def __init__(self, shape: Shape, strides: Shape, offset: Size, mask: Mask | None) -> None:
        # As the dataclass would do it, at a third of the cost: views are made by the thousand.
        self.__dict__.update(shape=shape, strides=strides, offset=offset, mask=mask)

    @staticmethod
    def create(
        shape: Shape, strides: Shape | None = None, offset: Size = 0, mask: Mask | None = None
    ) -> View:
        """The canonical view: row-major where no strides are given.

        An axis of one element, or of which one element is visible, gets stride 0 (what it adds is in the offset); a
        mask that hides nothing is None; a mask that hides all is (0, 0) on every axis. Raises GraphError SL221 for a
        negative size, SL227 for too many axes.
        """
        check_axes(shape)
        for s in shape:
            if isinstance(s, int) and s < 0:
                raise GraphError(
                    "SL221", f"a view of shape {sizes_text(shape)}", reason="a size cannot be negative"
                )
        if strides is None and mask is None and type(offset) is int and not offset and plain_ints(shape):
            return _plain(shape)
        if 0 in shape:
            return View(shape, (0,) * len(shape), 0, None)
        strides = row_major(shape) if strides is None else _without_unit_axes(shape, strides)
        if mask is not None and all(m == (0, s) for m, s in zip(mask, shape, strict=True)):
            mask = None
        if mask is None:
            return View(shape, strides, offset, None)
        if any(less(begin, end) == 0 for begin, end in mask):
            return View(shape, (0,) * len(shape), 0, ((0, 0),) * len(shape))
        fixed = [less(begin + 1, end) == 0 for begin, end in mask]
        for only, stride, (begin, _) in zip(fixed, strides, mask, strict=True):
            if only:
                offset = offset + stride * begin
        return View(shape, tuple(0 if f else s for f, s in zip(fixed, strides, strict=True)), offset, mask)

    def __hash__(self) -> int:
        return self._hash

    @lazy
    def _hash(self) -> int:
        # None hashes by its address, which differs between processes.
        return hash((self.shape, self.strides, self.offset, self.mask or ()))

    @lazy
    def contiguous(self) -> bool:
        """True if index and position count alike: offset 0, no mask, row-major strides (0 on axes of one element)."""
        if 0 in self.shape:
            return True
        return self.offset == 0 and self.mask is None and self.strides == row_major(self.shape)

    @lazy
    def size(self) -> int:
        """Number of elements, symbolic axes at their maximum."""
        count = math.prod(self.shape)
        return count if isinstance(count, int) else math.prod(map(upper_bound, self.shape))

    def sizes(self) -> tuple[Size, ...]:
        """Every number of the view, as one tuple."""
        return (*self.shape, *self.strides, self.offset, *(s for pair in self.mask or () for s in pair))

    @lazy
    def variables(self) -> frozenset[Variable]:
        """The variables that occur anywhere in the view."""
        return frozenset(v for s in self.sizes() if not isinstance(s, int) for v in variables(s))

    def map(self, change: Callable[[Size], Size]) -> View:
        """The view with every number changed, in canonical form."""
        mask = None if self.mask is None else tuple((change(b), change(e)) for b, e in self.mask)
        return View.create(
            tuple(map(change, self.shape)), tuple(map(change, self.strides)), change(self.offset), mask
        )


def plain_ints(shape: Sequence[Size]) -> bool:
    """Whether nothing but ints of Python's own type occurs, so that equal shapes are alike in all."""
    return _INTS.issuperset(map(type, shape))


_INTS: Final = frozenset({int})


@lru_cache(maxsize=4096)
def _plain(shape: Shape) -> View:
    """The row-major view of a shape: every operation on plain values asks for it, so the latest are remembered."""
    return View(shape, (0,) * len(shape) if 0 in shape else row_major(shape), 0, None)


def row_major(shape: Shape) -> Shape:
    """Strides of an array stored row by row, with 0 on axes of one element."""
    strides: list[Size] = []
    step: Size = 1
    for s in reversed(shape):
        if s == 1:
            strides.append(0)
        else:
            strides.append(step)
            step = step * s
    strides.reverse()
    return tuple(strides)


def _without_unit_axes(shape: Shape, strides: Shape) -> Shape:
    if 1 not in shape:
        return strides
    return tuple([0 if s == 1 else stride for s, stride in zip(shape, strides, strict=True)])


def unravel(shape: Shape, position: Size) -> list[Size]:
    """The index of the element at `position` of a row-major array of this shape."""
    index: list[Size] = []
    step: Size = 1
    for s in reversed(shape):
        index.append(remainder(quotient(position, step), s))
        step = step * s
    return index[::-1]


def all_known(sizes: Sequence[Size]) -> bool:
    """True if no variable occurs."""
    return plain_ints(sizes) or all(isinstance(s, int) for s in sizes)
