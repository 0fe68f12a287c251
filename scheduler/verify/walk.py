"""What a kernel computes and reads, found by walking its operands."""

from __future__ import annotations

from dataclasses import dataclass

from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.scheduler.kernels import Kernel


@dataclass(frozen=True, slots=True)
class Walk:
    """`inside` is computed in the kernel (its output left out), `uses` are the (user, operand) pairs where the operand is
    read, `missing` is memory that is needed and not among the reads."""

    inside: tuple[Node, ...]
    uses: tuple[tuple[Node, Node], ...]
    missing: tuple[Node, ...]


def walk(kernel: Kernel) -> Walk:
    """Walk from the output down to what is read. The place an assign writes to is no operand."""
    if not kernel.members:
        return Walk((), (), ())
    output, reads = kernel.output, kernel.reads
    inside: list[Node] = []
    uses: list[tuple[Node, Node]] = []
    missing: dict[Node, None] = {}
    seen = {output}
    stack = [output]
    while stack:
        n = stack.pop()
        for s in n.src[1:] if n is output and n.op is Op.ASSIGN else n.src:
            if s in reads:
                uses.append((n, s))
            elif s.op is Op.BUFFER:
                missing[s] = None
            elif s not in seen:
                seen.add(s)
                inside.append(s)
                stack.append(s)
    return Walk(tuple(inside), tuple(uses), tuple(missing))
