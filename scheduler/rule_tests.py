"""Runs the tests that stand in rule files, on any engine, also with rules, conditions and facts shuffled."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schedulog.errors import Place, RuleError, SchedulogError
from schedulog.facts.extract import Intern
from schedulog.rules import pack_names
from schedulog.scheduler.engines.engine import Limits, Row
from schedulog.scheduler.language.diagnostic import raise_all
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.pack import on_disk, read_file, read_tests
from schedulog.scheduler.language.pack_finder import find_pack
from schedulog.scheduler.language.program import Program, Rule, RuleTest
from schedulog.scheduler.language.rule_file import SIDE_TESTS, Part, files_below, stem
from schedulog.scheduler.language.sources import (
    Sources,
    own_sources,
    pack_names_of,
    paths_of,
    with_required,
)
from schedulog.scheduler.rule_snapshots import baseline, check_titles, read_snapshots
from schedulog.scheduler.rule_test import Assertion, Case, Computes, Pattern, Snapshot
from schedulog.scheduler.rule_test_check import Execute, Outcome, same_decisions
from schedulog.scheduler.rule_test_text import read_test, side_tests
from schedulog.scheduler.schedule import Edit, Scheduler


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests and the rule set they are about. Graph files are looked up in `folder`."""

    name: str
    program: Program
    tests: tuple[RuleTest, ...]
    folder: Path

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that the tests are about: of a pack its own, of files those that no built-in pack brings."""
        built_in, infos = pack_names(), self.program.infos
        if self.name in built_in:
            return tuple(rule for rule in self.program.rules if infos[rule.id].pack == self.name)
        return tuple(rule for rule in self.program.rules if infos[rule.id].pack not in built_in)


@dataclass(frozen=True, slots=True)
class RuleTestResult:
    """What became of one assertion on one engine; `seed` is the shuffling, None for the rules as written.

    `message` says what holds instead, or why a passing `todo` is a failure. `snapshot` is the outcome that the
    assertion asks to compare, None for all others.
    """

    test: RuleTest
    assertion: str
    place: Place
    passed: bool
    message: str
    engine: str
    seed: int | None
    snapshot: str | None = None

    @property
    def how(self) -> str:
        """The engine, and the shuffling if there was one."""
        return self.engine if self.seed is None else f"{self.engine}, shuffled by {self.seed}"

    def __str__(self) -> str:
        return f"{self.place}: {self.test.title} ({self.how}): {self.assertion}: {self.message}"


def suites(packs: Sequence[Part], loaded: Sequence[str] = ()) -> list[Suite]:
    """The tests of rule packs. Those of a pack given by name are about it and what it asks for only; those of files, folders
    and texts are about all that is given, and the packs `loaded` besides. Raises what `load_program` raises."""
    named, own = pack_names_of(packs), own_sources(packs)
    found = [_pack_suite(name) for name in dict.fromkeys(named)]
    if own.files or not named:
        program = load_program([*packs, *loaded])
        files = {file.name for file in own.files}
        inside = tuple(test for test in own_tests(program) if not files or test.place.file in files)
        found.append(Suite("files", program, (*inside, *_beside(packs, own)), _folder(packs)))
    return found


def _pack_suite(name: str) -> Suite:
    """The tests of a pack that is known by its name. Raises RuleError SL108, SL123, SL125."""
    program, errors = load_program(with_required([name])), list[RuleError]()
    pack = find_pack(name, errors)
    assert pack is not None  # it was just loaded
    inside = [test for test in own_tests(program) if test.place.file.startswith(f"{name}/")]
    beside = [test for file, text in read_tests(pack) for test in side_tests(text, file)]
    return Suite(name, program, (*inside, *beside), on_disk(pack.folder))


def _beside(packs: Sequence[Part], own: Sources) -> Iterator[RuleTest]:
    """The tests in files of their own: of packs given by path, and beside rule files and in folders."""
    for pack in own.packs:
        for file, text in read_tests(pack):
            yield from side_tests(text, file)
    whole = {Path(pack.shown) for pack in own.packs}
    for path in (path for path in paths_of(packs) if path not in whole):
        for side in _side_files(path):
            yield from _read_side(side)


def _folder(packs: Sequence[Part]) -> Path:
    """Where the graph files of tests are looked up first."""
    path = next(iter(paths_of(packs)), Path())
    return path if path.is_dir() else path.parent


def _side_files(path: Path) -> list[Path]:
    if path.is_dir():
        return files_below(path, SIDE_TESTS)
    beside = path.with_name(stem(path.name) + SIDE_TESTS)
    return [beside] if beside.exists() else []


def _read_side(file: Path) -> tuple[RuleTest, ...]:
    errors: list[RuleError] = []
    read = read_file(file, file.as_posix(), "", errors)
    raise_all(errors)
    return side_tests(read.text, read.name) if read is not None else ()


def own_tests(program: Program) -> tuple[RuleTest, ...]:
    """The tests in a program's own text, by file and line."""
    tests = (test for info in program.infos.values() for test in info.tests)
    return tuple(sorted(tests, key=lambda test: (test.place.file, test.place.line)))


