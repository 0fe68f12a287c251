"""All checks of a rule set, in one run."""

from __future__ import annotations

from schedulog.errors import RuleError
from schedulog.scheduler.language.check_binding import check_binding
from schedulog.scheduler.language.check_derivation import check_derivation
from schedulog.scheduler.language.check_names import check_names
from schedulog.scheduler.language.check_types import check_types
from schedulog.scheduler.language.check_use import check_use
from schedulog.scheduler.language.rule_set import RuleSet


def check(rules: RuleSet) -> tuple[list[RuleError], list[RuleError]]:
    """The errors and the warnings of a rule set, unordered."""
    errors = [*check_names(rules), *check_types(rules), *check_binding(rules), *check_derivation(rules)]
    return errors, list(check_use(rules))
