"""One graph scheduled by two rule sets: what each costs, what differs, and which edit of the rules is responsible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.scheduler.compare import Cause, DecisionChange, Difference, KernelOutcome, compare
from schedulog.scheduler.derived import READ
from schedulog.scheduler.kernels import Schedule
from schedulog.scheduler.measure import Measures, computed_in, measure, work
from schedulog.scheduler.record.outcome import Attempt, attempt, outcome_of
from schedulog.scheduler.replay import UNTRACED
from schedulog.scheduler.schedule import Decisions, Scheduler
from schedulog.scheduler.why.cause import Clauses, Names, causes_of, clauses_of, edits_of
from schedulog.scheduler.why.spelling import Speller, given_names

Group = tuple[str, ...]
"""The operations of a kernel, by their names."""


@dataclass(frozen=True, eq=False)
class Policy:
    """A rule set that is ready, and the switches it is asked with."""

    scheduler: Scheduler
    options: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def clauses(self) -> Clauses:
        """What its rules say; looked up for every graph."""
        return clauses_of(self.scheduler.program)


@dataclass(frozen=True, slots=True)
class Regrouped:
    """Kernels that only one side has, together with those of the other side that hold the same operations."""

    before: tuple[Group, ...]
    after: tuple[Group, ...]
    causes: tuple[Cause, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """An operation that more than one kernel computes, on either side: in how many."""

    node: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What two rule sets make of a graph. A side whose scheduling ends with an error has no measures.

    Nodes are called what they are called in the graph given, also where a side splits reductions (see `given_names`).
    """

    name: str
    nodes: int
    difference: Difference
    before: Measures | None
    after: Measures | None
    regrouped: tuple[Regrouped, ...] = ()
    repeated: tuple[Repeated, ...] = ()

    @property
    def same(self) -> bool:
        """Whether the same was decided, with the same kernels in the same order."""
        return self.difference.same

    @property
    def untraced(self) -> int:
        """How many changes have no responsible rule, option or fact: decisions, kernels, the order and the error."""
        found = self.difference
        causes = [d.causes for d in found.decisions] + [k.causes for k in found.kernels]
        causes += [found.causes] * ((found.order is not None) + found.failure_differs)
        return sum(UNTRACED in because for because in causes)

    @property
    def worse(self) -> bool:
        """Whether kernels, bytes, recomputed operations or peak memory grew, or an error came up."""
        if self.before is None or self.after is None:
            return self.after is None and self.difference.failure_differs
        return any(new > old for old, new in zip(_costs(self.before), _costs(self.after), strict=True))


def _costs(found: Measures) -> tuple[int, ...]:
    return found.kernels, found.traffic, found.recomputed, found.peak_bytes


@dataclass(frozen=True, eq=False)
class Trial:
    """Both schedulings of a graph, and what differs."""

    before: Attempt
    after: Attempt
    found: WhatIf


def what_if(graph: Graph, before: Policy, after: Policy) -> Trial:
    """Schedule a graph by two policies, and compare. An error that ends a scheduling is part of the answer."""
    return against(graph, before, attempt(before.scheduler, graph, before.options), after)


def against(graph: Graph, before: Policy, old: Attempt, after: Policy) -> Trial:
    """As `what_if`, where what the first policy makes of the graph is known."""
    new = attempt(after.scheduler, graph, after.options)
    names = _names(old, new)
    found = compare(outcome_of(old, names[0]), outcome_of(new, names[1]))
    if not found.same:
        found = _explained(found, (before, old), (after, new), names)
    changes = WhatIf(
        graph.name,
        len(graph.nodes),
        found,
        None if old.schedule is None else measure(old.schedule),
        None if new.schedule is None else measure(new.schedule),
        tuple(_regrouped(found, _operations(old, names[0]) | _operations(new, names[1]))),
        tuple(_repeated(old, new, names)),
    )
    return Trial(old, new, changes)


def _names(old: Attempt, new: Attempt) -> Names:
    """The names of the nodes of both graphs, where a rewriting made their numbers differ."""
    decided = [made.decisions for made in (old, new)]
    if not any(d is not None and d.before is not None for d in decided):
        return ((), ())
    first, second = (() if d is None else given_names(d) for d in decided)
    return first, second


_Side = tuple[Policy, Attempt]


def _edits(before: Policy, after: Policy) -> tuple[Cause, ...]:
    """The clauses and switches that only one policy has."""
    old, new = before.options.items(), after.options.items()
    gone = [Cause("option", f"{name}={value}", "removed") for name, value in old - new]
    come = [Cause("option", f"{name}={value}", "added") for name, value in new - old]
    return tuple(sorted([*edits_of(before.scheduler.program, after.scheduler.program), *gone, *come]))


