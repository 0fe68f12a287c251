"""Movement operations on one view: pad, shrink, expand, permute, flip. Reshape has its own file."""

from __future__ import annotations

from collections.abc import Sequence

from schedulog.errors import GraphError
from schedulog.facts.symbolic import (
    Size,
    bound_value,
    equal,
    less,
    maximum,
    minimum,
    render,
    surely_equal,
    variables,
)
from schedulog.facts.views.single import Mask, Shape, View

Ranges = Sequence[tuple[Size, Size]]


def refused(operation: str, shape: Shape, argument: object, reason: str) -> GraphError:
    """The error for a movement operation that `shape` does not allow."""
    return GraphError("SL221", f"{operation} of shape {shape_text(shape)} by {argument}", reason=reason)


def shape_text(shape: Sequence[Size]) -> str:
    """A shape as people write it."""
    return "(" + ", ".join(render(s) for s in shape) + ("," if len(shape) == 1 else "") + ")"


def _ranges_text(ranges: Ranges) -> str:
    return "(" + ", ".join(f"({render(b)}, {render(e)})" for b, e in ranges) + ")"


def _less(a: Size, b: Size) -> bool:
    """Whether a < b, whatever the variables are, or for the values that all of them are bound to."""
    comparison = less(a, b)
    if isinstance(comparison, int):
        return comparison == 1
    return all(v.value is not None for v in variables(comparison)) and bound_value(comparison) == 1


def pad(view: View, widths: Ranges) -> View:
    """`begin` zeros before and `end` zeros after each axis. Raises GraphError SL221 if one is negative, for bound values."""
    if len(widths) != len(view.shape):
        raise refused("pad", view.shape, _ranges_text(widths), "one (begin, end) for each axis is needed")
    if any(_less(b, 0) or _less(e, 0) for b, e in widths):
        raise refused("pad", view.shape, _ranges_text(widths), "padding cannot be negative")
    if all(surely_equal(b, 0) and surely_equal(e, 0) for b, e in widths):
        return view
    shown = tuple((b, s + b) for s, (b, _) in zip(view.shape, widths, strict=True))
    return _resized(view, [(-b, s + e) for s, (b, e) in zip(view.shape, widths, strict=True)], shown)


def shrink(view: View, ranges: Ranges) -> View:
    """The part from `begin` up to, not including, `end` of each axis. Raises GraphError SL221 outside the shape, for bound values."""
    if len(ranges) != len(view.shape):
        raise refused("shrink", view.shape, _ranges_text(ranges), "one (begin, end) for each axis is needed")
    for s, (b, e) in zip(view.shape, ranges, strict=True):
        if _less(b, 0) or _less(e, b) or _less(s, e):
            raise refused("shrink", view.shape, _ranges_text(ranges), "needs 0 <= begin <= end <= size")
    return _resized(view, ranges, None)


def _resized(view: View, ranges: Ranges, shown: Mask | None) -> View:
    """The window `ranges`, which may reach beyond the shape where `shown` hides it."""
    offset = view.offset
    for stride, (begin, _) in zip(view.strides, ranges, strict=True):
        offset = offset + stride * begin
    mask = shown
    if view.mask is not None:
        moved = tuple(_moved(m, r) for m, r in zip(view.mask, ranges, strict=True))
        mask = moved if shown is None else tuple(_overlap(m, s) for m, s in zip(moved, shown, strict=True))
    return View.create(tuple(end - begin for begin, end in ranges), view.strides, offset, mask)


def _moved(mask: tuple[Size, Size], window: tuple[Size, Size]) -> tuple[Size, Size]:
    begin, end = window
    first, last = (maximum(0, minimum(edge - begin, end - begin)) for edge in mask)
    return first, last


def _overlap(a: tuple[Size, Size], b: tuple[Size, Size]) -> tuple[Size, Size]:
    return maximum(a[0], b[0]), minimum(a[1], b[1])


def expand(view: View, shape: Shape) -> View:
    """Axes of one element repeated. Raises GraphError SL221 if another axis would change."""
    if len(shape) != len(view.shape):
        raise refused("expand", view.shape, shape_text(shape), "the number of axes differs")
    for old, new in zip(view.shape, shape, strict=True):
        if isinstance(new, int) and new >= 0 and old in (new, 1):
            continue
        if old != 1 and equal(old, new) is False:
            raise refused(
                "expand", view.shape, shape_text(shape), f"only axes of 1 grow, not one of {render(old)}"
            )
        if _less(new, 0):
            raise refused("expand", view.shape, shape_text(shape), "a size cannot be negative")
    if 0 in view.shape:
        return View.create(shape)
    if view.mask is None:
        return View.create(shape, view.strides, view.offset)
    mask = tuple(
        ((0, new) if m == (0, 1) else (0, 0)) if equal(old, new) is False else m
        for m, old, new in zip(view.mask, view.shape, shape, strict=True)
    )
    return View.create(shape, view.strides, view.offset, mask)


def permute(view: View, order: Sequence[int]) -> View:
    """Axis k of the result is axis `order[k]`. Raises GraphError SL221 if `order` is not a permutation."""
    if sorted(order) != list(range(len(view.shape))):
        raise refused("permute", view.shape, tuple(order), "each axis has to occur once")
    mask = None if view.mask is None else tuple(view.mask[a] for a in order)
    return View.create(
        tuple(view.shape[a] for a in order), tuple(view.strides[a] for a in order), view.offset, mask
    )


def flip(view: View, axes: Sequence[bool]) -> View:
    """The axes where `axes` is true, backwards. Raises GraphError SL221 if there is not one bool for each axis."""
    if len(axes) != len(view.shape):
        raise refused("flip", view.shape, tuple(axes), "one bool for each axis is needed")
    offset, strides, mask = view.offset, list(view.strides), list(view.mask or ())
    for k, s in enumerate(view.shape):
        if axes[k]:
            offset = offset + (s - 1) * strides[k]
            strides[k] = -strides[k]
            if mask:
                mask[k] = (s - mask[k][1], s - mask[k][0])
    return View.create(view.shape, tuple(strides), offset, tuple(mask) if mask else None)
