"""Reshape of one view, where one view can express it."""

from __future__ import annotations

from dataclasses import dataclass

from schedulog.errors import GraphError
from schedulog.facts.symbolic import Size, bound_value, equal, less, prod, surely_equal
from schedulog.facts.views.movement import refused, shape_text
from schedulog.facts.views.single import Mask, Shape, View, all_known


def reshape(view: View, shape: Shape) -> View | None:
    """The view with the same elements in another shape, or None if that takes a second view.

    Raises GraphError SL221 if the number of elements differs, or where only a symbolic shape could tell.
    """
    if view.shape == shape:
        return view
    _check_size(view, shape)
    if 0 in view.shape:
        return View.create(shape)
    if not shape and view.mask is not None and any(b == e for b, e in view.mask):
        return None
    if view.contiguous:
        return View.create(shape)
    if all_known(view.shape) and not all_known(shape):
        return _with_symbolic_sizes(view, shape)
    strides = _split_strides(axis_runs(view), shape)
    if strides is None:
        return None
    mask = _reshaped_mask(view, shape)
    if mask is None:
        return None
    offset = view.offset + _first(view.mask, view.strides) - _first(mask, strides)
    return View.create(shape, strides, offset, mask)


def _check_size(view: View, shape: Shape) -> None:
    for s in shape:
        if s < 0 if isinstance(s, int) else less(s, 0) == 1:
            raise refused("reshape", view.shape, shape_text(shape), "a size cannot be negative")
    if equal(prod(view.shape), prod(shape)) is False:
        raise refused("reshape", view.shape, shape_text(shape), "the number of elements differs")


def _first(mask: Mask | None, strides: Shape) -> Size:
    """Distance of the first visible element from index 0."""
    return sum((b * s for (b, _), s in zip(mask or (), strides, strict=False)), start=0)


def _with_symbolic_sizes(view: View, shape: Shape) -> View:
    """Sizes replaced by variables bound to them, axis by axis: a strided view allows no other symbolic reshape."""
    fits = len(shape) == len(view.shape) and all(
        _has_value(new, old) for old, new in zip(view.shape, shape, strict=False)
    )
    if not fits:
        raise refused(
            "reshape",
            view.shape,
            shape_text(shape),
            "a view that is not contiguous takes a symbolic shape only axis by axis, with values equal to its sizes",
        )
    return View(shape, view.strides, view.offset, view.mask)


def _has_value(size: Size, value: Size) -> bool:
    try:
        return bound_value(size) == value
    except GraphError:
        return False


@dataclass(frozen=True, slots=True)
class AxisRun:
    """Neighbouring axes that count as one: `size` elements `stride` apart. Beyond `moving` elements the stride is 0."""

    size: Size
    stride: Size
    moving: Size


def axis_runs(view: View) -> list[AxisRun]:
    """The axes of the view, merged where one stride serves both.

    An axis joins the one before it if it continues its steps, or if only one index of the one before is visible.
    """
    runs: list[AxisRun] = []
    fixed = False
    for k, (size, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        if size == 1 and runs:
            continue
        last = runs[-1] if runs else None
        if last is None:
            runs.append(AxisRun(size, stride, 0 if stride == 0 else size))
        elif fixed:
            runs[-1] = AxisRun(last.size * size, stride, size)
        elif last.stride == size * stride:
            runs[-1] = AxisRun(last.size * size, stride, last.moving * size)
        else:
            runs.append(AxisRun(size, stride, size))
        fixed = size == 1 if view.mask is None else view.mask[k][1] - view.mask[k][0] == 1
    return runs


def _split_strides(runs: list[AxisRun], shape: Shape) -> Shape | None:
    """Strides for `shape`, innermost axes first; None if a new axis would reach over the end of a run."""
    strides: list[Size] = []
    for run in reversed(runs):
        taken: Size = 1
        stride = run.stride
        while len(strides) < len(shape) and less(run.size, taken) != 1 and not surely_equal(taken, run.size):
            size = shape[-1 - len(strides)]
            strides.append(stride * taken)
            taken = taken * size
            if less(taken, run.moving) == 0:
                stride = 0
        if not surely_equal(taken, run.size):
            return None
    return (0,) * (len(shape) - len(strides)) + tuple(reversed(strides))


class _MaskedAxes:
    """The axes of a masked view, innermost first, taken apart and put together to fit other sizes."""

    def __init__(self, view: View, mask: tuple[tuple[int, int], ...]) -> None:
        self._rest = list(zip(view.shape, mask, strict=True))
        self.next()

    def next(self) -> None:
        """Start on the next axis."""
        self.size, (self.begin, self.end) = self._rest.pop() if self._rest else (1, (0, 1))
        self.taken: Size = 1

    def join(self) -> bool:
        """Let the next axis out count with this one; False if the visible part would not be one range."""
        size, (begin, end) = self._rest.pop() if self._rest else (1, (0, 1))
        partly = (self.begin, self.end) != (0, self.size) and self.begin != self.end
        if not (isinstance(self.size, int) and isinstance(size, int)) or (partly and end - begin != 1):
            return False
        self.begin, self.end = begin * self.size + self.begin, (end - 1) * self.size + self.end
        self.size = self.size * size
        return True

    def split(self, step: int, taken: int) -> tuple[int, int] | None:
        """The visible range of the innermost `step` elements in units of `taken`; None if it varies."""
        if not isinstance(self.size, int) or self.size % step:
            return None
        ragged = self.begin % step or self.end % step
        if ragged and self.begin // step != (self.end - 1) // step:
            return None
        return self.begin % step // taken, (self.end - 1) % step // taken + 1

    def whole(self, taken: int) -> tuple[int, int]:
        """The visible range of what is left, in units of `taken`."""
        return self.begin // taken, (self.end - 1) // taken + 1


def _reshaped_mask(view: View, shape: Shape) -> Mask | None:
    """The mask of the reshaped view, or None if the visible elements are no box in the new shape."""
    if view.mask is None:
        return tuple((0, s) for s in shape)
    known = tuple((b, e) for b, e in view.mask if isinstance(b, int) and isinstance(e, int))
    if len(known) != len(view.mask):
        return None
    axes = _MaskedAxes(view, known)
    mask: list[tuple[int, int]] = []
    taken = 1
    while len(mask) < len(shape):
        step = shape[-1 - len(mask)] * taken
        if axes.size == step:
            mask.append(axes.whole(taken))
            axes.next()
            taken = 1
        elif not isinstance(step, int) or not isinstance(axes.size, int):
            return None
        elif axes.size > step:
            part = axes.split(step, taken)
            if part is None:
                return None
            mask.append(part)
            taken = step
        elif not axes.join():
            return None
    return tuple(reversed(mask))
