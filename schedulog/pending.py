"""Which lazy tensors wait for their values, and computing them before what they read is overwritten."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from schedulog.facts.buffer import Buffer
from schedulog.facts.graph import graph_of
from schedulog.facts.node import Node, topological
from schedulog.facts.ops import Op
from schedulog.facts.place import overwritten
from schedulog.runtimes.evaluate import evaluate
from schedulog.runtimes.memory import allocate, room_for
from schedulog.runtimes.variables import variable_values

Array = NDArray[Any]


class Waiting(Protocol):
    """A lazy value: the node that says what it is, and whether the memory under that node is its own, or another's of
    which it is the bits."""

    node: Node
    owner: bool
    bits: bool

    def settle(self, value: Array | None) -> None:
        """Become stored: `value` in memory of one's own, or (None) what an ASSIGN has left in one's memory."""


class _Pending:
    """The lazy tensors that are alive, held weakly, so that an assign finds those that still need the old contents.

    `turn` is held while a tensor's node is read to make another tensor and while values are computed: to every thread
    the others' operations are then done, or not yet begun. Who holds it may take it again.
    """

    def __init__(self) -> None:
        self.turn = threading.RLock()
        self._lock = threading.Lock()
        self._alive: weakref.WeakValueDictionary[int, Waiting] = weakref.WeakValueDictionary()

    def add(self, tensor: Waiting) -> None:
        with self._lock:
            self._alive[id(tensor)] = tensor

    def discard(self, tensor: Waiting) -> None:
        with self._lock:
            self._alive.pop(id(tensor), None)

    def all(self) -> list[Waiting]:
        with self._lock:
            return list(self._alive.values())

    def overwriting(self, memory: Buffer) -> list[Waiting]:
        """The lazy tensors whose computation overwrites `memory`."""
        return [t for t in self.all() if memory in _overwritten([t.node])]


PENDING: Final = _Pending()


def compute(tensors: Iterable[Waiting], writes: Sequence[Node] = (), device: str | None = None) -> None:
    """Give `tensors` their values and do the ASSIGN nodes `writes`, all in one schedule.

    Every other lazy tensor that reads memory overwritten here gets its value in the same schedule, from the old
    contents. Raises what scheduling and running raise.
    """
    wanted = _with_readers({id(t): t for t in tensors}, writes)
    plain = [t for t in wanted if _is_plain(t.node)]
    for t, value in zip(plain, evaluate([t.node for t in plain], {}), strict=True):
        with room_for("a tensor", value.size, t.node.dtype):
            t.settle(np.array(value))
    rest = [t for t in wanted if not t.owner or t.node.base.op is not Op.BUFFER]
    nodes = list(dict.fromkeys([t.node for t in rest] + list(writes)))
    if not nodes:
        return
    values = run(nodes, device)
    for t in rest:
        t.settle(None if t.owner and t.node.op is Op.ASSIGN else values[t.node])


def run(nodes: Sequence[Node], device: str | None) -> dict[Node, Array]:
    """The values of nodes, scheduled together; ASSIGN nodes change the contents of their buffers."""
    from schedulog.run import schedule

    graph = graph_of(nodes)
    values = schedule(graph, options={"copy_on_hazard": 1}).execute({}, device)
    return {n: values[name] for n, name in zip(nodes, graph.outputs, strict=True)}


def perform(n: Node) -> None:
    """Run a node for what it does to memory; its value is not fetched. Raises what scheduling and running raise."""
    from schedulog.run import schedule

    made = schedule(graph_of([n]))
    made.load().run(allocate(made.schedule, {}), variable_values(made.schedule, {}))


def _is_plain(n: Node) -> bool:
    """Whether a value is a constant or memory seen through a view, so that it takes a copy and no kernel.

    Such a look would show what is written by the same schedule; so it is copied before.
    """
    return n.base.op in (Op.CONST, Op.BUFFER)


def _with_readers(wanted: dict[int, Waiting], writes: Sequence[Node]) -> list[Waiting]:
    """`wanted` and every lazy tensor that reads memory which the graphs of these overwrite, again and again."""
    while True:
        written = _overwritten([t.node for t in wanted.values()] + list(writes))
        if not written:
            return list(wanted.values())
        others = [t for t in PENDING.all() if id(t) not in wanted]
        late = _readers([t.node for t in others], written)
        if not late:
            return list(wanted.values())
        wanted.update({id(t): t for t in others if t.node in late})


def _overwritten(nodes: Sequence[Node]) -> set[Buffer]:
    return {memory.arg for memory, _ in overwritten(topological(nodes)).values()}


def _readers(nodes: Sequence[Node], written: set[Buffer]) -> set[Node]:
    reads: set[Node] = set()
    for n in topological(nodes):
        if (n.op is Op.BUFFER and n.arg in written) or any(s in reads for s in n.src):
            reads.add(n)
    return reads.intersection(nodes)
