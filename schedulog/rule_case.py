"""Rules on one small graph, for tests of rules that are written in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import RuleTest
from schedulog.scheduler.language.rule_file import Part
from schedulog.scheduler.language.sources import with_required
from schedulog.scheduler.rule_test import Case
from schedulog.scheduler.rule_test_check import Outcome
from schedulog.scheduler.rule_test_text import read_test
from schedulog.scheduler.rule_tests import Runner, edit
from schedulog.scheduler.schedule import Scheduler
from schedulog.verify import differences

_FILE = "<rules>"


class RuleCases:
    """A checked rule set that graphs are given to.

    `packs` are names of packs, paths, and rules as text (with a line break or `:-`). The packs that these ask for are
    loaded too. Raises RuleError for rules with mistakes, UsageError for an unknown engine.
    """

    def __init__(self, packs: Sequence[Part], engine: str = "sqlite", folder: Path = Path()) -> None:
        self.program = load_program(with_required(packs))
        self.engine = engine
        self.folder = folder
        self.scheduler = Scheduler(self.program, engine)

    def decide(self, graph: str, given: str = "", **options: int) -> RuleCase:
        """What the rules make of a graph in the short notation (or `file name.json`).

        `given` are further facts, `options` the switches. Raises what is wrong with the graph or the facts.
        """
        settings = "".join(f" {name}={value}" for name, value in options.items())
        head = f'test "case"  graph: {graph}'
        head += f"\n  set:{settings}" if settings else ""
        head += f"\n  given: {given}" if given else ""
        return RuleCase(self, head)


class RuleCase:
    """The decisions about one graph. Everything is computed when it is asked for, once."""

    def __init__(self, rules: RuleCases, head: str) -> None:
        self.rules = rules
        self.head = head
        case = self.read("kernels == 0.")
        self.outcome = Outcome(case, rules.scheduler, edit(case.given), differences)

    def read(self, claims: str) -> Case:
        """The case with these claims, which begin in a line of their own."""
        text = f"{self.head}\n{claims}"
        place = Place(_FILE, 1, 1, 1, text.split("\n", 1)[0])
        return read_test(RuleTest("case", text, place), self.rules.program, self.rules.folder)

    def check(self, claims: str) -> None:
        """Require assertions as rule files have them: `holds realize(s). kernels == 1. result ~ numpy.`

        Raises AssertionError that names every one that does not hold and what holds instead, RuleError SL160 for what is
        no assertion.
        """
        case = self.read(claims)
        runner = Runner(self.rules.program, self.rules.engine, execute=differences, folder=self.rules.folder)
        found = [runner.result(case, assertion, self.outcome, None) for assertion in case.assertions]
        failed = [f"{result.assertion}: {result.message}" for result in found if not result.passed]
        if failed:
            raise AssertionError("\n".join(failed))

    def rows(self, relation: str) -> set[tuple[str, ...]]:
        """The rows of a relation, as rule tests write their values.

        Raises RuleError SL101 for an unknown relation, and what deciding ended with.
        """
        if relation not in self.rules.program.relations:
            raise RuleError("SL101", f"unknown relation `{relation}`", where="rows")
        found = self.outcome.model.rows(relation)
        return {tuple(self.outcome.values(relation, row)) for row in found}

    @property
    def kernels(self) -> list[set[str]]:
        """The named members of each kernel, in running order. Raises what scheduling ended with."""
        shown = self.outcome.shown.keys()
        members = (self.outcome.members(kernel, shown) for kernel in self.outcome.schedule.kernels)
        return [{self.outcome.name(n) for n in found} for found in members]

    @property
    def options(self) -> Mapping[str, int]:
        """The switches that are set."""
        return self.outcome.case.options
