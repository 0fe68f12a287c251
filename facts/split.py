"""Reductions done in two steps: the graph in which those that a policy chose are split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from schedulog.errors import GraphError
from schedulog.facts import build
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node, node, topological
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import render


@dataclass(frozen=True, slots=True)
class Cut:
    """`axis` of a reduction becomes (parts, rest); `parts` divides its size."""

    axis: int
    parts: int


def split_reductions(graph: Graph, cuts: Mapping[Node, Cut]) -> Graph:
    """The graph with each of `cuts` done in two steps. The same values, but for the order in which floats are added.

    Raises GraphError SL238 for a cut that is no equal cut of a reduced axis of known size.
    """
    return replace(graph, sink=split_nodes(graph, cuts)[graph.sink])


def split_nodes(graph: Graph, cuts: Mapping[Node, Cut]) -> dict[Node, Node]:
    """What each node is once `cuts` are done; a reduction that is cut becomes a look at its second step.

    Raises GraphError SL238 as `split_reductions`.
    """
    made: dict[Node, Node] = {}
    for n in topological((graph.sink,)):
        src = tuple(made[s] for s in n.src)
        fresh = n if src == n.src else _remade(n, src)
        made[n] = _split(fresh, cuts[n]) if n in cuts else fresh
    return made


def _remade(n: Node, src: tuple[Node, ...]) -> Node:
    """A view is composed anew, since what it stands on may now be a view itself."""
    return build.view(src[0], n.arg, n.label) if n.op is Op.VIEW else node(n.op, src, n.arg, n.dtype, n.label)


def _no_cut(n: Node, cut: Cut, reason: str) -> GraphError:
    return GraphError("SL238", f"axis {cut.axis} of {n!r} cannot be cut into {cut.parts} equal parts", where=n.label,
                      reason=reason, help="mend the rule that derives `split`")  # fmt: skip


def _split(n: Node, cut: Cut) -> Node:
    """The cut axis's parts are moved last, the original axes reduced, then the parts."""
    if n.op is not Op.REDUCE_AXIS or cut.axis not in n.arg.axes:
        raise _no_cut(n, cut, "only an axis that a reduction combines can be cut")
    source, op = n.src[0], n.arg.op
    shape = source.shape
    size = shape[cut.axis]
    if not isinstance(size, int) or cut.parts < 1 or size % cut.parts:
        raise _no_cut(n, cut, f"the axis has {render(size)} elements")
    opened = build.reshape(
        source, (*shape[: cut.axis], cut.parts, size // cut.parts, *shape[cut.axis + 1 :]), n.label
    )
    others = [a for a in range(len(shape) + 1) if a != cut.axis]
    first = build.reduce(op, build.permute(opened, [*others, cut.axis], n.label), n.arg.axes, n.label)
    return build.reshape(build.reduce(op, first, [len(shape)], n.label), n.shape, n.label)
