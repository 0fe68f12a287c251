"""Where does the evaluation of the rules spend its time, clause by clause and join by join?

The default engine evaluates the rules a few times with a clock around each statement, and once with counters in the joins
(`engines/sqlite_profile.py`). What is decided is what an evaluation without a profile decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from schedulog.errors import ScheduleError
from schedulog.facts.graph import Graph
from schedulog.scheduler.engines.engine import Limits
from schedulog.scheduler.engines.join_order import Absent, Fold, Scan, Step
from schedulog.scheduler.engines.ledger import Ledger, Place, SubLedger, Version
from schedulog.scheduler.engines.sqlite_profile import ProfiledProgram
from schedulog.scheduler.engines.strata import Component
from schedulog.scheduler.language.program import Program, Rule
from schedulog.scheduler.language.rule_text import format_item
from schedulog.scheduler.profile_hints import Hints
from schedulog.scheduler.schedule import Decisions, Scheduler


@dataclass(frozen=True, slots=True)
class JoinStep:
    """One condition in the place where it is looked at. `number` is 1-based in the source, "3.1" inside an aggregate.

    `met`: for an atom, the rows that agree with what was known before it, in all runs; None for other conditions, and where
    nothing was counted. `known`: how many of an atom's arguments had values before.
    """

    number: str
    text: str
    met: int | None = None
    known: int | None = None


@dataclass(frozen=True, slots=True)
class JoinOrder:
    """One ordered version of a clause; a recursive one has a version for each condition whose new rows it can start from."""

    steps: tuple[JoinStep, ...]
    starts_from_new_rows: bool
    runs: int
    ms: float


@dataclass(frozen=True, slots=True)
class ClauseProfile:
    """What one clause cost, all its versions and rounds together.

    `tried` counts the rows that its joins looked at, `fired` the matches of its whole body, `new_facts` the rows that were not
    there yet. Where components are evaluated several times (`not` in a recursion), each evaluation counts. None: not counted,
    because the evaluation did not end.
    """

    rule: Rule
    component: int
    ms: float
    rounds: int
    tried: int | None
    fired: int | None
    new_facts: int
    orders: tuple[JoinOrder, ...]
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComponentProfile:
    """What relations that depend on each other cost together; components are numbered from 1 in the order of evaluation.

    `evaluations` of its parts; `rounds` of those that ended.
    """

    number: int
    relations: tuple[str, ...]
    ms: float
    rounds: int
    evaluations: int
    new_facts: int


@dataclass(frozen=True, eq=False)
class Profile:
    """Where an evaluation spent its time: clauses and components that ran, the dearest first.

    `rows` by derived relation, at the end. `error` is what ended the evaluation early; everything is counted up to there, and
    there are no decisions. On other engines than sqlite there are no clauses and components.
    """

    engine: str
    graph: Graph
    ms: float
    statements: int
    clauses: tuple[ClauseProfile, ...]
    components: tuple[ComponentProfile, ...]
    rows: Mapping[str, int]
    decisions: Decisions | None = None
    error: ScheduleError | None = None

    @property
    def rounds(self) -> int:
        """Rounds of all fixpoints together."""
        return sum(component.rounds for component in self.components)


def profile(
    graph: Graph,
    program: Program,
    engine: str = "sqlite",
    options: Mapping[str, int] | None = None,
    limits: Limits | None = None,
) -> Profile:
    """Let the rules decide about a graph, and note what it costs.

    An evaluation that reaches a limit (SL140), or fails otherwise, ends in a profile with that error. Raises UsageError for
    options and engines, as `Scheduler` does.
    """
    if engine != "sqlite":
        return _totals(graph, program, engine, options, limits)
    profiled = ProfiledProgram(program, limits or Limits())
    decisions: Decisions | None = None
    error: ScheduleError | None = None
    try:
        decisions = Scheduler(program, compiled=profiled).decide(graph, options)
    except ScheduleError as caught:
        error = caught
    ledger, components = profiled.ledger, profiled.strata.components
    clauses = _clauses(ledger, components)
    if decisions is not None:
        hints = Hints(decisions.model)
        clauses = [replace(c, hints=tuple(hints.of(c, ledger))) for c in clauses]
    rows = _rows(program, ledger.rows)
    parts = sorted(_components(ledger, components), key=lambda part: (-part.ms, part.number))
    spent = sum(part.ms for part in parts)
    return Profile(
        engine, graph, spent, ledger.statements, tuple(clauses), tuple(parts), rows, decisions, error
    )


def _totals(
    graph: Graph, program: Program, engine: str, options: Mapping[str, int] | None, limits: Limits | None
) -> Profile:
    """What an engine tells that does not work statement by statement."""
    scheduler = Scheduler(program, engine, limits)
    try:
        decisions = scheduler.decide(graph, options)
    except ScheduleError as error:
        return Profile(engine, graph, 0.0, 0, (), (), {}, error=error)
    model = decisions.model
    rows = _rows(program, {name: model.count(name) for name in program.relations})
    return Profile(engine, graph, model.statistics.seconds * 1e3, 0, (), (), rows, decisions)


def _rows(program: Program, counts: Mapping[str, int]) -> dict[str, int]:
    derived = sorted({rule.head.relation for rule in program.rules}, key=lambda name: (-counts[name], name))
    return {name: counts[name] for name in derived}


def _clauses(ledger: Ledger, components: tuple[Component, ...]) -> list[ClauseProfile]:
    """The clauses that ran, the dearest first."""
    number = {name: i for i, part in enumerate(components, 1) for name in part.relations}
    by_clause: dict[str, list[Version]] = {}
    for (name, _), version in ledger.versions.items():
        if version.runs:
            by_clause.setdefault(name, []).append(version)
    found = [_clause(versions, number) for versions in by_clause.values()]
    return sorted(found, key=lambda clause: (-clause.ms, clause.rule.name))


def _clause(versions: list[Version], number: Mapping[str, int]) -> ClauseProfile:
    rule = versions[0].rule
    counted = [version.met for version in versions if version.met is not None]
    return ClauseProfile(
        rule,
        number[rule.head.relation],
        sum(version.seconds for version in versions) * 1e3,
        max(version.runs for version in versions),
        sum(met for counts in counted for place, met in counts.items() if place) if counted else None,
        sum(counts.get((), 0) for counts in counted) if counted else None,
        sum(version.new for version in versions),
        tuple(
            JoinOrder(tuple(_steps(v, v.steps, ())), bool(v.delta), v.runs, v.seconds * 1e3) for v in versions
        ),
    )


def _steps(version: Version, steps: tuple[Step, ...], inside: Place) -> Iterator[JoinStep]:
    body = version.rule.body
    for step in steps:
        place = (*inside, step.item)
        number = ".".join(str(i + 1) for i in place)
        item = body[place[0]] if not inside else body[inside[0]].body[step.item]  # type: ignore[union-attr]
        scan = isinstance(step, Scan)
        met = version.met.get(place, 0) if scan and version.met is not None else None
        known = len(step.bound) if isinstance(step, Scan | Absent) else None
        yield JoinStep(number, format_item(item), met, known)
        if isinstance(step, Fold):
            yield from _steps(version, step.steps, place)


def _components(ledger: Ledger, components: tuple[Component, ...]) -> Iterator[ComponentProfile]:
    """The components that were evaluated."""
    new: dict[str, int] = {}
    for version in ledger.versions.values():
        relation = version.rule.head.relation
        new[relation] = new.get(relation, 0) + version.new
    for number, part in enumerate(components, 1):
        entries = [ledger.subs.get(sub.index, SubLedger()) for sub in part.subs]
        if any(entry.evaluations for entry in entries):
            yield ComponentProfile(
                number,
                part.relations,
                sum(entry.seconds for entry in entries) * 1e3,
                sum(entry.rounds for entry in entries),
                sum(entry.evaluations for entry in entries),
                sum(new.get(name, 0) for name in part.relations),
            )
