"""The facts about memory that assigns write to: which bytes each writes, and which of them others may write or read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from schedulog.facts.graph import Graph
from schedulog.facts.look import Looks
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.place import overwritten
from schedulog.facts.succession import successive
from schedulog.facts.view import ViewStack

Row = tuple[int, ...]

OVERWRITES: Final = ("writes", "may_meet", "may_touch")
"""The relations, explained in rules/core/order.dl."""


def overwrites(graph: Graph, looks: Looks) -> dict[str, list[Row]]:
    """Their rows. Pairs that surely have no byte in common are left out, and those whose order follows from other pairs."""
    position = graph.position
    writes: dict[Node, list[tuple[Node, int]]] = {}
    for n, (memory, look) in overwritten(graph.nodes).items():
        writes.setdefault(memory, []).append((n, looks.number(look)))
    seen = _seen(graph, writes, looks)
    rows: dict[str, list[Row]] = {name: [] for name in OVERWRITES}
    for memory, made in writes.items():
        at, reads = position[memory], list(seen[memory])
        rows["writes"] += [(position[n], at, look) for n, look in made]
        areas = [looks.area(look, n.dtype.itemsize) for n, look in made]
        for i, j in successive(areas, [looks.area(look, memory.dtype.itemsize) for look in reads]):
            if j < len(made):
                rows["may_meet"].append((position[made[i][0]], position[made[j][0]]))
            else:
                rows["may_touch"].append((position[made[i][0]], at, reads[j - len(made)]))
    return rows


def _seen(graph: Graph, written: Mapping[Node, object], looks: Looks) -> dict[Node, dict[int, None]]:
    """The views through which each BUFFER that is written to is seen, the plain one first."""
    found = {memory: {looks.number(ViewStack.of_shape(memory.shape)): None} for memory in written}
    for n in graph.nodes if found else ():
        if n.op is Op.VIEW and n.src[0] in found:
            found[n.src[0]][looks.number(n.arg)] = None
    return found
