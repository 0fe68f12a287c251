"""Does every condition stand behind those that bind its variables?

pyDatalog looks at conditions from left to right: `~r(X) & p(X)` gives no rows there, `(X > 1) & p(X)` an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from schedulog.errors import RuleError
from schedulog.scheduler.language.program import Compare, Expr, Literal_, Var
from schedulog.scheduler.language.pydatalog.conditions import Choice, Condition, Use
from schedulog.scheduler.language.pydatalog.inline import condition_variables
from schedulog.scheduler.language.variables import variables

C = TypeVar("C", bound=Condition)


def misplaced(conditions: Sequence[Condition], marked: frozenset[str]) -> Iterator[RuleError]:
    """The conditions that pyDatalog meets too early, though what they need is bound later (SL134).

    `marked` are the aggregates that are computed where they stand, for keys known there.
    """
    bindable = _bindable(conditions, marked)
    bound: set[str] = set()
    for condition in conditions:
        needed = needs(condition, bound, marked)
        early = next((variable for variable in needed if variable.name in bindable), None)
        if early is not None:
            yield RuleError(
                "SL134",
                f"a condition that needs `{early.name}` before it is bound",
                where=early.place or condition.place,
                reason="pyDatalog takes conditions from left to right, and gives no rows here",
                help=f"move it behind the condition that binds `{early.name}`",
            )
        bound |= _binds(condition)


def needs(condition: Condition, bound: set[str], marked: frozenset[str]) -> list[Var]:
    """The variables that must be bound before a condition and are not."""
    found = condition_variables(condition)
    if isinstance(condition, Use):
        found = iter(
            [key for key in condition.keys if isinstance(key, Var)] if condition.name in marked else []
        )
    elif isinstance(condition, Literal_):
        found = found if condition.negated else iter(())
    elif isinstance(condition, Choice):
        found = iter(
            () if isinstance(condition.options[0].left, Var) else variables(condition.options[0].left)
        )
    elif condition.op == "=":
        found = iter(_equation(condition, bound))
    return [variable for variable in found if variable.name not in bound and not variable.anonymous]


def _equation(condition: Compare, bound: set[str]) -> tuple[Var, ...]:
    """What an equation needs: the values of one side, where the other is a variable."""
    sides = [
        variables(source)
        for target, source in ((condition.left, condition.right), (condition.right, condition.left))
        if isinstance(target, Var) and _known(source, bound)
    ]
    return sides[0] if sides else variables(condition.left) + variables(condition.right)


def _known(expr: Expr, bound: set[str]) -> bool:
    return all(variable.name in bound for variable in variables(expr))


def _bindable(conditions: Sequence[Condition], marked: frozenset[str]) -> set[str]:
    """The variables that conditions can bind, in the order that suits them best."""
    bound: set[str] = set()
    while True:
        ready = (condition for condition in conditions if not needs(condition, bound, marked))
        more = {name for condition in ready for name in _binds(condition)} - bound
        if not more:
            return bound
        bound |= more


def _binds(condition: Condition) -> set[str]:
    """The variables that a condition gives values, when it has what it needs."""
    if isinstance(condition, Literal_) and condition.negated:
        return set()
    return {v.name for v in condition_variables(condition) if not v.anonymous}


def in_order(conditions: Sequence[C], marked: frozenset[str]) -> list[C]:
    """The conditions, each behind those that bind what it needs; as they are where that is so already."""
    waiting, made = list(conditions), list[C]()
    bindable, bound = _bindable(conditions, marked), set[str]()
    while waiting:
        ready = (
            i
            for i, item in enumerate(waiting)
            if not any(v.name in bindable for v in needs(item, bound, marked))
        )
        made.append(waiting.pop(next(ready)))
        bound |= _binds(made[-1])
    return made
