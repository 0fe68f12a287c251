"""A program as clingo text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.engines.functions import ARITHMETIC
from schedulog.scheduler.engines.symbols import Symbols
from schedulog.scheduler.language.expression import fold
from schedulog.scheduler.language.program import (
    Aggregate,
    Arithmetic,
    Atom,
    BodyItem,
    Call,
    Compare,
    Const,
    Expr,
    Literal_,
    Rule,
    Var,
)

_ARITHMETIC_NAMES = {op: name for name, op in ARITHMETIC.items()}


@dataclass(slots=True)
class ClingoText:
    """Writes rules. `calls` maps a function of the text to the rule that calls it and the function's own name."""

    symbols: Symbols
    calls: dict[str, tuple[Rule, str]] = field(default_factory=dict)

    def program(self, rules: Iterable[Rule]) -> Iterator[str]:
        """Yield one line for each rule with a body."""
        for i, rule in enumerate(rule for rule in rules if rule.body):
            writer = _RuleText(self, rule, i)
            body = "; ".join(text for item in rule.body for text in writer.item(item))
            yield f"{writer.atom(rule.head)} :- {body}."


def fact_lines(relation: str, rows: Iterable[Row]) -> Iterator[str]:
    """Yield rows as clingo facts; a relation without columns has the row (0,)."""
    return (f"p_{relation}({','.join(map(str, row))})." for row in rows)


class _RuleText:
    """Writes the parts of one rule. Arithmetic goes through functions: clingo's own wraps at 32 bits in silence."""

    def __init__(self, owner: ClingoText, rule: Rule, index: int) -> None:
        self.owner = owner
        self.rule = rule
        self.index = index
        self.names: dict[str, str] = {}

    def item(self, item: BodyItem) -> list[str]:
        if isinstance(item, Aggregate):
            return self.aggregate(item)
        return [self.simple(item)]

    def simple(self, item: Literal_ | Compare) -> str:
        if isinstance(item, Literal_):
            return f"{'not ' if item.negated else ''}{self.atom(item.atom)}"
        return f"{self.expr(item.left)} {item.op} {self.expr(item.right)}"

    def aggregate(self, item: Aggregate) -> list[str]:
        result = self.expr(item.result)
        terms = ",".join(self.expr(term) for term in item.terms) or "0"
        body = ", ".join(self.simple(part) for part in item.body)
        texts = [f"{result} = #{item.op} {{ {terms} : {body} }}"]
        nothing = {"min": "#sup", "max": "#inf"}.get(item.op)
        return texts + ([f"{result} != {nothing}"] if nothing else [])

    def atom(self, atom: Atom) -> str:
        return f"p_{atom.relation}({','.join(self.expr(term) for term in atom.terms) or '0'})"

    def expr(self, expr: Expr) -> str:
        return fold(expr, self.part)

    def part(self, part: Expr, inner: list[str]) -> str:
        if isinstance(part, Var):
            return "_" if part.anonymous else self.names.setdefault(part.name, f"V{len(self.names)}")
        if isinstance(part, Const):
            return str(part.value if isinstance(part.value, int) else self.owner.symbols.intern(part.value))
        name = part.function if isinstance(part, Call) else _operator(part)
        own = f"f{self.index}_{name}"
        self.owner.calls[own] = (self.rule, name)
        return f"@{own}({','.join(inner)})"


def _operator(part: Expr) -> str:
    assert isinstance(part, Arithmetic)
    return _ARITHMETIC_NAMES[part.op]