def run_rule_tests(
    rules: Program | Sequence[Part],
    engines: Sequence[str] = ("sqlite",),
    *,
    select: str | Callable[[RuleTest], bool] | None = None,
    execute: Execute | None = None,
    seeds: Sequence[int] = (),
) -> list[RuleTestResult]:
    """Run tests and return one result for each assertion, engine and shuffling, in the order of the tests.

    `rules` is a checked program, whose own tests are run, or packs as for `load_program`, with the tests beside them.
    `select` keeps the tests whose file, line or title it is part of, or those it returns true for. Each of `seeds` runs
    the tests once more with rules, conditions and facts shuffled, which must not change a decision. `execute` runs
    kernels for `result ~ numpy`; without it those assertions are left out.

    Raises RuleError: SL160 to SL162, SL101, SL102, SL119 for what is wrong with the tests; SL161 when none is selected.
    """
    found = [Suite("", rules, own_tests(rules), Path())] if isinstance(rules, Program) else suites(rules)
    return run_suites(selected(found, select), engines, execute=execute, seeds=seeds)


def selected(found: Sequence[Suite], select: str | Callable[[RuleTest], bool] | None) -> list[Suite]:
    """The suites with the selected tests only. Raises RuleError SL161 when there is none."""
    chosen = [replace(suite, tests=tuple(t for t in suite.tests if _selected(t, select))) for suite in found]
    if not any(suite.tests for suite in chosen):
        raise RuleError(
            "SL161",
            "no rule test is selected",
            where=select if isinstance(select, str) else "",
            help="tests stand in lines that begin with `%? test`",
        )
    return chosen


def run_suites(
    chosen: Sequence[Suite],
    engines: Sequence[str],
    *,
    execute: Execute | None = None,
    seeds: Sequence[int] = (),
) -> list[RuleTestResult]:
    """Run all tests of suites; see `run_rule_tests`. Kernels are run on the first engine only."""
    cases = [(suite, read_cases(suite)) for suite in chosen]
    return [
        result
        for suite, tests in cases
        for engine in engines
        for result in Runner(
            suite.program, engine, seeds, execute if engine == engines[0] else None, folder=suite.folder
        ).run_all(tests)
    ]


def _selected(test: RuleTest, select: str | Callable[[RuleTest], bool] | None) -> bool:
    if select is None or isinstance(select, str):
        return select is None or select in f"{test.place.file}:{test.place.line} {test.title}"
    return select(test)


def read_cases(suite: Suite) -> list[Case]:
    """The tests of a suite, ready to run. Raises RuleError with all mistakes of all tests."""
    cases: list[Case] = []
    errors: list[RuleError] = []
    for test in suite.tests:
        try:
            cases.append(read_test(test, suite.program, suite.folder))
        except SchedulogError as error:
            errors.append(
                RuleError(error.code, error.message, where=error.where, reason=error.reason, help=error.help)
            )
    raise_all(errors)
    kept = [case.test for case in cases if any(isinstance(a.claim, Snapshot) for a in case.assertions)]
    check_titles(kept)
    return cases


