"""What a schedule costs, in numbers that two schedules can be compared by. Nothing is run for them.

Sizes that depend on a variable count at their maximum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from schedulog.facts.buffer import Buffer
from schedulog.facts.device_name import is_file
from schedulog.facts.node import Node
from schedulog.facts.ops import ELEMENTWISE, Op
from schedulog.scheduler.kernels import Kernel, Schedule

_STAGED: Final = frozenset({"copy", "view"})
"""Kernels that compute nothing: they bring a value to another device, or show memory as it is."""


@dataclass(frozen=True, slots=True)
class Measures:
    """The cost of one schedule.

    `kernels` launches, of which `copies` compute nothing (copies between devices, contents kept aside, windows).
    `bytes_read` counts every buffer that a kernel reads once a kernel, `bytes_written` every value stored.

    `operations` is the work of all kernels: for each kernel and each operation in it, an elementwise operation counts the
    elements of its result, a reduction those it combines; views, constants and loads count nothing. A value that a kernel
    looks at through several views, or broadcast, counts once there: whether it is computed again is up to the code
    generator. `recomputed` is the part of `operations` that one kernel would have spared another: the work of each
    operation times the kernels that have it in them, less one.

    `peak_bytes` is the most memory that is held at once by what the kernels make: a buffer is held from the kernel that
    writes it to the last one that reads or writes it, one that is a result to the end. While a kernel runs, what it reads
    and what it writes is held. The graph's own memory is there anyway and does not count, a window shares that of its
    source, and no gaps between buffers are assumed. All devices count together, files do not.
    """

    kernels: int = 0
    copies: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    operations: int = 0
    recomputed: int = 0
    peak_bytes: int = 0

    @property
    def traffic(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written


def measure(schedule: Schedule) -> Measures:
    """The measures of a schedule. Cost: linear in the members and buffers of all kernels."""
    kernels = schedule.kernels
    return Measures(
        len(kernels),
        sum(k.kind in _STAGED or not k.members for k in kernels),
        sum(k.bytes_read for k in kernels),
        sum(k.bytes_written for k in kernels),
        sum(work(n) for k in kernels for n in k.members),
        sum((count - 1) * work(n) for n, count in computed_in(schedule).items()),
        _peak(schedule),
    )


def work(n: Node) -> int:
    """The element operations that a node stands for, each time it is computed."""
    if n.op in ELEMENTWISE:
        return n.size
    return n.src[0].size if n.op is Op.REDUCE_AXIS else 0


def computed_in(schedule: Schedule) -> Mapping[Node, int]:
    """In how many kernels each operation is computed; what stands for no work is left out."""
    return Counter(n for kernel in schedule.kernels for n in kernel.members if work(n))


def _peak(schedule: Schedule) -> int:
    """Buffers are born and die with kernels; between two kernels the sum of those alive is kept."""
    born, dies = _lives(schedule)
    ends: dict[int, int] = Counter()
    for buffer, last in dies.items():
        ends[last] += buffer.nbytes
    starts: dict[int, int] = Counter()
    for buffer, first in born.items():
        starts[first] += buffer.nbytes
    held = peak = 0
    for kernel in schedule.kernels:
        held += starts[kernel.index]
        peak = max(peak, held)
        held -= ends[kernel.index]
    return peak


def _lives(schedule: Schedule) -> tuple[dict[Buffer, int], dict[Buffer, int]]:
    """The first and the last kernel of every buffer that kernels make; windows lengthen the life of what they show."""
    own = frozenset(schedule.graph.buffers)
    shows: dict[Buffer, Buffer] = {}
    born: dict[Buffer, int] = {}
    dies: dict[Buffer, int] = {}
    for kernel in schedule.kernels:
        if kernel.kind == "view" and len(kernel.buffers) > 1:
            shows[kernel.buffers[0]] = shows.get(kernel.buffers[1], kernel.buffers[1])
        for buffer in _memory(kernel, shows):
            if buffer not in own and not is_file(buffer.device):
                born.setdefault(buffer, kernel.index)
                dies[buffer] = kernel.index
    for result in schedule.results:
        if result.buffer is not None:
            held = shows.get(result.buffer, result.buffer)
            if held in born:
                dies[held] = len(schedule.kernels)
    return born, dies


def _memory(kernel: Kernel, shows: Mapping[Buffer, Buffer]) -> Iterator[Buffer]:
    """The buffers a kernel has, the memory behind a window in its place."""
    return (shows.get(buffer, buffer) for buffer in kernel.buffers)
