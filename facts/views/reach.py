"""What a view touches: whether all of it is there, and whether it shows an element more than once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import repeat
from typing import cast

from schedulog.errors import GraphError
from schedulog.facts.symbolic import less, render, sizes_text, upper_bound
from schedulog.facts.views.single import Mask, Shape, View, row_major


def check_reach(views: Sequence[View], base: Shape) -> None:
    """Raises GraphError SL225 if a view of the row shows an element that what is below it does not have.

    The first looks at a base of this shape, each other at what the one before shows. Views and bases of symbolic
    sizes are left out: whether they fit depends on the variables.
    """
    below = base
    for view in views:
        if view.contiguous and view.shape == below:
            continue
        if view.mask is not None:
            _check_mask(view, view.mask)
        count, reached = math.prod(below), span(view)
        if reached is not None and isinstance(count, int) and not 0 <= reached[0] <= reached[1] < count:
            raise GraphError("SL225", f"a view touches elements {reached[0]} to {reached[1]} of {count}",
                             reason=f"shape {sizes_text(view.shape)}, strides {sizes_text(view.strides)}, offset {view.offset} "
                             f"over a base of shape {sizes_text(below)}", help="hide what is not there by a mask")  # fmt: skip
        below = view.shape


def _check_mask(view: View, mask: Mask) -> None:
    """Refuses a mask that reaches beyond the shape; one that only variables could tell of passes."""
    for size, (begin, end) in zip(view.shape, mask, strict=True):
        if less(begin, 0) == 1 or less(end, begin) == 1 or less(size, end) == 1:
            shown = ", ".join(f"[{render(b)}, {render(e)}]" for b, e in mask)
            raise GraphError("SL225", f"a mask [{shown}] on a view of shape {sizes_text(view.shape)}",
                             reason="a mask names a part of the view: 0 <= begin <= end <= size")  # fmt: skip


def span(view: View) -> tuple[int, int] | None:
    """The first and the last element that the view touches; None for one that shows nothing, or has symbolic sizes."""
    if not isinstance(view.offset, int):
        return None
    first = last = view.offset
    bounds = zip(repeat(0), view.shape) if view.mask is None else view.mask
    for step, (begin, end) in zip(view.strides, bounds, strict=False):
        if not (isinstance(step, int) and isinstance(begin, int) and isinstance(end, int)) or end <= begin:
            return None
        if step >= 0:
            first, last = first + step * begin, last + step * (end - 1)
        else:
            first, last = first + step * (end - 1), last + step * begin
    return first, last


def shows_once(view: View) -> bool:
    """Whether no two indices surely show one element; False also where that cannot be told.

    An axis does not meet the others if its step leads past all that shorter steps reach together.
    """
    if view.size == 0 or view.strides == row_major(view.shape):
        return True
    axes = [
        (step, upper_bound(size) - 1)
        for step, size in zip(view.strides, view.shape, strict=True)
        if upper_bound(size) > 1
    ]
    if not all(isinstance(step, int) for step, _ in axes):
        return False
    reached = 0
    for step, last in sorted((abs(cast(int, step)), last) for step, last in axes):
        if step <= reached:
            return False
        reached += step * last
    return True
