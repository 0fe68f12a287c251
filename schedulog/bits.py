"""Bitcasts of tensors in memory, through which that memory is written, as numpy's `view` has it."""

from __future__ import annotations

from schedulog.errors import GraphError
from schedulog.facts import build
from schedulog.facts.dtype import DType
from schedulog.facts.node import Node, node
from schedulog.facts.ops import Op
from schedulog.facts.place import target_of
from schedulog.origin import caller
from schedulog.pending import PENDING, Waiting, compute


def bits_of(n: Node, dtype: DType, label: str = "") -> Node:
    """The bits of a value as `dtype`. Raises GraphError SL212.

    A look at memory as its own type is a node too: without one a write to it would go to a new tensor, and be lost.
    """
    if n.dtype != dtype or n.made_in_file:
        return build.bitcast(n, dtype, label)
    return node(Op.BITCAST, (n,), None, dtype, label)


def shows_bits(n: Node) -> bool:
    """Whether a node is memory seen as another type, or a movement of that."""
    return target_of(n) is not None


def is_bits(n: Node) -> bool:
    """Whether a node is memory seen as another type, from its first byte to its last, in order."""
    found = target_of(n)
    if found is None:
        return False
    look = found.look.reshape((found.look.size,)) if found.look.views[-1].contiguous else found.look
    return look.contiguous and look.size * found.dtype.itemsize == found.memory.nbytes


def overwrite(tensor: Waiting, write: Node) -> None:
    """Do `write`, an assign through a tensor that is the bits of memory, now.

    Every other lazy tensor that reads the memory is computed before, from the old bytes; this one shows the new ones.
    """
    PENDING.discard(tensor)
    try:
        compute([], [write])
    finally:
        PENDING.add(tensor)


def settle_below(tensor: Waiting) -> None:
    """Do the assigns that still wait below a tensor that is the bits of memory, so that it is a look at memory alone."""
    while (found := target_of(tensor.node)) is not None and found.memory.op is Op.ASSIGN:
        overwrite(tensor, found.memory)
        tensor.node = _replaced(tensor.node, found.memory)


def _replaced(n: Node, assign: Node) -> Node:
    """Movements and bitcasts of what an assign wrote as those of the memory it wrote to."""
    chain = []
    while n is not assign:
        chain.append(n)
        n = n.src[0]
    n = assign.src[0]
    for step in reversed(chain):
        n = build.view(n, step.arg, step.label) if step.op is Op.VIEW else bits_of(n, step.dtype, step.label)
    return n


def refuse_detached(detached: bool) -> None:
    """Raises GraphError SL229 for a write through a bitcast of memory that something else has overwritten since."""
    if detached:
        raise GraphError("SL229", "a write through a bitcast of memory that was overwritten since it was made",
                         where=caller(), reason="it stands for the old bytes, which are no longer in the tensor's memory",
                         help="take the bitcast again: t.bitcast(dtype)[2:4] = value; or clone() it to write to a copy")  # fmt: skip
