"""The variables and calls of rules with their places, and the renaming of those local to an aggregate.

These functions recurse over expressions; the scanner bounds how deep one can be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import cast

from schedulog.scheduler.language.program import (
    Aggregate,
    Arithmetic,
    Atom,
    BodyItem,
    Call,
    Compare,
    Expr,
    Literal_,
    Term,
    Var,
)


def separate_locals(head: Atom, body: tuple[BodyItem, ...]) -> tuple[BodyItem, ...]:
    """Give variables that are local to several aggregates a name in each: none is taken for another."""
    aggregates = [item for item in body if isinstance(item, Aggregate)]
    if len(aggregates) < 2:
        return body
    outside = {v.name for term in head.terms for v in variables(term)}
    outside |= {v.name for item in body for v in outer_variables(item)}
    taken = set(outside)
    renamed: list[BodyItem] = []
    for item in body:
        if isinstance(item, Aggregate):
            local = {v.name for v in inner_variables(item)} - outside
            names = {name: _fresh(name, taken) for name in sorted(local & taken)}
            taken |= local | set(names.values())
            item = rename_locals(item, names) if names else item
        renamed.append(item)
    return tuple(renamed)


def _fresh(name: str, taken: set[str]) -> str:
    return next(n for i in count(2) if (n := f"{name}_{i}") not in taken)


def rename_locals(item: Aggregate, names: dict[str, str]) -> Aggregate:
    """`item` with variables inside the braces renamed."""
    body: list[Literal_ | Compare] = []
    for part in item.body:
        if isinstance(part, Literal_):
            terms = tuple(cast(Term, renamed(term, names)) for term in part.atom.terms)
            body.append(replace(part, atom=replace(part.atom, terms=terms)))
        else:
            body.append(replace(part, left=renamed(part.left, names), right=renamed(part.right, names)))
    terms = tuple(cast(Term, renamed(term, names)) for term in item.terms)
    return replace(item, terms=terms, body=tuple(body))


def renamed(expr: Expr, names: dict[str, str]) -> Expr:
    """`expr` with its variables renamed; the rest stays as it is."""
    if isinstance(expr, Var):
        return Var(names.get(expr.name, expr.name), expr.place)
    if isinstance(expr, Arithmetic):
        return replace(expr, left=renamed(expr.left, names), right=renamed(expr.right, names))
    if isinstance(expr, Call):
        return replace(expr, arguments=tuple(renamed(argument, names) for argument in expr.arguments))
    return expr


def variables(expr: Expr) -> tuple[Var, ...]:
    """The variables of an expression, left to right, repeated ones repeated."""
    if isinstance(expr, Var):
        return (expr,)
    if isinstance(expr, Arithmetic):
        return variables(expr.left) + variables(expr.right)
    if isinstance(expr, Call):
        return tuple(v for argument in expr.arguments for v in variables(argument))
    return ()


def part_variables(item: Literal_ | Compare) -> tuple[Var, ...]:
    """The variables of a literal or a comparison."""
    if isinstance(item, Literal_):
        return tuple(term for term in item.atom.terms if isinstance(term, Var))
    return variables(item.left) + variables(item.right)


def outer_variables(item: BodyItem) -> tuple[Var, ...]:
    """The variables of a body item that stand outside of braces."""
    return (item.result,) if isinstance(item, Aggregate) else part_variables(item)


def inner_variables(item: Aggregate) -> tuple[Var, ...]:
    """The variables between the braces of an aggregate."""
    terms = tuple(term for term in item.terms if isinstance(term, Var))
    return terms + tuple(v for part in item.body for v in part_variables(part))


def parts(item: BodyItem) -> Iterator[Literal_ | Compare]:
    """The literals and comparisons of a body item: itself, or those between the braces."""
    if isinstance(item, Aggregate):
        yield from item.body
    else:
        yield item


def calls(part: Literal_ | Compare) -> Iterator[Call]:
    """The calls in a comparison, outer ones first."""
    if isinstance(part, Compare):
        yield from _calls(part.left)
        yield from _calls(part.right)


def _calls(expr: Expr) -> Iterator[Call]:
    if isinstance(expr, Call):
        yield expr
        for argument in expr.arguments:
            yield from _calls(argument)
    elif isinstance(expr, Arithmetic):
        yield from _calls(expr.left)
        yield from _calls(expr.right)
