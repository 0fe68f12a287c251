"""The stage from a recorded tensor graph to its simplified graph, and what the tensors become, compared for parity.py.

Both graphs of a record are read over the same buffers, so equal nodes are the same object and the comparison of two
graphs is that of their sinks. Strides and offsets that no element depends on count as equal (views are canonical).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from schedulog.facts.build import const
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.record import Recorded, read_stages
from schedulog.facts.simplify import Simplified, simplify
from schedulog.facts.symbolic import parse_record
from schedulog.scheduler.kernels import Schedule
from schedulog.scheduler.results import Outcome, outcomes
from schedulog.scheduler.verify.simplified import check_simplified


@dataclass(frozen=True, eq=False)
class Stage:
    """Our simplified graph with the record's numbers (negative where the record has no such node).

    `seconds` is what simplification took.
    """

    tensors: Recorded
    theirs: Recorded
    simplified: Simplified
    recorded: Recorded
    seconds: float


def simplified_stage(record: Mapping[str, Any], file: str) -> Stage:
    tensors, theirs = read_stages(record, file)
    started = time.perf_counter()
    simplified = simplify(tensors.graph, tensors=tensors.nodes.values())
    seconds = time.perf_counter() - started
    check_simplified(tensors.graph, simplified)
    nodes = dict(theirs.nodes)
    pairs = dict(paired(simplified.graph.sink, theirs.graph.sink))
    ids = {n: number for number, n in theirs.nodes.items()}
    for position, ours in enumerate(simplified.graph.nodes):
        if ours not in ids:
            nodes[ids.get(pairs.get(ours, ours), -1 - position)] = ours
    return Stage(tensors, theirs, simplified, Recorded(simplified.graph, nodes), seconds)


def paired(ours: Node, theirs: Node) -> Iterator[tuple[Node, Node]]:
    """Nodes in the same place below the two, as far as operation and number of sources agree."""
    seen = set()
    stack = [(ours, theirs)]
    while stack:
        pair = stack.pop()
        one, other = pair
        if pair in seen or one.op is not other.op or len(one.src) != len(other.src):
            continue
        seen.add(pair)
        yield pair
        if one is not other:
            stack.extend(reversed(list(zip(one.src, other.src, strict=True))))


def difference(stage: Stage, record: Mapping[str, Any]) -> str:
    """The first node that differs from the recorded graph, or a tensor that becomes another node; "" for none."""
    if stage.simplified.graph.sink is not stage.theirs.graph.sink:
        return _first_difference(stage.simplified.graph.sink, stage.theirs.graph.sink)
    for number, became in enumerate(record["becomes"]):
        tensor, node = stage.tensors.nodes.get(number), None
        if isinstance(became, int) and tensor is not None:
            node = stage.theirs.nodes.get(became)
            if node is not stage.simplified.becomes[tensor]:
                return f"tensor {number} becomes {stage.simplified.becomes[tensor]!r} for {node!r}"
    return ""


def _first_difference(ours: Node, theirs: Node) -> str:
    """The deepest place on the way from the sinks where operation, type or argument differ."""
    stack = [(ours, theirs)]
    seen = set()
    while stack:
        one, other = stack.pop()
        if one is other or (one, other) in seen:
            continue
        seen.add((one, other))
        same = one.op is other.op and one.dtype == other.dtype and len(one.src) == len(other.src)
        if not same or _argument(one) != _argument(other):
            return f"{_reason(one, other)}: {one!r} {one.arg} for {other!r} {other.arg}"
        stack.extend(reversed(list(zip(one.src, other.src, strict=True))))
    return "the same nodes in other places"


def _reason(one: Node, other: Node) -> str:
    """What kind of difference it is, in a few words."""
    if one.op is other.op is Op.CONST:
        equal = _equal(one.arg.value, other.arg.value)
        return "another shape of a constant under a mask" if equal else "another value of a constant"
    if one.op is other.op is Op.VIEW and len(one.arg.views) < len(other.arg.views):
        return "fewer views for the same look"
    return "another node"


def _argument(n: Node) -> Any:
    return n.arg.key() if n.op is Op.CONST else n.arg


def result_difference(stage: Stage, record: Mapping[str, Any], schedule: Schedule) -> str:
    """The first tensor that is something else after the run than recorded; "" for none."""
    if "results" not in record:
        return ""
    found = outcomes(stage.simplified, schedule)
    wanted = {number: what for number, what in record["results"]}
    outputs = {k["id"]: stage.recorded.nodes.get(k["out"]) for k in record["kernels"]}
    for number, tensor in stage.tensors.nodes.items():
        if tensor.op is Op.SINK:
            continue
        ours, what = found.get(tensor), wanted.get(number)
        if not _same_result(ours, what, tensor, stage, outputs):
            return f"tensor {number} is {_spelled(ours)}, recorded {what}"
    return ""


def _same_result(
    ours: Outcome | None,
    what: Mapping[str, Any] | None,
    tensor: Node,
    stage: Stage,
    outputs: Mapping[int, Node | None],
) -> bool:
    if what is None:
        return ours is None
    if "tensor" in what:  # of several tensors that are one node here, the record may name another one
        return stage.tensors.nodes[what["tensor"]] is (tensor if ours is None else ours.node)
    if ours is None:  # a constant that movement operations made is the constant itself here
        return "const" in what and tensor.base.op is Op.CONST and _is_constant(tensor.base, what["const"])
    if ours.shape != tuple(parse_record(size) for size in what["shape"]):
        return False
    if "kernel" in what:
        return ours.kind == "kernel" and ours.node is outputs[what["kernel"]]
    if "const" in what:
        return ours.kind == "constant" and _is_constant(ours.node.base, what["const"])
    if "buffer" in what:
        return ours.kind == "buffer" and ours.node is stage.recorded.nodes[what["buffer"]]
    return ours.kind == "buffer"  # memory that is not in the recorded graph


def _is_constant(n: Node, recorded: Any) -> bool:
    """Whether a node is the recorded constant, which may be written as a number its type wraps."""
    value = float(recorded["float"]) if isinstance(recorded, dict) else recorded
    return _equal(n.arg.value, const(value, n.dtype).arg.value)


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other or (math.isnan(one) and math.isnan(other)))


def _spelled(ours: Outcome | None) -> str:
    return "as it was" if ours is None else f"{ours.kind} {ours.node!r}"
