"""Does every condition stand behind those that bind its variables?

pyDatalog looks at conditions from left to right: `~r(X) & p(X)` gives no rows there, `(X > 1) & p(X)` an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedulog.errors import RuleError
from schedulog.scheduler.language.program import Compare, Expr, Literal_, Var
from schedulog.scheduler.language.pydatalog.conditions import Choice, Condition, Use
from schedulog.scheduler.language.pydatalog.inline import condition_variables
from schedulog.scheduler.language.variables import variables


def misplaced(conditions: Sequence[Condition], marked: frozenset[str]) -> Iterator[RuleError]:
    """The conditions that pyDatalog meets too early, though what they need is bound later (SL134).

    `marked` are the aggregates that are computed where they stand, for keys known there.
    """
    bound: set[str] = set()
    for i, condition in enumerate(conditions):
        later = {name for other in conditions[i + 1 :] for name in _bindable(other)}
        needed = [v for v in needs(condition, bound, marked) if not v.anonymous]
        early = next((v for v in needed if v.name in later), None)
        if early is not None:
            yield RuleError(
                "SL134",
                f"a condition that needs `{early.name}` before it is bound",
                where=early.place or condition.place,
                reason="pyDatalog takes conditions from left to right, and gives no rows here",
                help=f"move it behind the condition that binds `{early.name}`",
            )
        bound |= {v.name for v in condition_variables(condition)}


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
    return [variable for variable in found if variable.name not in bound]


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


def _bindable(condition: Condition) -> set[str]:
    """The variables that a condition can bind."""
    if isinstance(condition, Use):
        return {v.name for v in condition_variables(condition)}
    if isinstance(condition, Literal_):
        return set() if condition.negated else {v.name for v in condition_variables(condition)}
    if isinstance(condition, Choice):
        left = condition.options[0].left
        return {left.name} if isinstance(left, Var) else set()
    sides = (condition.left, condition.right) if condition.op == "=" else ()
    return {side.name for side in sides if isinstance(side, Var)}
