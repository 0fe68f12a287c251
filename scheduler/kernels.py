"""What scheduling gives: kernels with their buffers, and the order they run in. Read by the code generator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal

from schedulog.facts.buffer import Buffer
from schedulog.facts.copied import Step, steps
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Variable
from schedulog.facts.view import ViewStack
from schedulog.scheduler.loads import Load, loads_of
from schedulog.scheduler.names import operation_names

KernelKind = Literal["store", "assign", "copy", "view"]

_SHOWN: Final = 3
"""How many buffers, and names, the line of a schedule item shows."""


@dataclass(frozen=True, eq=False)
class Read:
    """Where a stored value lies for a kernel that reads it: which of the kernel's buffers, and through which view.

    The view's shape is the node's shape; it looks at the flat buffer, as an array of the node's type.
    """

    argument: int
    view: ViewStack


@dataclass(frozen=True, eq=False)
class Kernel:
    """One launch: `value` is computed and written through `stores` into `buffers[0]`, seen as an array of `output`'s type.

    `output` is the graph node whose value this is (for an assign the ASSIGN, whose second source is `value`).
    `reads` holds every node that is not computed here but loaded: memory, and other kernels' outputs. `members` are the
    nodes computed inside, by position. The buffers after the first are read, and the first too if the kernel reads what it
    overwrites. `rules` names the rules that formed it.
    """

    index: int
    name: str
    kind: KernelKind
    output: Node
    value: Node
    buffers: tuple[Buffer, ...]
    stores: ViewStack
    reads: Mapping[Node, Read]
    members: tuple[Node, ...]
    device: str
    rules: tuple[str, ...] = ()
    variables: tuple[Variable, ...] = ()

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """What is read through which view, in order of first visit. What is written, `stores` shows.

        Raises ScheduleError SL314 where values are seen through too many views.
        """
        return loads_of(self.value, {n: (read.argument, read.view) for n, read in self.reads.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        return _kernel_of, (steps(self.output, self.value, *self.members, *self.reads), _fields(self))

    @property
    def bytes_read(self) -> int:
        """Sizes of the buffers read, each once and whole, also where a window of it is read, in bytes."""
        used = {read.argument for read in self.reads.values()}
        return sum(self.buffers[i].nbytes for i in used)

    @property
    def bytes_written(self) -> int:
        """Bytes of the values stored."""
        return self.value.nbytes


def _fields(kernel: Kernel) -> tuple[Any, ...]:
    """A kernel for pickle and copies, its nodes as steps: those under them have to come before."""
    reads = {Step.of(n): read for n, read in kernel.reads.items()}
    members = tuple(map(Step.of, kernel.members))
    nodes = (Step.of(kernel.output), Step.of(kernel.value))
    head, tail = (kernel.index, kernel.name, kernel.kind), (kernel.device, kernel.rules, kernel.variables)
    return (*head, *nodes, kernel.buffers, kernel.stores, reads, members, *tail)


def _kernel_of(_: tuple[Node, ...], fields: tuple[Any, ...]) -> Kernel:
    return Kernel(*fields)


@dataclass(frozen=True, eq=False)
class ScheduleItem:
    """A kernel with the buffers it writes and reads, and the user's names for the operations it computes."""

    kernel: Kernel
    outputs: tuple[Buffer, ...]
    inputs: tuple[Buffer, ...]
    metadata: tuple[str, ...]

    def __repr__(self) -> str:
        written, read = (_few(list(map(_memory, buffers))) for buffers in (self.outputs, self.inputs))
        moved = f"{written} <- {read}" if read else written
        what = "; ".join(part for part in (moved, _few(self.metadata)) if part)
        return f"<ScheduleItem {self.kernel.name} {self.kernel.kind}: {what}>"

    @staticmethod
    def of(kernel: Kernel) -> ScheduleItem:
        """The item of a kernel; names as `operation_names` orders them. A copy kept aside computes nothing."""
        names = operation_names(kernel.output, kernel.members, _name) if kernel.members else ()
        return ScheduleItem(kernel, kernel.buffers[:1], kernel.buffers[1:], names)


def _few(words: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(words) - _SHOWN
    return ", ".join([*words[:_SHOWN], f"{more} more"] if more > 1 else words)


def _memory(buffer: Buffer) -> str:
    """A buffer in a few words: its name, if it has one, its type and size, and its device unless it is the usual one."""
    kind = f"{buffer.dtype}[{buffer.size}]" + (f" on {buffer.device}" if buffer.device else "")
    return f"{buffer.name} {kind}" if buffer.name else kind


def _name(n: Node) -> str:
    """The name of what is computed: memory and constants are not."""
    return "" if n.base.op in (Op.BUFFER, Op.CONST) else n.label


@dataclass(frozen=True, eq=False)
class OrderEdge:
    """`before` runs before `after`: because it makes what is read (data), or reads what is overwritten (version)."""

    before: int
    after: int
    kind: Literal["data", "version"]
    buffer: Buffer


@dataclass(frozen=True, eq=False)
class Result:
    """Where a requested value stands after the run: a view of a buffer, or a constant (then `buffer` is None)."""

    name: str
    node: Node
    buffer: Buffer | None
    view: ViewStack


@dataclass(frozen=True, eq=False)
class Schedule:
    """Kernels in running order. `buffers` lists all memory: the graph's own, then what the kernels make."""

    graph: Graph
    kernels: tuple[Kernel, ...]
    edges: tuple[OrderEdge, ...]
    results: tuple[Result, ...]
    buffers: tuple[Buffer, ...]
    variables: Mapping[str, int] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        kernels = tuple(map(_fields, self.kernels))
        results = tuple((r.name, Step.of(r.node), r.buffer, r.view) for r in self.results)
        return _schedule_of, (self.graph, kernels, self.edges, results, self.buffers, dict(self.variables))


def _schedule_of(
    graph: Graph,
    kernels: tuple[tuple[Any, ...], ...],
    edges: tuple[OrderEdge, ...],
    results: tuple[tuple[Any, ...], ...],
    buffers: tuple[Buffer, ...],
    variables: Mapping[str, int],
) -> Schedule:
    """The graph is read back before all else, so that pickle and copies find each node once."""
    made = tuple(Kernel(*fields) for fields in kernels)
    return Schedule(graph, made, edges, tuple(Result(*fields) for fields in results), buffers, variables)
