"""All checks of a rule set, in one run."""

from __future__ import annotations

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.allow import without_allowed
from schedulog.scheduler.language.check_binding import check_binding
from schedulog.scheduler.language.check_derivation import check_derivation
from schedulog.scheduler.language.check_names import check_names
from schedulog.scheduler.language.check_never import check_never
from schedulog.scheduler.language.check_types import check_types
from schedulog.scheduler.language.check_use import check_use
from schedulog.scheduler.language.rule_set import RuleSet


def check(rules: RuleSet) -> tuple[list[RuleError], list[RuleError]]:
    """The errors and the warnings of a rule set, unordered."""
    errors = [*check_names(rules), *check_types(rules), *check_binding(rules), *check_derivation(rules)]
    errors += check_never(rules, {_clause(rules, error) for error in errors if error.code == "SL115"})
    return errors, list(without_allowed(check_use(rules), rules))


def _clause(rules: RuleSet, error: RuleError) -> str:
    """The clause in which an error stands."""
    for rule in rules.rules:
        last = rule.place.line + rule.text.count("\n")
        where = error.where
        if (
            isinstance(where, Place)
            and where.file == rule.place.file
            and rule.place.line <= where.line <= last
        ):
            return rule.name
    return ""
