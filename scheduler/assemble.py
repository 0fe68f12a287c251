"""From what the rules derived to kernels with their buffers, in running order. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schedulog.errors import ScheduleError
from schedulog.facts.buffer import Buffer
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Variable, bound_value
from schedulog.facts.used_variables import used_variables
from schedulog.facts.view import ViewStack
from schedulog.scheduler.derived import Derived
from schedulog.scheduler.kernels import Kernel, KernelKind, OrderEdge, Read, Result, Schedule
from schedulog.scheduler.order import OrderProblem, depth_first, find_cycle, running_order
from schedulog.scheduler.storage import Storage, kept_aside, storage_of
from schedulog.scheduler.verify.rows import check_reached, check_rows

_KINDS: Mapping[Op, KernelKind] = {Op.ASSIGN: "assign", Op.COPY: "copy", Op.BUFFER_VIEW: "view"}


def assemble(graph: Graph, derived: Derived, reasons: Mapping[int, tuple[str, ...]]) -> Schedule:
    """The schedule of a graph; `reasons` names, per launch (`_Plan`), the rules that formed it.

    Raises ScheduleError: SL310 a refused cycle, SL311 kernels that wait for each other, SL312 two bindings of a variable,
    SL313 a refused self-assign, SL322 decisions of which some are missing.
    """
    _check_refused(graph, derived)
    visits = {k: _first_visits(k, graph, derived) for k in derived.members}
    check_rows(graph, derived, visits)
    storage = storage_of(graph, derived.members, derived.homes)
    plan = _Plan(
        graph,
        derived,
        visits,
        storage,
        {n: kept_aside(graph.nodes[n], storage[graph.nodes[n]], graph) for n in derived.snapshots},
        _variables(graph),
        reasons,
    )
    launches = _launches(plan)
    rank = {launch: i for i, launch in enumerate(_order(plan, launches))}
    kernels = [_kernel(i, k, plan) if k >= 0 else _keep(i, ~k, plan) for k, i in rank.items()]
    results = [_result(name, s, plan.storage) for name, s in zip(graph.outputs, graph.sink.src, strict=True)]
    memory = dict.fromkeys((*graph.buffers, *(b for kernel in kernels for b in kernel.buffers)))
    values = {name: bound_value(variable) for name, variable in plan.variables.items()}
    edges = _edges(plan, launches, rank)
    return Schedule(graph, tuple(kernels), edges, tuple(results), tuple(memory), values)


@dataclass(frozen=True, eq=False)
class _Plan:
    """What every step below looks things up in.

    A launch is a kernel's node n, or ~n for the copy of content n that is kept aside. `visits` lists, per kernel, what
    it reads in order of first visit; `aside` holds the storage of each copy.
    """

    graph: Graph
    derived: Derived
    visits: Mapping[int, Sequence[int]]
    storage: Mapping[Node, Storage]
    aside: Mapping[int, Storage]
    variables: Mapping[str, Variable]
    reasons: Mapping[int, tuple[str, ...]]


def _check_refused(graph: Graph, derived: Derived) -> None:
    """A cycle is reported before a self-assign: no copy of the target would be enough."""
    own = {(k, n) for k, n in derived.refused if derived.targets.get(k) == derived.targets.get(n, n)}
    for kernel, content in derived.refused:
        if (kernel, content) not in own:
            raise _old_and_new(graph, kernel, content)
    for kernel, content in derived.refused:
        raise _self_assign(graph, kernel, content)


def _old_and_new(graph: Graph, kernel: int, content: int) -> ScheduleError:
    return ScheduleError(
        "SL310",
        f"cycle: {graph.describe(kernel)} reads {graph.describe(content)} as it was before the call, and depends on "
        "its new content",
        where=graph.name,
        reason="no order of the kernels gives it both",
        help="clone the buffer before assigning to it and read the clone, or set copy_on_hazard=1, which copies "
        "the old content aside",
    )


def _self_assign(graph: Graph, kernel: int, content: int) -> ScheduleError:
    return ScheduleError(
        "SL313",
        f"self-assign: {graph.describe(kernel)} reads {graph.describe(content)}, which it overwrites, out of order",
        where=graph.name,
        reason="while it runs some elements are old and others new, so this policy takes its own target only in order",
        help="store what is moved, as in x.T.contiguous(), and read that; or set copy_on_hazard=1, which copies "
        "the old content aside where that is needed",
    )


def _variables(graph: Graph) -> dict[str, Variable]:
    """Every bound variable by name. One variable with two values in one call has no meaning."""
    found: dict[str, Variable] = {}
    for at, n in enumerate(graph.nodes):
        for variable in used_variables(n):
            if variable.value is None:
                continue
            other = found.setdefault(variable.name, variable)
            if other.value != variable.value:
                raise ScheduleError(
                    "SL312",
                    f"variable {variable.name} is bound to {other.value} and to {variable.value}",
                    where=graph.describe(at),
                    help="use two variables, or schedule the two values apart",
                )
    return found


def _first_visits(kernel: int, graph: Graph, derived: Derived) -> list[int]:
    """What a kernel reads, depth first from its output, operands left to right; an assign's own target left out."""
    members = derived.members[kernel]
    position = graph.position
    own = derived.targets.get(kernel)
    seen = {kernel}
    stack = [iter(graph.nodes[kernel].src)]
    found: list[int] = []
    while stack:
        child = next(stack[-1], None)
        if child is None:
            stack.pop()
            continue
        at = position[child]
        if at in seen:
            continue
        seen.add(at)
        if at in members:
            stack.append(iter(child.src))
        elif at != own:
            found.append(at)
    return found


