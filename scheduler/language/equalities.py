"""What follows from a conjunction of conditions: which terms are equal, and whether no values can meet them all.

Equalities come from equations, from functions of equal arguments, and from relations that hold one value for a key
(congruence closure by Nelson and Oppen, JACM 27(2), 1980; and the chase of functional dependencies by Maier, Mendelzon and
Sagiv, TODS 4(4), 1979). Both are cautious: what is not found equal may be so, what is not found impossible may be so.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations

from schedulog.scheduler.language.expression import outer_names
from schedulog.scheduler.language.program import (
    Aggregate,
    Arithmetic,
    Atom,
    BodyItem,
    Compare,
    Const,
    Expr,
    Literal_,
    Relation,
    Var,
)

_LEAST, _MOST = -(2**63), 2**63 - 1


class Equalities:
    """The classes of equal terms of a body, and what else is known of them."""

    def __init__(
        self, body: Sequence[BodyItem], relations: Mapping[str, Relation], outside: Iterable[str] = ()
    ) -> None:
        self.body = body
        self.relations = relations
        self.outside = set(outside) | outer_names(body)
        self.parent: dict[Hashable, Hashable] = {}
        self.changed = True
        while self.changed:
            self.changed = False
            self._pass()

    def same(self, one: Expr, other: Expr) -> bool:
        """Whether two expressions surely have one value."""
        return self.name(one) == self.name(other)

    def impossible(self) -> bool:
        """Whether surely no values meet all conditions."""
        two_constants = any(map(_is_constant, self.parent))
        return two_constants or self._excluded() or self._compared()

    def name(self, expr: Expr) -> Hashable:
        """The representative of an expression's class."""
        if isinstance(expr, Var):
            return self.find(("variable", expr.name))
        if isinstance(expr, Const):
            return self.find(("constant", type(expr.value).__name__, expr.value))
        parts = (expr.left, expr.right) if isinstance(expr, Arithmetic) else expr.arguments
        word = expr.op if isinstance(expr, Arithmetic) else f"@{expr.function}"
        return self.find((word, *(self.name(part) for part in parts)))

    def find(self, node: Hashable) -> Hashable:
        while (above := self.parent.get(node, node)) != node:
            node = above
        return node

    def join(self, one: Hashable, other: Hashable) -> None:
        one, other = self.find(one), self.find(other)
        if one != other:
            # A constant stays the name of its class, so that two constants of one class are seen; and a calculation
            # never does where there is another name, so that names do not grow.
            keep, drop = (one, other) if _rank(one) <= _rank(other) else (other, one)
            self.parent[drop] = keep
            self.changed = True

    def _pass(self) -> None:
        """One round of everything that makes terms equal."""
        keyed: dict[Hashable, Atom] = {}
        for number, item in enumerate(self.body):
            if isinstance(item, Compare):
                self._compounds(item, number)
                if item.op == "=":
                    self.join(self.name(item.left), self.name(item.right))
            elif isinstance(item, Aggregate):
                self.join(self.name(item.result), ("aggregate", self._aggregate(item)))
            elif not item.negated:
                self._key(item.atom, keyed)

    def _compounds(self, item: Compare, number: int) -> None:
        """Tie each calculation to what it is now, so that calculations of equal values are one."""
        for side, expr in enumerate((item.left, item.right)):
            if not isinstance(expr, Var | Const):
                self.join(("place", number, side), self.name(expr))

    def _key(self, atom: Atom, keyed: dict[Hashable, Atom]) -> None:
        relation = self.relations.get(atom.relation)
        if relation is None or relation.key is None or relation.arity != len(atom.terms):
            return
        key = (relation.name, *(self.name(term) for term in atom.terms[: relation.key]))
        first = keyed.setdefault(key, atom)
        for one, other in zip(first.terms[relation.key :], atom.terms[relation.key :], strict=True):
            self.join(self.name(one), self.name(other))

    def _aggregate(self, item: Aggregate) -> Hashable:
        """An aggregate with its local variables numbered: equal groups of equal conditions have one value."""
        numbers: dict[str, int] = {}

        def named(expr: Expr) -> Hashable:
            if isinstance(expr, Var) and expr.name not in self.outside:
                return ("local", numbers.setdefault(expr.name, len(numbers)))
            if isinstance(expr, Var | Const):
                return self.name(expr)
            parts = (expr.left, expr.right) if isinstance(expr, Arithmetic) else expr.arguments
            word = expr.op if isinstance(expr, Arithmetic) else f"@{expr.function}"
            return (word, *map(named, parts))

        inner: list[Hashable] = [item.op, *map(named, item.terms)]
        for part in item.body:
            if isinstance(part, Literal_):
                inner.append((part.negated, part.atom.relation, *map(named, part.atom.terms)))
            else:
                inner.append((part.op, named(part.left), named(part.right)))
        return tuple(inner)

    def _excluded(self) -> bool:
        """Whether one literal is the opposite of another."""
        literals = [item for item in self.body if isinstance(item, Literal_)]
        present: dict[str, list[Atom]] = {}
        for item in literals:
            if not item.negated:
                present.setdefault(item.atom.relation, []).append(item.atom)
        return any(
            item.negated and self._instance(atom, item.atom)
            for item in literals
            for atom in present.get(item.atom.relation, ())
        )

    def _instance(self, atom: Atom, excluded: Atom) -> bool:
        return len(atom.terms) == len(excluded.terms) and all(
            (isinstance(b, Var) and b.anonymous) or self.same(a, b)
            for a, b in zip(atom.terms, excluded.terms, strict=True)
        )

    def _compared(self) -> bool:
        """Whether comparisons of one value with numbers leave none, or two equal values are compared as unequal."""
        bounds: dict[Hashable, tuple[int, int]] = {}
        for item in (item for item in self.body if isinstance(item, Compare)):
            left, right = self.name(item.left), self.name(item.right)
            if left == right and item.op in ("!=", "<", ">"):
                return True
            _narrow(bounds, left, item.op, right)
            _narrow(bounds, right, _TURNED[item.op], left)
        if any(low > high for low, high in bounds.values()):
            return True
        return any(self._outside(node, bounds) for node in bounds)

    def _outside(self, node: Hashable, bounds: Mapping[Hashable, tuple[int, int]]) -> bool:
        number = _number(node)
        return number is not None and not bounds[node][0] <= number <= bounds[node][1]


