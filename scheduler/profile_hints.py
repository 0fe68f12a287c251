"""What would make a clause cheaper? Said only of clauses whose joins look at many rows, with the numbers that were counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from schedulog.scheduler.engines.join_order import Scan, order_rule
from schedulog.scheduler.engines.ledger import Ledger
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.engines.sqlite_profile import Trial
from schedulog.scheduler.language.program import Literal_, Rule, Var
from schedulog.scheduler.language.rule_set import RuleSet
from schedulog.scheduler.lint.cost import check_cost

if TYPE_CHECKING:
    from schedulog.scheduler.profile import ClauseProfile

_MANY: Final = 1000
"""Rows below which no clause is worth a hint."""
_WASTED: Final = 40
"""So many rows looked at for each match are worth one."""
_BETTER: Final = 4
"""Another order is worth one if it looks at so many times fewer rows."""


class Hints:
    """Hints on the clauses of one model."""

    def __init__(self, model: Model) -> None:
        program = model.program
        self.program = program
        self.trial = Trial(model)

    def of(self, clause: ClauseProfile, ledger: Ledger) -> Iterator[str]:
        """What would make this clause cheaper."""
        if clause.tried is None or clause.fired is None or clause.tried < _MANY:
            return
        found = [*self.recursion(clause), *self.lint(clause)]
        found += self.start(clause, ledger)
        yield from found
        if not found and clause.tried >= _WASTED * max(1, clause.fired):
            times = clause.tried // max(1, clause.fired)
            yield f"looks at {times} rows for each match: a relation of the few that match would be looked at instead"

    def recursion(self, clause: ClauseProfile) -> Iterator[str]:
        """Recursion that is not linear, or that does not come from the left."""
        rule = clause.rule
        own = [
            item.atom
            for item in rule.body
            if isinstance(item, Literal_) and not item.negated and item.atom.relation == rule.head.relation
        ]
        if len(own) > 1:
            yield f"make it linear: it joins `{rule.head.relation}` with itself, {clause.tried} rows for {clause.new_facts} new ones"
        elif own and _from_the_right(own[0].terms, rule.head.terms):
            yield (
                f"make it left-recursive: `{rule.head.relation}` should hand on its first argument, "
                "and the other conditions change the last"
            )

    def lint(self, clause: ClauseProfile) -> Iterator[str]:
        """What the linter says of the clause, with what it came to here."""
        p = self.program
        alone = RuleSet(p.relations, p.functions, frozenset(), (clause.rule,), p.infos, frozenset())
        for warning in check_cost(alone):
            yield f"{warning.message} ({clause.tried} rows here): {warning.help}"

    def start(self, clause: ClauseProfile, ledger: Ledger) -> Iterator[str]:
        """Another condition to start from, where that was tried and looks at far fewer rows."""
        rule = clause.rule
        version = ledger.versions.get((rule.name, -1))
        assert clause.tried is not None and clause.fired is not None
        if version is None or version.runs != 1 or clause.tried < _BETTER * max(1, clause.fired):
            return
        first = next((step.item for step in version.steps if isinstance(step, Scan)), -1)
        others = [i for i, item in enumerate(rule.body) if isinstance(item, Literal_) and not item.negated]
        tried = {i: count for i in others if i != first and (count := self.trial.tried(rule, i)) is not None}
        best = min(tried, key=lambda i: (tried[i], i), default=None)
        if best is None or tried[best] * _BETTER > clause.tried:
            return
        fewer = f"{tried[best]} rows instead of {clause.tried}"
        if self.starts_with(rule, best):
            yield f"write condition {best + 1} first: the join then looks at {fewer}"
        else:
            yield f"starting from condition {best + 1} the join would look at {fewer}, but orders are chosen before rows are known"

    def starts_with(self, rule: Rule, item: int) -> bool:
        """Whether the join starts from a condition that is written first."""
        moved = replace(rule, body=(rule.body[item], *rule.body[:item], *rule.body[item + 1 :]))
        scans = [step for step in order_rule(moved, self.program.relations) if isinstance(step, Scan)]
        return bool(scans) and scans[0].item == 0


def _from_the_right(own: Sequence[object], head: Sequence[object]) -> bool:
    """Whether a recursive atom hands on the head's last argument and changes the first."""
    pairs = list(zip(own, head, strict=True))
    kept = [isinstance(one, Var) and one == other for one, other in pairs]
    return len(pairs) > 1 and not kept[0] and kept[-1]
