"""What may be written through: tensors in memory, and bitcasts of them, as numpy's `view` has it."""

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


def in_memory(tensor: Waiting) -> bool:
    """Whether nothing is to be computed for a tensor: it has memory of its own, or is the bits of memory."""
    if tensor.bits:
        return written_bits(tensor.node) is tensor.node
    return tensor.owner and tensor.node.base.op is Op.BUFFER


def settle_over(n: Node) -> None:
    """Do the assigns that wait to overwrite the memory of which a node is the bits.

    What was read of it before them, perhaps the node's own tensor, is then a value of its own.
    """
    compute(PENDING.overwriting(memory_under(n).arg))


def overwrite(tensor: Waiting, write: Node) -> None:
    """Do `write`, an assign to the memory of a tensor, or of which it is the bits, now.

    Every other lazy tensor that reads the memory is computed before, from the old bytes; this one shows the new ones.
    """
    PENDING.discard(tensor)
    try:
        compute([], [write])
    finally:
        if not tensor.owner:
            PENDING.add(tensor)


def written_bits(n: Node) -> Node:
    """The bits of what an assign wrote as bits of the memory it wrote to; a node that is none as it is."""
    found = target_of(n)
    if found is None or found.memory.op is Op.BUFFER:
        return n
    chain = []
    while n is not found.memory:
        chain.append(n)
        n = n.src[0]
    n = build.buffer(memory_under(n).arg, n.shape)
    for step in reversed(chain):
        n = build.view(n, step.arg, step.label) if step.op is Op.VIEW else bits_of(n, step.dtype, step.label)
    return n


def memory_under(n: Node) -> Node:
    """The BUFFER under looks, and under what assigns wrote to it."""
    while n.op is not Op.BUFFER:
        n = n.src[0]
    return n


def refuse_detached(detached: bool) -> None:
    """Raises GraphError SL229 for a write through a bitcast of memory that something else has overwritten since."""
    if detached:
        raise GraphError("SL229", "a write through a bitcast of memory that was overwritten since it was made",
                         where=caller(), reason="it stands for the old bytes, which are no longer in the tensor's memory",
                         help="take the bitcast again: t.bitcast(dtype)[2:4] = value; or clone() it to write to a copy")  # fmt: skip


def refuse_part(n: Node, moved: bool, part: bool) -> None:
    """Slices and movements of memory are values of their own; memory is written through the tensor that holds it.

    Raises GraphError SL228 for a `part`, which indexing has taken out of a tensor, and for what is `moved` and another look
    at memory.
    """
    if not moved:
        return
    memory = n.base
    if part:
        whole = False
    elif shows_bits(n):
        whole = is_bits(n)
    elif n is memory or memory.op not in (Op.BUFFER, Op.ASSIGN):
        return
    else:
        whole = n.view.contiguous and n.size == memory.size
    if not whole:
        raise GraphError(
            "SL228",
            f"a write to a part or another look of a tensor ({n.label or 'a view'})",
            where=caller(),
            reason="what was sliced or moved is a value of its own, so the tensor would not see what is written",
            help="write through the tensor: t[1, 2:4] = value; or clone() the part to write to a copy",
        )