_TURNED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _narrow(bounds: dict[Hashable, tuple[int, int]], node: Hashable, op: str, other: Hashable) -> None:
    """What `node op other` says of node, where the other side is a number."""
    number = _number(other)
    if number is None or op == "!=":
        return
    low, high = bounds.get(node, (_LEAST, _MOST))
    if op in ("<", "<=", "="):
        high = min(high, number - (op == "<"))
    if op in (">", ">=", "="):
        low = max(low, number + (op == ">"))
    bounds[node] = (low, high)


_RANKS = ("constant", "variable", "place")


def _rank(node: Hashable) -> int:
    word = node[0] if isinstance(node, tuple) else ""
    return _RANKS.index(word) if word in _RANKS else len(_RANKS)


def _is_constant(node: Hashable) -> bool:
    return isinstance(node, tuple) and node[0] == "constant"


def _number(node: Hashable) -> int | None:
    """The integer that a class is known to be."""
    if isinstance(node, tuple) and node[0] == "constant" and isinstance(node[2], int):
        return node[2]
    return None


def impossible(body: Sequence[BodyItem], relations: Mapping[str, Relation]) -> bool:
    """Whether surely no values meet all conditions of a body."""
    return _may_be(body, relations) and Equalities(body, relations).impossible()


def _may_be(body: Sequence[BodyItem], relations: Mapping[str, Relation]) -> bool:
    """Whether a look at a body's closure could show anything: most bodies are simple."""
    if any(isinstance(item, Compare) for item in body):
        return True
    literals = [item for item in body if isinstance(item, Literal_)]
    return any(
        one.atom.relation == other.atom.relation
        and (one.negated != other.negated or _keyed(one.atom.relation, relations))
        for one, other in combinations(literals, 2)
    )


def _keyed(name: str, relations: Mapping[str, Relation]) -> bool:
    relation = relations.get(name)
    return relation is not None and relation.key is not None
