"""Recursion that may make new values for ever.

A relation that needs itself ends when its rules only hand on values that exist: there are finitely many. A rule that
calculates a value, and hands it on to itself, makes new ones. It is believed to end when the value is compared with one from
outside the recursion, when it or what it is made of must be in a relation from outside, or when each step goes on along the
graph, whose edges lead from earlier nodes to later ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from schedulog.errors import RuleError
from schedulog.scheduler.engines.strata import strong_components
from schedulog.scheduler.language.diagnostic import RuleWarning
from schedulog.scheduler.language.expression import names_of, term_names
from schedulog.scheduler.language.program import Arithmetic, Atom, Compare, Const, Expr, Literal_, Rule, Var
from schedulog.scheduler.language.rule_set import RuleSet
from schedulog.scheduler.language.rule_text import format_expr

Along = dict[str, frozenset[tuple[int, int]]]
"""By relation, pairs of columns of which the second holds a later node than the first in every row."""

_GRAPH: Final[Mapping[str, tuple[int, int]]] = {"edge": (0, 1), "source": (2, 0), "look": (1, 0)}
"""What rules/core/model.dl says of its inputs: a source comes before its user."""

_FORWARD, _BACK, _STAYS = 1, -1, 0


@dataclass(frozen=True, slots=True)
class _Made:
    """A calculated variable: its equation, all it is made of, and the comparisons that would limit it."""

    equation: Compare
    origins: frozenset[str]
    signs: tuple[str, ...]


def check_ending(rules: RuleSet) -> Iterator[RuleError]:
    """Recursive rules that calculate values without a limit (SL153)."""
    reads: dict[str, set[str]] = {}
    for rule in rules.rules:
        reads.setdefault(rule.head.relation, set()).update(atom.relation for atom in _positive(rule))
    along = _along(rules)
    for part in strong_components(sorted(reads), lambda name: reads[name] & reads.keys()):
        if len(part) == 1 and part[0] not in reads[part[0]]:
            continue
        clauses = [rule for rule in rules.rules if rule.head.relation in part]
        found = [(rule, finding) for rule in clauses for finding in _check_rule(rule, part)]
        if found and not _goes_along(clauses, {rule.name for rule, _ in found}, part, along):
            yield from (finding for _, finding in found)


def _positive(rule: Rule) -> Iterator[Atom]:
    return (i.atom for i in rule.body if isinstance(i, Literal_) and not i.negated)


def _check_rule(rule: Rule, inside: Sequence[str]) -> Iterator[RuleWarning]:
    recursive = [atom for atom in _positive(rule) if atom.relation in inside]
    outside = {
        name for atom in _positive(rule) if atom.relation not in inside for name in term_names(atom.terms)
    }
    handed = {name for atom in recursive for name in term_names(atom.terms)} - outside
    made = _made(rule, handed, outside)
    for index, term in enumerate(rule.head.terms):
        if isinstance(term, Var) and term.name in made and not _is_limited(term.name, made, rule, outside):
            yield _endless(rule, index, made[term.name].equation, recursive[0])


def _made(rule: Rule, handed: set[str], outside: set[str]) -> dict[str, _Made]:
    """The variables that are calculated, directly or not, from what the recursion hands on."""
    found: dict[str, _Made] = {}
    equations = [item for item in rule.body if isinstance(item, Compare) and item.op == "="]
    sides = [
        (item, *pair) for item in equations for pair in ((item.left, item.right), (item.right, item.left))
    ]
    while True:
        before = len(found)
        for item, target, source in sides:
            if not isinstance(target, Var) or target.name in handed | outside | found.keys():
                continue
            direct = names_of(source) & (handed | found.keys())
            if not direct:
                continue
            below = [found[name] for name in direct if name in found]
            origins = direct.union(*(other.origins for other in below))
            if not isinstance(source, Var):
                found[target.name] = _Made(item, frozenset(origins), _signs(source))
            elif below:
                found[target.name] = _Made(below[0].equation, frozenset(origins), below[0].signs)
        if len(found) == before:
            return found


def _signs(source: Expr) -> tuple[str, ...]:
    """The comparisons that limit a value: what is counted up needs a greatest value, what is counted down a least."""
    if isinstance(source, Arithmetic) and source.op in ("+", "-"):
        step = source.right if isinstance(source.right, Const) else source.left
        if (
            isinstance(step, Const)
            and isinstance(step.value, int)
            and (step is source.right or source.op == "+")
        ):
            grows = (step.value > 0) == (source.op == "+")
            return ("<", "<=") if grows else (">", ">=")
    return ("<", "<=", ">", ">=")


def _is_limited(name: str, made: Mapping[str, _Made], rule: Rule, outside: set[str]) -> bool:
    """Whether a comparison limits a calculated variable or what it is made of."""
    names = {name} | made[name].origins
    turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
    for item in (item for item in rule.body if isinstance(item, Compare)):
        for op, one, other in (
            (item.op, item.left, item.right),
            (turned.get(item.op), item.right, item.left),
        ):
            if op in made[name].signs and names_of(one) & names and names_of(other) <= outside:
                return True
    return False


def _along(rules: RuleSet) -> Along:
    """The relations whose rows go along the graph: the graph's own, and those that every rule derives from such."""
    found: Along = {
        name: frozenset({columns})
        for name, columns in _GRAPH.items()
        if name in rules.relations
        and rules.relations[name].is_input
        and rules.relations[name].arity > max(columns)
    }
    by_head: dict[str, list[Rule]] = {}
    for rule in rules.rules:
        by_head.setdefault(rule.head.relation, []).append(rule)
    while True:
        before = len(found)
        for name in by_head.keys() - found.keys():
            columns = frozenset.intersection(*(_head_steps(rule, found) for rule in by_head[name]))
            if columns and not rules.relations[name].is_open:
                found[name] = columns
        if len(found) == before:
            return found


