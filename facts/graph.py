"""A whole tensor graph: the requested values, the names people know them by, and the inputs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from schedulog.errors import GraphError, shown
from schedulog.facts.buffer import Buffer
from schedulog.facts.node import Node, node, topological
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import render
from schedulog.facts.used_variables import of_each_kind

_LABEL: Final = 80
"""Characters of a node's name that are shown where it is described."""


@dataclass(frozen=True, eq=False)
class Graph:
    """The nodes under one SINK.

    `outputs` names the SINK's sources, in order. `inputs` maps names to the buffers whose contents must be given at
    execution (a buffer with an `array` has its contents already). `input_shapes` holds the shapes those contents have.
    `assumed` holds sizes that the file left open and nobody gave, by the dim's name or as "x[0]".

    Making one raises GraphError (SL213): two outputs of one name, or names that are not one for each; two inputs for one memory, or an
    input of a shape that its memory does not have.
    """

    sink: Node
    name: str = "graph"
    outputs: tuple[str, ...] = ()
    inputs: Mapping[str, Buffer] = field(default_factory=lambda: MappingProxyType({}))
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    assumed: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        _check_outputs(self)
        _check_inputs(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """What is computed of the nodes is computed again, so that each of them is copied or pickled once."""
        mappings = (dict(self.inputs), dict(self.input_shapes), dict(self.assumed))
        return Graph, (self.sink, self.name, self.outputs, *mappings)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every node, sources before users; the SINK is last. The position in this tuple is the node's id."""
        return tuple(topological((self.sink,)))

    @cached_property
    def position(self) -> Mapping[Node, int]:
        """The index of each node in `nodes`."""
        return {n: i for i, n in enumerate(self.nodes)}

    @cached_property
    def symbolic(self) -> tuple[Node, ...]:
        """A node for each way in which nodes depend on variables (see `of_each_kind`)."""
        return tuple(of_each_kind(self.nodes))

    @cached_property
    def buffers(self) -> tuple[Buffer, ...]:
        """The memory the graph reads or overwrites, by first appearance."""
        return tuple(dict.fromkeys(n.arg for n in self.nodes if n.op is Op.BUFFER))

    def label(self, n: Node) -> str:
        """The short id of a node ("n12")."""
        return f"n{self.position[n]}"

    def describe(self, position: int) -> str:
        """A node as people read it: id, operation, dtype, shape and the user's name for it, which is cut if it is long."""
        return in_short(self.describe_fully(position))

    def describe_fully(self, position: int) -> str:
        """`describe` with all of the user's name for the node."""
        n = self.nodes[position]
        shape = ",".join(render(s) for s in n.shape)
        return f"n{position} {n.op.lower()} {n.dtype}[{shape}]" + (f" ({shown(n.label)})" if n.label else "")


def in_short(described: str) -> str:
    """A node as `Graph.describe` says it, of what `Graph.describe_fully` says: parts of a name that repeat are dropped.

    A name has parts where one node came of several: "a/Max;a/Max;a/Div".
    """
    head, found, label = described.partition("] (")
    if not found:
        return described
    name = ";".join(dict.fromkeys(label.removesuffix(")").split(";")))
    return f"{head}] ({name if len(name) <= _LABEL else name[: _LABEL - 1] + '…'})"


def graph_of(
    values: Sequence[Node],
    *,
    name: str = "graph",
    outputs: Sequence[str] = (),
    inputs: Mapping[str, Buffer] | None = None,
    input_shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> Graph:
    """The graph that requests `values`; outputs are called out0, out1, ... unless named."""
    names = tuple(outputs) or tuple(f"out{i}" for i in range(len(values)))
    return Graph(node(Op.SINK, tuple(values)), name, names, dict(inputs or {}), dict(input_shapes or {}))


def _check_outputs(graph: Graph) -> None:
    if graph.outputs and len(graph.outputs) != len(graph.sink.src):
        raise GraphError(
            "SL213", f"{len(graph.outputs)} names for {len(graph.sink.src)} outputs", where=graph.name
        )
    if len(set(graph.outputs)) < len(graph.outputs):
        twice = next(name for name, count in Counter(graph.outputs).items() if count > 1)
        raise GraphError("SL213", f"two outputs are called `{twice}`", where=graph.name,
                         reason="a result is found by its name")  # fmt: skip


def _check_inputs(graph: Graph) -> None:
    names: dict[Buffer, str] = {}
    for name, memory in graph.inputs.items():
        if names.setdefault(memory, name) != name:
            raise GraphError("SL213", f"inputs `{names[memory]}` and `{name}` are one memory", where=graph.name,
                             reason="it has one content")  # fmt: skip
        shape = graph.input_shapes.get(name, (memory.size,))
        if math.prod(shape) != memory.size:
            raise GraphError("SL213", f"input `{name}` of shape {list(shape)} in memory of {memory.size} elements",
                             where=graph.name)  # fmt: skip
