"""A condition of a rule as it is read with the values it met: nodes by their short names, strings in quotes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from schedulog.scheduler.engines.symbols import Symbols
from schedulog.scheduler.language.expression import fold
from schedulog.scheduler.language.program import (
    Aggregate,
    Arithmetic,
    Atom,
    Call,
    Compare,
    Const,
    Expr,
    Literal_,
    Program,
    Rule,
    Term,
    Var,
)
from schedulog.scheduler.language.rule_text import format_item
from schedulog.scheduler.why.match import Values
from schedulog.scheduler.why.names import is_numbered, value_text


def shown_values(program: Program, symbols: Symbols, rule: Rule, values: Values) -> dict[str, Term]:
    """The values of a rule's variables as terms; a node's short name is written like a variable, without quotes."""
    kinds: dict[str, str] = {}
    inner = [part for item in rule.body if isinstance(item, Aggregate) for part in item.body]
    atoms = [item.atom for item in (*rule.body, *inner) if isinstance(item, Literal_)]
    for atom in (rule.head, *atoms):
        for term, column in zip(atom.terms, program.relations[atom.relation].columns, strict=True):
            if isinstance(term, Var):
                kinds[term.name] = column.type
    return {name: _term(symbols, number, kinds.get(name, "int")) for name, number in values.items()}


def filled_text(item: Compare | Aggregate, shown: Mapping[str, Term]) -> str:
    """A comparison or an aggregate with the values it had; what has none keeps its name."""
    if isinstance(item, Compare):
        return format_item(_part(item, shown))
    body = tuple(_part(part, shown) for part in item.body)
    text = format_item(Aggregate(item.op, item.result, _terms(item.terms, shown), body, item.place))
    result = shown.get(item.result.name)
    head = str(result.value) if isinstance(result, Const) else item.result.name
    return head + text[len(item.result.name) :]


def filled_expr(expr: Expr, shown: Mapping[str, Term]) -> Expr:
    """An expression with its known variables replaced."""

    def rebuild(part: Expr, inner: Sequence[Expr]) -> Expr:
        if isinstance(part, Var):
            return shown.get(part.name, part)
        if isinstance(part, Arithmetic):
            return Arithmetic(part.op, inner[0], inner[1])
        return Call(part.function, tuple(inner)) if isinstance(part, Call) else part

    return fold(expr, rebuild)


def _term(symbols: Symbols, number: int, kind: str) -> Term:
    value = value_text(symbols, number, kind)
    return Var(str(value)) if is_numbered(kind) else Const(value)


def _terms(terms: Iterable[Term], shown: Mapping[str, Term]) -> tuple[Term, ...]:
    return tuple(shown.get(term.name, term) if isinstance(term, Var) else term for term in terms)


def _part(part: Literal_ | Compare, shown: Mapping[str, Term]) -> Literal_ | Compare:
    if isinstance(part, Compare):
        return Compare(part.op, filled_expr(part.left, shown), filled_expr(part.right, shown), part.place)
    return Literal_(Atom(part.atom.relation, _terms(part.atom.terms, shown), part.place), part.negated)
