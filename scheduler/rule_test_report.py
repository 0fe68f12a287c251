"""What became of rule tests on several engines, each failure told once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schedulog.errors import Place, RuleError, UsageError
from schedulog.scheduler.html.fragment import Table, Text, fragment
from schedulog.scheduler.language.diagnostic import plural
from schedulog.scheduler.rule_tests import RuleTestResult
from schedulog.scheduler.schedule import ENGINES, engines


@dataclass(frozen=True, repr=False)
class RuleTestReport:
    """All results, the engines they are from, and those that could not run, each with the reason."""

    results: Sequence[RuleTestResult]
    engines: Sequence[str]
    missing: Mapping[str, str]

    @property
    def passed(self) -> bool:
        """Whether every assertion holds on every engine that ran."""
        return not self.failed

    @property
    def failed(self) -> list[tuple[RuleTestResult, list[str]]]:
        """Each failure once, with the engines and shufflings that have it."""
        found: dict[tuple[Place, str], tuple[RuleTestResult, list[str]]] = {}
        for result in self.results:
            if not result.passed:
                found.setdefault((result.place, result.message), (result, []))[1].append(result.how)
        return list(found.values())

    @property
    def findings(self) -> list[RuleError]:
        """Each failure as an error (SL163)."""
        return [_finding(result, self._where(result, how)) for result, how in self.failed]

    def _where(self, failed: RuleTestResult, how: Sequence[str]) -> str:
        """The engines and shufflings that have a failure; all of them in one word."""
        tried = {result.how for result in self.results if result.place == failed.place}
        if set(how) != tried:
            return "; ".join(how)
        return "every engine" if len(self.engines) > 1 else self.engines[0]

    @property
    def tests(self) -> int:
        """How many tests there are."""
        return len({result.test.place for result in self.results})

    def summary(self) -> str:
        """`3 tests, 12 checks, 1 failure (sqlite, pydatalog; clingo is not installed)`."""
        how = "; ".join([", ".join(self.engines), *self.missing.values()])
        counted = f"{plural(self.tests, 'test')}, {plural(len(self.results), 'check')}"
        return f"{counted}, {plural(len(self.failed), 'failure')} ({how})"

    def __str__(self) -> str:
        return "\n\n".join([*map(str, self.findings), self.summary()])

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def _repr_html_(self) -> str:
        rows: dict[Place, tuple[str, str, str]] = {}
        wrong = {result.test.place for result, _ in self.failed}
        for result in self.results:
            test = result.test
            state = "fails" if test.place in wrong else "holds"
            rows.setdefault(test.place, (test.title, f"{test.place.file}:{test.place.line}", state))
        told = [Text(str(finding)) for finding in self.findings]
        return fragment(self.summary(), *told, Table(("test", "place", ""), list(rows.values())))


def usable_engines(wanted: Sequence[str] | None) -> tuple[list[str], dict[str, str]]:
    """The engines to run on (all unless some are `wanted`), and why others cannot run.

    Raises UsageError SL703 and SL705 for one that was asked for.
    """
    found = engines()
    for name in wanted or ():
        if name not in found:
            raise UsageError("SL703", f"unknown engine `{name}`", help="engines: " + ", ".join(ENGINES))
        if (why := found[name]) is not None:
            raise UsageError("SL705", why, help="ask for no engine to run on those that are there")
    present = [name for name in dict.fromkeys(wanted or found) if found[name] is None]
    return present, {} if wanted else {name: why for name, why in found.items() if why is not None}


def _finding(result: RuleTestResult, where: str) -> RuleError:
    message = f'"{result.test.title}" fails on {where}: {result.assertion}'
    return RuleError("SL163", message, where=result.place, reason=result.message.replace("\n", "\n    "))
