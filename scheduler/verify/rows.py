"""What the assembly of kernels looks up must be there. Rules of core that are left out, or differ, can let rows be missing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from schedulog.facts.graph import Graph
from schedulog.facts.ops import LEAVES, Op
from schedulog.scheduler.derived import Derived
from schedulog.scheduler.verify.violation import Violation, refuse


def check_rows(graph: Graph, derived: Derived, visits: Mapping[int, Sequence[int]]) -> None:
    """Raise ScheduleError SL322 unless all decisions speak of kernels and of values that lie somewhere.

    `visits` lists what each kernel reads. Cost: linear in the rows, and in what kernels read.
    """
    places = derived.members.keys() | {at for at, n in enumerate(graph.nodes) if n.op is Op.BUFFER}
    found = [
        *_kernels(graph, derived),
        *_reads(graph, places, visits),
        *_targets(graph, derived, places),
        *_contents(graph, derived, places),
    ]
    refuse("decisions", found, graph.name)


def check_reached(graph: Graph, derived: Derived, reached: Collection[int]) -> None:
    """Raise ScheduleError SL322 if a kernel waits, or is waited for, that is not among those `reached` from the outputs."""
    ordered = [k for before, after, _ in derived.versions for k in (before, after)]
    ordered += [k for _, k in derived.kept_before]
    refuse("decisions", [
        Violation(graph.describe(k), "has a place in the order, and no output needs it", "decisions/reached")
        for k in dict.fromkeys(ordered) if k not in reached
    ], graph.name)  # fmt: skip


def _kernels(graph: Graph, derived: Derived) -> Iterator[Violation]:
    for k, members in derived.members.items():
        if graph.nodes[k].op in LEAVES:
            yield Violation(
                graph.describe(k), "has a kernel, and nothing is computed there", "decisions/kernels"
            )
        if k not in members:
            yield Violation(graph.describe(k), "is no member of its own kernel", "decisions/kernels")


def _reads(graph: Graph, places: Collection[int], visits: Mapping[int, Sequence[int]]) -> Iterator[Violation]:
    missing = dict.fromkeys(n for reads in visits.values() for n in reads if n not in places)
    for n in missing:
        what = "is needed by a kernel that does not compute it, and no kernel stores it"
        yield Violation(graph.describe(n), what, "decisions/reads")


def _targets(graph: Graph, derived: Derived, places: Collection[int]) -> Iterator[Violation]:
    for k in derived.members:
        n = graph.nodes[k]
        if n.op is Op.ASSIGN and graph.position[n.src[0].base] not in places:
            yield Violation(graph.describe(k), "assigns to what no kernel makes", "decisions/targets")


def _contents(graph: Graph, derived: Derived, places: Collection[int]) -> Iterator[Violation]:
    """Contents that are overwritten or copied aside."""
    copied = frozenset(derived.snapshots)
    named = (*(n for _, _, n in derived.versions), *derived.snapshots)
    for n in dict.fromkeys(n for n in named if n not in places):
        yield Violation(graph.describe(n), "is a content, and lies nowhere", "decisions/contents")
    wanted = (*(n for n, _ in derived.kept_before), *(n for _, n in derived.aside))
    for n in dict.fromkeys(n for n in wanted if n not in copied):
        yield Violation(graph.describe(n), "is wanted as a copy, and none is made", "decisions/contents")
