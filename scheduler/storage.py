"""Where values lie: memory, what an assign overwrites, and what each kernel makes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import DType, float16, float32
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.place import written
from schedulog.facts.view import ViewStack


@dataclass(frozen=True, eq=False)
class Storage:
    """The buffer a value lies in, and the view of it that shows the value in the node's shape.

    The view counts in elements as wide as those of the node, which an assign to bitcast memory makes narrower than the
    buffer's.
    """

    buffer: Buffer
    view: ViewStack


def storage_of(graph: Graph, kernels: Collection[int], homes: Mapping[int, str]) -> dict[Node, Storage]:
    """The storage of the graph's memory and of the output of each kernel (a node's position).

    `homes` says on which device outputs lie that are made of constants alone.
    """
    found: dict[Node, Storage] = {}
    for at, n in enumerate(graph.nodes):
        if n.op is Op.BUFFER:
            found[n] = Storage(n.arg, ViewStack.of_shape(n.shape))
        elif at in kernels:
            found[n] = (
                _overwritten(n, found) if n.op is Op.ASSIGN else _made(n, graph, homes.get(at, n.device))
            )
    return found


def _overwritten(n: Node, found: Mapping[Node, Storage]) -> Storage:
    """An assign's value lies where its target shows it, whatever the target's view."""
    below = found[n.src[0].base]
    return Storage(below.buffer, written(below.view, n))


def _made(n: Node, graph: Graph, device: str) -> Storage:
    buffer = Buffer(n.size, _element(n.dtype), device, graph.label(n))
    return Storage(buffer, ViewStack.of_shape(n.shape))


def _element(dtype: DType) -> DType:
    """What memory holds: an image's elements, any other type itself."""
    if dtype.image is None:
        return dtype
    return float16 if dtype.bits == 16 else float32


def kept_aside(content: Node, place: Storage, graph: Graph) -> Storage:
    """Room for a copy of a content that lies at `place`: memory before the call, or what an assign wrote."""
    name = f"{place.buffer.name or graph.label(content)}_kept"
    kept = Buffer(content.size, _element(content.dtype), place.buffer.device, name)
    return Storage(kept, ViewStack.of_shape(content.shape))
