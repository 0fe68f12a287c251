"""Graphs that the authors of rules give: those of the rules' own tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from schedulog.scheduler.language.program import Program, RuleTest
from schedulog.scheduler.language.rule_file import stem
from schedulog.scheduler.rule_test import Case, Fails
from schedulog.scheduler.rule_test_text import graph_text
from schedulog.scheduler.rule_tests import Suite, read_cases
from schedulog.trials.exactness import crosses_devices, values_of
from schedulog.trials.recipe import Recipe, Sample, Step, read_recipe

_BAD_SWITCH: Final = "SL731"


@dataclass(frozen=True, eq=False)
class Seeds:
    """The graphs of tests: by the rules that they are about, by the rules in whose file they stand, and all."""

    by_rule: Mapping[str, Sequence[Sample]]
    by_file: Mapping[str, Sequence[Sample]]
    all: Sequence[Sample]

    def of(self, rule: str) -> list[Sequence[Sample]]:
        """Those of a rule's own tests, of the tests in its file, and all; the nearest first, without those that are none."""
        return [found for found in (self.by_rule.get(rule), self.by_file.get(rule), self.all) if found]


NO_SEEDS: Final = Seeds({}, {}, ())


def read_seeds(found: Sequence[Suite], program: Program) -> Seeds:
    """The seeds in the tests of suites, for the rules of a program. Raises RuleError for tests with mistakes.

    Left out are graphs in files, those on which devices may differ, and tests of switches that are no good. Of what a test
    gives only `realize` counts: it is asked for by a CONTIGUOUS.
    """
    by_rule: dict[str, list[Sample]] = {}
    by_file: dict[str, list[Sample]] = {}
    for case in (case for suite in found for case in read_cases(suite)):
        sample = _sample(case)
        if sample is not None:
            by_file.setdefault(stem(case.test.place.file), []).append(sample)
            for rule in rules_of(case.test, program):
                by_rule.setdefault(rule, []).append(sample)
    beside = {rule: by_file.get(stem(info.place.file), []) for rule, info in program.infos.items()}
    return Seeds(by_rule, beside, tuple(sample for samples in by_file.values() for sample in samples))


def rules_of(test: RuleTest, program: Program) -> frozenset[str]:
    """The rules that a test is about: the one that it stands below, or all of the file beside it."""
    infos = program.infos.values()
    own = frozenset(info.id for info in infos if any(t.place == test.place for t in info.tests))
    return own or frozenset(info.id for info in infos if stem(info.place.file) == stem(test.place.file))


def _sample(case: Case) -> Sample | None:
    codes = {a.claim.code for a in case.assertions if isinstance(a.claim, Fails)}
    text = graph_text(case.test)
    if not text or _BAD_SWITCH in codes:
        return None
    recipe = read_recipe(text)
    if not codes and crosses_devices(recipe):
        return None
    stored = {fact.terms[0] for fact in case.given if fact.relation == "realize"}
    position = case.graph.position
    names = [name for name, n in case.names.items() if n in position and position[n] in stored]
    recipe = replace(recipe, steps=tuple(_asked(recipe, names)))
    return Sample(recipe, dict(case.options)) if values_of(recipe) is not None else None


def _asked(recipe: Recipe, names: Sequence[str]) -> Iterator[Step]:
    """The steps, with the named values asked for by a CONTIGUOUS before anybody reads them."""
    instead: dict[str, str] = {}
    for step in recipe.steps:
        yield replace(step, operands=tuple(instead.get(o, o) for o in step.operands))
        if step.name in names:
            instead[step.name] = f"{step.name}_stored"
            yield Step(instead[step.name], "contiguous", (step.name,))
