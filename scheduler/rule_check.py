"""Everything that can be said about rules before they meet a user's graph: the rules themselves, and their tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from schedulog.errors import RuleError
from schedulog.scheduler.language.diagnostic import ordered
from schedulog.scheduler.language.load import examine, with_required
from schedulog.scheduler.rule_tests import read_cases, suites


def check_rules(packs: Sequence[str | Path]) -> tuple[RuleError, ...]:
    """All errors and warnings about packs, rule files and folders, in the order in which they are told.

    Packs that the files ask for (`%! requires:`) are loaded with them. Mistakes in rule tests are told where the rules
    have none.
    """
    asked = with_required(packs)
    found = examine(asked)
    if found.program is None:
        return found.findings
    return tuple(ordered([*found.findings, *_test_mistakes(asked)]))


def _test_mistakes(packs: Sequence[str | Path]) -> Iterator[RuleError]:
    """What is not well formed in the tests inside and beside rule files."""
    try:
        found = suites(packs)
    except RuleError as error:
        yield from each(error)
        return
    for suite in found:
        try:
            read_cases(suite)
        except RuleError as error:
            yield from each(error)


def each(error: RuleError) -> Iterator[RuleError]:
    """An error and the others found with it, each alone."""
    yield RuleError(error.code, error.message, where=error.where, reason=error.reason, help=error.help)
    yield from error.others
