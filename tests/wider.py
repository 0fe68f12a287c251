"""A recorded graph in double precision: who of two results in single precision is nearer to the right one?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import DType, float32, float64
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node, node
from schedulog.facts.ops import Op
from schedulog.runtimes.evaluate import reference

ALLOWED = 4.0
"""How many times the reference's own error a result may be off."""


def as_exact_as_the_reference(
    graph: Graph,
    inputs: Mapping[str, NDArray[Any]],
    name: str,
    found: NDArray[Any],
    wanted: NDArray[Any],
) -> bool:
    """Whether an output in float32 is about as near to the value in float64 as the reference's is.

    Sums in another order, amplified by an exponential or by cancellation, differ by more than any fixed tolerance, though
    neither is wrong. False for other types, and where bits are looked at.
    """
    if (
        found.dtype != np.float32
        or found.shape != wanted.shape
        or any(n.op is Op.BITCAST for n in graph.nodes)
    ):
        return False
    wide = widened(graph)
    given = {k: v.astype(wide.inputs[k].dtype.to_numpy()) for k, v in inputs.items()}
    exact = reference(wide, given)[name]
    error = float(np.abs(wanted - exact).max(initial=0.0))
    return bool(np.isfinite(error) and np.abs(found - exact).max(initial=0.0) <= ALLOWED * error)


def widened(graph: Graph) -> Graph:
    """The graph with float64 wherever it has float32."""
    memory = {
        b: b if b.dtype != float32 else Buffer(b.size, float64, b.device, b.name) for b in graph.buffers
    }
    made: dict[Node, Node] = {}
    for n in graph.nodes:
        arg = memory[n.arg] if n.op is Op.BUFFER else n.arg
        made[n] = node(n.op, tuple(made[s] for s in n.src), arg, _dtype(n), n.label)
    inputs = {name: memory.get(b, b) for name, b in graph.inputs.items()}
    return replace(graph, sink=made[graph.sink], inputs=inputs)


def _dtype(n: Node) -> DType | None:
    if n.op in (Op.CONST, Op.CAST, Op.BIND, Op.BUFFER_VIEW):
        return float64 if n.dtype == float32 else n.dtype
    return None
