"""Which variables a node depends on by itself, and which nodes depend on any: what has to hold once they have values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Variable, variables


def used_variables(n: Node) -> Iterable[Variable]:
    """The variables in a node's argument: a bound one itself, those in a view or a shape."""
    match n.op:
        case Op.BIND:
            return (n.arg,)
        case Op.VIEW | Op.ASSIGN if n.arg is not None:
            return n.arg.variables()  # type: ignore[no-any-return]
        case Op.CONST | Op.BUFFER_VIEW:
            return dict.fromkeys(v for size in n.shape if not isinstance(size, int) for v in variables(size))
    return ()


def of_each_kind(nodes: Iterable[Node]) -> Iterator[Node]:
    """The nodes whose argument, or the shape of what they are made of, depends on variables: of those that depend on them
    in one way, the first."""
    seen: set[object] = set()
    for n in nodes:
        if used_variables(n) or any(not isinstance(size, int) for s in n.src for size in s.shape):
            look = n.arg if n.op in (Op.VIEW, Op.ASSIGN, Op.BIND) else None
            kind = (look, n.dtype.itemsize, n.shape, *((s.shape, s.dtype.itemsize) for s in n.src[:1]))
            if kind not in seen:
                seen.add(kind)
                yield n
