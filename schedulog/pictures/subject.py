"""What pictures are drawn of: a schedule, the decisions behind it, and the graph before it was simplified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.simplify import Simplified
from schedulog.scheduler.kernels import Kernel, Schedule
from schedulog.scheduler.schedule import Decisions

INLINE = frozenset({Op.CONST, Op.BIND})
"""Operations that are written into the text of their users."""

HIDDEN = INLINE | {Op.VIEW, Op.SINK}
"""Operations that are no items: a view is a property of the edge it stands on."""

_MOST_REPEATS = 3
"""Places a node may have, on average over the graph."""


@dataclass(frozen=True, eq=False)
class Subject:
    """One scheduled graph. `tensors` is the graph before simplification, where that is known, with what became of it."""

    decisions: Decisions
    schedule: Schedule
    tensors: tuple[Graph, Simplified] | None = None

    @property
    def graph(self) -> Graph:
        return self.schedule.graph

    @cached_property
    def kernels_of(self) -> Mapping[Node, Sequence[Kernel]]:
        """The kernels that compute each node, in running order."""
        found: dict[Node, list[Kernel]] = {}
        for kernel in self.schedule.kernels:
            for n in kernel.members:
                found.setdefault(n, []).append(kernel)
        return found

    @cached_property
    def repeats(self) -> bool:
        """Whether a node is shown in every kernel that computes it, or, where that would be too many, in the first."""
        return sum(len(kernel.members) for kernel in self.schedule.kernels) <= _MOST_REPEATS * len(
            self.graph.nodes
        )

    def shown_in(self, n: Node, kernel: Kernel) -> Kernel:
        """The kernel in which a picture shows what `kernel` computes of `n`."""
        return kernel if self.repeats else self.kernels_of[n][0]

    @cached_property
    def outputs_of(self) -> Mapping[Node, tuple[str, ...]]:
        """The names under which each node was requested."""
        found: dict[Node, tuple[str, ...]] = {}
        for name, source in zip(self.graph.outputs, self.graph.sink.src, strict=True):
            found[source.base] = (*found.get(source.base, ()), name)
        return found


def group_id(kernel: Kernel) -> str:
    """The id of a kernel's group."""
    return f"k{kernel.index}"


def item_id(n: Node, kernel: Kernel, subject: Subject) -> str:
    """The id of a node that a kernel computes; only its first place has the node's own id."""
    label, shown = subject.graph.label(n), subject.shown_in(n, kernel)
    return label if subject.kernels_of[n][0] is shown else f"{label}@{group_id(shown)}"
