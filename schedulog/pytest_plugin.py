"""The pytest plugin: rule files with tests are test files, and the fixture `schedulog_rules` tests rules from Python.

Collected are `*_test.dl`, and `*.dl` and `*.pydl` with tests in them (`%? test`, `#? test`). A rule file is tested with `core` and the packs it asks for
(`%! requires:`); with its whole pack if it is part of one (`pack.toml`), or with its whole folder where that stands in the ini
option `schedulog_packs`. The ini option
`schedulog_engines` and `--schedulog-engines` name the engines, of which sqlite is the default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from schedulog.rule_case import RuleCases
    from schedulog.scheduler.language.program import RuleTest
    from schedulog.scheduler.rule_test import Case
    from schedulog.scheduler.rule_tests import Runner, Suite


_SUFFIXES = (".dl", ".pydl")
# Known here too: importing the rule language would slow every run of pytest, with rules or without.
_TEST = re.compile(rb"%\? test|#[ \t]*\? test")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this plugin."""
    parser.addini("schedulog_packs", "folders whose rule files are tested together", type="paths", default=[])
    parser.addini("schedulog_engines", "engines that run rule tests", type="args", default=["sqlite"])
    parser.getgroup("schedulog").addoption(
        "--schedulog-engines", metavar="NAMES", help="engines that run rule tests, with commas between them"
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> RuleTestFile | None:
    """Collect a rule file that has tests."""
    if file_path.suffix not in _SUFFIXES:
        return None
    if not file_path.name.endswith("_test.dl") and not _TEST.search(file_path.read_bytes()):
        return None
    found: RuleTestFile = RuleTestFile.from_parent(parent, path=file_path)
    return found


@pytest.fixture
def schedulog_rules(request: pytest.FixtureRequest) -> Callable[..., RuleCases]:
    """Load rules and try them on small graphs.

        def test_mine(schedulog_rules):
            case = schedulog_rules("mine.dl").decide("x=load f32[8,8]; s=sum x axis=1; out s")
            case.check("holds realize(s).  kernels == 1.  result ~ numpy.")

    Arguments are packs, rule files and folders (beside the test file), or rules as text with line breaks; `engine`
    is sqlite unless given.
    """
    folder = request.path.parent

    def load(*packs: str | Path, engine: str = "sqlite") -> RuleCases:
        from schedulog.rule_case import RuleCases
        from schedulog.scheduler.language.rule_file import is_text

        parts = [
            folder / part if not is_text(str(part)) and (folder / part).exists() else part for part in packs
        ]
        return RuleCases(parts, engine, folder)

    return load


class RuleTestFile(pytest.File):
    """One file with rule tests."""

    def collect(self) -> Iterator[RuleTestItem]:
        """One item for each test and engine. Raises CollectError for mistakes in rules or tests."""
        from schedulog.errors import SchedulogError
        from schedulog.scheduler.rule_tests import Runner, read_cases

        try:
            suite = self.suite()
            cases = read_cases(suite)
            for engine in self.engines():
                runner = Runner(suite.program, engine, execute=_execute, folder=suite.folder)
                for case in cases:
                    item: RuleTestItem = RuleTestItem.from_parent(
                        self, name=f"{case.test.title}[{engine}]", case=case, runner=runner
                    )
                    yield item
        except SchedulogError as error:
            raise self.CollectError(str(error)) from None

    def suite(self) -> Suite:
        """The tests that stand in this file, with the rules they are about."""
        from dataclasses import replace

        from schedulog.scheduler.language.pack import pack_around
        from schedulog.scheduler.language.rule_file import rules_beside
        from schedulog.scheduler.language.sources import required_by
        from schedulog.scheduler.rule_tests import suites

        rules = rules_beside(self.path)
        packs = [folder for folder in self.config.getini("schedulog_packs") if folder in rules.parents]
        what = packs[0] if packs else pack_around(self.path) or rules
        (found,) = suites([what], required_by([what]))
        return replace(found, tests=tuple(test for test in found.tests if _stands_in(test, self.path)))

    def engines(self) -> list[str]:
        """The engines that run the tests."""
        given = self.config.getoption("--schedulog-engines")
        found: list[str] = given.split(",") if given else self.config.getini("schedulog_engines")
        return found


class RuleTestItem(pytest.Item):
    """One rule test on one engine."""

    def __init__(self, *, case: Case, runner: Runner, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case
        self.runner = runner

    def runtest(self) -> None:
        """Run the test. Raises RuleTestFailed when some assertion does not hold."""
        failed = [result for result in self.runner.run(self.case) if not result.passed]
        if failed:
            raise RuleTestFailed("\n".join(f"{r.place}: {r.assertion}\n    {r.message}" for r in failed))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show what failed, each assertion with its own place, and no traceback of the runner."""
        if isinstance(excinfo.value, RuleTestFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the test stands."""
        return self.path, self.case.test.place.line - 1, self.name


class RuleTestFailed(Exception):
    """Assertions of a rule test that do not hold; the text names each."""


def _execute(schedule: Any) -> Any:
    """Run kernels on every device; loaded when the first test asks for numbers."""
    from schedulog.verify import differences

    return differences(schedule)


def _stands_in(test: RuleTest, path: Path) -> bool:
    return Path(test.place.file).resolve() == path.resolve()
