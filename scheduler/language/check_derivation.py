"""Who derives which relation, and can a rule ever fire?"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from schedulog.errors import RuleError
from schedulog.scheduler.language.check_names import atoms
from schedulog.scheduler.language.program import (
    Aggregate,
    Atom,
    BodyItem,
    Compare,
    Const,
    Expr,
    Literal_,
    Rule,
    Var,
)
from schedulog.scheduler.language.rule_set import RuleSet
from schedulog.scheduler.language.rule_text import format_expr
from schedulog.scheduler.language.variables import parts, variables


def check_derivation(rules: RuleSet) -> Iterator[RuleError]:
    """Aggregates over what they decide (SL112), derived inputs (SL113), rules that never fire (SL114/115)."""
    yield from _check_aggregates(rules)
    derived = {rule.head.relation for rule in rules.rules} | rules.broken
    for rule in rules.rules:
        yield from _check_input(rule, rules)
        yield from _check_sources(rule, rules, derived)
        yield from _check_contradictions(rule)


def _check_input(rule: Rule, rules: RuleSet) -> Iterator[RuleError]:
    relation = rules.relations.get(rule.head.relation)
    if relation is not None and relation.is_input:
        yield RuleError(
            "SL113",
            f"a rule derives the input relation `{relation.name}`",
            where=rule.head.place,
            reason=f"`{relation.name}` holds what the graph says (declared at {relation.place})",
            help="derive a relation of your own from it",
        )


def _check_sources(rule: Rule, rules: RuleSet, derived: set[str]) -> Iterator[RuleError]:
    told: set[str] = set()
    for literal in (part for item in rule.body for part in parts(item) if isinstance(part, Literal_)):
        name = literal.atom.relation
        relation = rules.relations.get(name)
        if relation is None or relation.is_input or relation.is_open or name in derived or name in told:
            continue
        told.add(name)
        effect = "this condition always holds" if literal.negated else "this rule can never fire"
        yield RuleError(
            "SL114",
            f"nothing derives `{name}`",
            where=literal.place,
            reason=f"it has no rule, no fact, and is no input, so {effect}",
            help=f"give it a rule, or write `.input {name}` (from the graph) or `.open {name}` (other packs)",
        )


def _check_contradictions(rule: Rule) -> Iterator[RuleError]:
    """Conditions that no values meet (SL115)."""
    scopes: list[tuple[BodyItem, ...]] = [rule.body]
    scopes += [item.body for item in rule.body if isinstance(item, Aggregate)]
    for body in scopes:
        yield from _check_comparisons([item for item in body if isinstance(item, Compare)])
        yield from _check_opposites([item for item in body if isinstance(item, Literal_)])


def _check_comparisons(comparisons: list[Compare]) -> Iterator[RuleError]:
    values: dict[str, int | str] = {}
    for item in comparisons:
        if _is_false(item):
            written = f"{format_expr(item.left)} {item.op} {format_expr(item.right)}"
            yield _never(f"`{written}` never holds", item)
            continue
        name, value = _fixed(item)
        if name and values.setdefault(name, value) != value:
            yield _never(f"`{name}` cannot be {_shown(values[name])} and {_shown(value)}", item)


def _is_false(item: Compare) -> bool:
    left, right = item.left, item.right
    if left == right and variables(left):
        return item.op in ("!=", "<", ">")
    if not isinstance(left, Const) or not isinstance(right, Const):
        return False
    if item.op in ("=", "!="):
        return (left.value == right.value) != (item.op == "=")
    if isinstance(left.value, str) or isinstance(right.value, str):
        return False
    order = {"<": left.value < right.value, "<=": left.value <= right.value}
    order |= {">": left.value > right.value, ">=": left.value >= right.value}
    return not order[item.op]


def _fixed(item: Compare) -> tuple[str, int | str]:
    """The variable that an equation fixes to a constant, and that constant; an empty name when it is none."""
    sides: tuple[tuple[Expr, Expr], ...] = ((item.left, item.right), (item.right, item.left))
    for one, other in sides:
        if item.op == "=" and isinstance(one, Var) and isinstance(other, Const):
            return one.name, other.value
    return "", 0


def _check_opposites(literals: list[Literal_]) -> Iterator[RuleError]:
    positive = {item.atom for item in literals if not item.negated}
    for item in literals:
        if item.negated and _covers(item.atom, positive):
            yield _never(f"`{item.atom.relation}` is asked for and excluded", item)


def _covers(excluded: Atom, positive: set[Atom]) -> bool:
    """Whether one of the positive atoms is an instance of the excluded one, `_` standing for any term."""
    return any(
        excluded.relation == atom.relation
        and len(excluded.terms) == len(atom.terms)
        and all(
            (isinstance(a, Var) and a.anonymous) or a == b
            for a, b in zip(excluded.terms, atom.terms, strict=True)
        )
        for atom in positive
    )


def _never(message: str, item: Compare | Literal_) -> RuleError:
    return RuleError("SL115", message, where=item.place, reason="so this rule can never fire")


def _shown(value: int | str) -> str:
    return str(value) if isinstance(value, int) else f'"{value}"'


def _check_aggregates(rules: RuleSet) -> Iterator[RuleError]:
    reads: dict[str, set[str]] = {}
    for rule in rules.rules:
        reads.setdefault(rule.head.relation, set()).update(atom.relation for atom in list(atoms(rule))[1:])
    for rule in rules.rules:
        for item in rule.body:
            if isinstance(item, Aggregate):
                yield from _check_aggregate(rule, item, reads)


def _check_aggregate(rule: Rule, item: Aggregate, reads: dict[str, set[str]]) -> Iterator[RuleError]:
    head = rule.head.relation
    for literal in (part for part in item.body if isinstance(part, Literal_)):
        path = _path(literal.atom.relation, head, reads)
        if path:
            yield RuleError(
                "SL112",
                f"`#{item.op}` over `{literal.atom.relation}`, which depends on `{head}`",
                where=literal.place,
                reason=" needs ".join([head, *path]) + ": the number would change what is counted",
                help="aggregate over a relation that is complete before this rule is asked",
            )
            return


def _path(start: str, goal: str, reads: dict[str, set[str]]) -> list[str]:
    """A shortest chain of relations from `start` to `goal`, each read by rules of the one before."""
    before: dict[str, str] = {start: ""}
    queue = deque([start])
    while queue:
        name = queue.popleft()
        if name == goal:
            return _back(name, before)
        for other in sorted(reads.get(name, ())):
            if other not in before:
                before[other] = name
                queue.append(other)
    return []


def _back(name: str, before: dict[str, str]) -> list[str]:
    path = [name]
    while before[path[-1]]:
        path.append(before[path[-1]])
    return path[::-1]
