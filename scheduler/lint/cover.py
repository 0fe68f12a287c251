"""Rules that another rule makes superfluous: whatever they derive, the other derives too.

A clause covers another if some renaming of its variables turns its head into the other's and each of its conditions into
one that the other has, or that follows from one (theta-subsumption: Plotkin, Machine Intelligence 5, 1970).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from schedulog.errors import RuleError
from schedulog.scheduler.language.diagnostic import RuleWarning
from schedulog.scheduler.language.expression import inner_names, outer_names
from schedulog.scheduler.language.program import (
    Aggregate,
    Arithmetic,
    Atom,
    BodyItem,
    Call,
    Compare,
    ComparisonOp,
    Const,
    Expr,
    Literal_,
    Rule,
    Var,
)
from schedulog.scheduler.language.rule_set import RuleSet
from schedulog.scheduler.language.variables import parts

_TRIES: Final = 2_000
"""Matches tried for one pair of clauses."""

_PAIRS: Final = 200_000
"""Pairs looked at for one relation; of a relation with more, only the first are compared."""

Names = Mapping[str, Expr]


def check_cover(rules: RuleSet) -> Iterator[RuleError]:
    """Clauses that another one covers, or that ask for what they derive (SL152)."""
    by_head: dict[str, list[Rule]] = {}
    for rule in rules.rules:
        if any(
            isinstance(item, Literal_) and not item.negated and item.atom == rule.head for item in rule.body
        ):
            yield _asks_itself(rule)
        else:
            by_head.setdefault(rule.head.relation, []).append(rule)
    for of_relation in by_head.values():
        yield from _covered(of_relation)


def covers(one: Rule, other: Rule) -> bool:
    """Whether clause `one` surely derives all that clause `other` does."""
    return _Cover(one, other).found()


def _covered(rules: Sequence[Rule]) -> Iterator[RuleError]:
    """The superfluous ones among the clauses of one relation; of two that are the same, the later."""
    features = {rule.name: _features(rule) for rule in rules}
    having: dict[Hashable, list[Rule]] = {}
    for rule in rules:
        for feature in features[rule.name]:
            having.setdefault(feature, []).append(rule)
    covered: set[str] = set()
    pairs = 0
    for one in rules:
        rarest = min((having[feature] for feature in features[one.name]), key=len, default=rules)
        for other in rarest:
            pairs += 1
            if one is other or other.name in covered or one.name in covered or pairs > _PAIRS:
                continue
            if features[one.name] <= features[other.name] and covers(one, other):
                covered.add(other.name)
                yield _superfluous(other, one)


def _features(rule: Rule) -> set[Hashable]:
    """What a clause that this one covers must have too."""
    found: set[Hashable] = {term.value for term in rule.head.terms if isinstance(term, Const)}
    for item in rule.body:
        if isinstance(item, Aggregate):
            found.add(("aggregate", item.op))
        found |= {(p.atom.relation, p.negated) for p in parts(item) if isinstance(p, Literal_)}
    return found


def _superfluous(rule: Rule, other: Rule) -> RuleWarning:
    return RuleWarning(
        "SL152",
        f"this rule derives nothing that {other.name} does not",
        where=rule.head.place,
        reason=f"{other.name} ({other.place}) has the same head and no condition that this one lacks",
        help="delete it, or say what makes it different",
    )


def _asks_itself(rule: Rule) -> RuleWarning:
    return RuleWarning(
        "SL152",
        "this rule derives only what it asks for",
        where=rule.head.place,
        reason=f"its head is one of its conditions: `{rule.head.relation}` has to hold before",
        help="delete it, or ask for something else",
    )


class _Cover:
    """One search for a renaming, condition by condition with backtracking."""

    def __init__(self, one: Rule, other: Rule) -> None:
        self.one = one
        self.other = other
        self.tries = 0
        self.outside = _outside(one), _outside(other)

    def found(self) -> bool:
        names = _match_terms(self.one.head.terms, self.other.head.terms, {})
        if names is None:
            return False
        # Comparisons last: by then the literals have given names to their variables.
        order = sorted(self.one.body, key=lambda item: isinstance(item, Compare))
        return self.search(order, names)

    def search(self, items: Sequence[BodyItem], names: Names) -> bool:
        """Depth first, on a stack of its own."""
        stack: list[Iterator[Names]] = [iter((names,))]
        while stack and self.tries < _TRIES:
            found = next(stack[-1], None)
            self.tries += 1
            if found is None:
                stack.pop()
            elif len(stack) > len(items):
                return True
            else:
                stack.append(self.matches(items[len(stack) - 1], found))
        return False

    def matches(self, item: BodyItem, names: Names) -> Iterator[Names]:
        """The ways in which a condition becomes one that the other clause has or implies."""
        for other in self.other.body:
            found = _match(item, other, names)
            if found is not None and (not isinstance(item, Aggregate) or self.alike(item, found)):
                yield found

    def alike(self, item: Aggregate, names: Names) -> bool:
        """Whether an aggregate keeps its group: what is local to it becomes local, each variable another one."""
        images = {name: names[name] for name in inner_names(item)}
        local = [image for name, image in images.items() if name not in self.outside[0]]
        group = [image for name, image in images.items() if name in self.outside[0]]
        return (
            len(set(local)) == len(local)
            and all(isinstance(image, Var) and image.name not in self.outside[1] for image in local)
            and all(not isinstance(image, Var) or image.name in self.outside[1] for image in group)
        )


def _outside(rule: Rule) -> set[str]:
    """The variables of a clause that stand outside all braces."""
    return outer_names(rule.body) | {term.name for term in rule.head.terms if isinstance(term, Var)}


def _match(one: BodyItem, other: BodyItem, names: Names) -> Names | None:
    if isinstance(one, Literal_) and isinstance(other, Literal_):
        return _match_literal(one, other, names)
    if isinstance(one, Compare) and isinstance(other, Compare):
        return _match_comparison(one, other, names)
    if isinstance(one, Aggregate) and isinstance(other, Aggregate):
        return _match_aggregate(one, other, names)
    return None


def _match_literal(one: Literal_, other: Literal_, names: Names) -> Names | None:
    if one.atom.relation != other.atom.relation or one.negated != other.negated:
        return None
    if one.negated:
        return _match_excluded(one.atom, other.atom, names)
    return _match_terms(one.atom.terms, other.atom.terms, names)


def _match_excluded(one: Atom, other: Atom, names: Names) -> Names | None:
    """`not other` implies `not one` if `other` is at least as wide: `_` stands for every value."""
    pairs = list(zip(one.terms, other.terms, strict=True))
    if any(_is_any(a) and not _is_any(b) for a, b in pairs):
        return None
    kept = [(a, b) for a, b in pairs if not _is_any(b)]
    return _match_terms([a for a, _ in kept], [b for _, b in kept], names)


def _is_any(term: Expr) -> bool:
    return isinstance(term, Var) and term.anonymous


def _match_terms(ones: Sequence[Expr], others: Sequence[Expr], names: Names) -> Names | None:
    for one, other in zip(ones, others, strict=True):
        found = _match_expr(one, other, names)
        if found is None:
            return None
        names = found
    return names


def _match_expr(one: Expr, other: Expr, names: Names) -> Names | None:
    if isinstance(one, Var):
        known = names.get(one.name)
        return {**names, one.name: other} if known is None else (names if known == other else None)
    if isinstance(one, Const):
        return names if one == other else None
    if isinstance(one, Arithmetic) and isinstance(other, Arithmetic) and one.op == other.op:
        return _match_terms((one.left, one.right), (other.left, other.right), names)
    if not isinstance(one, Call) or not isinstance(other, Call) or one.function != other.function:
        return None
    if len(one.arguments) == len(other.arguments):
        return _match_terms(one.arguments, other.arguments, names)
    return None


_TURNED: Final[Mapping[ComparisonOp, ComparisonOp]] = {
    "=": "=",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}


def _match_comparison(one: Compare, other: Compare, names: Names) -> Names | None:
    if isinstance(one.left, Const):
        one = replace(one, op=_TURNED[one.op], left=one.right, right=one.left)
    for op, left, right in (
        (other.op, other.left, other.right),
        (_TURNED[other.op], other.right, other.left),
    ):
        found = _match_terms((one.left, one.right), (left, right), names) if op == one.op else None
        if found is None and _implied(one, op, right):
            found = _match_expr(one.left, left, names)
        if found is not None:
            return found
    return None


def _implied(one: Compare, op: str, right: Expr) -> bool:
    """Whether `x op right` implies `x one.op one.right`, for integers."""
    if not isinstance(one.right, Const) or not isinstance(right, Const):
        return False
    bound, number = one.right.value, right.value
    if not isinstance(bound, int) or not isinstance(number, int):
        return False
    low, high = _range(op, number)
    wanted = _range(one.op, bound)
    if one.op == "!=":
        return (low is not None and low > bound) or (high is not None and high < bound)
    if op == "!=" or one.op == "=":
        return False
    lower = wanted[0] is None or (low is not None and low >= wanted[0])
    upper = wanted[1] is None or (high is not None and high <= wanted[1])
    return lower and upper


def _range(op: str, number: int) -> tuple[int | None, int | None]:
    """The least and the greatest integer x with `x op number`; None for no limit."""
    low = {">": number + 1, ">=": number, "=": number}.get(op)
    high = {"<": number - 1, "<=": number, "=": number}.get(op)
    return low, high


def _match_aggregate(one: Aggregate, other: Aggregate, names: Names) -> Names | None:
    """Aggregates agree only as they are written: a wider group counts something else."""
    if one.op != other.op or len(one.terms) != len(other.terms) or len(one.body) != len(other.body):
        return None
    found = _match_terms((one.result, *one.terms), (other.result, *other.terms), names)
    for a, b in zip(one.body, other.body, strict=True):
        if found is None:
            return None
        if isinstance(a, Literal_) and isinstance(b, Literal_) and a.negated == b.negated:
            same = a.atom.relation == b.atom.relation
            found = _match_terms(a.atom.terms, b.atom.terms, found) if same else None
        elif isinstance(a, Compare) and isinstance(b, Compare) and a.op == b.op:
            found = _match_terms((a.left, a.right), (b.left, b.right), found)
        else:
            return None
    return found
