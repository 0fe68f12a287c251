"""Reductions done in two steps: the graph in which those that a policy chose are split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from schedulog.facts import build
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node, node, topological
from schedulog.facts.ops import Op


@dataclass(frozen=True, slots=True)
class Cut:
    """`axis` of a reduction becomes (parts, rest); `parts` divides its size."""

    axis: int
    parts: int


def split_reductions(graph: Graph, cuts: Mapping[Node, Cut]) -> Graph:
    """The graph with each of `cuts` done in two steps. The same values, but for the order in which floats are added."""
    made: dict[Node, Node] = {}
    for n in topological((graph.sink,)):
        src = tuple(made[s] for s in n.src)
        fresh = n if src == n.src else _remade(n, src)
        made[n] = _split(fresh, cuts[n]) if n in cuts else fresh
    return replace(graph, sink=made[graph.sink])


def _remade(n: Node, src: tuple[Node, ...]) -> Node:
    """A view is composed anew, since what it stands on may now be a view itself."""
    return build.view(src[0], n.arg, n.label) if n.op is Op.VIEW else node(n.op, src, n.arg, n.dtype, n.label)


def _split(n: Node, cut: Cut) -> Node:
    """The cut axis's parts are moved last, the original axes reduced, then the parts."""
    source, op = n.src[0], n.arg.op
    shape = source.shape
    size = shape[cut.axis]
    assert isinstance(size, int), "only axes of known size divide"
    opened = build.reshape(
        source, (*shape[: cut.axis], cut.parts, size // cut.parts, *shape[cut.axis + 1 :]), n.label
    )
    others = [a for a in range(len(shape) + 1) if a != cut.axis]
    first = build.reduce(op, build.permute(opened, [*others, cut.axis], n.label), n.arg.axes, n.label)
    return build.reshape(build.reduce(op, first, [len(shape)], n.label), n.shape, n.label)
