"""Warnings that the header of a rule accepts: `%! allow: SL154`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.rule_set import RuleSet


def without_allowed(warnings: Iterable[RuleError], rules: RuleSet) -> Iterator[RuleError]:
    """The warnings that no header accepts."""
    accepted = {
        (rule.place.file, line, code)
        for rule in rules.rules
        for code in rules.infos[rule.id].allow
        for line in range(rule.place.line, rule.place.line + rule.text.count("\n") + 1)
    }
    for warning in warnings:
        where = warning.where
        if not isinstance(where, Place) or (where.file, where.line, warning.code) not in accepted:
            yield warning