def _head_steps(rule: Rule, along: Along) -> frozenset[tuple[int, int]]:
    steps = _steps(rule, along)
    names = [term.name if isinstance(term, Var) else "" for term in rule.head.terms]
    return frozenset((i, j) for i, a in enumerate(names) for j, b in enumerate(names) if (a, b) in steps)


def _steps(rule: Rule, along: Along) -> set[tuple[str, str]]:
    """Pairs of variables of a clause of which the second is a later node."""
    return {
        (before.name, after.name)
        for atom in _positive(rule)
        for i, j in along.get(atom.relation, ())
        for before, after in [(atom.terms[i], atom.terms[j])]
        if isinstance(before, Var) and isinstance(after, Var)
    }


def _goes_along(clauses: Sequence[Rule], making: set[str], inside: Sequence[str], along: Along) -> bool:
    """Whether in some column every step stays or goes one way, and steps that make values do not stay."""
    width = min(len(rule.head.terms) for rule in clauses)
    for column in range(width):
        for way in (_FORWARD, _BACK):
            if all(
                _way(rule, atom, column, along) in ((way,) if rule.name in making else (way, _STAYS))
                for rule in clauses
                for atom in _positive(rule)
                if atom.relation in inside
            ):
                return True
    return False


def _way(rule: Rule, atom: Atom, column: int, along: Along) -> int | None:
    """How a clause moves in one column from a recursive atom to its head; None if that is not known."""
    before, after = atom.terms[column], rule.head.terms[column]
    if not isinstance(before, Var) or not isinstance(after, Var):
        return None
    if before.name == after.name:
        return _STAYS
    steps = _steps(rule, along)
    if (before.name, after.name) in steps:
        return _FORWARD
    return _BACK if (after.name, before.name) in steps else None


def _endless(rule: Rule, index: int, made: Compare, recursive: Atom) -> RuleWarning:
    term = rule.head.terms[index]
    assert isinstance(term, Var)
    written = f"{format_expr(made.left)} = {format_expr(made.right)}"
    return RuleWarning(
        "SL153",
        f"`{term.name}`, argument {index + 1} of `{rule.head.relation}`, may take new values for ever",
        where=made.place,
        reason=f"`{written}` makes one of what `{recursive.relation}` hands on, and nothing limits it",
        help=f"compare `{term.name}` with a value from outside the recursion, or require it in a finite relation",
    )
