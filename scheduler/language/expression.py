"""Walking expressions of the rule language without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from schedulog.scheduler.language.program import (
    Aggregate,
    Arithmetic,
    BodyItem,
    Call,
    Compare,
    Const,
    Expr,
    Literal_,
    Var,
)

T = TypeVar("T")

LOWEST, HIGHEST = -(2**63), 2**63 - 1
"""The integers a rule may compute with."""


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct parts of an expression."""
    if isinstance(expr, Arithmetic):
        return (expr.left, expr.right)
    return expr.arguments if isinstance(expr, Call) else ()


def postorder(expr: Expr) -> list[Expr]:
    """Return `expr` and all its parts, parts first."""
    found: list[Expr] = []
    stack = [expr]
    while stack:
        part = stack.pop()
        found.append(part)
        stack.extend(children(part))
    found.reverse()
    return found


def fold(expr: Expr, combine: Callable[[Expr, list[T]], T]) -> T:
    """Compute a value bottom-up: `combine(part, values of its parts)`."""
    values: list[T] = []
    for part in postorder(expr):
        count = len(children(part))
        # postorder is a reversed pre-order that visits the last part first, so that values come in reading order.
        arguments = values[len(values) - count :]
        del values[len(values) - count :]
        values.append(combine(part, arguments))
    return values[0]


def names_of(expr: Expr) -> set[str]:
    """Return the names of the variables in an expression."""
    return {part.name for part in postorder(expr) if isinstance(part, Var)}


def term_names(terms: Iterable[Expr]) -> set[str]:
    """Return the names of the variables in some terms."""
    return {name for term in terms for name in names_of(term)}


def item_names(item: Literal_ | Compare) -> set[str]:
    """Return the names of the variables of one literal or comparison."""
    if isinstance(item, Literal_):
        return term_names(item.atom.terms)
    return names_of(item.left) | names_of(item.right)


def inner_names(aggregate: Aggregate) -> set[str]:
    """Return the names of the variables between an aggregate's braces."""
    found = term_names(aggregate.terms)
    for item in aggregate.body:
        found |= item_names(item)
    return found


def outer_names(body: Iterable[BodyItem]) -> set[str]:
    """Return the names of the variables of a body that stand outside every aggregate's braces."""
    found: set[str] = set()
    for item in body:
        found |= {item.result.name} if isinstance(item, Aggregate) else item_names(item)
    return found


def literals(body: Iterable[BodyItem]) -> Iterator[tuple[Literal_, bool]]:
    """Yield every literal of a body with whether it stands inside an aggregate."""
    for item in body:
        if isinstance(item, Literal_):
            yield item, False
        elif isinstance(item, Aggregate):
            yield from ((inner, True) for inner in item.body if isinstance(inner, Literal_))


def calculate(op: str, left: int, right: int) -> int:
    """Compute `left op right`. Raises ZeroDivisionError, and OverflowError beyond 64 bits with sign."""
    value = _OPERATIONS[op](left, right)
    if not LOWEST <= value <= HIGHEST:
        raise OverflowError(f"{left} {op} {right} needs more than 64 bits")
    return value


def holds(op: str, left: int, right: int) -> bool:
    """Say whether a comparison of two integers is true."""
    return _COMPARISONS[op](left, right)


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "//": lambda left, right: left // right,
    "%": lambda left, right: left % right,
}

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def is_simple(expr: Expr) -> bool:
    """Say whether an expression is one variable or constant."""
    return isinstance(expr, Var | Const)
