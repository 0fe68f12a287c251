"""An aggregate in the place of a use of it, and as a rule of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import cast

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
    Term,
    Var,
)
from schedulog.scheduler.language.pydatalog.conditions import Choice, Condition, Use
from schedulog.scheduler.language.pydatalog.statement import Definition
from schedulog.scheduler.language.variables import part_variables, separate_locals

_RESULTS = {"count": "Count", "sum": "Sum", "min": "Least", "max": "Most"}


def condition_variables(condition: Condition) -> Iterator[Var]:
    """All variables of a condition."""
    if isinstance(condition, Use):
        yield from (term for term in (*condition.keys, condition.value) if isinstance(term, Var))
    elif isinstance(condition, Choice):
        yield from part_variables(condition.options[0])
    else:
        yield from part_variables(condition)


def inlined(definition: Definition, use: Use, taken: set[str]) -> list[BodyItem]:
    """An aggregate in the place of a use of it; `taken` are the names that mean something else there."""
    keys = {
        key.name: term for key, term in zip(definition.keys, use.keys, strict=False) if isinstance(key, Var)
    }
    names: dict[str, Term] = dict(keys)
    for variable in (v for c in definition.conditions for v in condition_variables(c)):
        if variable.name not in names:
            names[variable.name] = Var(_fresh(variable.name, taken), variable.place)
    result = use.value if isinstance(use.value, Var) else Var(_fresh(_RESULTS[definition.op], taken))
    terms = tuple(cast(Term, _put(term, names)) for term in definition.terms)
    body = tuple(_replaced(cast("Literal_ | Compare", part), names) for part in definition.conditions)
    made: list[BodyItem] = [Aggregate(definition.op, result, terms, body, use.place)]
    return made if isinstance(use.value, Var) else [*made, Compare("=", result, use.value, use.place)]


def as_rule(definition: Definition) -> tuple[Atom, tuple[BodyItem, ...]]:
    """`(name[keys] == op) <= conditions` as a rule for the relation `name(keys, value)`.

    Conditions on the keys alone name the groups; without them, the groups are those of all conditions. A group without
    rows has no value, as in pyDatalog.
    """
    body = [cast("Literal_ | Compare", part) for part in definition.conditions]
    keys = {key.name for key in definition.keys if isinstance(key, Var)}
    groups = [
        part for part in body if isinstance(part, Literal_) and not part.negated and _names(part) <= keys
    ]
    inside = [part for part in body if part not in groups] or body
    taken = {name for part in body for name in _names(part)}
    result = Var(_fresh(_RESULTS[definition.op], taken), definition.place)
    whole = keys <= {name for part in groups for name in _names(part)}
    outer: list[BodyItem] = list(groups) if whole else _others(body, keys, taken)
    made = Aggregate(
        definition.op, result, definition.terms, tuple(inside if whole else body), definition.place
    )
    rest: list[BodyItem] = []
    if whole and definition.op in ("count", "sum"):
        rows = result if definition.op == "count" else Var(_fresh("Rows", taken), definition.place)
        counted = Aggregate("count", rows, definition.terms, made.body, definition.place)
        rest = [counted] if definition.op == "sum" else []
        rest.append(Compare(">", rows, Const(0), definition.place))
    head = Atom(definition.name, (*definition.keys, result), definition.place)
    return head, separate_locals(head, (*outer, made, *rest))


def _others(body: Sequence[Literal_ | Compare], keys: set[str], taken: set[str]) -> list[BodyItem]:
    """Conditions with variables of their own, but for the keys."""
    names: dict[str, Term] = {}
    uses = [variable.name for part in body for variable in part_variables(part)]
    for name in dict.fromkeys(uses):
        if name not in keys:
            stem = f"_{name}" if uses.count(name) == 1 else name
            names[name] = Var(_fresh(stem, taken))
    return [_replaced(part, names) for part in body]


def _names(part: Literal_ | Compare) -> set[str]:
    return {variable.name for variable in part_variables(part)}


def _fresh(name: str, taken: set[str]) -> str:
    """`name`, or a name like it that is not taken; it is taken then."""
    found = name if name not in taken else next(n for i in count(2) if (n := f"{name}_{i}") not in taken)
    taken.add(found)
    return found


def _replaced(part: Literal_ | Compare, names: Mapping[str, Term]) -> Literal_ | Compare:
    """A literal or comparison with terms in the place of variables."""
    if isinstance(part, Compare):
        return Compare(part.op, _put(part.left, names), _put(part.right, names), part.place)
    terms = tuple(cast(Term, _put(term, names)) for term in part.atom.terms)
    return Literal_(Atom(part.atom.relation, terms, part.atom.place), part.negated)


def _put(expr: Expr, names: Mapping[str, Term]) -> Expr:
    if isinstance(expr, Var):
        return names.get(expr.name, expr)
    if isinstance(expr, Arithmetic):
        return Arithmetic(expr.op, _put(expr.left, names), _put(expr.right, names), expr.place)
    if isinstance(expr, Call):
        return Call(expr.function, tuple(_put(part, names) for part in expr.arguments), expr.place)
    return expr
