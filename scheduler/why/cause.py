"""Which changes of the rules brought a change of the decisions about.

An atom of one model that the other lacks was derived there by some rule in some ways. Each way fails in the other model: the
rule is not there as it was, or one of its conditions differs, that is, some other atom is in one model only. Followed back,
the changed atoms form a graph whose sources are the changed rules, options and facts; every source is a cause of all it
reaches. Cycles do no harm, as sources are followed forwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from schedulog.scheduler.compare import Cause, Change, DecisionChange
from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.language.meaning import meaning
from schedulog.scheduler.language.program import Aggregate, Atom, Compare, Literal_, Program, Rule, Var
from schedulog.scheduler.schedule import Decisions
from schedulog.scheduler.why.match import Matcher, Rows, Values
from schedulog.scheduler.why.spelling import Spelled, Speller, atom_text

Fact = tuple[str, Spelled]

_ENOUGH = 200_000
"""After so many changed atoms the search ends; those that were not followed back by then stay without a cause."""


Names = tuple[Sequence[str], Sequence[str]]
"""What the nodes of both graphs are called, by position; nothing for n0, n1, ..."""


@dataclass(frozen=True, slots=True)
class Clauses:
    """What the clauses of a program say, also by their names, and the ids there are."""

    by_name: Mapping[str, str]
    bodies: frozenset[str]
    ids: frozenset[str]


def clauses_of(program: Program) -> Clauses:
    """The clauses of a program, to be looked up."""
    said = {rule.name: meaning(rule) for rule in program.rules}
    return Clauses(said, frozenset(said.values()), frozenset(rule.id for rule in program.rules))


def causes_of(
    before: Decisions,
    after: Decisions,
    changes: Iterable[DecisionChange],
    names: Names = ((), ()),
    clauses: tuple[Clauses, Clauses] | None = None,
) -> dict[str, tuple[Cause, ...]]:
    """The causes of each changed atom. Both decisions are about one graph, or `names` makes them comparable.

    `clauses` are those of both programs, where they are known already.

    An atom that has none is absent: its derivation differs in nothing that the rules can see.
    """
    old, new = clauses or (clauses_of(before.model.program), clauses_of(after.model.program))
    search = _Search(_Side(before, names[0], old), _Side(after, names[1], new))
    wanted = {change.atom: search.found(change) for change in changes}
    search.walk(fact for fact in wanted.values() if fact is not None)
    causes = search.reached()
    return {atom: tuple(sorted(causes[f])) for atom, f in wanted.items() if f is not None and f in causes}


def edits_of(before: Program, after: Program) -> tuple[Cause, ...]:
    """The clauses that only one of two programs has."""
    old, new = clauses_of(before), clauses_of(after)
    gone = [_rule(r, True, after, new.ids) for r in before.rules if old.by_name[r.name] not in new.bodies]
    come = [_rule(r, False, before, old.ids) for r in after.rules if new.by_name[r.name] not in old.bodies]
    return tuple(sorted({*gone, *come}))


class _Side:
    """One of the two models, with its rows by how they are spelled."""

    def __init__(self, decisions: Decisions, names: Sequence[str], clauses: Clauses) -> None:
        self.model = model = decisions.model
        self.program = model.program
        self.speller = Speller(decisions, names)
        rows = Rows(model.rows)
        self.matcher = Matcher(self.program, model.symbols, model.functions, rows, rows)
        self.derived = {rule.head.relation for rule in self.program.rules}
        self.clauses = clauses
        self.rows = cache(self._rows)
        self.atoms = cache(self._atoms)
        self.by_columns = cache(self._by_columns)

    def _rows(self, relation: str) -> Mapping[Spelled, Row]:
        if relation not in self.program.relations:
            return {}
        return {self.speller.row(relation, row): row for row in self.model.rows(relation)}

    def _atoms(self, relation: str) -> Mapping[str, Spelled]:
        return {atom_text(relation, row): row for row in self.rows(relation)}

    def _by_columns(self, relation: str, columns: tuple[int, ...]) -> Mapping[Spelled, list[Spelled]]:
        found: dict[Spelled, list[Spelled]] = {}
        for row in self.rows(relation):
            found.setdefault(tuple(row[i] for i in columns), []).append(row)
        return found

    def matching(self, relation: str, known: Mapping[int, str]) -> list[Spelled]:
        """The rows that have the known values in these columns."""
        columns = tuple(known)
        return self.by_columns(relation, columns).get(tuple(known.values()), [])

    def known(self, atom: Atom, values: Values) -> dict[int, str]:
        """What is known of an atom's columns, spelled."""
        return {
            i: self.speller.value(
                atom.relation, i, values[term.name] if isinstance(term, Var) else self.matcher.constant(term)
            )
            for i, term in enumerate(atom.terms)
            if not isinstance(term, Var) or term.name in values
        }


