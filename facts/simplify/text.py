"""Rewrites as rows of text, for people and for the run database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.simplify.run import Simplified
from schedulog.facts.symbolic import render


def rewrite_rows(simplified: Simplified) -> Iterator[tuple[str, str, str]]:
    """The rows of `rewrite(rule, before, after)`, in the order of application.

    A node is written as operation, type, shape and operands; an operand by its place in the simplified graph ("n12") if
    it stands there, a constant by its value, anything else by its operation.
    """
    position = simplified.graph.position
    for rewrite in simplified.rewrites:
        yield rewrite.rule, _spelled(rewrite.before, position), _spelled(rewrite.after, position)


def _spelled(n: Node, position: Mapping[Node, int]) -> str:
    shape = ",".join(render(size) for size in n.shape)
    sources = ", ".join(_operand(source, position) for source in n.src)
    operands = f"({sources})" if n.src else ""
    kind = f"{n.op} {n.arg.op}" if n.op is Op.REDUCE_AXIS else str(n.op)
    value = f" = {n.arg.value}" if n.op is Op.CONST else ""
    place = f"n{position[n]}: " if n in position else ""
    return f"{place}{kind}{operands} {n.dtype}[{shape}]{value}"


def _operand(n: Node, position: Mapping[Node, int]) -> str:
    if n.op is Op.CONST:
        return str(n.arg.value)
    return f"n{position[n]}" if n in position else str(n.op)
