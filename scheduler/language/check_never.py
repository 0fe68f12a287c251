"""Rules and relations that can never hold, for reasons that no single condition shows."""

from __future__ import annotations

from collections.abc import Iterator

from schedulog.errors import RuleError
from schedulog.scheduler.language.equalities import impossible
from schedulog.scheduler.language.program import Aggregate, BodyItem, Literal_, Rule
from schedulog.scheduler.language.rule_set import RuleSet
from schedulog.scheduler.language.rule_text import format_item


def check_never(rules: RuleSet, told: set[str]) -> Iterator[RuleError]:
    """Conditions that contradict each other only together (SL115), relations that only derive themselves (SL114).

    `told` are the names of clauses about whose conditions enough is said.
    """
    for rule in rules.rules:
        if rule.name not in told and impossible(rule.body, rules.relations):
            yield _contradiction(rule, rules)
    yield from _check_empty(rules)


def _contradiction(rule: Rule, rules: RuleSet) -> RuleError:
    """Name the first condition that the ones before it exclude."""
    last = next(i for i in range(1, len(rule.body) + 1) if impossible(rule.body[:i], rules.relations))
    item = rule.body[last - 1]
    before = ", ".join(format_item(part) for part in _needed(rule.body[: last - 1], item, rules))
    return RuleError(
        "SL115",
        f"`{format_item(item)}` never holds here",
        where=item.place,
        reason=f"it contradicts {before}, so this rule can never fire",
    )


def _needed(before: tuple[BodyItem, ...], item: BodyItem, rules: RuleSet) -> tuple[BodyItem, ...]:
    """The conditions before `item` without which the contradiction is gone."""
    kept = before
    for part in before:
        shorter = tuple(other for other in kept if other is not part)
        if impossible((*shorter, item), rules.relations):
            kept = shorter
    return kept


def _check_empty(rules: RuleSet) -> Iterator[RuleError]:
    """Relations whose every rule needs, in the end, the relation itself: without a first row there is none."""
    heads = {rule.head.relation for rule in rules.rules}
    filled = {
        name for name, r in rules.relations.items() if r.is_input or r.is_open or name not in heads
    } | rules.broken
    waiting = [rule for rule in rules.rules if rule.head.relation not in filled]
    while True:
        ready = {rule.head.relation for rule in waiting if not _needs(rule) & rules.relations.keys() - filled}
        if not ready - filled:
            break
        filled |= ready
    empty = heads & set(rules.relations) - filled
    for name in sorted(empty):
        clauses = [rule for rule in waiting if rule.head.relation == name]
        first = clauses[0]
        needed = " or ".join(f"`{n}`" for n in sorted({n for rule in clauses for n in _needs(rule) & empty}))
        yield RuleError(
            "SL114",
            f"nothing ever derives `{name}`",
            where=first.head.place,
            reason=f"each of its rules needs {needed} to hold before, so none can be the first to fire",
            help="add a rule that does not need it, from which the others go on",
        )


def _needs(rule: Rule) -> set[str]:
    """The relations that must have rows for a rule to fire."""
    found = {item.atom.relation for item in rule.body if isinstance(item, Literal_) and not item.negated}
    for item in rule.body:
        if isinstance(item, Aggregate) and item.op in ("min", "max"):
            found |= {p.atom.relation for p in item.body if isinstance(p, Literal_) and not p.negated}
    return found
