"""Memory that is overwritten: does each kernel find the content it means?

A content is named by the node whose value it is: a BUFFER for what memory holds before the call, an ASSIGN for what that
wrote. The running order and the views of the kernels say which overwrites lie between a content and its reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from schedulog.facts.buffer import Buffer
from schedulog.facts.look import Looks
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.view import ViewStack
from schedulog.scheduler.kernels import Kernel, Schedule
from schedulog.scheduler.verify.violation import Violation
from schedulog.scheduler.verify.walk import Walk


@dataclass(frozen=True, slots=True)
class _Write:
    kernel: Kernel
    view: ViewStack


@dataclass(frozen=True, slots=True)
class _Memory:
    """The overwrites of each buffer in running order, and what the copies made aside hold."""

    schedule: Schedule
    writes: Mapping[Buffer, Sequence[_Write]]
    copies: Mapping[Buffer, Node]
    looks: Looks = field(default_factory=Looks)

    def overlap(self, one: ViewStack, other: ViewStack) -> bool:
        return bool(self.looks.overlap(self.looks.number(one), self.looks.number(other)))

    def describe(self, kernel: Kernel) -> str:
        return f"{kernel.name}: {self.name(kernel.output)}"

    def name(self, n: Node) -> str:
        return self.schedule.graph.describe(self.schedule.graph.position[n])


def check_contents(schedule: Schedule, walks: Sequence[Walk]) -> Iterator[Violation]:
    """What reads or leaves a wrong content in memory."""
    writes: dict[Buffer, list[_Write]] = {}
    for kernel in schedule.kernels:
        if kernel.kind == "assign":
            writes.setdefault(kernel.buffers[0], []).append(_Write(kernel, kernel.stores))
    if not writes:
        return
    copies = {k.buffers[0]: next(iter(k.reads)) for k in schedule.kernels if not k.members and k.reads}
    memory = _Memory(schedule, writes, copies)
    yield from _lasting(memory)
    for kernel, found in zip(schedule.kernels, walks, strict=True):
        if any(buffer in writes or buffer in copies for buffer in kernel.buffers):
            yield from _read(kernel, found, memory)


def _lasting(memory: _Memory) -> Iterator[Violation]:
    """Of two overwrites of the same elements, the later one in the graph runs later."""
    position = memory.schedule.graph.position
    for written in memory.writes.values():
        for at, early in enumerate(written):
            for late in written[at + 1 :]:
                if position[late.kernel.output] < position[early.kernel.output] and memory.overlap(
                    early.view, late.view
                ):
                    what = f"overwrites what {memory.name(early.kernel.output)} is to leave"
                    yield Violation(memory.describe(late.kernel), what, "kernels/overwrites")


def _read(kernel: Kernel, found: Walk, memory: _Memory) -> Iterator[Violation]:
    for user, content in found.uses if kernel.members else [(n, n) for n in kernel.reads]:
        buffer = kernel.buffers[kernel.reads[content].argument]
        if buffer in memory.copies:
            if memory.copies[buffer] is not content:
                what = f"reads a copy of {memory.name(memory.copies[buffer])} for {memory.name(content)}"
                yield Violation(memory.describe(kernel), what, "kernels/copies")
        elif buffer in memory.writes:
            yield from _between(kernel, content, user, memory)
    if kernel.kind == "assign" and any(read.argument == 0 for read in kernel.reads.values()):
        yield from _own(kernel, memory)


def _between(kernel: Kernel, content: Node, user: Node, memory: _Memory) -> Iterator[Violation]:
    """The content was there, and nothing has overwritten what `user` reads of it when the kernel runs."""
    written = memory.writes[kernel.buffers[kernel.reads[content].argument]]
    maker = next((w.kernel.index for w in written if w.kernel.output is content), -1)
    if content.op is not Op.BUFFER and not 0 <= maker < kernel.index:
        what = f"reads {memory.name(content)} before it is made"
        yield Violation(memory.describe(kernel), what, "kernels/order")
    between = [write for write in written if maker < write.kernel.index < kernel.index]
    if not between:
        return
    view = kernel.reads[content].view
    touched = view.then(user.arg) if user.op is Op.VIEW and user is not content else view
    for write in between:
        if memory.overlap(write.view, touched):
            what = f"reads {memory.name(content)} after {memory.describe(write.kernel)} has overwritten it"
            yield Violation(memory.describe(kernel), what, "kernels/contents")


def _own(kernel: Kernel, memory: _Memory) -> Iterator[Violation]:
    """An assign reads of its own target only the element it is about to write."""
    looks = memory.looks
    stores = looks.number(kernel.stores)
    for load in kernel.loads:
        if load.argument or load.view == kernel.stores or not memory.overlap(load.view, kernel.stores):
            continue
        if not looks.aligned(looks.number(load.view), stores) and load.position != _element(
            kernel, load.indices
        ):
            what = f"reads other elements of {memory.name(load.node)} than the one it writes"
            yield Violation(memory.describe(kernel), what, "kernels/own-target")


def _element(kernel: Kernel, indices: Sequence[object]) -> object:
    """The element of the target that is written at these indices of the value; None where there are more indices."""
    if len(indices) != len(kernel.stores.shape):
        return None
    return kernel.stores.index(indices)[0]  # type: ignore[arg-type]
