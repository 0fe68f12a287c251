"""From a graph to the integer rows the rules start from, in one pass. The relations are explained in rules/core/model.dl."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from schedulog.facts.graph import Graph
from schedulog.facts.look import Looks
from schedulog.facts.node import Node, Shape
from schedulog.facts.ops import Op
from schedulog.facts.overwrites import OVERWRITES, overwrites
from schedulog.facts.symbolic import upper_bound
from schedulog.facts.view import ViewStack
from schedulog.facts.views.single import all_known

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
    whole = _Wholes(looks)
    edges: dict[Row, None] = {}
    values = [(at, n) for at, n in enumerate(graph.nodes) if n.op is not Op.SINK]
    _describe(values, rows, intern)
    sources, looked, wholes = rows["source"], rows["look"], rows["whole"]
    for at, n in values:
        if n.op is Op.VIEW:
            base = position[n.src[0]]
            sources.append((at, 0, base))
            looked.append((at, base, looks.number(n.arg)))
            continue
        wholes.append((at, whole[n.shape]))
        for slot, s in enumerate(n.src):
            base = found = position[s]
            if s.op is Op.VIEW:
                base, view = position[s.src[0]], looks.number(s.arg)
            else:
                view = whole[s.shape]
            sources.append((at, slot, found))
            edges[base, at, view] = None
    rows["edge"] = list(edges)
    rows["regroups"] = [(at,) for at, n in values if _regroups(n)]
    rows |= overwrites(graph, looks)
    rows["requested"] = [(position[b],) for b in dict.fromkeys(s.base for s in graph.sink.src)]
    rows["option"] = [(intern(name), value) for name, value in sorted(options.items())]
    rows["node_count"] = [(len(graph.nodes),)]
    rows["device"] = [(at, intern(n.device)) for at, n in values if n.placed]
    rows["meant"] = [(at, intern(n.device)) for at, n in values if n.device and not n.placed]
    devices = dict.fromkeys(device for _, device in (*rows["device"], *rows["meant"]))
    rows["device_order"] = [(device, place) for place, device in enumerate(devices)]
    rows["device_count"] = [(len({device for _, device in rows["device"]}),)]
    return Facts(graph, rows, looks)


RELATIONS = (
    "op", "dtype", "width", "device", "meant", "size", "position", "int_shape", "source", "look", "whole", "edge",
    "reduce_by", "reduced", "requested", "option", "node_count", "device_count", "device_order", "regroups", *OVERWRITES,
)  # fmt: skip


def _regroups(n: Node) -> bool:
    return n.shape != n.src[0].shape if n.op is Op.BITCAST else n.op is Op.ASSIGN and n.arg is not None


class _Wholes(dict[Shape, int]):
    """The number of the plain view of each shape."""

    def __init__(self, looks: Looks) -> None:
        super().__init__()
        self.looks = looks

    def __missing__(self, shape: Shape) -> int:
        number = self[shape] = self.looks.number(ViewStack.of_shape(shape))
        return number


def _describe(values: Sequence[tuple[int, Node]], rows: dict[str, list[Row]], intern: Intern) -> None:
    """What is said of each node for itself."""
    names = {op: intern(op.value) for op in dict.fromkeys(n.op for _, n in values)}
    rows["op"] = [(at, names[n.op]) for at, n in values]
    rows["dtype"] = [(at, intern(n.dtype.name)) for at, n in values]
    rows["width"] = [(at, n.dtype.itemsize) for at, n in values]
    rows["size"] = [(at, n.size) for at, n in values]
    rows["position"] = [(at, at) for at, _ in values]
    rows["int_shape"] = [(at,) for at, n in values if all_known(n.shape)]
    for at, n in values:
        if n.op is Op.REDUCE_AXIS:
            rows["reduce_by"].append((at, intern(n.arg.op)))
            rows["reduced"] += [(at, axis, upper_bound(n.src[0].shape[axis])) for axis in n.arg.axes]
