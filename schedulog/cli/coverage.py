"""`schedulog coverage`: what the tests of rules show, clause by clause and condition by condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from schedulog.cli.check import Paths, Select, rule_groups
from schedulog.cli.output import print_json, working
from schedulog.cli.pool import cores, in_processes, progress
from schedulog.cli.run import AsJson
from schedulog.cli.test import group_suites
from schedulog.errors import RuleError
from schedulog.scheduler.coverage import ClauseCoverage, Coverage, coverage
from schedulog.scheduler.language.diagnostic import plural
from schedulog.scheduler.mutants import Judge, Verdict, untrue
from schedulog.scheduler.rule_tests import Suite, selected

_WORTH: Final = 32
"""Mutants that justify one more process: starting it takes about as long as running the tests of so many."""
_PART: Final = 4
"""Mutants that a process takes at a time."""


@dataclass(frozen=True)
class _Job:
    """What every process is told: which rules are looked at, and which of their tests."""

    groups: tuple[tuple[str | Path, ...], ...]
    select: str | None


def coverage_command(
    paths: Paths = None,
    select: Select = None,
    least: Annotated[
        float, typer.Option("--min", min=0, max=100, metavar="N", help="Exit 1 below N percent.")
    ] = 0,
    mutants: Annotated[
        bool,
        typer.Option("--mutants", help="Drop each clause and each condition: which does no test notice?"),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="With --mutants: also who noticed each other one.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="With --mutants: processes; as many as fit if left out.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Say what the tests of rules cover: clauses that some row needs, conditions that alone keep a row out."""
    job = _Job(tuple(tuple(group) for group in rule_groups(paths)), select)
    chosen = _suites(job)
    for option, given in (("--verbose", verbose), ("--jobs", jobs is not None)):
        if given and not mutants:
            raise typer.BadParameter("it is about mutants: give --mutants too", param_hint=option)
    if mutants:
        verdicts = _judged(job, chosen, jobs)
        _tell_mutants(verdicts, verbose=verbose, as_json=as_json)
        return int(_failed(verdicts) or _killed(verdicts) < least)
    with working(f"running {plural(sum(len(suite.tests) for suite in chosen), 'test')}"):
        found = coverage(chosen)
    if as_json:
        print_json(_record(found))
    else:
        typer.echo("\n".join([*_lines(found.clauses), *found.endings(), found.summary()]))
    return int(found.percent < least)


def _suites(job: _Job) -> list[Suite]:
    return selected([suite for group in job.groups for suite in group_suites(group)], job.select)


def _lines(clauses: Sequence[ClauseCoverage]) -> Iterator[str]:
    """The clauses, one a line, their parts below one another."""
    parts = [str(clause).split("  ") for clause in clauses]
    widths = [max((len(line[i]) for line in parts), default=0) for i in range(5)]
    for line in parts:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        yield "  ".join([*cells, *line[5:]]).rstrip()


def _record(found: Coverage) -> dict[str, Any]:
    return {
        "tests": found.tests,
        "percent": found.percent,
        "ended": [{"test": place, "code": error.code, "message": error.message} for place, error in found.ended],
        "clauses": [
            {
                "rule": c.rule.id, "clause": c.rule.clause, "pack": c.pack, "status": c.status,
                "file": c.rule.place.file, "line": c.rule.place.line,
                "tests": c.tests, "fired": c.fired, "sole": c.sole, "refused": c.refused,
                "conditions": [
                    {"condition": k.number, "text": k.text, "decisive": k.decisive, "equivalent": k.equivalent or None}
                    for k in c.conditions
                ],
            }
            for c in found.clauses
        ],
    }  # fmt: skip


def _judged(job: _Job, chosen: Sequence[Suite], jobs: int | None) -> list[Verdict]:
    """The verdicts on all mutants, in the order of the rules. Raises what `Judge.check` raises."""
    judges = [Judge(suite) for suite in chosen]
    with working("running the tests of the rules as they are"):
        for judging in judges:
            judging.check()
    numbers = [(i, j) for i, judging in enumerate(judges) for j in range(len(judging.mutants))]
    wanted = jobs or max(1, min(cores(), len(numbers) // _WORTH))
    parts = [(job, numbers[i : i + _PART]) for i in range(0, len(numbers), _PART)]
    # With one job the work is done here, where the rules may have been other ones before.
    _judges.cache_clear()
    found: dict[tuple[int, int], Verdict] = {}
    with progress(len(numbers), "mutants") as step:
        for verdicts in in_processes(_verdicts, parts, wanted, "the tests of rules"):
            for number, verdict in verdicts:
                found[number] = verdict
                step()
    return [found[number] for number in numbers]


@cache
def _judges(job: _Job) -> list[Judge]:
    """What a process keeps from part to part."""
    return [Judge(suite) for suite in _suites(job)]


def _verdicts(
    part: tuple[_Job, Sequence[tuple[int, int]]],
) -> list[tuple[tuple[int, int], Verdict]]:
    job, numbers = part
    judges = _judges(job)
    return [((i, j), judges[i].verdict(judges[i].mutants[j])) for i, j in numbers]


def _failed(verdicts: Sequence[Verdict]) -> bool:
    """Whether a stable rule can change unnoticed, or a declaration is not true."""
    return bool(untrue(verdicts)) or any(v.survived and v.status == "stable" for v in verdicts)


def _killed(verdicts: Sequence[Verdict]) -> float:
    """Percent of the mutants that are not the same which some test notices; 100 where there are none."""
    counted = [verdict for verdict in verdicts if not verdict.equivalent]
    return 100.0 * sum(not v.survived for v in counted) / len(counted) if counted else 100.0


def _tell_mutants(verdicts: Sequence[Verdict], *, verbose: bool, as_json: bool) -> None:
    mistakes = untrue(verdicts)
    if as_json:
        print_json(_mutant_record(verdicts, mistakes))
        return
    shown = [v for v in verdicts if verbose or v.survived or (v.equivalent and v.killer is None)]
    typer.echo("\n".join([*map(str, shown), *map(str, mistakes), _mutant_summary(verdicts)]))


def _mutant_summary(verdicts: Sequence[Verdict]) -> str:
    """`236 mutants, 2 survived, 1 the same; 99.1 % noticed`."""
    survived = sum(verdict.survived for verdict in verdicts)
    same = sum(bool(verdict.equivalent) for verdict in verdicts)
    counts = f"{plural(len(verdicts), 'mutant')}, {survived} survived, {same} the same"
    return f"{counts}; {_killed(verdicts):.1f} % noticed"


def _mutant_record(verdicts: Sequence[Verdict], mistakes: Sequence[RuleError]) -> dict[str, Any]:
    return {
        "mutants": [
            {
                "mutant": v.name, "file": v.rule.place.file, "line": v.rule.place.line, "status": v.status,
                "condition": v.condition or None, "survived": v.survived, "equivalent": v.equivalent or None,
                "killer": v.killer and {
                    "test": v.killer.title, "file": v.killer.place.file, "line": v.killer.place.line,
                },
            }
            for v in verdicts
        ],
        "percent": _killed(verdicts),
        "untrue": [error.message for error in mistakes],
    }  # fmt: skip
