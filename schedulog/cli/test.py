"""`schedulog test`: run the tests that stand inside rule files and beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path
from typing import Annotated, Any

import typer

from schedulog.cli.check import Format, Paths, findings, rule_groups
from schedulog.cli.findings import FORMATS, severity
from schedulog.cli.output import print_json, working
from schedulog.errors import Place, RuleError, SchedulogError, UsageError
from schedulog.scheduler.language.diagnostic import plural
from schedulog.scheduler.language.sources import with_required
from schedulog.scheduler.rule_snapshots import baseline, read_snapshots, write_snapshots
from schedulog.scheduler.rule_tests import RuleTestResult, Suite, run_suites, selected, suites
from schedulog.scheduler.schedule import ENGINES, engines
from schedulog.verify import differences


@dataclass(frozen=True)
class _Report:
    """What was run: all results, and the engines that could not."""

    results: Sequence[RuleTestResult]
    engines: Sequence[str]
    missing: Mapping[str, str]

    @property
    def failed(self) -> list[tuple[RuleTestResult, list[str]]]:
        """Each failure once, with the engines and shufflings that have it."""
        found: dict[tuple[Place, str], tuple[RuleTestResult, list[str]]] = {}
        for result in self.results:
            if not result.passed:
                found.setdefault((result.place, result.message), (result, []))[1].append(result.how)
        return list(found.values())

    @property
    def tests(self) -> int:
        return len({result.test.place for result in self.results})

    def summary(self) -> str:
        """`3 tests, 12 checks, 1 failure (sqlite, pydatalog; clingo is not installed)`."""
        how = "; ".join([", ".join(self.engines), *self.missing.values()])
        counted = f"{plural(self.tests, 'test')}, {plural(len(self.results), 'check')}"
        return f"{counted}, {plural(len(self.failed), 'failure')} ({how})"


def test_command(
    paths: Paths = None,
    select: Annotated[
        str | None, typer.Option("-k", metavar="TEXT", help="Only tests whose file:line or title has TEXT.")
    ] = None,
    engine: Annotated[
        list[str] | None, typer.Option("--engine", help="An engine; repeatable. All if left out.")
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute/--no-execute", help="Run kernels for `result ~ numpy`.")
    ] = True,
    accept: Annotated[bool, typer.Option("--accept", help="Take over changed and new snapshots.")] = False,
    format_: Format = "text",
) -> int:
    """Run the tests of rules, inside rule files and beside them; every failure is told. Rules are checked first."""
    if format_ not in FORMATS:
        raise typer.BadParameter(f"`{format_}` is none of {', '.join(FORMATS)}", param_hint="--format")
    groups = rule_groups(paths)
    mistakes = [finding for finding in findings(groups) if severity(finding) == "error"]
    if mistakes:
        _tell(mistakes, format_, None)
        return 1
    chosen = selected([suite for group in groups for suite in group_suites(group)], select)
    present, missing = _engines(engine)
    with working(f"running {plural(sum(len(suite.tests) for suite in chosen), 'test')}"):
        results = run_suites(chosen, present, execute=differences if execute else None, seeds=(1,))
    if accept:
        results = _accept(chosen, results, obsolete=select is None)
    report = _Report(results, present, missing)
    _tell([_finding(result, how) for result, how in report.failed], format_, report)
    return 1 if report.failed else 0


def group_suites(group: Sequence[str | Path]) -> list[Suite]:
    """What is tested together, with the packs that its files ask for."""
    return suites(group, [pack for pack in with_required(group)[len(group) :] if isinstance(pack, str)])


def _engines(wanted: Sequence[str] | None) -> tuple[list[str], dict[str, str]]:
    """The engines to run on, and why others cannot run. Raises UsageError SL703 and SL705 for one that was asked for."""
    found = engines()
    for name in wanted or ():
        if name not in found:
            raise UsageError("SL703", f"unknown engine `{name}`", help="engines: " + ", ".join(ENGINES))
        if (why := found[name]) is not None:
            raise UsageError("SL705", why, help="leave --engine out to run on those that are there")
    present = [name for name in dict.fromkeys(wanted or found) if found[name] is None]
    return present, {} if wanted else {name: why for name, why in found.items() if why is not None}


def _finding(result: RuleTestResult, how: Sequence[str]) -> SchedulogError:
    message = f'"{result.test.title}" fails on {"; ".join(how)}: {result.assertion}'
    return RuleError("SL163", message, where=result.place, reason=result.message.replace("\n", "\n    "))


def _tell(found: Sequence[SchedulogError], format_: str, report: _Report | None) -> None:
    if format_ == "json" and report is not None:
        print_json(_record(report))
        return
    if format_ == "text" and report is not None:
        typer.echo("\n\n".join([*map(str, found), report.summary()]))
        return
    output = FORMATS[format_](found)
    if output:
        typer.echo(output)


def _record(report: _Report) -> dict[str, Any]:
    return {
        "tests": report.tests,
        "checks": len(report.results),
        "failures": len(report.failed),
        "engines": list(report.engines),
        "missing_engines": dict(report.missing),
        "results": [
            {
                "test": r.test.title, "file": r.place.file, "line": r.place.line, "column": r.place.column,
                "assertion": r.assertion, "engine": r.engine, "shuffled": r.seed, "passed": r.passed,
                "message": r.message,
            }
            for r in report.results
        ],
    }  # fmt: skip


def _accept(
    chosen: Sequence[Suite], results: Sequence[RuleTestResult], *, obsolete: bool
) -> list[RuleTestResult]:
    """Write the snapshots that changed and show how; the results, where those count as right.

    Snapshots without a test are dropped where all tests ran. One on which engines or orders disagree is never accepted.
    """
    folders = {test.place: suite.folder for suite in chosen for test in suite.tests}
    found: dict[Path, dict[str, set[str]]] = {}
    for result in (r for r in results if r.snapshot is not None):
        path = baseline(result.test, folders[result.test.place])
        found.setdefault(path, {}).setdefault(result.test.title, set()).add(result.snapshot or "")
    for path, by_title in found.items():
        before = read_snapshots(path)
        agreed = {title: next(iter(texts)) for title, texts in by_title.items() if len(texts) == 1}
        kept = {title: text for title, text in before.items() if not obsolete or title in by_title}
        if kept | agreed != before:
            write_snapshots(path, kept | agreed)
            _show_accepted(path, before, kept | agreed)
    agreeing = {
        (path, title) for path, titles in found.items() for title, texts in titles.items() if len(texts) == 1
    }
    return [
        replace(r, passed=True, message="")
        if r.snapshot is not None and (baseline(r.test, folders[r.test.place]), r.test.title) in agreeing
        else r
        for r in results
    ]


def _show_accepted(path: Path, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    one, other = (
        [line for title, text in sorted(side.items()) for line in (f"# {title}", *text.splitlines())]
        for side in (before, after)
    )
    lines = list(unified_diff(one, other, lineterm=""))[2:]
    typer.echo("\n".join([f"accepted {path.as_posix()}", *lines, ""]), err=True)