def _explained(found: Difference, before: _Side, after: _Side, names: Names) -> Difference:
    """The difference with causes. Of an error that no changed decision leads to, the edits are all there is to tell."""
    old, new = before[1].decisions, after[1].decisions
    if old is None or new is None or (found.failure_differs and not found.decisions):
        return _because(found, _edits(before[0], after[0]))
    clauses = (before[0].clauses, after[0].clauses)
    rewriting = () if names == ((), ()) else _rewriting(old, new, clauses)
    if not found.decisions:
        return _because(found, _through(_roots(READ, old, new, names, clauses), rewriting))
    causes = causes_of(old, new, found.decisions, names, clauses)
    return found.explained({atom: _through(because, rewriting) for atom, because in causes.items()}, UNTRACED)


def _because(found: Difference, causes: tuple[Cause, ...]) -> Difference:
    """The difference with the same causes everywhere."""
    causes = causes or (UNTRACED,)
    kernels = tuple(replace(change, causes=causes) for change in found.kernels)
    return replace(found, kernels=kernels, causes=causes)


def _rewriting(old: Decisions, new: Decisions, clauses: tuple[Clauses, Clauses]) -> tuple[Cause, ...]:
    """Why the graph was rewritten otherwise: the causes of what was decided about splits."""
    return _roots(("split",), old.before or old, new.before or new, ((), ()), clauses)


def _roots(
    relations: Sequence[str], old: Decisions, new: Decisions, names: Names, clauses: tuple[Clauses, Clauses]
) -> tuple[Cause, ...]:
    """The causes of all rows of some relations that only one side has."""
    spellers = [Speller(d, n) for d, n in zip((old, new), names, strict=True)]
    sides = [
        {speller.atom(name, row) for name in relations for row in d.model.rows(name)}
        for d, speller in zip((old, new), spellers, strict=True)
    ]
    changes = [DecisionChange(atom, "", "removed", ()) for atom in sides[0] - sides[1]]
    changes += [DecisionChange(atom, "", "added", ()) for atom in sides[1] - sides[0]]
    found = causes_of(old, new, changes, names, clauses)
    return tuple(sorted({cause for because in found.values() for cause in because}))


def _through(because: Sequence[Cause], rewriting: Sequence[Cause]) -> tuple[Cause, ...]:
    """A fact that only one of the graphs has is there because of the rewriting."""
    facts = {cause for cause in because if cause.kind == "fact"}
    return tuple(sorted({*because} - facts | {*rewriting})) if facts and rewriting else tuple(because)


def _operations(made: Attempt, names: Sequence[str]) -> set[str]:
    """The nodes that compute something, by their names."""
    if made.decisions is None:
        return set()
    graph = made.decisions.graph
    return {names[i] if names else graph.label(n) for i, n in enumerate(graph.nodes) if work(n)}


def _regrouped(found: Difference, operations: set[str]) -> Iterator[Regrouped]:
    """Changed kernels in groups that share operations, those first that come first in the schedule before."""
    old = [(c.before, c.causes) for c in found.kernels if c.before is not None]
    new = [(c.after, c.causes) for c in found.kernels if c.after is not None]
    at: dict[str, list[int]] = {}
    both = [*old, *new]
    for i, (kernel, _) in enumerate(both):
        for member in {*kernel.members, kernel.output}:
            at.setdefault(member, []).append(i)
    seen: set[int] = set()
    for start in range(len(both)):
        group = sorted(_reached(start, both, at, seen))
        sides = [[_group(both[i][0], operations) for i in group if (i < len(old)) is first] for first in (True, False)]  # fmt: skip
        if sorted(sides[0]) != sorted(sides[1]):
            because = tuple(sorted({cause for i in group for cause in both[i][1]}))
            yield Regrouped(tuple(sides[0]), tuple(sides[1]), because)


def _reached(
    start: int,
    kernels: Sequence[tuple[KernelOutcome, object]],
    at: Mapping[str, Sequence[int]],
    seen: set[int],
) -> list[int]:
    """The kernels connected with one by operations they share, if it was not seen before."""
    found: list[int] = []
    waiting = [] if start in seen else [start]
    seen.update(waiting)
    while waiting:
        found.append(waiting.pop())
        kernel = kernels[found[-1]][0]
        near = (i for member in (*kernel.members, kernel.output) for i in at[member])
        fresh = [i for i in dict.fromkeys(near) if i not in seen]
        seen.update(fresh)
        waiting += fresh
    return found


def _group(kernel: KernelOutcome, operations: set[str]) -> Group:
    """What a kernel computes; what it stores stands for one that computes nothing."""
    return tuple(m for m in kernel.members if m in operations) or (kernel.output,)


def _repeated(old: Attempt, new: Attempt, names: Names) -> Iterable[Repeated]:
    """The operations that another number of kernels computes, where on some side it is more than one."""
    counts = [_counts(made.schedule, n) for made, n in zip((old, new), names, strict=True)]
    for name in dict.fromkeys((*counts[0], *counts[1])):
        before, after = (found.get(name, 0) for found in counts)
        if before != after and max(before, after) > 1:
            yield Repeated(name, before, after)


def _counts(schedule: Schedule | None, names: Sequence[str]) -> dict[str, int]:
    if schedule is None:
        return {}
    graph = schedule.graph

    def name(n: Node) -> str:
        return names[graph.position[n]] if names else graph.label(n)

    return {name(n): count for n, count in computed_in(schedule).items()}
