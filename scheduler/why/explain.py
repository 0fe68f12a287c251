"""Why an atom is true: a proof of least height.

Backwards from the atom, all ways to derive what is needed are collected, level by level; forwards from the facts, each
atom gets the least height at which it follows (a breadth-first search in the directed hypergraph of derivations:
Gallo, Longo, Pallottino and Nguyen, Discrete Applied Mathematics 42, 1993). The result is finite through any cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from schedulog.errors import UsageError
from schedulog.scheduler.engines.engine import Functions, Row
from schedulog.scheduler.engines.symbols import Symbols, decoder
from schedulog.scheduler.language.expression import postorder
from schedulog.scheduler.language.program import (
    Aggregate,
    Atom,
    BodyItem,
    Call,
    Compare,
    Const,
    Literal_,
    Program,
    Rule,
    Term,
    Var,
)
from schedulog.scheduler.why.filled import filled_text, shown_values
from schedulog.scheduler.why.match import Matcher, Rows, Values
from schedulog.scheduler.why.proof import Absence, Condition, Proof

Fact = tuple[str, Row]

_ENOUGH = 100_000
"""After so many derivations the first proof found is taken, even if a lower one may exist."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to derive `head`: a rule with values, and the derived atoms it needs."""

    head: Fact
    rule: Rule
    values: Values
    needs: tuple[Fact, ...]


@dataclass(slots=True)
class Heights:
    """The least height of each atom that follows, and the way that gave it."""

    height: dict[Fact, int] = field(default_factory=dict)
    by: dict[Fact, Way] = field(default_factory=dict)
    ways: int = 0
    """How many derivations were looked at."""


