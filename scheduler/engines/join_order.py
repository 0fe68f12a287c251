"""The order in which one rule body is matched: most-bound atom next, every test as soon as it can be made.

Meaning never depends on the order in which a body is written; this is where a fixed order is chosen for an engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from schedulog.errors import RuleError
from schedulog.scheduler.language.expression import inner_names, is_simple, item_names, names_of, outer_names
from schedulog.scheduler.language.program import (
    Aggregate,
    Atom,
    BodyItem,
    Compare,
    Const,
    Expr,
    Literal_,
    Relation,
    Rule,
    Var,
)


@dataclass(frozen=True, slots=True)
class Scan:
    """Match an atom with its relation; `bound` are the columns whose values are known before. `item`: body index."""

    atom: Atom
    bound: tuple[int, ...]
    item: int


@dataclass(frozen=True, slots=True)
class Absent:
    """Require that no row of a relation agrees with the atom's `bound` columns."""

    atom: Atom
    bound: tuple[int, ...]
    item: int


@dataclass(frozen=True, slots=True)
class Bind:
    """Give the variable `name` the value of an expression."""

    name: str
    value: Expr
    item: int


@dataclass(frozen=True, slots=True)
class Test:
    """Require that a comparison of known values holds."""

    compare: Compare
    item: int


@dataclass(frozen=True, slots=True)
class Fold:
    """Compute an aggregate over the solutions of `steps`; `binds`: its result variable was unknown before."""

    aggregate: Aggregate
    steps: tuple[Step, ...]
    binds: bool
    item: int


Step = Scan | Absent | Bind | Test | Fold


def order_rule(
    rule: Rule, relations: Mapping[str, Relation], *, first: int | None = None, known: Iterable[str] = ()
) -> tuple[Step, ...]:
    """Order the body of a rule, starting with body item `first` if given; `known` variables have values already.

    Raises RuleError SL110 when some variable can never get a value.
    """
    names = frozenset(known)
    if first is None and not names:
        return _best_start(rule, relations)
    return _Ordering(rule, rule.body, relations, names).run(first)


def _best_start(rule: Rule, relations: Mapping[str, Relation]) -> tuple[Step, ...]:
    """Try each positive atom as the first; prefer no cross product, then constants, then few extra indexes."""
    starts: list[int | None] = [
        i for i, item in enumerate(rule.body) if isinstance(item, Literal_) and not item.negated
    ]
    plans = [_Ordering(rule, rule.body, relations, frozenset()).run(start) for start in starts or [None]]
    return min(plans, key=_start_cost)


def _start_cost(steps: Sequence[Step]) -> tuple[int, int, int]:
    scans = [step for step in steps if isinstance(step, Scan)]
    if not scans:
        return (0, 0, 0)
    crosses = sum(not step.bound for step in scans[1:])
    indexes = sum(step.bound != tuple(range(len(step.bound))) for step in scans[1:])
    return (crosses, -len(scans[0].bound), indexes)


class _Ordering:
    """One greedy ordering of one body."""

    def __init__(
        self, rule: Rule, body: Sequence[BodyItem], relations: Mapping[str, Relation], known: AbstractSet[str]
    ) -> None:
        self.rule = rule
        self.relations = relations
        self.known = set(known)
        self.outer = outer_names(rule.body) | {t.name for t in rule.head.terms if isinstance(t, Var)}
        self.left = dict(enumerate(body))
        self.steps: list[Step] = []

    def run(self, first: int | None) -> tuple[Step, ...]:
        if first is not None:
            self.scan(first)
        self.settle()
        while self.left:
            scans = [i for i, item in self.left.items() if isinstance(item, Literal_) and not item.negated]
            if not scans:
                raise self.stuck()
            self.scan(min(scans, key=self.looseness))
            self.settle()
        return tuple(self.steps)

    def scan(self, item: int) -> None:
        literal = self.left.pop(item)
        assert isinstance(literal, Literal_)
        self.steps.append(Scan(literal.atom, self.bound(literal.atom), item))
        self.known |= item_names(literal)

    def bound(self, atom: Atom) -> tuple[int, ...]:
        return tuple(
            i for i, term in enumerate(atom.terms) if isinstance(term, Const) or term.name in self.known
        )

    def looseness(self, item: int) -> tuple[bool, bool, int, int]:
        literal = self.left[item]
        assert isinstance(literal, Literal_)
        bound = self.bound(literal.atom)
        key = self.relations[literal.atom.relation].key
        single = key is not None and set(range(key)) <= set(bound)
        return (len(bound) < len(literal.atom.terms), not single, -len(bound), item)

    def settle(self) -> None:
        """Place every item that needs no scan, cheap tests first, until nothing more is ready."""
        while True:
            ready = [step for item in sorted(self.left, key=self.expense) if (step := self.ready(item))]
            if not ready:
                return
            # One at a time: a binding may turn the next binding of the same variable into a test.
            self.steps.append(ready[0])
            del self.left[ready[0].item]
            self.known |= _bound_by(ready[0])

    def expense(self, item: int) -> tuple[int, int]:
        part = self.left[item]
        if isinstance(part, Compare):
            simple = is_simple(part.left) and is_simple(part.right)
            return (0 if simple else 2, item)
        return (1 if isinstance(part, Literal_) else 3, item)

    def ready(self, item: int) -> Step | None:
        part = self.left[item]
        if isinstance(part, Literal_):
            return self.absent(part, item) if part.negated else None
        if isinstance(part, Compare):
            return self.comparison(part, item)
        return self.aggregate(part, item)

    def absent(self, literal: Literal_, item: int) -> Step | None:
        free = {t.name for t in literal.atom.terms if isinstance(t, Var)} - self.known
        if any(not name.startswith("_") for name in free):
            return None
        return Absent(literal.atom, self.bound(literal.atom), item)

    def comparison(self, part: Compare, item: int) -> Step | None:
        left, right = names_of(part.left) <= self.known, names_of(part.right) <= self.known
        if left and right:
            return Test(part, item)
        if part.op != "=":
            return None
        if right and isinstance(part.left, Var):
            return Bind(part.left.name, part.right, item)
        if left and isinstance(part.right, Var):
            return Bind(part.right.name, part.left, item)
        return None

    def aggregate(self, part: Aggregate, item: int) -> Step | None:
        group = inner_names(part) & self.outer
        if not group <= self.known:
            return None
        inner = _Ordering(self.rule, part.body, self.relations, group)
        return Fold(part, inner.run(None), part.result.name not in self.known, item)

    def stuck(self) -> RuleError:
        names: set[str] = set()
        for part in self.left.values():
            names |= inner_names(part) if isinstance(part, Aggregate) else item_names(part)
        missing = ", ".join(sorted(names - self.known))
        return RuleError(
            "SL110",
            f"rule {self.rule.name}: never bound: {missing}",
            where=self.rule.place,
            reason="no positive atom or equation gives these variables a value",
            help="add an atom that holds them, or write `_` for a value that does not matter",
        )


def _bound_by(step: Step) -> set[str]:
    if isinstance(step, Bind):
        return {step.name}
    return {step.aggregate.result.name} if isinstance(step, Fold) else set()
