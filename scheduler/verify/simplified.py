"""A simplified graph: does it still ask for the same values, and is nothing left that should be gone?"""

from __future__ import annotations

from collections.abc import Iterator

from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.simplify import Simplified
from schedulog.scheduler.verify.violation import Violation, refuse


def check_simplified(graph: Graph, simplified: Simplified) -> None:
    """Raise ScheduleError SL321 unless the simplified graph stands for `graph`.

    Outputs, names, shapes and types are the same, and no node is left that only people and gradients need.
    """
    found = [*_outputs(graph, simplified.graph), *_left(simplified.graph)]
    refuse("simplified", found, graph.name)


def _outputs(before: Graph, after: Graph) -> Iterator[Violation]:
    if before.outputs != after.outputs or len(before.sink.src) != len(after.sink.src):
        last = before.describe(len(before.nodes) - 1)
        yield Violation(last, "requests other outputs after simplification", "simplify/outputs")
        return
    for name, one, other in zip(before.outputs, before.sink.src, after.sink.src, strict=True):
        if one.shape != other.shape or _element(one) != _element(other):
            what = f"({name}) became {other!r}"
            yield Violation(before.describe(before.position[one]), what, "simplify/outputs")


def _element(n: Node) -> str:
    """An image is as good as what it holds."""
    return n.dtype.to_numpy().name


def _left(graph: Graph) -> Iterator[Violation]:
    for at, n in enumerate(graph.nodes):
        if n.op in (Op.DETACH, Op.CONTIGUOUS_BACKWARD):
            yield Violation(graph.describe(at), "is left, though it computes nothing", "simplify/marks")
        elif n.op is Op.COPY and not n.arg.clone and n.device == n.src[0].device:
            yield Violation(graph.describe(at), "copies to where its source is", "simplify/copies")
