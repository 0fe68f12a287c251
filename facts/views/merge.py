"""Two views in a row as one, where one view can express both."""

from __future__ import annotations

from collections.abc import Sequence

from schedulog.facts.symbolic import Size, Variable, less, lower_bound, surely_equal, upper_bound
from schedulog.facts.views.movement import pad, shrink
from schedulog.facts.views.reshape import reshape
from schedulog.facts.views.single import View, all_known, unravel


def merge(inner: View, outer: View) -> View | None:
    """The one view that shows what `outer` shows of `inner`, or None."""
    if inner.contiguous:
        return outer
    if 0 in outer.shape:  # nothing is shown, whatever is below; no mask could say less
        return View.create(outer.shape)
    if outer.contiguous:
        if outer.shape == inner.shape:
            return inner
        if outer.size == inner.size:
            reshaped = reshape(inner, outer.shape)
            if reshaped is not None:
                return reshaped
    if outer.mask is not None:
        return _merge_masked(inner, outer)
    if not all_known(outer.shape):
        return None
    return _merge_projected(inner, outer)


def _merge_masked(inner: View, outer: View) -> View | None:
    """What is visible of `outer` merged, and padded again."""
    assert outer.mask is not None
    # Where the mask shows all of its part is known without asking: symbolic bounds may not tell.
    merged = merge(inner, shrink(View.create(outer.shape, outer.strides, outer.offset), outer.mask))
    if merged is None:
        return None
    return pad(merged, tuple((b, s - e) for (b, e), s in zip(outer.mask, outer.shape, strict=True)))


class _Projection:
    """How an index of `outer` moves along each axis of `inner`.

    `origin[k]` is where index 0 of `outer` stands on axis k of `inner`; `steps[k]` lists (axis of outer, step along
    axis k).
    """

    def __init__(self, inner: View, outer: View) -> None:
        self.inner, self.outer = inner, outer
        self.origin = unravel(inner.shape, outer.offset)
        self.steps: list[list[tuple[int, Size]]] = [[] for _ in inner.shape]
        self.strides: list[Size] = [0] * len(outer.shape)
        for axis, stride in enumerate(outer.strides):
            if stride != 0:
                self._add(axis, unravel(inner.shape, outer.offset + stride))

    def _add(self, axis: int, reached: Sequence[Size]) -> None:
        for k, (start, end) in enumerate(zip(self.origin, reached, strict=True)):
            step = end - start
            if step != 0:
                self.steps[k].append((axis, step))
                self.strides[axis] = self.strides[axis] + step * self.inner.strides[k]

    def position(self, k: int, size: Size) -> Size:
        """Where an index of `outer` stands on axis k of `inner`, times `size`, as an expression of that index.

        A sum that is multiplied by more than 1 gets indices of its own, which forgets that they are the same ones:
        what can be merged is then decided as in tinygrad 0.10.2, on whose decisions schedules depend.
        """
        steps, position = self.steps[k], self.origin[k]
        apart = size != 1 and len(steps) + (position != 0) > 1
        for axis, step in steps:
            position = position + _index(f"{axis}.{k}" if apart else f"{axis}", self.outer.shape[axis]) * step
        return position * size

    @property
    def offset(self) -> Size:
        """The position in the base of index 0 of `outer`."""
        pairs = zip(self.origin, self.inner.strides, strict=True)
        return sum((o * s for o, s in pairs), start=self.inner.offset)


def _index(name: str, size: Size) -> Size:
    assert isinstance(size, int)
    return 0 if size == 1 else Variable(name, 0, size - 1)


def _merge_projected(inner: View, outer: View) -> View | None:
    projection = _Projection(inner, outer)
    extents = _extents(projection)
    if extents is None:
        return None
    shape = tuple(size for size, _ in extents)
    if shape != inner.shape:
        reshaped = reshape(inner, shape)
        return None if reshaped is None or reshaped.shape == inner.shape else merge(reshaped, outer)
    if inner.mask is not None:
        seen = _seen_through(projection, [position for _, position in extents])
        if seen is None:
            return None
        if seen != tuple((0, s) for s in outer.shape):
            return merge(inner, View.create(outer.shape, outer.strides, outer.offset, seen))
    return View.create(outer.shape, tuple(projection.strides), projection.offset)


def _extents(projection: _Projection) -> list[tuple[Size, Size]] | None:
    """(size, position) of the fewest axes of `inner` to merge, so that no position runs over the end of its axis.

    Merging more than needed would make it harder to see through the mask of `inner`.
    """
    extents: list[tuple[Size, Size]] = []
    size: Size = 1
    position: Size = 0
    for k in reversed(range(len(projection.inner.shape))):
        position = position + projection.position(k, size)
        size = size * projection.inner.shape[k]
        if less(position, size) == 1 and lower_bound(position) >= 0:
            extents.append((size, position))
            size, position = 1, 0
    return extents[::-1] if surely_equal(position, 0) else None


def _seen_through(projection: _Projection, positions: Sequence[Size]) -> tuple[tuple[int, int], ...] | None:
    """The range of each axis of `outer` that the mask of `inner` leaves visible; None if that is no box."""
    begins, ends = [0] * len(projection.outer.shape), [_known(s) for s in projection.outer.shape]
    unclear = False
    for k, (begin, end) in enumerate(projection.inner.mask or ()):
        if lower_bound(begin - lower_bound(positions[k])) <= 0 and less(upper_bound(positions[k]), end) == 1:
            continue
        steps, origin = projection.steps[k], projection.origin[k]
        if not steps and ends:
            if less(origin, begin) != 1 and less(origin, end) != 0:
                return None  # whether it is hidden depends on the variables
            ends[0] = 0
        elif len(steps) != 1:
            unclear = True
        else:
            window = _window(begin - origin, end - origin, steps[0][1])
            if window is None:
                return None
            axis = steps[0][0]
            begins[axis], ends[axis] = max(begins[axis], window[0]), min(ends[axis], window[1])
    seen = tuple(zip(begins, ends, strict=True))
    narrowed = any((b, e) != (0, s) for (b, e), s in zip(seen, projection.outer.shape, strict=True))
    return None if unclear and not narrowed else seen


def _known(size: Size) -> int:
    assert isinstance(size, int)
    return size


def _window(begin: Size, end: Size, step: Size) -> tuple[int, int] | None:
    """The i with begin <= i*step < end, as (first, last + 1)."""
    if not (isinstance(begin, int) and isinstance(end, int) and isinstance(step, int)):
        return None
    if step > 0:
        return -(-begin // step), (end - 1) // step + 1
    return -(-(end - 1) // step), begin // step + 1
