"""Has every variable a value where one is needed?

A positive condition binds its variables, `X = expression` binds X once the rest is bound, and an aggregate
binds its result. This is a fixed point over the whole body, so the order of the conditions does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from schedulog.errors import RuleError
from schedulog.scheduler.language.check_types import variable_types
from schedulog.scheduler.language.program import Aggregate, Atom, BodyItem, Compare, Expr, Literal_, Rule, Var
from schedulog.scheduler.language.rule_set import RuleSet
from schedulog.scheduler.language.variables import inner_variables, outer_variables, part_variables, variables


def check_binding(rules: RuleSet) -> Iterator[RuleError]:
    """Variables that nothing binds (SL110), each told once a rule."""
    for rule in rules.rules:
        yield from _check_rule(rule, rules)


def bound_names(body: Sequence[BodyItem], given: Iterable[str] = ()) -> set[str]:
    """The names that a body binds, those of `given` among them."""
    bound = set(given) | {name for item in body for name in _supplied(item)}
    waiting = [item for item in body if not isinstance(item, Literal_)]
    while True:
        more = {name for item in waiting for name in _computed(item, bound)} - bound
        if not more:
            return bound
        bound |= more


def _supplied(item: BodyItem) -> set[str]:
    if not isinstance(item, Literal_) or item.negated:
        return set()
    return {v.name for v in part_variables(item)}


def _computed(item: BodyItem, bound: set[str]) -> Iterator[str]:
    """The name that a comparison or an aggregate binds, given what is bound."""
    if isinstance(item, Aggregate):
        yield item.result.name
    elif isinstance(item, Compare) and item.op == "=":
        for target, source in ((item.left, item.right), (item.right, item.left)):
            if isinstance(target, Var) and _all_bound(source, bound):
                yield target.name


def _computed_at_best(item: BodyItem) -> set[str]:
    """The names that a comparison would bind if it had all its values."""
    if not isinstance(item, Compare) or item.op != "=":
        return set()
    return {side.name for side in (item.left, item.right) if isinstance(side, Var)}


def _all_bound(expr: Expr, bound: set[str]) -> bool:
    return all(v.name in bound for v in variables(expr))


def _check_rule(rule: Rule, rules: RuleSet) -> Iterator[RuleError]:
    for variable, user in unbound(rule):
        yield _unbound(variable, user, rule, rules)


def unbound(rule: Rule, body: Sequence[BodyItem] | None = None) -> Iterator[tuple[Var, str]]:
    """The variables that nothing binds, each once, with who needs it: the head, `not`, a comparison, an aggregate.

    A variable counts as bound once it was told. `body` is what is left of the rule's body, if that is not all of it:
    a variable that stands outside braces in the rule is never taken for one that is local to an aggregate.
    """
    outside = {v.name for item in rule.body for v in outer_variables(item)}
    outside |= {v.name for term in rule.head.terms for v in variables(term)}
    body = rule.body if body is None else body
    bound = bound_names(body)
    while needed := [need for need in _needed(rule.head, body, outside, bound) if not need[0].anonymous]:
        # What only waits for another variable is no mistake of its own, so the one waited for is told first.
        computed = {name for item in body for name in _computed_at_best(item)}
        variable, user = next((need for need in needed if need[0].name not in computed), needed[0])
        yield variable, user
        bound = bound_names(body, bound | {variable.name})


def _needed(
    head: Atom, body: Sequence[BodyItem], outside: set[str], bound: set[str]
) -> Iterator[tuple[Var, str]]:
    """The variables without a value where one is needed, with who needs it."""
    for item in body:
        if isinstance(item, Aggregate):
            inside = bound_names(item.body, bound)
            group = [v for v in inner_variables(item) if v.name in outside and v.name not in bound]
            yield from ((v, "group") for v in group)
            yield from ((v, user) for v, user in _unbound_in(item.body, inside) if v.name not in outside)
            first = (v for term in item.terms for v in variables(term))
            yield from ((v, "braces") for v in first if v.name not in inside and v.name not in outside)
    yield from _unbound_in(body, bound)
    wanted = (v for term in head.terms for v in variables(term))
    yield from ((v, "head") for v in wanted if v.name not in bound and not v.anonymous)


def _unbound_in(body: Iterable[BodyItem], bound: set[str]) -> Iterator[tuple[Var, str]]:
    for item in body:
        if isinstance(item, Literal_) and item.negated:
            free = (v for v in part_variables(item) if not v.anonymous)
            yield from ((v, "not") for v in free if v.name not in bound)
        elif isinstance(item, Compare):
            yield from ((v, "comparison") for v in part_variables(item) if v.name not in bound)


_REASONS = {
    "head": "a rule says for which values its head holds",
    "not": "`not` tests values but cannot supply them",
    "comparison": "a comparison or a calculation needs its values from elsewhere",
    "group": "a variable that also stands outside the braces needs its value from there",
    "braces": "the conditions in the braces do not supply it",
}


def _unbound(variable: Var, user: str, rule: Rule, rules: RuleSet) -> RuleError:
    where = variable.place if variable.place is not None else rule.place
    type_ = variable_types(rule, rules).get(variable.name)
    help = f"add a positive condition that supplies {variable.name}"
    example = _supplier(type_, rules)
    if example:
        help += f", for example `{example}({variable.name})`"
    return RuleError(
        "SL110", f"variable `{variable.name}` is never bound", where=where, reason=_REASONS[user], help=help
    )


def _supplier(type_: str | None, rules: RuleSet) -> str:
    """A relation of one column of that type, an input one first."""
    found = [r for r in rules.relations.values() if r.arity == 1 and r.columns[0].type == type_]
    return min(((not r.is_input, r.name) for r in found), default=(False, ""))[1]
