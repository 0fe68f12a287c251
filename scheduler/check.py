"""All checks of a rule set, in one run."""

from __future__ import annotations

from schedulog.errors import RuleError
from schedulog.scheduler.check_binding import check_binding
from schedulog.scheduler.check_derivation import check_derivation
from schedulog.scheduler.check_names import check_names
from schedulog.scheduler.check_types import check_types
from schedulog.scheduler.check_use import check_use
from schedulog.scheduler.rule_set import RuleSet


def check(rules: RuleSet) -> tuple[list[RuleError], list[RuleError]]:
    """The errors and the warnings of a rule set, unordered."""
    errors = [*check_names(rules), *check_types(rules), *check_binding(rules), *check_derivation(rules)]
    return errors, list(check_use(rules))
