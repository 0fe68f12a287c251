"""Which conditions keep a rule from deriving what was expected? The smallest sets without which it would.

For every clause of the relation, one condition is left out, then two, until the others hold together for the row that is
asked about. A condition that reads a value which only a left-out one supplies is left out with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from schedulog.scheduler.engines.join_order import order_rule
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.language.check_binding import bound_names
from schedulog.scheduler.language.expression import inner_names, item_names, outer_names
from schedulog.scheduler.language.program import Aggregate, BodyItem, Compare, Rule, Var
from schedulog.scheduler.language.rule_text import format_item
from schedulog.scheduler.why.match import Matcher, Rows

_MOST: Final = 2
"""Conditions that are left out together; rules that fail in more are not near."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A clause that would derive the row but for some of its conditions, counted from 1: any of `ways` is enough."""

    rule: Rule
    ways: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        ways = (" and ".join(self.condition(k) for k in way) for way in self.ways)
        return f"{self.rule.name} ({self.rule.place}) fails {', or '.join(ways)}"

    def condition(self, number: int) -> str:
        """A condition with its number, as in `2: not shared(N)`."""
        return f"{number}: {format_item(self.rule.body[number - 1])}"


class Blocks:
    """Asks one model why its rules do not derive a row."""

    def __init__(self, model: Model) -> None:
        rows = Rows(model.rows)
        self.matcher = Matcher(model.program, model.symbols, model.functions, rows, rows)
        self.relations = model.program.relations

    def nearest(self, relation: str, row: Sequence[int | None]) -> list[Blocked]:
        """The clauses that fail in the fewest conditions, two at most; None in `row` stands for any value."""
        for count in range(1, _MOST + 1):
            found: list[Blocked] = []
            for rule in self.matcher.rules(relation):
                choices = combinations(range(len(rule.body)), count)
                ways = tuple(tuple(i + 1 for i in c) for c in choices if self.would_hold(rule, c, row))
                found += [Blocked(rule, ways)] if ways else []
            if found:
                return found
        return []

    def blocks(self, rule: Rule, condition: int, row: Sequence[int | None]) -> bool:
        """Whether the clause would derive the row if this condition (from 1) held."""
        return self.would_hold(rule, (condition - 1,), row)

    def would_hold(self, rule: Rule, left_out: tuple[int, ...], row: Sequence[int | None]) -> bool:
        values = self.known(rule, row)
        if values is None:
            return False
        body = [item for i, item in enumerate(rule.body) if i not in left_out]
        shorter = replace(rule, body=tuple(_supplied(body, rule, set(values))))
        steps = order_rule(shorter, self.relations, known=values)
        return next(self.matcher.solutions(steps, values), None) is not None

    def known(self, rule: Rule, row: Sequence[int | None]) -> dict[str, int] | None:
        """The values that a row gives to the head's variables; None when the head does not fit it."""
        values: dict[str, int] = {}
        for term, number in zip(rule.head.terms, row, strict=True):
            if number is None:
                continue
            expected = (
                values.setdefault(term.name, number) if isinstance(term, Var) else self.matcher.constant(term)
            )
            if expected != number:
                return None
        return values


def _supplied(body: Sequence[BodyItem], rule: Rule, known: set[str]) -> Iterator[BodyItem]:
    """The items of a body that have all the values they need."""
    outside = outer_names(rule.body) | {term.name for term in rule.head.terms if isinstance(term, Var)}
    bound = bound_names(body, known)
    for item in body:
        if isinstance(item, Aggregate):
            needed = (inner_names(item) & outside) | {item.result.name}
        elif isinstance(item, Compare):
            needed = item_names(item)
        else:
            needed = (
                {name for name in item_names(item) if not name.startswith("_")} if item.negated else set()
            )
        if needed <= bound:
            yield item
