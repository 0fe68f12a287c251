"""What a kernel loads, through which views: views composed from the kernel's value down to memory.

A kernel runs over the axes of its value, then over those of its reductions. A view on a reduction is brought below it, as
tinygrad 0.10.2 does: the reduced axes are put last in the source, and every view gets them appended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from schedulog.errors import ScheduleError
from schedulog.facts.node import Node, Shape
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Size, Variable, upper_bound
from schedulog.facts.view import ViewStack

LOAD_LIMIT: Final = 20_000

Place = tuple[int, ViewStack]
_Seen = tuple[Node, ViewStack]


@dataclass(frozen=True, eq=False)
class Load:
    """`node`, stored in the kernel's buffer `argument`, as the kernel reads it.

    `view` looks at the flat buffer. Its shape is that of the kernel's value, followed by the sizes of the axes reduced
    on the way, those of the outermost reduction first; `axes` is how many axes the value has. Where a mask of the view
    hides an element nothing is loaded.
    """

    argument: int
    node: Node
    view: ViewStack
    axes: int

    @property
    def indices(self) -> tuple[Size, ...]:
        """The loop variables of the view's axes (see `loop_indices`)."""
        return loop_indices(self.view.shape, self.axes)

    @property
    def position(self) -> Size:
        """The element of the buffer loaded, an expression of `indices`."""
        return self._located[0]

    @property
    def guards(self) -> tuple[Size, ...]:
        """Comparisons of `indices` that must all be 1 for anything to be loaded; (0,) if nothing ever is."""
        return self._located[1]

    @cached_property
    def _located(self) -> tuple[Size, tuple[Size, ...]]:
        return self.view.index(self.indices)


def loop_indices(shape: Shape, axes: int) -> tuple[Size, ...]:
    """One loop variable an axis: i0, i1, ... for the first `axes`, then r0, r1, ... for reductions; 0 for an axis of 1."""
    names = [f"i{k}" if k < axes else f"r{k - axes}" for k in range(len(shape))]
    return tuple(
        Variable(name, 0, upper_bound(size) - 1) if upper_bound(size) > 1 else 0
        for name, size in zip(names, shape, strict=True)
    )


def loads_of(value: Node, places: Mapping[Node, Place], limit: int = LOAD_LIMIT) -> tuple[Load, ...]:
    """The loads of the kernel that computes `value`, each node through each view once, in order of first visit.

    `places` gives, for what is not computed but read, the argument it lies in and its view of that flat buffer. Raises
    ScheduleError SL314 if values would be seen through more than `limit` views.
    """
    found: list[Load] = []
    start = value.src[0] if value.op is Op.BUFFER_VIEW and value not in places else value
    stack: list[_Seen] = [(start, ViewStack.of_shape(start.shape))]
    done: set[_Seen] = set()
    while stack:
        seen = stack.pop()
        if seen in done:
            continue
        done.add(seen)
        if len(done) > limit:
            raise _too_many(value, limit)
        node, look = seen
        if node in places:
            argument, lies = places[node]
            found.append(Load(argument, node, lies.then(look), len(value.shape)))
        else:
            stack.extend(reversed(list(_sources(node, look))))
    return tuple(found)


def _sources(node: Node, look: ViewStack) -> Iterator[_Seen]:
    """What the elements that `look` shows of `node` are computed from."""
    match node.op:
        case Op.VIEW:
            yield node.src[0], node.arg.then(look)
        case Op.REDUCE_AXIS:
            yield node.src[0], _below_reduction(node, look)
        case Op.BITCAST if node.src[0].shape != node.shape:
            yield node.src[0], _below_bitcast(node, look)
        case Op.ASSIGN:
            yield node.src[1], look
        case _:
            for source in node.src:
                yield source, look


def _below_reduction(node: Node, look: ViewStack) -> ViewStack:
    """`look` at a reduction as a look at its source, with the reduced axes appended."""
    source, axes = node.src[0], node.arg.axes
    kept = [axis for axis in range(len(source.shape)) if axis not in axes]
    reduced = tuple(source.shape[axis] for axis in axes)
    inner = ViewStack.of_shape(source.shape).permute((*kept, *axes))
    return inner.then(look.blocks(reduced))


def _below_bitcast(node: Node, look: ViewStack) -> ViewStack:
    """Elements of another width: several in one of the source, or one made of several, which become an axis."""
    source = node.src[0]
    narrow, wide = source.dtype.itemsize, node.dtype.itemsize
    whole = ViewStack.of_shape(source.shape)
    if wide > narrow:
        parts = (wide // narrow,)
        blocks = whole.reshape((*node.shape, *parts))
        return blocks.then(look.blocks(parts))
    repeated = whole.reshape((*source.shape, 1)).expand((*source.shape, narrow // wide))
    return repeated.reshape(node.shape).then(look)


def _too_many(value: Node, limit: int) -> ScheduleError:
    return ScheduleError(
        "SL314",
        f"a kernel sees values through more than {limit:,} views",
        where=repr(value),
        reason="each is computed again for each view",
        help="store an intermediate value (contiguous)",
    )
