"""From the index of an element to its position in the base, through a row of views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from schedulog.facts.symbolic import (
    Size,
    Variable,
    less,
    lower_bound,
    prod,
    quotient,
    remainder,
    substitute,
    upper_bound,
    variables,
)
from schedulog.facts.views.reshape import axis_runs, reshape
from schedulog.facts.views.single import Shape, View

Located = tuple[Size, tuple[Size, ...]]


def locate(views: Sequence[View], indices: Sequence[Size]) -> Located:
    """(position in the base, guards) of the element at `indices`, as described at `ViewStack.index`."""
    if len(views) == 1:
        return _settled(*_step(views[0], indices, None))
    inside = _Inside()
    position, guards = _step(views[-1], indices, inside)
    for view in reversed(views[:-1]):
        view = _fewest_axes(view)
        position, more = _step(view, _unravel_inside(view.shape, position), inside)
        guards += more
    return _settled(inside.restore(position), [inside.restore(guard) for guard in guards])


class _Inside:
    """Stand-ins for indices, bounded by the masks that have been passed.

    Where a guard fails, the position is not used. So whatever follows a mask may count on it, and many divisions by
    the sizes of inner views can be decided.
    """

    def __init__(self) -> None:
        self._names: Iterator[int] = count()
        self._meaning: dict[Variable, Size] = {}

    def narrowed(self, index: Size, begin: Size, end: Size) -> Size:
        """`index`, known to be at least `begin` and less than `end`."""
        if isinstance(index, int):
            return index
        low, high = max(index.min, lower_bound(begin)), min(index.max, upper_bound(end) - 1)
        if low > high or (low, high) == (index.min, index.max):
            return index
        if low == high:
            return low
        # The name cannot be a user's: it is no word.
        stand_in = Variable(f"[{next(self._names)}]", low, high)
        self._meaning[stand_in] = index
        return stand_in

    def restore(self, size: Size) -> Size:
        """`size` with the indices themselves."""
        while not self._meaning.keys().isdisjoint(variables(size)):
            size = substitute(size, self._meaning)
        return size


def _step(view: View, indices: Sequence[Size], inside: _Inside | None) -> tuple[Size, list[Size]]:
    """The position in what lies under `view`, and the guards of its mask."""
    position = view.offset
    guards: list[Size] = []
    for k, (index, size, stride) in enumerate(zip(indices, view.shape, view.strides, strict=True)):
        if view.mask is not None:
            begin, end = view.mask[k]
            if begin != 0:
                guards.append(less(begin - 1, index))
            if end != size:
                guards.append(less(index, end))
            if inside is not None:
                index = inside.narrowed(index, begin, end)
        if size != 1:
            position = position + index * stride
    return position, guards


def _unravel_inside(shape: Shape, position: Size) -> list[Size]:
    """The index of a position known to lie within the shape: the outermost axis needs no remainder."""
    index: list[Size] = [0] * len(shape)
    wide = [k for k, s in enumerate(shape) if s != 1]
    for k in wide:
        index[k] = quotient(position, prod(shape[k + 1 :]))
        if k != wide[0]:
            index[k] = remainder(index[k], shape[k])
    return index


def _fewest_axes(view: View) -> View:
    """The view with neighbouring axes merged, which needs fewer divisions."""
    return reshape(view, tuple(run.size for run in axis_runs(view))) or view


def _settled(position: Size, guards: Sequence[Size]) -> Located:
    if any(guard == 0 for guard in guards):
        return position, (0,)
    return position, tuple(dict.fromkeys(guard for guard in guards if guard != 1))


def stride_of(position: Size, axis: Variable, axes: Sequence[Variable]) -> Size | None:
    """What one step of `axis` adds to `position`; None if that depends on any of `axes`."""
    if isinstance(position, int):
        return 0
    stride: Size = 0
    for monomial, coefficient in position.terms.items():
        rest = [atom for atom in monomial if atom != axis]
        used = frozenset(v for atom in rest for v in variables(atom))
        if axis in used or (len(rest) < len(monomial) and not used.isdisjoint(axes)):
            return None
        if len(rest) < len(monomial):
            stride = stride + prod(rest) * coefficient
    return stride
