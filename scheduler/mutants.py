"""Do the tests of rules notice a change of a rule? Every clause and every condition is dropped in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from schedulog.errors import UsageError
from schedulog.scheduler.edit import conditions, is_rule
from schedulog.scheduler.engines.engine import Limits
from schedulog.scheduler.language.program import Program, Rule, RuleTest
from schedulog.scheduler.rule_test import Case
from schedulog.scheduler.rule_tests import Runner, Suite, read_cases

_LIMITS = Limits(rows=100_000, rounds=2_000, alternations=2_000)
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
    program: Program


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which test noticed a mutant; None: it survived."""

    mutant: Mutant
    killer: RuleTest | None


def mutants(program: Program, pack: str = "") -> Iterator[Mutant]:
    """All mutants of a program's rules, or of those of one pack. One that is no program any more is left out."""
    for index, rule in enumerate(program.rules):
        if pack and program.infos[rule.id].pack != pack:
            continue
        others = program.rules[:index] + program.rules[index + 1 :]
        yield Mutant(rule.name, rule, "", replace(program, rules=others))
        for place, text, body in conditions(rule.body):
            shorter = replace(rule, body=body)
            if body and is_rule(shorter, program):
                changed = (*others[:index], shorter, *others[index:])
                yield Mutant(f"{rule.name}:{place}", rule, text, replace(program, rules=changed))


def judge(suite: Suite, pack: str = "") -> Iterator[Verdict]:
    """Run the tests of a suite against every mutant until one fails; nearest tests first.

    A condition without which the rule is unsafe needs no test. Only decisions are looked at, on the default engine.
    Raises UsageError SL708 when a test fails with the rules as they are.
    """
    cases = read_cases(suite)
    for result in Runner(suite.program).run_all(cases):
        if not result.passed:
            raise UsageError(
                "SL708", "a test fails with the rules as they are", reason=str(result), help="mend it first"
            )
    for mutant in mutants(suite.program, pack):
        runner = Runner(mutant.program, limits=_LIMITS)
        yield Verdict(mutant, _killer(runner, sorted(cases, key=lambda case: _distance(case, mutant.rule))))


def _killer(runner: Runner, cases: Sequence[Case]) -> RuleTest | None:
    return next((case.test for case in cases if _notices(runner, case)), None)


def _notices(runner: Runner, case: Case) -> bool:
    try:
        return not all(result.passed for result in runner.run(case))
    except (KeyError, IndexError):
        # Kernels are put together from decisions that no rule set which passes its tests makes: rows are missing.
        return True


def _distance(case: Case, rule: Rule) -> tuple[bool, int]:
    """Tests of the rule's own file come first, those right below the rule before others."""
    place = case.test.place
    same = (
        place.file.removesuffix("_test.dl") == rule.place.file.removesuffix(".dl")
        or place.file == rule.place.file
    )
    after = place.line - rule.place.line
    return not same, after if after >= 0 else 100_000 - after
