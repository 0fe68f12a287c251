"""What a question is about, if not a fact: an operand, two nodes in one kernel, a kernel, or all facts of a relation.

n3 -> n5    one_kernel(n3, n5)    kernel k3    realize
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import Final

from schedulog.errors import UsageError
from schedulog.facts.graph import Graph
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.why.placement import Placement
from schedulog.scheduler.why.question import find_nodes

_TERM: Final = r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,()'"]+)"""
_EDGE: Final = re.compile(rf"\s*{_TERM}\s*->\s*{_TERM}\s*")
_TOGETHER: Final = re.compile(rf"\s*one_kernel\s*\(\s*{_TERM}\s*,\s*{_TERM}\s*\)\s*\.?\s*")
_KERNEL: Final = re.compile(r"\s*kernel(?:\s+(k\d+\w*)|\s*\(\s*(k\d+\w*)\s*\))\s*\.?\s*")
_NAME: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*\.?\s*")


@dataclass(frozen=True, slots=True)
class Operand:
    """`producer -> consumer`: the consumer reads the producer, through whatever view."""

    producer: int
    consumer: int


@dataclass(frozen=True, slots=True)
class Together:
    """`one_kernel(first, second)`: some kernel computes both."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class OfKernel:
    """`kernel k3`: by its number in running order, or by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class OfRelation:
    """`realize`: all facts of a relation."""

    relation: str


Subject = Operand | Together | OfKernel | OfRelation


def subject_of(text: str, program: Program, placement: Placement) -> Subject | None:
    """What a question is about; None for a fact, or what is no question.

    Raises UsageError: SL713 no such node, SL715 a label of several nodes, SL721 no such operand, SL723 a node that no
    kernel computes.
    """
    if found := _EDGE.fullmatch(text):
        return _operand(text, found[1], found[2], placement)
    if (found := _TOGETHER.fullmatch(text)) and "one_kernel" not in program.relations:
        first, second = (_made(term, text, placement) for term in found.groups())
        return Together(first, second)
    if found := _KERNEL.fullmatch(text):
        return OfKernel(found[1] or found[2])
    found = _NAME.fullmatch(text)
    relation = program.relations.get(found[1]) if found else None
    return OfRelation(relation.name) if relation is not None and relation.arity else None


def _nodes(term: str, text: str, graph: Graph) -> list[int]:
    quoted = term[0] in "\"'"
    return find_nodes(re.sub(r"\\(.)", r"\1", term[1:-1]) if quoted else term, quoted, graph, text)


def _made(term: str, text: str, placement: Placement) -> int:
    """The node whose value is computed, whatever view of it was named."""
    named = _nodes(term, text, placement.graph)
    found = list(dict.fromkeys(placement.base(n) for n in named))
    if len(found) > 1:
        shown = ", ".join(f"n{n}" for n in found[:5])
        raise UsageError("SL715", f"`{text.strip()}` means several nodes", where=shown,
                         help="ask with the short name of a node (n12)")  # fmt: skip
    if placement.is_made(found[0]):
        return found[0]
    memory = found[0] != len(placement.nodes) - 1
    raise UsageError("SL723", f"no kernel computes n{named[0]}", where=f"{text.strip()}, {placement.graph.describe(named[0])}",
                     reason=f"n{found[0]} is memory, which kernels read" if memory else "it stands for the outputs of the graph",
                     help="ask about a computed node")  # fmt: skip


def _operand(text: str, producer: str, consumer: str, placement: Placement) -> Operand:
    graph = placement.graph
    ends = [
        (placement.base(a), b)
        for a, b in product(_nodes(producer, text, graph), _nodes(consumer, text, graph))
    ]
    found = list(dict.fromkeys((a, b) for a, b in ends if a in placement.operands[b]))
    if len(found) == 1:
        return Operand(*found[0])
    if found:
        shown = ", ".join(f"n{a} -> n{b}" for a, b in found[:5])
        raise UsageError("SL715", f"`{text.strip()}` means several operands", where=shown,
                         help="ask with the short names of nodes (n3 -> n5)")  # fmt: skip
    a, b = ends[0]
    raise UsageError("SL721", f"n{b} does not read n{a}", where=f"{graph.describe(a)}, {graph.describe(b)}",
                     reason=_readings(a, b, placement), help="ask one_kernel(a, b) about nodes further apart")  # fmt: skip


def _readings(a: int, b: int, placement: Placement) -> str:
    users = ", ".join(f"n{n}" for n in placement.users[a][:5]) or "nothing"
    if placement.base(b) != b:
        return f"n{b} is a view, a way to look at n{placement.base(b)}; n{a} is read by {users}"
    return f"n{a} is read by {users}"
