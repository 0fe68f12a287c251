"""Memory that is overwritten: does each kernel find the content it means?

A content is named by the node whose value it is: a BUFFER for what memory holds before the call, an ASSIGN for what that
wrote. The running order and the views of the kernels say which overwrites lie between a content and its reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from schedulog.facts.area import Area
from schedulog.facts.buffer import Buffer
from schedulog.facts.look import Looks
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.succession import successive
from schedulog.facts.view import ViewStack
from schedulog.scheduler.kernels import Kernel, Schedule
from schedulog.scheduler.loads import Load
from schedulog.scheduler.verify.violation import Violation
from schedulog.scheduler.verify.walk import Walk


@dataclass(frozen=True, slots=True)
class _Use:
    """What `user`, computed in `kernel`, reads of `content`, which lies in `buffer`: the bytes `area` of it."""

    kernel: Kernel
    content: Node
    buffer: Buffer
    area: Area


@dataclass(frozen=True, slots=True)
class _Window:
    """The memory under a window, the content it is opened on, and the bytes of it that it shows at most."""

    buffer: Buffer
    content: Node
    area: Area


@dataclass(frozen=True, slots=True)
class _Memory:
    """The overwrites of each buffer in running order, what the copies made aside hold, and what windows show."""

    schedule: Schedule
    writes: Mapping[Buffer, Sequence[Kernel]]
    copies: Mapping[Buffer, Node]
    windows: dict[Buffer, _Window] = field(default_factory=dict)
    looks: Looks = field(default_factory=Looks)

    def area(self, view: ViewStack, n: Node) -> Area:
        """The bytes a view of memory touches that counts in elements of the type of `n`."""
        return self.looks.area(self.looks.number(view), n.dtype.itemsize)

    def written(self, kernel: Kernel) -> Area:
        return self.area(kernel.stores, kernel.output)

    def describe(self, kernel: Kernel) -> str:
        return f"{kernel.name}: {self.name(kernel.output)}"

    def name(self, n: Node) -> str:
        return self.schedule.graph.describe(self.schedule.graph.position[n])


def check_contents(schedule: Schedule, walks: Sequence[Walk]) -> Iterator[Violation]:
    """What reads or leaves a wrong content in memory."""
    writes: dict[Buffer, list[Kernel]] = {}
    for kernel in schedule.kernels:
        if kernel.kind == "assign":
            writes.setdefault(kernel.buffers[0], []).append(kernel)
    if not writes:
        return
    copies = {k.buffers[0]: next(iter(k.reads)) for k in schedule.kernels if not k.members and k.reads}
    memory = _Memory(schedule, writes, copies)
    uses: dict[Buffer, list[_Use]] = {buffer: [] for buffer in writes}
    for kernel, found in zip(schedule.kernels, walks, strict=True):
        if any(b in writes or b in copies or b in memory.windows for b in kernel.buffers):
            yield from _read(kernel, found, memory, uses)
        if kernel.kind == "view":
            _open_window(kernel, memory)
    for buffer, written in writes.items():
        yield from _met(written, uses[buffer], memory)


def _read(
    kernel: Kernel, found: Walk, memory: _Memory, uses: Mapping[Buffer, list[_Use]]
) -> Iterator[Violation]:
    """What is wrong with a kernel by itself; what it reads of memory that is overwritten is added to `uses`."""
    for user, content in found.uses if kernel.members else [(n, n) for n in kernel.reads]:
        read = kernel.reads[content]
        buffer = kernel.buffers[read.argument]
        if buffer in memory.copies:
            if memory.copies[buffer] is not content:
                what = f"reads a copy of {memory.name(memory.copies[buffer])} for {memory.name(content)}"
                yield Violation(memory.describe(kernel), what, "kernels/copies")
        elif buffer in memory.writes:
            view = read.view.then(user.arg) if user.op is Op.VIEW and user is not content else read.view
            uses[buffer].append(_Use(kernel, content, buffer, memory.area(view, content)))
        elif buffer in memory.windows and memory.windows[buffer].buffer in memory.writes:
            under = memory.windows[buffer]
            uses[under.buffer].append(_Use(kernel, under.content, under.buffer, under.area))
    if kernel.kind == "assign" and any(read.argument == 0 for read in kernel.reads.values()):
        yield from _own(kernel, memory)


def _open_window(kernel: Kernel, memory: _Memory) -> None:
    """A window is no copy: who reads it reads the memory under it, as it is then."""
    source = kernel.output.src[0]
    read = kernel.reads[source.base]
    buffer = kernel.buffers[read.argument]
    outer = memory.windows.get(buffer)
    shown = memory.area(read.view.then(source.view), source)
    memory.windows[kernel.buffers[0]] = outer or _Window(buffer, source.base, shown)


def _met(written: Sequence[Kernel], uses: Sequence[_Use], memory: _Memory) -> Iterator[Violation]:
    """What overwrites of one buffer, in running order, do to each other and to what is read of it."""
    makers = {kernel.output: i for i, kernel in enumerate(written)}
    yield from _unmade(uses, {kernel.output: kernel.index for kernel in written}, memory)
    areas = [memory.written(kernel) for kernel in written]
    position = memory.schedule.graph.position
    old = [use for use in uses if use.content not in makers]
    ended: dict[int, list[int]] = {i: [] for i in range(len(written))}
    met: list[tuple[int, _Use]] = []
    for i, j in successive(areas, [use.area for use in old]):
        if j >= len(written):
            met.append((i, old[j - len(written)]))
        elif areas[i].meets(areas[j]):
            ended[i].append(j)
            if position[written[j].output] < position[written[i].output]:
                what = f"overwrites what {memory.name(written[i].output)} is to leave"
                yield Violation(memory.describe(written[j]), what, "kernels/overwrites")
    met += [(j, use) for use in uses if use.content in makers for j in ended[makers[use.content]]]
    for i, use in met:
        if written[i].index < use.kernel.index and areas[i].meets(use.area):
            what = f"reads {memory.name(use.content)} after {memory.describe(written[i])} has overwritten it"
            yield Violation(memory.describe(use.kernel), what, "kernels/contents")


def _unmade(uses: Iterable[_Use], makers: Mapping[Node, int], memory: _Memory) -> Iterator[Violation]:
    """A content that an overwrite makes is there when it is read."""
    for use in uses:
        if use.content.op is not Op.BUFFER and not 0 <= makers.get(use.content, -1) < use.kernel.index:
            what = f"reads {memory.name(use.content)} before it is made"
            yield Violation(memory.describe(use.kernel), what, "kernels/order")


def _own(kernel: Kernel, memory: _Memory) -> Iterator[Violation]:
    """An assign reads of its own target only the element it is about to write."""
    looks, width = memory.looks, kernel.output.dtype.itemsize
    stores, written = looks.number(kernel.stores), memory.written(kernel)
    for load in kernel.loads:
        if load.argument or not written.meets(memory.area(load.view, load.node)):
            continue
        alike = load.view == kernel.stores and load.node.dtype.itemsize == width
        alike = alike or looks.aligned(looks.number(load.view), load.node.dtype.itemsize, stores, width) == 1
        if not alike and load.position != _element(kernel, load):
            what = f"reads other elements of {memory.name(load.node)} than the one it writes"
            yield Violation(memory.describe(kernel), what, "kernels/own-target")


def _element(kernel: Kernel, load: Load) -> object:
    """The element of the target, as wide as those of the load, that is written at the indices of the load; None where there
    is none, as for more indices than the value has."""
    if (
        len(load.indices) != len(kernel.stores.shape)
        or load.node.dtype.itemsize != kernel.output.dtype.itemsize
    ):
        return None
    return kernel.stores.index(load.indices)[0]
