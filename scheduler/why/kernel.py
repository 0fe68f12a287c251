"""Why there is a kernel, and why it ends where it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from schedulog.errors import UsageError
from schedulog.facts.graph import in_short
from schedulog.scheduler.assemble import assemble
from schedulog.scheduler.kernels import Kernel
from schedulog.scheduler.schedule import Decisions
from schedulog.scheduler.why.answer import Answer, storing_lines, storing_record
from schedulog.scheduler.why.proof import Proof
from schedulog.scheduler.why.refusals import Storing, storings
from schedulog.scheduler.why.subject import OfKernel

_SHOWN = 8
"""So many members and operands are shown as text."""


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A value that a kernel loads instead of computing it: memory, if no clause stores it."""

    node: str
    clauses: tuple[Storing, ...]

    def __str__(self) -> str:
        words = ", ".join(dict.fromkeys(clause.word or clause.reason for clause in self.clauses))
        return f"{self.node}  {f'stored: {words}' if words else 'memory'}"


@dataclass(frozen=True, slots=True, eq=False)
class KernelAnswer(Answer):
    """A kernel: why its output is stored (`clauses`), what it computes inside, and what it loads."""

    kernel: str
    output: str
    members: tuple[str, ...]
    loads: tuple[Loaded, ...]
    clauses: tuple[Storing, ...]
    proofs: tuple[Proof, ...]

    def lines(self) -> Iterator[str]:
        yield f"{self.kernel} stores {in_short(self.output)}"
        yield from storing_lines(self.clauses)
        if not self.members:
            yield "It copies an old content aside, for readers that can only run after it is overwritten"
            return
        shown = self.members[:_SHOWN]
        more = f" and {len(self.members) - len(shown)} more" if len(self.members) > len(shown) else ""
        yield f"It computes {', '.join(shown)}{more}: what the output reaches without passing a stored value"
        yield f"It loads{'' if self.loads else ' nothing'}"
        yield from (f"   {loaded}" for loaded in self.loads[:_SHOWN])
        if len(self.loads) > _SHOWN:
            yield f"   and {len(self.loads) - _SHOWN} more"

    def record(self) -> dict[str, Any]:
        loads = [
            {"node": loaded.node, "stored_by": [storing_record(clause) for clause in loaded.clauses]}
            for loaded in self.loads
        ]
        stored_by = [storing_record(clause) for clause in self.clauses]
        members = list(self.members)
        return {
            "kernel": self.kernel,
            "output": self.output,
            "stored_by": stored_by,
            "members": members,
            "loads": loads,
        }


def explain_kernel(wanted: OfKernel, decisions: Decisions, *, every: bool) -> KernelAnswer:
    """Why a kernel is one. `every`: with all derivations in the proof.

    Raises UsageError SL722 for a kernel that is not there, ScheduleError where the decisions are no schedule.
    """
    graph, kernel = decisions.graph, _found(wanted.name, decisions)
    label, position = graph.label, graph.position[kernel.output]
    clauses = storings(decisions)
    goal = ("stored", (position,)) if kernel.members else ("snapshot", (position,))
    loads = (
        [Loaded(label(n), clauses.get(graph.position[n], ())) for n in kernel.reads] if kernel.members else []
    )
    return KernelAnswer(
        kernel.name,
        graph.describe_fully(position),
        tuple(label(n) for n in kernel.members),
        tuple(loads),
        clauses.get(position, ()) if kernel.members else (),
        (decisions.model.why(*goal, every=every),),
    )


def _found(name: str, decisions: Decisions) -> Kernel:
    kernels = assemble(decisions.graph, decisions.derived, {}).kernels
    for kernel in kernels:
        if name in (f"k{kernel.index}", kernel.name):
            return kernel
    raise UsageError("SL722", f"there is no kernel {name}", where=decisions.graph.name,
                     help=f"kernels: k0 to k{len(kernels) - 1}" if kernels else "this graph has none")  # fmt: skip
