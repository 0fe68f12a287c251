"""Which conditions of rules decide in a model? Those that alone keep their clause from deriving a row that does not hold.

A condition is decisive if there are values of the clause's variables for which it fails, all other conditions hold, and the
head is no row of the model. A variable that no other condition gives a value to takes any value of its type that occurs in
the model. So the question is one query a condition: the clause without it, and with `not head`. A condition that computes a
value which nothing else gives (an equation, an aggregate) fails for every other value; it decides nothing and is not asked.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from schedulog.errors import ScheduleError
from schedulog.scheduler.engines.engine import Limits, Row
from schedulog.scheduler.engines.functions import CallFailed, Calls
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.engines.sql_compile import compile_sql
from schedulog.scheduler.engines.sqlite_database import SqliteDatabase
from schedulog.scheduler.language.check_binding import unbound
from schedulog.scheduler.language.check_types import variable_types
from schedulog.scheduler.language.program import Atom, BodyItem, Column, Literal_, Program, Relation, Rule
from schedulog.scheduler.language.rule_set import RuleSet

_LIMITS: Final = Limits(steps=5_000_000)
"""A condition whose query takes more steps counts as one that does not decide; the models of tests are small."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The query for one condition (from 1) of a clause. `widened`: some variable takes any value of its type."""

    rule: Rule
    condition: int
    query: Rule
    widened: bool


class Probes:
    """The queries for all conditions of some rules of a program, asked of any number of its models."""

    def __init__(self, program: Program, rules: Sequence[Rule]) -> None:
        self.program = program
        self.rules = RuleSet(
            program.relations, program.functions, frozenset(), program.rules, program.infos, frozenset()
        )
        self.probes = [probe for rule in rules for probe in self._of_rule(rule)]
        self._made: _Database | None = None

    def _of_rule(self, rule: Rule) -> Iterator[Probe]:
        types = variable_types(rule, self.rules)
        for number, item in enumerate(rule.body, 1):
            rest = [other for other in rule.body if other is not item]
            missing = [variable for variable, _ in unbound(rule, rest)]
            if missing and not isinstance(item, Literal_):
                continue
            supplied = [Literal_(Atom(_domain(types.get(v.name, "int")), (v,), rule.place)) for v in missing]
            yield Probe(rule, number, _query(rule, number, [*rest, *supplied]), bool(missing))

    def kept_out(self, model: Model, wanted: Sequence[Probe]) -> Iterator[tuple[Probe, Collection[Row]]]:
        """The rows that some conditions alone keep out of a model of the program.

        A condition that keeps a function or a calculation from failing decides too; its row is then ().
        """
        if not wanted:
            return
        database = self._database(model)
        rows = {name: model.rows(name) for name in self.program.relations}
        database.begin(rows | self._domains(rows), model.functions, model.symbols)
        for probe in wanted:
            yield probe, _kept_out(probe, database)
        database.end()

    def _database(self, model: Model) -> _Database:
        """Where the queries run. Every string of the rules has the same number in all models of one compiled program."""
        if self._made is None:
            program = self._queries()
            _, code = compile_sql(program, model.symbols)
            self._made = _Database(program, code, model.symbols, _LIMITS)
        return self._made

    def _queries(self) -> Program:
        """All relations of the program as facts, and a relation with one rule for each query."""
        relations = {name: replace(r, is_input=True) for name, r in self.program.relations.items()}
        for probe in self.probes:
            head = self.program.relations[probe.rule.head.relation]
            name = probe.query.head.relation
            relations[name] = Relation(name, head.columns, probe.rule.place)
            for item in probe.query.body:
                if isinstance(item, Literal_) and item.atom.relation not in relations:
                    domain = item.atom.relation
                    relations[domain] = Relation(domain, (Column("value", "int"),), probe.rule.place)
        return replace(self.program, relations=relations, rules=tuple(probe.query for probe in self.probes))

    def _domains(self, rows: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
        """The values of each type that occur in a model, as far as some query reads them."""
        wanted = {
            item.atom.relation
            for probe in self.probes
            if probe.widened
            for item in probe.query.body
            if isinstance(item, Literal_)
        }
        values: dict[str, set[int]] = {}
        for name, relation in self.program.relations.items():
            for i, column in enumerate(relation.columns):
                if _domain(column.type) in wanted:
                    values.setdefault(_domain(column.type), set()).update(row[i] for row in rows[name])
        return {name: [(value,) for value in sorted(found)] for name, found in values.items()}


class _Total(Calls):
    """Functions that have no value where they fail: a comparison with that does not hold."""

    def function(self, name: str, arity: int) -> Callable[..., Any]:
        called = super().function(name, arity)

        def total(*arguments: int) -> int | None:
            try:
                return called(*arguments)
            except CallFailed:
                return None

        return total


class _Database(SqliteDatabase):
    """A database with total functions."""

    def connect(self) -> sqlite3.Connection:
        self.calls = _Total({})
        return super().connect()


def _kept_out(probe: Probe, database: _Database) -> Collection[Row]:
    database.calls.failure = None
    try:
        rows = set(database.matches(probe.query))
    except ScheduleError:
        return ()
    if database.calls.failure is not None and not probe.widened:
        # Without the condition the clause itself fails, on values that it really meets.
        return ((),)
    return rows if probe.rule.head.terms else {row[:0] for row in rows}


def _domain(type_: str) -> str:
    """The name of the relation of all values of a type; no relation of a rule file has a blank in its name."""
    return f"any {type_}"


def _query(rule: Rule, number: int, body: Sequence[BodyItem]) -> Rule:
    head = Atom(f"without {rule.name}:{number}", rule.head.terms, rule.place)
    return replace(
        rule, id=head.relation, clause=1, head=head, body=(*body, Literal_(rule.head, negated=True))
    )
