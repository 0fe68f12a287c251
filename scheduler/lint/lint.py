"""All warnings about a rule set without errors that need a look at more than one rule, or at its evaluation."""

from __future__ import annotations

from collections.abc import Iterator

from schedulog.errors import RuleError
from schedulog.scheduler.language.allow import without_allowed
from schedulog.scheduler.language.rule_set import RuleSet
from schedulog.scheduler.lint.cost import check_cost
from schedulog.scheduler.lint.cover import check_cover
from schedulog.scheduler.lint.ending import check_ending
from schedulog.scheduler.lint.values import check_values


def lint(rules: RuleSet) -> Iterator[RuleError]:
    """Superfluous rules (SL152), recursion without an end (SL153), dear rules (SL154, SL155), unknown values (SL156).

    What a header accepts (`%! allow: SL154`) is left out. The rule set has no errors.
    """
    checks = (check_cover, check_ending, check_cost, check_values)
    yield from without_allowed((finding for check in checks for finding in check(rules)), rules)
