"""A graph as one kernel per value, without a schedule: to look at the code of a fused expression by itself."""

from __future__ import annotations

from collections.abc import Sequence

from schedulog.facts.buffer import Buffer
from schedulog.facts.graph import graph_of
from schedulog.facts.node import Node, topological
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Variable, variables
from schedulog.facts.view import ViewStack
from schedulog.scheduler.kernels import Kernel, Read, Result, Schedule


def whole_kernel(value: Node, index: int = 0, name: str = "whole") -> Kernel:
    """One kernel that computes all of `value` from memory. Its first buffer is new, the others are the graph's."""
    members = tuple(topological((value,)))
    memory = list(dict.fromkeys(n.arg for n in members if n.op is Op.BUFFER))
    argument = {buffer: position + 1 for position, buffer in enumerate(memory)}
    reads = {n: Read(argument[n.arg], n.view) for n in members if n.op is Op.BUFFER}
    output = Buffer(value.size, value.dtype, value.device, f"{name}_out")
    computed = tuple(n for n in members if n not in reads)
    return Kernel(
        index, name, "store", value, value, (output, *memory), ViewStack.of_shape(value.shape), reads, computed,
        value.device, ("whole/one-kernel",), _variables(members),
    )  # fmt: skip


def whole_schedule(values: Sequence[Node], name: str = "whole") -> Schedule:
    """A schedule of one kernel per value; `results` has the values in order."""
    kernels = tuple(whole_kernel(value, i, f"{name}{i}") for i, value in enumerate(values))
    buffers = dict.fromkeys(buffer for kernel in kernels for buffer in kernel.buffers)
    results = tuple(
        Result(k.name, k.output, k.buffers[0], ViewStack.of_shape(k.value.shape)) for k in kernels
    )
    bound = {v.name: v.value for kernel in kernels for v in kernel.variables if v.value is not None}
    return Schedule(graph_of(values), kernels, (), results, tuple(buffers), bound)


def _variables(members: Sequence[Node]) -> tuple[Variable, ...]:
    found: dict[Variable, None] = {}
    for member in members:
        if member.op is Op.BIND:
            found[member.arg] = None
        for size in member.shape:
            found.update(dict.fromkeys(variables(size)))
        if member.op is Op.VIEW:
            found.update(dict.fromkeys(member.arg.variables()))
    return tuple(sorted(found, key=lambda v: v.name))