class Runner:
    """Runs cases on one engine: with the rules as written, then shuffled by each of `seeds`."""

    def __init__(
        self,
        program: Program,
        engine: str = "sqlite",
        seeds: Sequence[int] = (),
        execute: Execute | None = None,
        limits: Limits | None = None,
        folder: Path = Path(),
    ) -> None:
        self.folder = folder
        self.accepted: dict[Path, dict[str, str]] = {}
        self.engine = engine
        self.execute = execute
        self.written = Scheduler(program, engine, limits)
        self.shuffled = {seed: Scheduler(shuffled(program, seed), engine, limits) for seed in seeds}
        self.relations = {rule.head.relation for rule in program.rules}

    def run_all(self, cases: Sequence[Case]) -> list[RuleTestResult]:
        """The results of all cases in order."""
        return [result for case in cases for result in self.run(case)]

    def run(self, case: Case) -> list[RuleTestResult]:
        """The results of one case."""
        accepted = self.baseline(case)
        written = Outcome(case, self.written, edit(case.given), self.execute, accepted)
        found = [self.result(case, a, written, None) for a in self.asserted(case)]
        for seed, scheduler in self.shuffled.items():
            other = Outcome(case, scheduler, edit(case.given, seed), accepted=accepted)
            found += [
                self.result(case, a, other, seed)
                for a in self.asserted(case)
                if not isinstance(a.claim, Computes)
            ]
            found += self.compared(case, written, other, seed)
        return found

    def baseline(self, case: Case) -> str | None:
        """The accepted outcome of a case with a snapshot."""
        if not any(isinstance(assertion.claim, Snapshot) for assertion in case.assertions):
            return None
        path = baseline(case.test, self.folder)
        if path not in self.accepted:
            self.accepted[path] = read_snapshots(path)
        return self.accepted[path].get(case.test.title)

    def asserted(self, case: Case) -> list[Assertion]:
        return [a for a in case.assertions if self.execute is not None or not isinstance(a.claim, Computes)]

    def result(self, case: Case, assertion: Assertion, outcome: Outcome, seed: int | None) -> RuleTestResult:
        problem = outcome.problem(assertion.claim)
        if assertion.todo:
            problem = "" if problem else "it holds now: remove `todo`"
        claim = assertion.claim
        found = outcome.shown_snapshot(claim) if isinstance(claim, Snapshot) else None
        return RuleTestResult(
            case.test, assertion.text, assertion.place, not problem, problem, self.engine, seed, found
        )

    def compared(self, case: Case, written: Outcome, other: Outcome, seed: int) -> list[RuleTestResult]:
        if isinstance(written.decided, SchedulogError) or isinstance(other.decided, SchedulogError):
            return []
        problem = same_decisions(written, other, self.relations)
        text = "the order of rules, conditions and facts does not matter"
        return [RuleTestResult(case.test, text, case.test.place, not problem, problem, self.engine, seed)]


def edit(given: Sequence[Pattern], seed: int | None = None) -> Edit:
    """What is done to a graph's rows: the test's rows are added and, with a seed, all are shuffled."""

    def change(rows: Mapping[str, list[Row]], intern: Intern) -> Mapping[str, list[Row]]:
        changed = {relation: list(found) for relation, found in rows.items()}
        for fact in given:
            row = tuple(intern(t) if isinstance(t, str) else -1 if t is None else t for t in fact.terms)
            changed.setdefault(fact.relation, []).append(row)
        if seed is not None:
            generator = random.Random(seed)
            for found in changed.values():
                generator.shuffle(found)
        return changed

    return change


def shuffled(program: Program, seed: int) -> Program:
    """The same program with its rules, and the conditions of each, in another order."""
    generator = random.Random(seed)
    rules = [replace(rule, body=tuple(generator.sample(rule.body, len(rule.body)))) for rule in program.rules]
    return replace(program, rules=tuple(generator.sample(rules, len(rules))))