class _Search:
    """The changed atoms met so far: which others each follows from, and the causes found at each."""

    def __init__(self, before: _Side, after: _Side) -> None:
        self.before = before
        self.after = after
        self.users: dict[Fact, list[Fact]] = {}
        self.roots: dict[Cause, list[Fact]] = {}

    def found(self, change: DecisionChange) -> Fact | None:
        """The fact that an atom's text means; None where today's models do not differ in it."""
        relation = change.atom.partition("(")[0]
        side, other = self.sides(change.change == "removed")
        row = side.atoms(relation).get(change.atom)
        return None if row is None or row in other.rows(relation) else (relation, row)

    def sides(self, lost: bool) -> tuple[_Side, _Side]:
        """The model that has an atom, and the one that lacks it."""
        return (self.before, self.after) if lost else (self.after, self.before)

    def walk(self, facts: Iterable[Fact]) -> None:
        """Follow changed atoms back to what they follow from."""
        waiting = deque(dict.fromkeys(facts))
        seen = set(waiting)
        for _ in range(_ENOUGH):
            if not waiting:
                return
            fact = waiting.popleft()
            for need in self.needs(fact):
                self.users.setdefault(need, []).append(fact)
                if need not in seen:
                    seen.add(need)
                    waiting.append(need)

    def needs(self, fact: Fact) -> Iterator[Fact]:
        """The changed atoms because of which the other model lacks this one; causes are noted on the way."""
        relation, spelled = fact
        lost = spelled in self.before.rows(relation)
        side, other = self.sides(lost)
        if relation not in side.derived:
            self.note(_given(relation, spelled, lost), fact)
            return
        for rule in side.matcher.rules(relation):
            kept = side.clauses.by_name[rule.name] in other.clauses.bodies
            for values in side.matcher.ways(rule, side.rows(relation)[spelled]):
                if not kept:
                    self.note(_rule(rule, lost, other.program, other.clauses.ids), fact)
                    break
                for item in rule.body:
                    yield from self.failing(item, values, side, other)

    def failing(
        self, item: Literal_ | Compare | Aggregate, values: Values, side: _Side, other: _Side
    ) -> Iterator[Fact]:
        """The changed atoms on which a condition that held in `side` depends."""
        if isinstance(item, Aggregate):
            for part in item.body:
                if isinstance(part, Literal_):
                    known = side.known(part.atom, values)
                    yield from self.unshared(part.atom.relation, known, side, other)
                    yield from self.unshared(part.atom.relation, known, other, side)
        elif isinstance(item, Literal_):
            having, lacking = (other, side) if item.negated else (side, other)
            yield from self.unshared(item.atom.relation, side.known(item.atom, values), having, lacking)

    def unshared(
        self, relation: str, known: Mapping[int, str], having: _Side, lacking: _Side
    ) -> Iterator[Fact]:
        """The matching atoms that only one model has."""
        rows = lacking.rows(relation)
        yield from ((relation, row) for row in having.matching(relation, known) if row not in rows)

    def note(self, cause: Cause, fact: Fact) -> None:
        self.roots.setdefault(cause, []).append(fact)

    def reached(self) -> dict[Fact, set[Cause]]:
        """Every changed atom that follows from a cause, with all its causes."""
        found: dict[Fact, set[Cause]] = {}
        for cause, facts in self.roots.items():
            seen, waiting = set(facts), list(facts)
            while waiting:
                fact = waiting.pop()
                found.setdefault(fact, set()).add(cause)
                fresh = [user for user in self.users.get(fact, ()) if user not in seen]
                seen.update(fresh)
                waiting += fresh
        return found


def _given(relation: str, spelled: Spelled, lost: bool) -> Cause:
    change: Change = "removed" if lost else "added"
    if relation == "option":
        return Cause("option", f"{spelled[0].strip(chr(34))}={spelled[1]}", change)
    return Cause("fact", atom_text(relation, spelled), change)


def _rule(rule: Rule, lost: bool, other: Program, ids: Collection[str]) -> Cause:
    """A clause that only one program has; `changed` where the other has as many clauses of that id."""
    if rule.id not in ids:
        return Cause("rule", rule.name, "removed" if lost else "added")
    there = any(clause.name == rule.name for clause in other.rules)
    return Cause("rule", rule.name, "changed" if there else "removed" if lost else "added")
