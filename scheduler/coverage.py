"""What do the tests of rules cover? Counted from derivations, not from lines.

A clause is covered if some row of some test's model is derived by it alone: then the test's decisions need it. A condition
is covered if it is decisive in some test (see `decisive`): it alone keeps a row out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from schedulog.errors import SchedulogError
from schedulog.scheduler.decisive import Probe, Probes
from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.html.fragment import Table, fragment
from schedulog.scheduler.language.diagnostic import plural
from schedulog.scheduler.language.metadata import KINDS
from schedulog.scheduler.language.program import Rule
from schedulog.scheduler.language.rule_text import format_item
from schedulog.scheduler.rule_test import BlockedAt, Case, Claim, CountIs, Fails, Holds, SetIs
from schedulog.scheduler.rule_test_check import Outcome
from schedulog.scheduler.rule_tests import Suite, edit, read_cases
from schedulog.scheduler.schedule import Decisions, Scheduler
from schedulog.scheduler.why.support import derivations


@dataclass(frozen=True, slots=True)
class ConditionCoverage:
    """A condition that can decide, counted from 1, and whether it does in some test.

    `equivalent` is the reason for which the rule's header says that it never can; such a condition is not counted.
    """

    number: int
    text: str
    decisive: bool
    equivalent: str = ""


@dataclass(frozen=True, slots=True)
class ClauseCoverage:
    """What the tests show about one clause.

    `fired` counts the rows that it derived in all tests together, `sole` those that nothing else gave, `tests` the tests in
    which it derived any. `refused` counts the tests that claim (`not`, `blocked`, `set`, `count`) that a row does not hold
    which the clause would derive but for one condition.
    """

    rule: Rule
    pack: str
    status: str
    tests: int
    fired: int
    sole: int
    refused: int
    conditions: tuple[ConditionCoverage, ...]

    @property
    def counted(self) -> tuple[ConditionCoverage, ...]:
        """The conditions that should decide in some test."""
        return tuple(condition for condition in self.conditions if not condition.equivalent)

    @property
    def decisive(self) -> int:
        """How many of those do."""
        return sum(condition.decisive for condition in self.counted)

    @property
    def gaps(self) -> tuple[int, ...]:
        """The numbers of those that do not."""
        return tuple(condition.number for condition in self.counted if not condition.decisive)

    def __str__(self) -> str:
        """`my/far#1  fired 4  sole 4  refused 1  conditions 3/5 decisive  not decisive: 1,5`."""
        parts = [
            self.rule.name, f"fired {self.fired}", f"sole {self.sole}", f"refused {self.refused}",
            f"conditions {self.decisive}/{len(self.counted)} decisive",
        ]  # fmt: skip
        if self.gaps:
            parts.append(f"not decisive: {','.join(map(str, self.gaps))}")
        return "  ".join(parts)


@dataclass(frozen=True, slots=True, repr=False)
class Coverage:
    """What some tests show about the rules that they are about, clause by clause in the order of the files.

    `ended` are the tests that show nothing: where each stands, and the error it ends with.
    """

    clauses: tuple[ClauseCoverage, ...]
    tests: int
    ended: tuple[tuple[str, SchedulogError], ...] = ()

    @property
    def percent(self) -> float:
        """The share of clauses and conditions that are covered; 100 where there are none."""
        covered = sum((clause.sole > 0) + clause.decisive for clause in self.clauses)
        total = sum(1 + len(clause.counted) for clause in self.clauses)
        return 100.0 * covered / total if total else 100.0

    def summary(self) -> str:
        """`3 tests, 12 clauses, 11 needed; 30 conditions, 28 decisive; 92.9 %`, and how many tests ended with an error."""
        needed = sum(clause.sole > 0 for clause in self.clauses)
        conditions = sum(len(clause.counted) for clause in self.clauses)
        decisive = sum(clause.decisive for clause in self.clauses)
        clauses = f"{plural(len(self.clauses), 'clause')}, {needed} needed"
        decided = f"{plural(conditions, 'condition')}, {decisive} decisive"
        ended = f", {len(self.ended)} of them ended with an error" if self.ended else ""
        return f"{plural(self.tests, 'test')}{ended}, {clauses}; {decided}; {self.percent:.1f} %"

    def endings(self) -> list[str]:
        """A line for each test that ended with an error."""
        return [f"{place} ended with error[{error.code}] {error.message}" for place, error in self.ended]

    def __str__(self) -> str:
        return "\n".join([*map(str, self.clauses), *self.endings(), self.summary()])

    def __repr__(self) -> str:
        return f"<Coverage: {self.summary()}>"

    def _repr_html_(self) -> str:
        columns = ("clause", "fired", "sole", "refused", "conditions", "not decisive")
        rows = [
            (
                c.rule.name,
                c.fired,
                c.sole,
                c.refused,
                f"{c.decisive}/{len(c.counted)}",
                ", ".join(map(str, c.gaps)),
            )
            for c in self.clauses
        ]
        return fragment(self.summary(), Table(columns, rows))


def coverage(suites: Sequence[Suite]) -> Coverage:
    """What the tests of suites show about the rules that those are about, on the default engine.

    Tests need not pass: what is counted is what the rules derive. A test that ends with an error before there are
    decisions shows nothing.

    Raises RuleError: SL160 to SL162, SL101, SL102, SL119 for what is wrong with the tests.
    """
    ended: dict[str, SchedulogError] = {}
    clauses = [clause for suite in suites for clause in _of_suite(suite, ended)]
    places = {test.place for suite in suites for test in suite.tests}
    return Coverage(tuple(clauses), len(places), tuple(ended.items()))


def _of_suite(suite: Suite, ended: dict[str, SchedulogError]) -> Iterator[ClauseCoverage]:
    cases = read_cases(suite)
    counting = _Counting(suite)
    scheduler = Scheduler(suite.program)
    for case in cases:
        outcome = Outcome(case, scheduler, edit(case.given))
        if not isinstance(outcome.decided, SchedulogError):
            counting.add(case, outcome, outcome.decided)
        elif not any(isinstance(a.claim, Fails) for a in case.assertions):
            place = case.test.place
            ended[f"{place.file}:{place.line}"] = outcome.decided
    for rule in sorted(suite.rules, key=lambda rule: (rule.place.file, rule.place.line, rule.place.column)):
        yield counting.result(rule)


class _Counting:
    """What has been counted of the rules of one suite, by clause name."""

    def __init__(self, suite: Suite) -> None:
        self.program = suite.program
        self.names = {rule.name for rule in suite.rules}
        self.probes = Probes(suite.program, suite.rules)
        self.tests: Counter[str] = Counter()
        self.fired: Counter[str] = Counter()
        self.sole: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.decisive: set[tuple[str, int]] = set()

    def add(self, case: Case, outcome: Outcome, decisions: Decisions) -> None:
        """Add what one test shows. Where the graph is rewritten on the way, both models count."""
        fired = set()
        before = decisions.before
        for model in [before.model] if before else []:
            fired |= self.rows(model, _given(case, model))
            self.conditions(model, (), outcome)
        fired |= self.rows(decisions.model, {} if before else _given(case, decisions.model))
        self.conditions(decisions.model, [a.claim for a in case.assertions if not a.todo], outcome)
        self.tests.update(fired)

    def rows(self, model: Model, given: Mapping[str, Collection[Row]]) -> set[str]:
        """Count the rows of each clause, and those that neither another clause nor the test gives; who has any."""
        found = derivations(model, KINDS)
        times: dict[str, Counter[Row]] = {}
        for rule in self.program.rules:
            times.setdefault(rule.head.relation, Counter()).update(found[rule.name].keys())
        for rule in (rule for rule in self.program.rules if rule.name in self.names):
            relation = rule.head.relation
            alone = (row for row in found[rule.name] if times[relation][row] == 1)
            self.fired[rule.name] += len(found[rule.name])
            self.sole[rule.name] += sum(row not in given.get(relation, ()) for row in alone)
        return {name for name in self.names if found[name]}

    def conditions(self, model: Model, claims: Sequence[Claim], outcome: Outcome) -> None:
        """Note which conditions decide, and whose clauses the claims refuse a row. What is known is not asked again."""
        refusing = [claim for claim in claims if _refused_relation(claim)]
        about = {_refused_relation(claim) for claim in refusing}
        wanted = [
            probe
            for probe in self.probes.probes
            if (probe.rule.name, probe.condition) not in self.decisive or probe.rule.head.relation in about
        ]
        refused = set()
        for probe, rows in self.probes.kept_out(model, wanted):
            if rows:
                self.decisive.add((probe.rule.name, probe.condition))
            if any(_refuses(claim, probe, rows, outcome) for claim in refusing):
                refused.add(probe.rule.name)
        self.refused.update(refused)

    def result(self, rule: Rule) -> ClauseCoverage:
        info, name = self.program.infos[rule.id], rule.name
        same = dict(info.equivalent)
        conditions = tuple(
            ConditionCoverage(
                k,
                format_item(rule.body[k - 1]),
                (name, k) in self.decisive,
                same.get(f"#{rule.clause}:{k}", ""),
            )
            for k in (probe.condition for probe in self.probes.probes if probe.rule.name == name)
        )
        counts = (self.tests[name], self.fired[name], self.sole[name], self.refused[name])
        return ClauseCoverage(rule, info.pack, info.status, *counts, conditions)


def _given(case: Case, model: Model) -> Mapping[str, Collection[Row]]:
    """The rows that a test gives."""
    return {name: set(rows) for name, rows in edit(case.given)({}, model.symbols.intern).items()}


def _refused_relation(claim: Claim) -> str:
    """The relation of which a claim says that some rows do not hold, "" for other claims."""
    match claim:
        case Holds(fact, wanted=False) | CountIs(fact) | BlockedAt(fact):
            return fact.relation
        case SetIs(relation):
            return relation
    return ""


def _refuses(claim: Claim, probe: Probe, rows: Collection[Row], outcome: Outcome) -> bool:
    """Whether a claim says of one of these rows, which the clause would derive but for the condition, that it does not hold."""
    rule = probe.rule
    if _refused_relation(claim) != rule.head.relation:
        return False
    match claim:
        case SetIs():
            return bool(rows)
        case BlockedAt(fact, name, condition) if (
            name in (rule.id, rule.name) and condition == probe.condition
        ):
            wanted = fact
        case Holds(fact) | CountIs(fact):
            wanted = fact
        case _:
            return False
    return any(len(row) == len(wanted.terms) and outcome.fits(wanted, row) for row in rows)
