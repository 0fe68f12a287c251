"""Basic indexing: integers, slices, None and Ellipsis become one window per axis and a shape. Bounds may be symbolic."""

from __future__ import annotations

import operator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from schedulog.errors import GraphError
from schedulog.facts.build import reshape
from schedulog.facts.compose import Window, select
from schedulog.facts.node import Node, Shape
from schedulog.facts.symbolic import Expr, Size, less


@dataclass(frozen=True, slots=True)
class Selection:
    """The positions chosen of each axis, and the shape the chosen elements have in the end."""

    windows: tuple[Window, ...]
    shape: Shape

    def window(self, source: Node, label: str = "") -> Node:
        """The chosen elements with every axis of the source still there."""
        return select(source, self.windows, label)

    def of(self, source: Node, label: str = "") -> Node:
        """The chosen elements in the shape they have in the end."""
        return reshape(self.window(source, label), self.shape, label)


def selection(key: Any, shape: Shape) -> Selection:
    """What `[key]` chooses of a value of `shape`, as in numpy.

    Raises GraphError: SL215 an integer out of range, SL218 too many indices or anything but basic indexing.
    """
    windows: list[Window] = []
    sizes: list[Size] = []
    for part in _full(key if isinstance(key, tuple) else (key,), len(shape)):
        if part is None:
            sizes.append(1)
            continue
        size = shape[len(windows)]
        if isinstance(part, slice):
            windows.append(_slice(part, size))
            sizes.append(windows[-1].size)
        else:
            windows.append(_single(part, size, len(windows)))
    return Selection(tuple(windows), tuple(sizes))


def _full(key: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    """The key with the Ellipsis, given or understood at the end, written out."""
    dots = [i for i, part in enumerate(key) if part is Ellipsis]
    used = sum(part is not None and part is not Ellipsis for part in key)
    if len(dots) > 1 or used > rank:
        what = "two Ellipses" if len(dots) > 1 else f"{used} indices of a value with {rank} axes"
        raise GraphError("SL218", what)
    at = dots[0] if dots else len(key)
    return key[:at] + (slice(None),) * (rank - used) + key[at + 1 :]


def _slice(part: slice, size: Size) -> Window:
    if isinstance(size, Expr) or isinstance(part.start, Expr) or isinstance(part.stop, Expr):
        return _symbolic_slice(part, size)
    try:
        return Window.of(range(*part.indices(size)))
    except (TypeError, ValueError) as error:
        raise GraphError("SL218", f"slice {part}", reason=str(error)) from None


def _symbolic_slice(part: slice, size: Size) -> Window:
    """As Python reads slices: negative bounds count from the end, bounds beyond the end mean the end.

    Which of these holds must be clear from the bounds of the variables, so that sizes stay sums of variables.
    """
    if part.step == -1 and part.start is None and part.stop is None:
        return Window(size - 1, -1, size)
    if part.step is not None and part.step != 1:
        raise GraphError("SL218", f"slice {part}",
                         reason="a symbolic axis takes no step but 1, or -1 over the whole axis")  # fmt: skip
    begin, end = (_bound(b, size, d) for b, d in ((part.start, 0), (part.stop, size)))
    return Window(begin, 1, 0 if _is_less(end, begin) else end - begin)


def _bound(given: Any, size: Size, default: Size) -> Size:
    if given is None:
        return default
    bound: Size = given if isinstance(given, Expr) else _integer(given)
    if _is_less(bound, 0):
        bound = bound + size
        return 0 if _is_less(bound, 0) else bound
    return size if _is_less(size, bound) else bound


def _is_less(one: Size, other: Size) -> bool:
    result = less(one, other)
    if isinstance(result, Expr):
        raise GraphError("SL218", f"a slice for which it is not clear whether {one} < {other}",
                         help="give the variables bounds that tell")  # fmt: skip
    return result == 1


def _single(part: Any, size: Size, axis: int) -> Window:
    at: Size = part if isinstance(part, Expr) else _integer(part)
    if less(at, 0) == 1:
        at = at + size
    if less(-1, at) != 1 or less(at, size) != 1:
        raise GraphError("SL215", f"index {part} on axis {axis} of size {size}")
    return Window(at, 1, 1)


def _integer(part: Any) -> int:
    if not isinstance(part, bool):
        with suppress(TypeError):
            return operator.index(part)
    raise GraphError("SL218", f"index of type {type(part).__name__}",
                     reason="only integers, slices, None and ... index a tensor",
                     help="take slices, or index numpy's array, x.numpy()[...]; in the graph, schedulog.combine.where(mask, x, other)"
                          " for masks, and Tensor.of(schedulog.facts.compose.gather(x.node, positions.node, axis))")  # fmt: skip