class Explainer:
    """Answers `why` about one model. `given`: rows handed in for relations that rules derive too."""

    def __init__(
        self,
        program: Program,
        symbols: Symbols,
        functions: Functions,
        rows: Rows,
        given: Mapping[str, AbstractSet[Row]],
    ) -> None:
        self.program = program
        self.symbols = symbols
        self.rows = rows
        self.given = given
        self.matcher = Matcher(program, symbols, functions, rows, rows)
        self.derived = {rule.head.relation for rule in program.rules if rule.body}
        self.stated = {
            (
                rule.head.relation,
                tuple(self.matcher.constant(t) for t in rule.head.terms if isinstance(t, Const)),
            ): rule
            for rule in program.rules
            if not rule.body
        }

    def why(self, relation: str, row: Row) -> Proof:
        """Return a proof of least height. Raises UsageError SL711, SL712 and SL714, see `Model.why`."""
        goal = self.goal(relation, row)
        heights = self.explore(goal)
        assert goal in heights.height, f"{goal} is in the model and has no proof"
        return self.proofs(goal, heights)[goal]

    def goal(self, relation: str, row: Row) -> Fact:
        """Return the fact that is asked about. Raises UsageError as `why`."""
        declared = self.program.relations.get(relation)
        if declared is None:
            raise UsageError(
                "SL711", f"no relation is called {relation}", help="ask about a declared relation"
            )
        if declared.arity != len(row):
            raise UsageError("SL712", f"{relation} has {declared.arity} arguments, not {len(row)}")
        if not self.rows.matching(relation, tuple(range(declared.arity)), row):
            atom = decoder(self.symbols, self.program.relations)(relation, row)
            raise UsageError("SL714", f"{atom} is not true", help="ask why of a row of the model")
        return relation, row

    def is_fact(self, goal: Fact) -> bool:
        return goal[0] not in self.derived or goal in self.stated or goal[1] in self.given.get(goal[0], ())

    def explore(self, goal: Fact, without: Fact | None = None, most: int | None = None) -> Heights:
        """Collect ways level by level until the goal's height is known to be the least.

        `without` is a fact that must not be used, `most` the number of ways after which the search ends. The goal has no
        height if it does not follow so, or was not found to.
        """
        if self.is_fact(goal):
            return Heights({goal: 0})
        ways: list[Way] = []
        seen, layer, depth, measured = {goal}, [goal], 0, 0
        while True:
            following: list[Fact] = []
            for atom in layer:
                if most is not None and len(ways) > most:
                    return self.measure(ways, seen)
                for way in self.ways(atom, without):
                    ways.append(way)
                    fresh = [need for need in way.needs if need not in seen]
                    seen.update(fresh)
                    following += [need for need in fresh if not self.is_fact(need)]
            layer, depth = following, depth + 1
            if len(ways) >= 2 * measured or not layer:
                measured = len(ways)
                heights = self.measure(ways, seen)
                # A proof of this height stays within the levels explored, so no lower one was missed.
                done = goal in heights.height and (heights.height[goal] <= depth or len(ways) > _ENOUGH)
                if done or not layer:
                    return heights

    def ways(self, atom: Fact, without: Fact | None) -> list[Way]:
        """Return the ways to derive an atom that do not use `without`; one is enough when it needs no derived atom."""
        found: list[Way] = []
        for way in self.every_way(atom):
            if not way.needs:
                return [way]
            if without not in way.needs:
                found.append(way)
        return found

    def every_way(self, atom: Fact) -> Iterator[Way]:
        """Yield all ways to derive an atom."""
        for rule in self.matcher.rules(atom[0]):
            if rule.body:
                for values in self.matcher.ways(rule, atom[1]):
                    yield Way(atom, rule, values, self.needs(rule, values))

    def needs(self, rule: Rule, values: Values) -> tuple[Fact, ...]:
        atoms = (item.atom for item in rule.body if isinstance(item, Literal_) and not item.negated)
        facts = (self.fact(atom, values) for atom in atoms if atom.relation in self.derived)
        return tuple(dict.fromkeys(facts))

    def fact(self, atom: Atom, values: Values) -> Fact:
        return atom.relation, tuple(self.matcher.term(term, values) for term in atom.terms)

    def measure(self, ways: list[Way], atoms: AbstractSet[Fact]) -> Heights:
        """Give every atom that follows its least height."""
        found = Heights({atom: 0 for atom in sorted(atoms) if self.is_fact(atom)}, ways=len(ways))
        missing = [len(way.needs) for way in ways]
        users: dict[Fact, list[int]] = {}
        for i, way in enumerate(ways):
            for need in way.needs:
                users.setdefault(need, []).append(i)
        queue = deque(found.height)
        self.settle(found, queue, [way for way in ways if not way.needs], 1)
        while queue:
            atom = queue.popleft()
            ready: list[Way] = []
            for i in users.get(atom, ()):
                missing[i] -= 1
                if not missing[i]:
                    ready.append(ways[i])
            self.settle(found, queue, ready, found.height[atom] + 1)
        return found

    def settle(self, found: Heights, queue: deque[Fact], ready: list[Way], height: int) -> None:
        for way in ready:
            if way.head not in found.height:
                found.height[way.head] = height
                found.by[way.head] = way
                queue.append(way.head)

    def proofs(self, goal: Fact, heights: Heights) -> dict[Fact, Proof]:
        """Make the proofs of all atoms that the goal's proof needs, lowest first, the goal's among them."""
        wanted, stack = {goal}, [goal]
        while stack:
            way = heights.by.get(stack.pop())
            fresh = [need for need in (way.needs if way else ()) if need not in wanted]
            wanted.update(fresh)
            stack += fresh
        proofs: dict[Fact, Proof] = {}
        for atom in sorted(wanted, key=lambda atom: (heights.height[atom], atom)):
            way = heights.by.get(atom)
            proofs[atom] = self.derivation(way, heights.height[atom], proofs) if way else self.leaf(atom)
        return proofs

    def leaf(self, atom: Fact) -> Proof:
        rule = self.stated.get(atom)
        if rule is None:
            return Proof(*atom, "", None, "", 0, ())
        return Proof(*atom, rule.name, rule.place, rule.text, 0, ())

    def derivation(self, way: Way, height: int, proofs: dict[Fact, Proof]) -> Proof:
        rule = way.rule
        premises = tuple(self.premise(rule, item, way.values, proofs) for item in rule.body)
        return Proof(*way.head, rule.name, rule.place, rule.text, height, premises)

    def premise(
        self, rule: Rule, item: BodyItem, values: Values, proofs: dict[Fact, Proof]
    ) -> Proof | Absence | Condition:
        if isinstance(item, Literal_) and item.negated:
            return Absence(item.atom.relation, tuple(self.optional(term, values) for term in item.atom.terms))
        if isinstance(item, Literal_):
            fact = self.fact(item.atom, values)
            if fact not in proofs:
                proofs[fact] = self.leaf(fact)
            return proofs[fact]
        return self.condition(rule, item, values)

    def optional(self, term: Term, values: Values) -> int | None:
        return values.get(term.name) if isinstance(term, Var) else self.matcher.constant(term)

    def condition(self, rule: Rule, item: Compare | Aggregate, values: Values) -> Condition:
        """Write a comparison or an aggregate with the values it had."""
        shown = shown_values(self.program, self.symbols, rule, values)
        if isinstance(item, Aggregate):
            return Condition("aggregate", filled_text(item, shown))
        sides = (item.left, item.right)
        calls = any(isinstance(part, Call) for side in sides for part in postorder(side))
        return Condition("function" if calls else "comparison", filled_text(item, shown))
