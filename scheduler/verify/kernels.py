"""The kernels in running order, checked from what they hold alone: no rule and no decision is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from schedulog.facts.buffer import Buffer
from schedulog.facts.ops import LEAVES, Op
from schedulog.scheduler.kernels import Kernel, Schedule
from schedulog.scheduler.verify.contents import check_contents
from schedulog.scheduler.verify.violation import Violation, refuse
from schedulog.scheduler.verify.walk import Walk, walk


def check_kernels(schedule: Schedule) -> None:
    """Raise ScheduleError SL323 unless the kernels, run in their order, give what was requested.

    Every kernel computes or reads all that it needs, reads what an earlier kernel made, and finds in memory the content
    that it means; every requested value has storage. Cost: linear in the members and reads of all kernels, and for memory
    that is overwritten in the pairs of its reads and overwrites.
    """
    makers = {k.buffers[0]: k.index for k in schedule.kernels if k.kind != "assign"}
    walks = [walk(kernel) for kernel in schedule.kernels]
    found = [
        *_numbered(schedule),
        *(v for k, w in zip(schedule.kernels, walks, strict=True) for v in _complete(k, w, makers, schedule)),
        *_edges(schedule),
        *_results(schedule, makers),
    ]
    refuse("kernels", found or list(check_contents(schedule, walks)), schedule.graph.name)


def _describe(schedule: Schedule, kernel: Kernel) -> str:
    return f"{kernel.name}: {schedule.graph.describe(schedule.graph.position[kernel.output])}"


def _numbered(schedule: Schedule) -> Iterator[Violation]:
    for place, kernel in enumerate(schedule.kernels):
        if kernel.index != place:
            what = f"is number {kernel.index} and runs as number {place}"
            yield Violation(_describe(schedule, kernel), what, "kernels/number")


def _complete(
    kernel: Kernel, found: Walk, makers: Mapping[Buffer, int], schedule: Schedule
) -> Iterator[Violation]:
    """Whatever the kernel needs is computed inside or lies in a buffer that was made before."""
    graph = schedule.graph
    for n in found.missing:
        what = f"needs {graph.describe(graph.position[n])}, which it neither computes nor reads"
        yield Violation(_describe(schedule, kernel), what, "kernels/complete")
    members = frozenset(kernel.members)
    for n in found.inside:
        if n not in members and n is not kernel.output:
            what = f"computes {graph.describe(graph.position[n])}, which is no member"
            yield Violation(_describe(schedule, kernel), what, "kernels/members")
    for n, read in kernel.reads.items():
        if not 0 <= read.argument < len(kernel.buffers):
            what = f"reads argument {read.argument} of {len(kernel.buffers)}"
            yield Violation(_describe(schedule, kernel), what, "kernels/arguments")
        elif makers.get(kernel.buffers[read.argument], -1) >= kernel.index:
            what = f"reads {graph.describe(graph.position[n])} before it is made"
            yield Violation(_describe(schedule, kernel), what, "kernels/order")


def _edges(schedule: Schedule) -> Iterator[Violation]:
    """All edges go forward, so there is no cycle among them."""
    for edge in schedule.edges:
        if not 0 <= edge.before < edge.after < len(schedule.kernels):
            name = (
                schedule.kernels[edge.after].name if edge.after < len(schedule.kernels) else f"k{edge.after}"
            )
            what = f"runs before kernel {edge.before}, for which it waits ({edge.kind} of {edge.buffer.name})"
            yield Violation(name, what, "kernels/edges")


def _results(schedule: Schedule, makers: Mapping[Buffer, int]) -> Iterator[Violation]:
    """What was requested lies in memory that is given or made, in its own shape."""
    graph = schedule.graph
    there = makers.keys() | set(graph.buffers)
    for result in schedule.results:
        node = graph.describe(graph.position[result.node])
        base = result.node.base
        if result.buffer is None and (base.op not in LEAVES or base.op is Op.BUFFER):
            yield Violation(node, f"({result.name}) has no storage", "kernels/results")
        elif result.buffer is not None and result.buffer not in there:
            yield Violation(node, f"({result.name}) lies in memory that nothing makes", "kernels/results")
        elif result.view.shape != result.node.shape:
            yield Violation(node, f"({result.name}) is seen in another shape", "kernels/results")
