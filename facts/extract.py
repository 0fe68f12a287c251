"""From a graph to the integer rows the rules start from, in one pass. The relations are explained in rules/core/model.dl."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from schedulog.facts.graph import Graph
from schedulog.facts.look import Looks
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import upper_bound
from schedulog.facts.view import ViewStack

Row = tuple[int, ...]
Intern = Callable[[str], int]


@dataclass(frozen=True, eq=False)
class Facts:
    """Rows per input relation, and the views they speak of. A node's number is its position in `graph.nodes`."""

    graph: Graph
    rows: Mapping[str, list[Row]]
    looks: Looks


def extract(graph: Graph, options: Mapping[str, int], intern: Intern) -> Facts:
    """The facts of a graph under `options` (flag name -> value); strings become numbers by `intern`."""
    looks = Looks()
    rows: dict[str, list[Row]] = {name: [] for name in RELATIONS}
    position = graph.position
    plain: dict[tuple[object, ...], int] = {}
    edges: dict[Row, None] = {}
    for at, n in enumerate(graph.nodes):
        if n.op is Op.SINK:
            rows["requested"] = [(position[b],) for b in dict.fromkeys(s.base for s in n.src)]
            continue
        _describe(n, at, rows, intern)
        for slot, s in enumerate(n.src):
            rows["source"].append((at, slot, position[s]))
        if n.op is Op.VIEW:
            rows["look"].append((at, position[n.src[0]], looks.number(n.arg)))
            continue
        whole = plain.get(n.shape)
        if whole is None:
            whole = plain[n.shape] = looks.number(ViewStack.of_shape(n.shape))
        rows["whole"].append((at, whole))
        for s in n.src:
            base = s.base
            edges[
                (position[base], at, looks.number(s.arg) if s is not base else _plain(base, plain, looks))
            ] = None
    rows["edge"] = list(edges)
    rows["option"] = [(intern(name), value) for name, value in sorted(options.items())]
    rows["node_count"] = [(len(graph.nodes),)]
    rows["device"] = [(position[n], intern(n.device)) for n in _placed(graph)]
    rows["device_count"] = [(len({device for _, device in rows["device"]}),)]
    return Facts(graph, rows, looks)


RELATIONS = (
    "op", "dtype", "width", "device", "size", "position", "int_shape", "source", "look", "whole", "edge",
    "reduce_by", "reduced", "requested", "option", "node_count", "device_count",
)  # fmt: skip


def _placed(graph: Graph) -> Iterator[Node]:
    """The nodes whose value is made at a place: all but literals and what is made of these alone."""
    literal: set[Node] = set()
    for n in graph.nodes:
        if n.op in _LITERAL or (n.src and n.op is not Op.COPY and literal.issuperset(n.src)):
            literal.add(n)
        elif n.op is not Op.SINK:
            yield n


_LITERAL: Final = frozenset({Op.CONST, Op.BIND})


def _plain(base: Node, plain: dict[tuple[object, ...], int], looks: Looks) -> int:
    found = plain.get(base.shape)
    if found is None:
        found = plain[base.shape] = looks.number(ViewStack.of_shape(base.shape))
    return found


def _describe(n: Node, at: int, rows: dict[str, list[Row]], intern: Intern) -> None:
    rows["op"].append((at, intern(n.op.value)))
    rows["dtype"].append((at, intern(n.dtype.name)))
    rows["width"].append((at, n.dtype.itemsize))
    rows["size"].append((at, n.size))
    rows["position"].append((at, at))
    if all(isinstance(s, int) for s in n.shape):
        rows["int_shape"].append((at,))
    if n.op is Op.REDUCE_AXIS:
        rows["reduce_by"].append((at, intern(n.arg.op)))
        rows["reduced"] += [(at, axis, upper_bound(n.src[0].shape[axis])) for axis in n.arg.axes]
