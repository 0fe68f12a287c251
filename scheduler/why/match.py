"""Matching one rule at a time against rows held in Python: for proofs and for naming undefined atoms.

The engines match whole relations; here a head is given and the ways to derive it are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, Protocol, runtime_checkable

from schedulog.scheduler.engines.engine import Functions, Row
from schedulog.scheduler.engines.join_order import Absent, Bind, Fold, Scan, Step, Test, order_rule
from schedulog.scheduler.engines.symbols import Symbols
from schedulog.scheduler.language.expression import calculate, fold, holds
from schedulog.scheduler.language.program import (
    Aggregate,
    Arithmetic,
    Atom,
    Const,
    Expr,
    Literal_,
    Program,
    Rule,
    Term,
    Var,
)

Values = Mapping[str, int]
"""The value of each variable bound so far."""

Reader = Callable[[str], Iterable[Row]]
"""Rows by relation."""


@runtime_checkable
class Finder(Protocol):
    """Whoever can look up rows by some of their columns without reading them all."""

    def count(self, relation: str) -> int:
        """Return the number of rows of a relation."""
        ...

    def finds(self, relation: str, columns: tuple[int, ...]) -> bool:
        """Say whether a lookup by these columns is quick."""
        ...

    def find(self, relation: str, columns: tuple[int, ...], values: Row) -> list[Row]:
        """Return the rows whose `columns` hold `values`, sorted."""
        ...


_LARGE: Final = 20_000
"""Rows from which on a relation is not read as a whole for a few lookups."""
_FEW: Final = 8
"""Slow lookups after which a relation is read as a whole after all."""


class Rows:
    """Rows of relations with an index for each set of columns that was asked for.

    A proof touches few rows of a relation that may have millions: `finder`, if there is one, looks those up.
    """

    def __init__(self, read: Reader, finder: Finder | None = None) -> None:
        self._read = cache(lambda relation: list(read(relation)))
        self._finder = finder
        self._indexes: dict[tuple[str, tuple[int, ...]], dict[Row, list[Row]]] = {}
        self._found: dict[tuple[str, tuple[int, ...]], dict[Row, list[Row]]] = {}
        self._finds = cache(self._can_find)

    def matching(self, relation: str, columns: tuple[int, ...], values: Row) -> Sequence[Row]:
        """Return the rows whose `columns` hold `values`."""
        if not columns:
            return self._read(relation)
        index = self._indexes.get((relation, columns))
        if index is None:
            found = self._looked_up(relation, columns, values)
            if found is not None:
                return found
            index = {}
            for row in self._read(relation):
                index.setdefault(tuple(row[i] for i in columns), []).append(row)
            # Only now may other threads see it.
            self._indexes[relation, columns] = index
        return index.get(values, ())

    def _looked_up(self, relation: str, columns: tuple[int, ...], values: Row) -> list[Row] | None:
        """Return the rows as the finder finds them, None if it pays to make an index."""
        quick = self._finds(relation, columns)
        if self._finder is None or quick is None:
            return None
        known = self._found.setdefault((relation, columns), {})
        found = known.get(values)
        if found is None and (quick or len(known) < _FEW):
            found = known[values] = self._finder.find(relation, columns, values)
        return found

    def _can_find(self, relation: str, columns: tuple[int, ...]) -> bool | None:
        """Say whether the finder is quick, None where it is of no use."""
        if self._finder is None or self._finder.count(relation) < _LARGE:
            return None
        return self._finder.finds(relation, columns)


class Matcher:
    """Finds the ways in which a rule derives a row.

    Positive literals read `present`, negated ones hold when `denied` has no matching row. A function that fails makes
    a way impossible: had the way been possible, the engine would have reported the failure.
    """

    def __init__(
        self, program: Program, symbols: Symbols, functions: Functions, present: Rows, denied: Rows
    ) -> None:
        self.program = program
        self.symbols = symbols
        self.functions = functions
        self.present = present
        self.denied = denied
        self.by_head: dict[str, list[Rule]] = {}
        for rule in sorted(program.rules, key=lambda rule: (rule.id, rule.clause)):
            self.by_head.setdefault(rule.head.relation, []).append(rule)
        self._plans: dict[str, list[tuple[Step, ...]]] = {}

    def rules(self, relation: str) -> Sequence[Rule]:
        """Return the rules and stated facts of a relation, in the order of their names."""
        return self.by_head.get(relation, ())

    def ways(self, rule: Rule, row: Row) -> Iterator[Values]:
        """Yield the values of the rule's variables for every way in which it derives `row`."""
        values = self.unify(rule.head, row)
        if values is None:
            return
        yield from self.solutions(self.plan(rule, values), values)

    def plan(self, rule: Rule, values: Values) -> tuple[Step, ...]:
        """Return the order that begins with the atom of fewest rows, the head's values being known."""
        plans = self._plans.get(rule.name)
        if plans is None:
            starts: list[int | None] = [
                i for i, item in enumerate(rule.body) if isinstance(item, Literal_) and not item.negated
            ]
            plans = [
                order_rule(rule, self.program.relations, first=first, known=values)
                for first in starts or [None]
            ]
            self._plans[rule.name] = plans
        return plans[0] if len(plans) == 1 else min(plans, key=lambda steps: self.width(steps[0], values))

    def width(self, step: Step, values: Values) -> int:
        """Return the number of rows that a first step meets."""
        assert isinstance(step, Scan)
        return len(self.present.matching(step.atom.relation, step.bound, self.key(step, values)))

    def unify(self, atom: Atom, row: Row) -> dict[str, int] | None:
        """Return the values that make an atom equal to a row, or None."""
        values: dict[str, int] = {}
        for term, number in zip(atom.terms, row, strict=True):
            expected = values.setdefault(term.name, number) if isinstance(term, Var) else self.constant(term)
            if expected != number:
                return None
        return values

    def solutions(self, steps: Sequence[Step], values: Values) -> Iterator[Values]:
        """Yield every extension of `values` that satisfies the steps (depth first, on a stack of its own)."""
        levels: list[Iterator[Values]] = [iter((values,))]
        while levels:
            found = next(levels[-1], None)
            if found is None:
                levels.pop()
            elif len(levels) > len(steps):
                yield found
            else:
                levels.append(self.advance(steps[len(levels) - 1], found))

    def advance(self, step: Step, values: Values) -> Iterator[Values]:
        """Yield the extensions of `values` by one step."""
        if isinstance(step, Scan):
            return self.scan(step, values)
        try:
            if isinstance(step, Absent):
                keep = not self.denied.matching(step.atom.relation, step.bound, self.key(step, values))
            elif isinstance(step, Test):
                left, right = (self.value(side, values) for side in (step.compare.left, step.compare.right))
                keep = holds(step.compare.op, left, right)
            elif isinstance(step, Bind):
                return iter(({**values, step.name: self.value(step.value, values)},))
            else:
                return self.fold(step, values)
        except _Impossible:
            return iter(())
        return iter((values,) if keep else ())

    def scan(self, step: Scan, values: Values) -> Iterator[Values]:
        terms = step.atom.terms
        free = [i for i in range(len(terms)) if i not in step.bound]
        for row in self.present.matching(step.atom.relation, step.bound, self.key(step, values)):
            found = dict(values)
            if all(found.setdefault(_name(terms[i]), row[i]) == row[i] for i in free):
                yield found

    def key(self, step: Scan | Absent, values: Values) -> Row:
        return tuple(self.term(step.atom.terms[i], values) for i in step.bound)

    def fold(self, step: Fold, values: Values) -> Iterator[Values]:
        result = self.aggregate(step.aggregate, step.steps, values)
        name = step.aggregate.result.name
        if result is None or values.get(name, result) != result:
            return iter(())
        return iter(({**values, name: result},))

    def aggregate(self, part: Aggregate, steps: Sequence[Step], values: Values) -> int | None:
        """Return the value of an aggregate, None for the least or most of nothing."""
        only = steps[0] if len(steps) == 1 else None
        if part.op == "count" and isinstance(only, Scan) and _whole(only, part.terms):
            return len(self.present.matching(only.atom.relation, only.bound, self.key(only, values)))
        found = {
            tuple(self.term(term, inner) for term in part.terms) for inner in self.solutions(steps, values)
        }
        if part.op == "count":
            return len(found)
        if part.op == "sum":
            return sum(row[0] for row in found)
        firsts = [row[0] for row in found]
        if not firsts:
            return None
        return min(firsts) if part.op == "min" else max(firsts)

    def value(self, expr: Expr, values: Values) -> int:
        """Return the value of an expression."""
        return fold(expr, lambda part, inner: self.part(part, inner, values))

    def part(self, part: Expr, inner: Sequence[int], values: Values) -> int:
        if isinstance(part, Var | Const):
            return self.term(part, values)
        try:
            if isinstance(part, Arithmetic):
                return calculate(part.op, inner[0], inner[1])
            return self.functions[part.function](*inner)
        except Exception as error:
            raise _Impossible from error

    def term(self, term: Term, values: Values) -> int:
        return values[term.name] if isinstance(term, Var) else self.constant(term)

    def constant(self, term: Const) -> int:
        return term.value if isinstance(term.value, int) else self.symbols.intern(term.value)


class _Impossible(Exception):
    """A call that fails on values which no derivation has."""


def _whole(step: Scan, terms: Sequence[Term]) -> bool:
    """Say whether a scan meets each tuple of these terms in one row: they are its free columns, all different."""
    free = [term for i, term in enumerate(step.atom.terms) if i not in step.bound]
    return len({_name(term) for term in free}) == len(free) and set(free) == set(terms)


def _name(term: Term) -> str:
    assert isinstance(term, Var)
    return term.name
