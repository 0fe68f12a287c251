"""All checks of a rule set, in one run."""

from __future__ import annotations

from schedulog.errors import RuleError
from schedulog.scheduler.rule_set import RuleSet


def check(rules: RuleSet) -> tuple[list[RuleError], list[RuleError]]:
    """The errors and the warnings of a rule set, unordered."""
    return [], []