def _launches(plan: _Plan) -> dict[int, list[int]]:
    """What each launch reads of other launches, in order of first visit."""
    derived = plan.derived
    found = {k: [_source(k, i, plan) for i in _reads(k, plan)] for k in derived.members}
    found |= {~n: [n] for n in plan.aside}
    made = derived.members.keys() | {~n for n in plan.aside}
    return {k: [i for i in reads if i in made] for k, reads in found.items()}


def _reads(k: int, plan: _Plan) -> list[int]:
    """The nodes a kernel reads; what it overwrites itself comes last."""
    own = [plan.derived.targets[k]] if k in plan.derived.reads_own else []
    return [*plan.visits[k], *own]


def _source(k: int, n: int, plan: _Plan) -> int:
    """The launch that makes what kernel k reads as n."""
    return ~n if (k, n) in plan.derived.aside else n


def _order(plan: _Plan, launches: Mapping[int, Sequence[int]]) -> list[int]:
    graph, derived = plan.graph, plan.derived
    roots = dict.fromkeys(graph.position[s.base] for s in graph.sink.src)
    kernels = depth_first([k for k in roots if k in derived.members], launches)
    check_reached(graph, derived, frozenset(kernels))
    after = {k: set(launches[k]) for k in kernels}
    for before, kernel, _ in derived.versions:
        after[kernel].add(before)
    for content, kernel in derived.kept_before:
        after[kernel].add(~content)
    edges = {k: frozenset(before) for k, before in after.items()}
    order = running_order(OrderProblem(kernels, launches, edges, _hints(kernels, plan)))
    if len(order) < len(kernels):
        path = [k if k >= 0 else ~k for k in find_cycle(edges, set(order))]
        text = " waits for ".join(graph.describe(k) for k in [*path, path[0]])
        raise ScheduleError("SL311", "some kernels wait for each other", where=graph.name, reason=text)
    return order


def _hints(kernels: Sequence[int], plan: _Plan) -> dict[int, list[int]]:
    """Per overwriting kernel, the kernels after it in depth-first order that read the old content of its target."""
    writer: dict[int, int] = {}
    found: dict[int, list[int]] = {}
    for kernel in kernels:
        for read in plan.visits.get(kernel, ()):
            if read in writer and (kernel, read) not in plan.derived.aside:
                found.setdefault(writer[read], []).append(kernel)
        if kernel in plan.derived.targets:
            writer[plan.derived.targets[kernel]] = kernel
    return found


def _edges(
    plan: _Plan, launches: Mapping[int, Sequence[int]], rank: Mapping[int, int]
) -> tuple[OrderEdge, ...]:
    nodes, storage = plan.graph.nodes, plan.storage

    def place(launch: int) -> Buffer:
        return storage[nodes[launch]].buffer if launch >= 0 else plan.aside[~launch].buffer

    data = [OrderEdge(rank[read], rank[k], "data", place(read)) for k in rank for read in launches[k]]
    versions = [OrderEdge(rank[b], rank[a], "version", place(n)) for b, a, n in plan.derived.versions]
    keeps = [OrderEdge(rank[~n], rank[a], "version", place(n)) for n, a in plan.derived.kept_before]
    return (*data, *versions, *keeps)


def _keep(index: int, n: int, plan: _Plan) -> Kernel:
    """The kernel that copies a content aside."""
    content = plan.graph.nodes[n]
    place, kept = plan.storage[content], plan.aside[n]
    reads = {content: Read(1, place.view)}
    buffers = (kept.buffer, place.buffer)
    return Kernel(
        index, f"k{index}_keep", "store", content, content, buffers, kept.view, reads, (), content.device,
        plan.reasons.get(~n, ()),
    )  # fmt: skip


def _kernel(index: int, k: int, plan: _Plan) -> Kernel:
    graph, derived = plan.graph, plan.derived
    output = graph.nodes[k]
    kind = _KINDS.get(output.op, "store")
    members = tuple(graph.nodes[m] for m in sorted(derived.members[k]))
    names = (
        sorted({v.name for m in members for v in used_variables(m)} & plan.variables.keys())
        if plan.variables
        else []
    )
    buffers, reads = _arguments(k, plan)
    return Kernel(
        index,
        f"k{index}_{output.op.lower()}",
        kind,
        output,
        {"assign": output.src[-1], "copy": output.src[0] if output.src else output}.get(kind, output),
        buffers,
        plan.storage[output].view,
        reads,
        members,
        buffers[0].device,
        plan.reasons.get(k, ()),
        tuple(plan.variables[name] for name in names),
    )


def _arguments(k: int, plan: _Plan) -> tuple[tuple[Buffer, ...], dict[Node, Read]]:
    """The kernel's buffers, its output first, and where each value it reads lies among them."""
    buffers = {plan.storage[plan.graph.nodes[k]].buffer: 0}
    reads: dict[Node, Read] = {}
    for i in _reads(k, plan):
        n = plan.graph.nodes[i]
        place = plan.aside[i] if (k, i) in plan.derived.aside else plan.storage[n]
        reads[n] = Read(buffers.setdefault(place.buffer, len(buffers)), place.view)
    return tuple(buffers), reads


def _result(name: str, requested: Node, storage: Mapping[Node, Storage]) -> Result:
    """A constant has no storage; anything else is seen where it lies."""
    place = storage.get(requested.base)
    if place is None:
        return Result(name, requested, None, ViewStack.of_shape(requested.shape))
    return Result(name, requested, place.buffer, place.view.then(requested.view))
