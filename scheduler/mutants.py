"""Do the tests of rules notice a change of a rule? Every clause and every condition is dropped in turn.

A mutant that means the same as the rule, on every graph that can be, is declared so in the rule's header, with the reason:
`%! equivalent: #2:3 why`. It is run all the same, so that a declaration which is not true is found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from schedulog.errors import RuleError, UsageError
from schedulog.scheduler.edit import Part, conditions, is_rule, without_parts
from schedulog.scheduler.engines.engine import Limits
from schedulog.scheduler.language.diagnostic import raise_all
from schedulog.scheduler.language.program import Program, Rule, RuleTest
from schedulog.scheduler.language.rule_file import stem
from schedulog.scheduler.language.rule_text import format_rule
from schedulog.scheduler.rule_test import Case
from schedulog.scheduler.rule_tests import Runner, Suite, read_cases

_LIMITS: Final = Limits(rows=100_000, rounds=2_000, alternations=2_000, steps=50_000_000)
"""A mutant that does not end is noticed early; tests are about small graphs."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A program without one clause (`condition` is "") or without one condition.

    `name` is the clause (`core/member#2`) or the condition in it (`core/member#2:3`, counted from 1; `core/x#1:2.1`
    inside an aggregate).
    """

    name: str
    rule: Rule
    condition: str
    original: Program

    @property
    def program(self) -> Program:
        """The program without the part."""
        part = Part(self.rule.id, self.rule.clause, self.name.partition(":")[2])
        return without_parts(self.original, [part])


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which test noticed a mutant, None if none did; and why none can, where the rule's header says so."""

    name: str
    rule: Rule
    condition: str
    status: str
    killer: RuleTest | None
    equivalent: str = ""

    @property
    def survived(self) -> bool:
        """Whether no test notices what is not declared to be the same."""
        return self.killer is None and not self.equivalent

    def __str__(self) -> str:
        """`core/kernel.dl:90:1: core/member#2 without `not memory(S)`: survived`."""
        what = f"without `{self.condition}`" if self.condition else f"dropped (`{format_rule(self.rule)}`)"
        end = "survived"
        if self.killer is not None:
            end = f'noticed by {self.killer.place} "{self.killer.title}"'
        elif self.equivalent:
            end = f"the same: {self.equivalent}"
        return f"{self.rule.place}: {self.name} {what}: {end}"


def mutants(program: Program, rules: Iterable[Rule] | None = None) -> Iterator[Mutant]:
    """All mutants of some rules of a program, of all if left out. One that is no program any more is left out."""
    for rule in program.rules if rules is None else rules:
        yield Mutant(rule.name, rule, "", program)
        for place, text, body in conditions(rule.body):
            if body and is_rule(replace(rule, body=body), program):
                yield Mutant(f"{rule.name}:{place}", rule, text, program)


class Judge:
    """Runs the tests of a suite against its mutants until one fails; nearest tests first.

    A condition without which the rule is unsafe needs no test. Only decisions are looked at, on the default engine.
    """

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self.cases = read_cases(suite)
        self.mutants = list(mutants(suite.program, suite.rules))

    def check(self) -> None:
        """Raise UsageError SL708 when a test fails with the rules as they are, RuleError SL164 for what is no mutant."""
        raise_all(list(_strays(self.suite, {mutant.name for mutant in self.mutants})))
        for result in Runner(self.suite.program, folder=self.suite.folder).run_all(self.cases):
            if not result.passed:
                raise UsageError(
                    "SL708",
                    "a test fails with the rules as they are",
                    reason=str(result),
                    help="mend it first",
                )

    def verdict(self, mutant: Mutant) -> Verdict:
        """Which test notices a mutant."""
        info = self.suite.program.infos[mutant.rule.id]
        same = dict(info.equivalent).get(mutant.name.removeprefix(info.id), "")
        runner = Runner(mutant.program, limits=_LIMITS, folder=self.suite.folder)
        nearest = sorted(self.cases, key=lambda case: _distance(case, mutant.rule))
        killer = _killer(runner, nearest)
        return Verdict(mutant.name, mutant.rule, mutant.condition, info.status, killer, same)


def judge(suite: Suite) -> Iterator[Verdict]:
    """The verdicts on all mutants of the rules that a suite is about. Raises UsageError SL708, RuleError SL164."""
    judging = Judge(suite)
    judging.check()
    yield from map(judging.verdict, judging.mutants)


def untrue(verdicts: Iterable[Verdict]) -> list[RuleError]:
    """SL165 for each mutant that is declared equivalent and that a test notices."""
    return [
        RuleError(
            "SL165",
            f"{verdict.name} is declared equivalent, and a test notices it",
            where=verdict.rule.place,
            reason=f'{verdict.killer.place} "{verdict.killer.title}" fails without it',
            help="take the declaration out of the header",
        )
        for verdict in verdicts
        if verdict.killer is not None and verdict.equivalent
    ]


def _strays(suite: Suite, names: Collection[str]) -> Iterator[RuleError]:
    """SL164 for each declaration about what is no mutant."""
    for info in (suite.program.infos[name] for name in sorted({rule.id for rule in suite.rules})):
        for part, _ in info.equivalent:
            if f"{info.id}{part}" not in names:
                near = [name.removeprefix(info.id) for name in names if name.startswith(f"{info.id}#")]
                yield RuleError(
                    "SL164",
                    f"{info.id} has no mutant `{part}`",
                    where=info.place,
                    reason="only what leaves a rule can be left out: something else binds every variable",
                    help=f"its mutants: {', '.join(sorted(near))}",
                )


def _killer(runner: Runner, cases: Sequence[Case]) -> RuleTest | None:
    return next((case.test for case in cases if _notices(runner, case)), None)


def _notices(runner: Runner, case: Case) -> bool:
    try:
        return not all(result.passed for result in runner.run(case))
    except Exception:  # noqa: BLE001 (whatever breaks in kernels made from decisions of no rule set with passing tests)
        return True


def _distance(case: Case, rule: Rule) -> tuple[bool, int]:
    """Tests of the rule's own file come first, those right below the rule before others."""
    place = case.test.place
    same = stem(place.file) == stem(rule.place.file)
    after = place.line - rule.place.line
    return not same, after if after >= 0 else 100_000 - after
