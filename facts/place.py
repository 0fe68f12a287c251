"""Where in memory an assign writes: movements, bitcasts and windows of memory as one view of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from schedulog.facts.dtype import DType, unsigned
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.view import ViewStack


@dataclass(frozen=True, eq=False, slots=True)
class Target:
    """What movements, bitcasts and windows show of `memory` (a BUFFER, or what an assign wrote), as an assign of type `dtype` to it.

    `look` counts the elements of `memory` in pieces as wide as `dtype`. Its shape is that of the target, followed by the
    pieces of one element where the target's elements are wider (`parts` > 1).
    """

    memory: Node
    look: ViewStack
    dtype: DType
    parts: int


def target_of(place: Node) -> Target | None:
    """The memory under `place`, if bitcasts or windows stand between; None where movements alone do, or no memory is there."""
    chain: list[Node] = []
    n = place
    while n.op in (Op.VIEW, Op.BITCAST, Op.BUFFER_VIEW):
        chain.append(n)
        n = n.src[0]
    if n.op not in (Op.BUFFER, Op.ASSIGN) or all(step.op is Op.VIEW for step in chain):
        return None
    width = min(step.dtype.itemsize for step in (n, *chain))
    look = in_pieces(ViewStack.of_shape(n.shape), n.dtype.itemsize // width)
    for step in reversed(chain):
        parts = step.dtype.itemsize // width
        if step.op is Op.VIEW:
            look = look.then(in_pieces(step.arg, parts))
            continue
        if step.op is Op.BUFFER_VIEW:
            look = look.reshape((look.size,)).shrink([(0, step.size * parts)])
        look = look.reshape(step.shape if parts == 1 else (*step.shape, parts))
    parts = place.dtype.itemsize // width
    return Target(n, look, place.dtype if parts == 1 else unsigned(width), parts)


def in_pieces(look: ViewStack, parts: int) -> ViewStack:
    """`look` at memory whose every element counts as `parts` pieces, which become the last axis if there are several."""
    return look if parts == 1 else look.blocks((parts,))


def written(below: ViewStack, n: Node) -> ViewStack:
    """The view of flat memory through which ASSIGN `n` writes, in elements as wide as its own.

    `below` shows in that memory what the assign is made onto, in elements as wide as that.
    """
    place = n.src[0]
    if n.arg is None:
        return below.then(place.view)
    return in_pieces(below, place.dtype.itemsize // n.dtype.itemsize).then(n.arg)


def overwritten(nodes: Iterable[Node]) -> dict[Node, tuple[Node, ViewStack]]:
    """For each ASSIGN to memory the BUFFER it writes to and the view through which it does; sources stand before users."""
    found: dict[Node, tuple[Node, ViewStack]] = {}
    for n in nodes:
        if n.op is not Op.ASSIGN:
            continue
        base = n.src[0].base
        memory, below = found.get(base, (base, base.view))
        if memory.op is Op.BUFFER:
            found[n] = memory, written(below, n)
    return found
