"""Which rules might give a relation two values for one key, though it is declared to have one (`n: node -> v: int`)?

Two clauses are compared with their keys set equal: if then no values meet the conditions of both, or the values are surely
equal, they never disagree. What this cannot show is looked at again when rules are evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from schedulog.scheduler.language.equalities import Equalities
from schedulog.scheduler.language.expression import inner_names, item_names
from schedulog.scheduler.language.program import (
    Aggregate,
    Atom,
    BodyItem,
    Compare,
    Const,
    Literal_,
    Relation,
    Rule,
    Term,
    Var,
)
from schedulog.scheduler.language.variables import renamed


def possible_clashes(rules: Sequence[Rule], relations: Mapping[str, Relation]) -> Iterator[tuple[Rule, Rule]]:
    """The pairs of clauses that might disagree; a clause may disagree with itself."""
    by_head: dict[str, list[Rule]] = {}
    for rule in rules:
        relation = relations.get(rule.head.relation)
        if relation is not None and relation.key is not None and relation.arity == len(rule.head.terms):
            by_head.setdefault(relation.name, []).append(rule)
    for name, clauses in by_head.items():
        key = relations[name].key
        assert key is not None
        yield from (pair for pair in _pairs(clauses, key) if _may_clash(*pair, key, relations))


def _pairs(clauses: Sequence[Rule], key: int) -> Iterator[tuple[Rule, Rule]]:
    """Pairs whose keys may be equal. Facts about different constants are never compared: there may be thousands."""
    fixed: dict[tuple[int | str, ...], list[Rule]] = {}
    free: list[Rule] = []
    for rule in clauses:
        terms = rule.head.terms[:key]
        constants = tuple(term.value for term in terms if isinstance(term, Const))
        if len(constants) == len(terms):
            yield from ((other, rule) for other in fixed.get(constants, ()))
            fixed.setdefault(constants, []).append(rule)
        else:
            yield from ((other, rule) for other in free)
            free.append(rule)
        if rule.body:
            yield rule, rule
    yield from ((other, rule) for rule in free for others in fixed.values() for other in others)


def _may_clash(one: Rule, other: Rule, key: int, relations: Mapping[str, Relation]) -> bool:
    second = _apart(other)
    keys = zip(one.head.terms[:key], second.head.terms[:key], strict=True)
    equations = [Compare("=", a, b, one.place) for a, b in keys]
    names = {term.name for rule in (one, second) for term in rule.head.terms if isinstance(term, Var)}
    known = Equalities([*one.body, *second.body, *equations], relations, names)
    values = zip(one.head.terms[key:], second.head.terms[key:], strict=True)
    return not all(known.same(a, b) for a, b in values) and not known.impossible()


def _apart(rule: Rule) -> Rule:
    """The clause with variables of its own."""
    names: set[str] = {term.name for term in rule.head.terms if isinstance(term, Var)}
    for item in rule.body:
        names |= {item.result.name, *inner_names(item)} if isinstance(item, Aggregate) else item_names(item)
    fresh = {name: f"{name}'" for name in names}
    return replace(rule, head=_atom(rule.head, fresh), body=tuple(_item(item, fresh) for item in rule.body))


def _item(item: BodyItem, fresh: dict[str, str]) -> BodyItem:
    if not isinstance(item, Aggregate):
        return _part(item, fresh)
    terms = tuple(cast(Term, renamed(term, fresh)) for term in item.terms)
    body = tuple(_part(part, fresh) for part in item.body)
    return replace(item, result=cast(Var, renamed(item.result, fresh)), terms=terms, body=body)


def _part(part: Literal_ | Compare, fresh: dict[str, str]) -> Literal_ | Compare:
    if isinstance(part, Literal_):
        return replace(part, atom=_atom(part.atom, fresh))
    return replace(part, left=renamed(part.left, fresh), right=renamed(part.right, fresh))


def _atom(atom: Atom, fresh: dict[str, str]) -> Atom:
    return replace(atom, terms=tuple(cast(Term, renamed(term, fresh)) for term in atom.terms))
