"""`schedulog test`: run the tests that stand inside rule files and beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import Annotated, Any

import typer

from schedulog.cli.check import Format, Paths, Select, findings, rule_groups
from schedulog.cli.findings import FORMATS
from schedulog.cli.output import print_json, working
from schedulog.errors import SchedulogError
from schedulog.findings import severity
from schedulog.rules import USER_RULES
from schedulog.scheduler.language.diagnostic import plural
from schedulog.scheduler.language.sources import required_by
from schedulog.scheduler.rule_snapshots import baseline, read_snapshots, write_snapshots
from schedulog.scheduler.rule_test_report import RuleTestReport, usable_engines
from schedulog.scheduler.rule_tests import RuleTestResult, Suite, run_suites, selected, suites
from schedulog.verify import differences


def test_command(
    paths: Paths = None,
    select: Select = None,
    engine: Annotated[
        list[str] | None, typer.Option("--engine", help="An engine; repeatable. All if left out.")
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute/--no-execute", help="Run kernels for `result ~ numpy`.")
    ] = True,
    accept: Annotated[bool, typer.Option("--accept", help="Take over changed and new snapshots.")] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Every pack, which takes minutes, and ./schedulog_rules.")
    ] = False,
    format_: Format = "text",
) -> int:
    """Run the tests of rules, inside rule files and beside them; every failure is told.

    Rules are checked first. Without a path: ./schedulog_rules, or every pack where there is none.
    """
    if format_ not in FORMATS:
        raise typer.BadParameter(f"`{format_}` is none of {', '.join(FORMATS)}", param_hint="--format")
    groups = _tested(paths, every=every)
    if not paths and format_ == "text":
        typer.echo(_told(groups), err=True)
    mistakes = [finding for finding in findings(groups) if severity(finding) == "error"]
    if mistakes:
        _tell(mistakes, format_, None)
        return 1
    chosen = selected([suite for group in groups for suite in group_suites(group)], select)
    present, missing = usable_engines(engine)
    with working(f"running {plural(sum(len(suite.tests) for suite in chosen), 'test')}"):
        results = run_suites(chosen, present, execute=differences if execute else None, seeds=(1,))
    if accept:
        results = _accept(chosen, results, obsolete=select is None)
    report = RuleTestReport(results, present, missing)
    _tell(report.findings, format_, report)
    return 1 if report.failed else 0


def _tested(paths: Sequence[str] | None, *, every: bool) -> Sequence[Sequence[str | Path]]:
    """What is tested together: `rule_groups`, without a path only the user's own. Raises BadParameter for both."""
    if paths and every:
        raise typer.BadParameter("give paths, or --all", param_hint="--all")
    own = not paths and not every and Path(USER_RULES).is_dir()
    return rule_groups([USER_RULES] if own else paths)


def _told(groups: Sequence[Sequence[str | Path]]) -> str:
    """One line: what is tested where no path says it."""
    names = [str(part) for group in groups for part in group]
    if names == [USER_RULES]:
        return f"testing ./{USER_RULES} (--all: every pack too)"
    return f"testing {', '.join(names)}: this takes minutes (give a path to test your rules, -k TEXT selects)"


def group_suites(group: Sequence[str | Path]) -> list[Suite]:
    """What is tested together, with the packs that its files ask for."""
    return suites(group, required_by(group))


def _tell(found: Sequence[SchedulogError], format_: str, report: RuleTestReport | None) -> None:
    if format_ == "json" and report is not None:
        print_json(_record(report))
        return
    if format_ == "text" and report is not None:
        typer.echo(str(report))
        return
    output = FORMATS[format_](found)
    if output:
        typer.echo(output)


def _record(report: RuleTestReport) -> dict[str, Any]:
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
