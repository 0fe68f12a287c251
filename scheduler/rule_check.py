"""Everything that can be said about rules before they meet a user's graph: the rules themselves, and their tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from schedulog.errors import RuleError
from schedulog.scheduler.clashes import check_clashes
from schedulog.scheduler.language.diagnostic import ordered
from schedulog.scheduler.language.load import examine
from schedulog.scheduler.language.respell import respelled
from schedulog.scheduler.language.rule_file import Part
from schedulog.scheduler.language.sources import with_required
from schedulog.scheduler.lint.lint import lint
from schedulog.scheduler.rule_test import Case
from schedulog.scheduler.rule_tests import read_cases, suites


def check_rules(packs: Sequence[Part], witnesses: Path | None = None) -> tuple[RuleError, ...]:
    """All errors and warnings about packs, rule files and folders, in the order in which they are told.

    Packs that the files ask for (`%! requires:`) are loaded with them. What needs rules without errors, such as mistakes
    in rule tests, is told where there are none. Graphs on which rules disagree are written to the folder `witnesses`.
    """
    asked = with_required(packs)
    found = examine(asked)
    if found.program is None:
        return found.findings
    cases, mistakes = _cases(asked)
    clashes = check_clashes(found.program, cases, witnesses)
    return tuple(ordered([*found.findings, *respelled(lint(found.rules)), *mistakes, *clashes]))


def _cases(packs: Sequence[Part]) -> tuple[list[Case], list[RuleError]]:
    """The tests inside and beside rule files, and what is not well formed in those."""
    cases: list[Case] = []
    errors: list[RuleError] = []
    try:
        found = suites(packs)
    except RuleError as error:
        return [], list(each(error))
    for suite in found:
        try:
            cases += read_cases(suite)
        except RuleError as error:
            errors += each(error)
    return cases, errors


def each(error: RuleError) -> Iterator[RuleError]:
    """An error and the others found with it, each alone."""
    yield RuleError(error.code, error.message, where=error.where, reason=error.reason, help=error.help)
    yield from error.others
