"""Views applied to numpy arrays: stacks of (shape, strides, offset, mask) with all sizes known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from schedulog.errors import DeviceError
from schedulog.facts.dtype import DType
from schedulog.facts.symbolic import Size, evaluate, variables
from schedulog.facts.view import View, ViewStack

Array = NDArray[Any]
Values = Mapping[str, int]


def number(size: Size, values: Values) -> int:
    """The size where variables have these values, else the one they are bound to. Or raises GraphError (SL220)."""
    if isinstance(size, int):
        return size
    bound = {v.name: v.value for v in variables(size) if v.value is not None}
    return evaluate(size, {**bound, **values})


def numbers(sizes: Sequence[Size], values: Values) -> tuple[int, ...]:
    """Each size as `number` gives it."""
    return tuple(number(size, values) for size in sizes)


@dataclass(frozen=True, slots=True)
class Look:
    """One view with known sizes: element i, j, ... is flat[offset + sum of index * stride] inside the mask, else 0."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    mask: tuple[tuple[int, int], ...] | None

    def window(self, bounds: Sequence[tuple[int, int]]) -> Look:
        """The part [begin, end) of each axis."""
        mask = self.mask and tuple(
            (min(max(b, begin), end) - begin, min(max(e, begin), end) - begin)
            for (b, e), (begin, end) in zip(self.mask, bounds, strict=True)
        )
        offset = self.offset + sum(b * s for (b, _), s in zip(bounds, self.strides, strict=True))
        return Look(tuple(end - begin for begin, end in bounds), self.strides, offset, mask)

    def permute(self, order: Sequence[int]) -> Look:
        """Axis k of the result is axis `order[k]`."""
        mask = self.mask and tuple(self.mask[i] for i in order)
        shape, strides = tuple(self.shape[i] for i in order), tuple(self.strides[i] for i in order)
        return Look(shape, strides, self.offset, mask)

    def of(self, flat: Array) -> Array:
        """What this shows of a flat array: shares its memory where there is no mask.

        Raises DeviceError (SL521) if an element outside `flat` would be read.
        """
        if self.mask is None:
            return self._strided(flat)
        result = np.zeros(self.shape, flat.dtype)
        if all(begin < end for begin, end in self.mask):
            inside = Look(self.shape, self.strides, self.offset, None).window(self.mask)
            result[tuple(slice(b, e) for b, e in self.mask)] = inside._strided(flat)
        return result

    def touched(self) -> tuple[int, int] | None:
        """The first and the last element that is read; None if none is."""
        inside = self if self.mask is None else self.window(self.mask)
        return None if any(length <= 0 for length in inside.shape) else inside._reach()

    def _reach(self) -> tuple[int, int]:
        """The first and the last element that the strides touch."""
        reach = [(size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True)]
        return self.offset + sum(r for r in reach if r < 0), self.offset + sum(r for r in reach if r > 0)

    def _strided(self, flat: Array) -> Array:
        if 0 in self.shape:
            return np.zeros(self.shape, flat.dtype)
        first, last = self._reach()
        if first < 0 or last >= flat.size:
            raise DeviceError(
                "SL521", f"a view touches elements {first} to {last} of {flat.size}", where=str(self)
            )
        step = flat.itemsize
        return as_strided(flat[self.offset :], self.shape, tuple(s * step for s in self.strides))


def look(view: View, values: Values) -> Look:
    """The view with its sizes known. Raises GraphError (SL220) if a variable has no value."""
    mask = tuple((number(b, values), number(e, values)) for b, e in view.mask or ())
    shape, strides = numbers(view.shape, values), numbers(view.strides, values)
    return Look(shape, strides, number(view.offset, values), mask or None)


def typed(flat: Array, dtype: DType) -> Array:
    """The same memory as an array of another type."""
    kind = dtype.to_numpy()
    return flat if flat.dtype == kind else flat.view(kind)


def flattened(value: Array) -> Array:
    """The elements in row-major order, as a flat array; shares memory where it can."""
    return np.ascontiguousarray(value).reshape(-1)


def inner(stack: ViewStack, value: Array, values: Values) -> Array:
    """The flat array that the outermost view of `stack` looks at, for a base of this value."""
    flat = flattened(value)
    for view in stack.views[:-1]:
        flat = flattened(look(view, values).of(flat))
    return flat


def show(stack: ViewStack, value: Array, values: Values) -> Array:
    """What `stack` shows of a value; what a mask hides is 0."""
    return look(stack.views[-1], values).of(inner(stack, value, values))


def store(stack: ViewStack, flat: Array, value: Array, values: Values) -> None:
    """Write `value` into the elements of `flat` that `stack` shows; elements a mask hides are dropped."""
    if len(stack.views) == 1 and not stack.masked:
        look(stack.views[0], values).of(flat)[...] = value
        return
    places = positions(stack, np.arange(flat.size), values)
    seen = places >= 0
    flat[places[seen]] = np.broadcast_to(value, places.shape)[seen]


def positions(stack: ViewStack, base: NDArray[np.int64], values: Values) -> NDArray[np.int64]:
    """Which element of memory each element shown is, given which ones the base's are; -1 where a mask hides it."""
    return show(stack, base + 1, values) - 1


def count(shape: Sequence[Size], values: Values) -> int:
    """The number of elements of a shape."""
    return math.prod(numbers(shape, values))
