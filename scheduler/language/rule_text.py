"""Rules back to text, in the spelling of rule files."""

from __future__ import annotations

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


def format_rule(rule: Rule) -> str:
    """One clause on one line: `head :- first, not second, X = Y + 1.`

    Reading the result gives an equal head and body, but for the names of anonymous variables.
    """
    if not rule.body:
        return f"{format_atom(rule.head)}."
    return f"{format_atom(rule.head)} :- {', '.join(format_item(item) for item in rule.body)}."


def format_item(item: BodyItem) -> str:
    """One body item."""
    if isinstance(item, Literal_):
        return ("not " if item.negated else "") + format_atom(item.atom)
    if isinstance(item, Compare):
        return f"{format_expr(item.left)} {item.op} {format_expr(item.right)}"
    return _aggregate(item)


def format_atom(atom: Atom) -> str:
    """`relation(terms)`."""
    return f"{atom.relation}({', '.join(format_expr(term) for term in atom.terms)})"


def format_expr(expr: Expr) -> str:
    """An expression, with few parentheses; division and modulo as clingo has them: `/`, `\\`."""
    if isinstance(expr, Var):
        return "_" if expr.anonymous else expr.name
    if isinstance(expr, Const):
        return _constant(expr.value)
    if isinstance(expr, Call):
        return f"@{expr.function}({', '.join(format_expr(argument) for argument in expr.arguments)})"
    sign = {"//": "/", "%": "\\"}.get(expr.op, expr.op)
    rank = _rank(expr)
    return f"{_operand(expr.left, rank)} {sign} {_operand(expr.right, rank + 1)}"


def _aggregate(item: Aggregate) -> str:
    terms = ", ".join(format_expr(term) for term in item.terms)
    body = ", ".join(format_item(part) for part in item.body)
    return f"{item.result.name} = #{item.op} {{ {terms} : {body} }}"


def _operand(expr: Expr, least: int) -> str:
    """An operand, in parentheses when its own operator binds less than `least`."""
    text = format_expr(expr)
    return f"({text})" if _rank(expr) < least else text


def _rank(expr: Expr) -> int:
    """How tightly an expression binds: sums 1, products 2, all else 3."""
    if not isinstance(expr, Arithmetic):
        return 3
    return 1 if expr.op in ("+", "-") else 2


def _constant(value: int | str) -> str:
    if isinstance(value, int):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
