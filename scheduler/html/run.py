"""The kernels of a schedule as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schedulog.facts.symbolic import render
from schedulog.scheduler.html.fragment import Table, fragment
from schedulog.scheduler.kernels import Kernel, Schedule
from schedulog.scheduler.language.diagnostic import plural
from schedulog.scheduler.units import size_text

_NODES = 6
"""So many nodes of a kernel are named."""


def run_html(schedule: Schedule, timings: Mapping[str, Sequence[float]]) -> str:
    """A row a kernel: its nodes, the rules that formed it, the bytes it moves, and its time on each device that measured."""
    graph, devices = schedule.graph, sorted(timings)
    title = f"{graph.name}: {plural(len(graph.nodes), 'node')}, {plural(len(schedule.kernels), 'kernel')}"
    columns = (
        "kernel",
        "computes",
        "value",
        "because of",
        "read",
        "written",
        *(f"µs on {d}" for d in devices),
    )
    rows = []
    for index, kernel in enumerate(schedule.kernels):
        value = f"{kernel.value.dtype}[{','.join(render(size) for size in kernel.value.shape)}]"
        moved = size_text(kernel.bytes_read), size_text(kernel.bytes_written)
        times = (f"{timings[device][index] * 1e6:.1f}" for device in devices)
        rows.append((kernel.name, _nodes(schedule, kernel), value, ", ".join(kernel.rules), *moved, *times))
    return fragment(title, Table(columns, rows))


def _nodes(schedule: Schedule, kernel: Kernel) -> str:
    """The nodes of a kernel with the user's labels, as far as they fit."""
    graph = schedule.graph
    names = [
        f"{graph.label(n)} {n.label or n.op.lower()}" for n in kernel.members if n.op not in ("VIEW", "CONST")
    ]
    more = [f"and {len(names) - _NODES} more"] if len(names) > _NODES else []
    return ", ".join([*names[:_NODES], *more]) or "-"
