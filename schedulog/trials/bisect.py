"""What breaks a graph: the smallest set of clauses, or the first decision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from schedulog.errors import UsageError
from schedulog.facts.extract import Intern
from schedulog.facts.graph import Graph
from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.language.diagnostic import plural
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.schedule import Decisions, Edit, Scheduler
from schedulog.trials.condition import Broken, make
from schedulog.trials.minimal import minimal
from schedulog.trials.parts import clauses, only

Judge = Callable[[Program], str]
"""Says what is broken under a rule set, "" for nothing."""
Value = int | str


@dataclass(frozen=True, slots=True)
class Culprits:
    """The clauses with which a graph breaks, without any of which it does not; none if it breaks under core alone."""

    broken: str
    clauses: tuple[str, ...]
    among: int
    tried: int


@dataclass(frozen=True, slots=True)
class Decision:
    """One row of a relation that a policy fills."""

    relation: str
    values: tuple[Value, ...]
    row: Row


@dataclass(frozen=True, eq=False)
class FirstDecision:
    """The first of `among` decisions, counted from 1, with which a graph breaks: those before it alone do not.

    0: it breaks before anything is decided; `decision` is then None.
    """

    broken: str
    number: int
    among: int
    decision: Decision | None
    decisions: Decisions


def smallest_rules(program: Program, judge: Judge) -> Culprits:
    """The smallest set found of clauses outside core under which the graph breaks as it does under all.

    Raises UsageError SL727 where it does not break.
    """
    names, tried = clauses(program), 1
    broken = judge(program)
    if not broken:
        raise _whole(f"{plural(len(names), 'clause')} beside core")

    def breaks(kept: Sequence[str]) -> bool:
        nonlocal tried
        tried += 1
        return judge(only(program, kept)) == broken

    return Culprits(broken, tuple(minimal(names, breaks)), len(names), tried)


def first_decision(
    program: Program, graph: Graph, options: Mapping[str, int], condition: Broken
) -> FirstDecision:
    """The first decision of a policy with which a graph breaks, if they are allowed one after the other.

    A policy acts through the relations that core leaves open. Their rows are handed to core by themselves, the first n in
    the order of the graph; n is found by bisection, so of several breaks it is one. Reductions that a policy has split
    are split from the beginning.
    Raises UsageError SL727 where the graph does not break, and what ends the evaluation, which then has no decisions.
    """
    decisions = Scheduler(program).decide(graph, options)
    taken = sorted(decisions_of(program, decisions), key=_place)
    core = Scheduler(only(program, ()))

    def broken_after(count: int) -> str:
        return condition(make(core, decisions.graph, options, _given(taken[:count])))

    broken = broken_after(len(taken))
    if not broken:
        raise _whole(plural(len(taken), "decision"))
    if broken_after(0) == broken:
        return FirstDecision(broken, 0, len(taken), None, decisions)
    good, bad = 0, len(taken)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if broken_after(middle) == broken else (middle, bad)
    return FirstDecision(broken, bad, len(taken), taken[bad - 1], decisions)


def decisions_of(program: Program, decisions: Decisions) -> Iterator[Decision]:
    """What a policy derived in the relations that core leaves open, but for splits, which are done already."""
    model, core = decisions.model, {r.head.relation for r in only(program, ()).rules if not r.body}
    for relation in program.relations.values():
        if not relation.is_open or relation.is_input or relation.name in ("split", *core):
            continue
        for row in model.rows(relation.name):
            pairs = zip(row, relation.columns, strict=True)
            values = tuple(model.symbols.value(n, column.type) for n, column in pairs)
            yield Decision(relation.name, values, row)


def _place(decision: Decision) -> tuple[Row, str]:
    return decision.row, decision.relation


def _given(decisions: Sequence[Decision]) -> Edit:
    def change(rows: Mapping[str, list[Row]], intern: Intern) -> Mapping[str, list[Row]]:
        changed = {relation: list(found) for relation, found in rows.items()}
        for decision in decisions:
            row = tuple(intern(v) if isinstance(v, str) else v for v in decision.values)
            changed.setdefault(decision.relation, []).append(row)
        return changed

    return change


def _whole(what: str) -> UsageError:
    return UsageError(
        "SL727",
        "nothing is broken",
        where="bisect",
        reason=f"under all the rules ({what}) the graph does not break in the way that is asked about",
        help="--error, --wrong, --kernels and --check say what counts as broken; --set gives the switches of the run",
    )
