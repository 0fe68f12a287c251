"""Movements and indexing of lazy values: other looks at their elements, each a value of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, cast

from schedulog.facts import build, compose
from schedulog.facts.node import Node
from schedulog.facts.symbolic import Size
from schedulog.indexing import selection
from schedulog.operands import Axes, axes_of, axis_number, flat, inside, padding, whole_shape
from schedulog.operators import Operators


class Movements(Operators):
    """Reshaping, reordering, repeating, padding and taking parts of whatever has a node."""

    __slots__ = ("moved", "part")

    moved: bool
    """Whether this is a movement of another value: where it is a look at memory, who writes to it may mean the other. Padding
    is none, nor is a cast: what they make is new, as with numpy."""
    part: bool
    """Whether this was taken out of another value by indexing, be it all of it: who writes to it may mean the other."""

    def _moved(self, name: str, make: Callable[[Node, str], Node]) -> Self:
        moved = self._unary(name, make)
        moved.moved, moved.part = True, self.part
        return moved

    @property
    def T(self) -> Self:
        """The axes in reverse order."""
        return self.transpose()

    def reshape(self, *shape: Size | Sequence[Size]) -> Self:
        """The same elements in another shape; one size may be -1."""
        return self._moved("reshape", lambda n, label: build.reshape(n, whole_shape(flat(shape), n), label))

    def transpose(self, *order: int | Sequence[int] | None) -> Self:
        """Axis i of the result is axis `order[i]`; all reversed if none are given, or None as in numpy."""
        if not order or (len(order) == 1 and order[0] is None):
            return self.permute(*reversed(range(len(self.node.shape))))
        return self.permute(*cast("tuple[int | Sequence[int], ...]", order))

    def permute(self, *order: int | Sequence[int]) -> Self:
        """Axis i of the result is axis `order[i]`."""
        return self._moved("permute", lambda n, label: build.permute(n, axes_of(flat(order), n), label))

    def broadcast_to(self, *shape: Size | Sequence[Size]) -> Self:
        """Repeated to `shape` along axes of size 1 and new axes at the left."""
        return self._moved("broadcast_to", lambda n, label: compose.broadcast_to(n, flat(shape), label))

    expand = broadcast_to

    def pad(self, widths: Sequence[tuple[Size, Size]]) -> Self:
        """(begin, end) zeros around each axis."""
        return self._unary("pad", lambda n, label: build.pad(n, padding(widths), label))

    def shrink(self, bounds: Sequence[tuple[Size, Size]]) -> Self:
        """The window [begin, end) of each axis."""
        return self._moved("shrink", lambda n, label: build.shrink(n, inside(bounds, n), label))

    def flip(self, axis: Axes = None) -> Self:
        """Reversed along `axis` (all axes if None)."""

        def make(n: Node, label: str) -> Node:
            chosen = axes_of(axis, n)
            return build.flip(n, [i in chosen for i in range(len(n.shape))], label)

        return self._moved("flip", make)

    def squeeze(self, axis: Axes = None) -> Self:
        """Without the given axes, which must have size 1 (all such axes if None)."""

        def make(n: Node, label: str) -> Node:
            ones = [i for i, s in enumerate(n.shape) if s == 1]
            return compose.drop_axes(n, ones if axis is None else axes_of(axis, n), label)

        return self._moved("squeeze", make)

    def unsqueeze(self, axis: int) -> Self:
        """With an axis of size 1 that becomes axis `axis` of the result."""
        return self._moved(
            "unsqueeze",
            lambda n, label: compose.insert_axis(
                n, compose.axis_index(axis_number(axis), len(n.shape) + 1), label
            ),
        )

    def __getitem__(self, key: Any) -> Self:
        taken = self._unary("getitem", lambda n, label: selection(key, self.node.shape).of(n, label))
        taken.moved = taken.part = True
        return taken
