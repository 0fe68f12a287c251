"""The SQLite engine with a ledger: what each statement cost, and how many rows each step of its join met.

An evaluation is done a few times with the engine as it is and a clock around each statement; the shortest times count. Then it
is done once more with statements that hold counting functions, which do not change what they derive; its times are not
looked at.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from typing import Final

from schedulog.errors import ScheduleError
from schedulog.scheduler.engines.engine import DEFAULT_LIMITS, Functions, Limits
from schedulog.scheduler.engines.join_order import Fold, Scan, Step, order_rule
from schedulog.scheduler.engines.ledger import Ledger, Place, SubLedger
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.engines.sql_compile import SqlCode, SqlCompiler, Statement, compile_sql
from schedulog.scheduler.engines.sql_text import Delta, Lookup, Query, RuleText
from schedulog.scheduler.engines.sqlite import Evaluator, Facts, fill
from schedulog.scheduler.engines.sqlite_database import SqliteDatabase
from schedulog.scheduler.engines.strata import SubComponent
from schedulog.scheduler.engines.symbols import Symbols
from schedulog.scheduler.language.program import Program, Rule

_AGAIN: Final = 4
"""Further evaluations with a clock."""
_PATIENCE: Final = 1.0
"""Seconds that those may take together."""
_TRIAL: Final = Limits(steps=20_000_000)
"""An order that takes more steps is not worth a hint."""


class ProfiledProgram:
    """A program whose evaluations are entered in `ledger`, whether they end or not. See `CompiledProgram`."""

    def __init__(self, program: Program, limits: Limits = DEFAULT_LIMITS) -> None:
        self.program = program
        self.limits = limits
        self.symbols = Symbols()
        self.strata, self.code = compile_sql(program, self.symbols)
        self.ledger = Ledger()

    def evaluate(self, facts: Facts, functions: Functions, symbols: Symbols) -> Model:
        """Evaluate one graph a few times; see `Evaluator.evaluate`. The model is that of the first evaluation."""
        given = {relation: list(rows) for relation, rows in facts.items()}
        first = Ledger()
        try:
            model = _Timed(self, first).evaluate(given, functions, symbols)
            for again in self.again(first.seconds, given, functions, symbols):
                first.fastest(again)
        finally:
            self.ledger.add(first)
        counters = _Counters()
        counted = SqlCompiler(self.program, self.strata, self.symbols, counters.writer).code
        _Counting(self, counted, counters).evaluate(given, functions, symbols)
        counters.enter(self.ledger)
        return model

    def again(self, seconds: float, given: Facts, functions: Functions, symbols: Symbols) -> Iterator[Ledger]:
        """The ledgers of further evaluations, as many as take little time: what else the machine does costs least then."""
        for _ in range(min(_AGAIN, int(_PATIENCE / max(seconds, 1e-6)))):
            ledger = Ledger()
            _Timed(self, ledger).evaluate(given, functions, symbols)
            yield ledger


class _Timed(Evaluator):
    """One evaluation with a clock."""

    def __init__(self, profiled: ProfiledProgram, ledger: Ledger) -> None:
        self.ledger = ledger
        p = profiled
        super().__init__(p.program, p.strata, p.code, p.symbols, p.limits)

    def new_database(self) -> SqliteDatabase:
        return _TimedDatabase(self.program, self.code, self.symbols, self.limits, self.ledger)


class _TimedDatabase(SqliteDatabase):
    def __init__(
        self, program: Program, code: SqlCode, symbols: Symbols, limits: Limits, ledger: Ledger
    ) -> None:
        super().__init__(program, code, symbols, limits)
        self.ledger = ledger

    def evaluate(self, sub: SubComponent) -> int:
        entry = self.ledger.subs.setdefault(sub.index, SubLedger())
        self.ledger.rows = self.counts
        begin = time.perf_counter()
        try:
            rounds = super().evaluate(sub)
        finally:
            entry.seconds += time.perf_counter() - begin
            entry.evaluations += 1
        entry.rounds += rounds
        return rounds

    def run(self, statement: Statement, window: tuple[int, ...]) -> int:
        version = self.ledger.version(statement)
        before = self.counts[statement.head]
        begin = time.perf_counter()
        try:
            return super().run(statement, window)
        finally:
            version.seconds += time.perf_counter() - begin
            version.runs += 1
            version.new += self.counts[statement.head] - before


class _Counting(Evaluator):
    """One evaluation whose statements count."""

    def __init__(self, profiled: ProfiledProgram, code: SqlCode, counters: _Counters) -> None:
        self.counters = counters
        p = profiled
        super().__init__(p.program, p.strata, code, p.symbols, p.limits)

    def new_database(self) -> SqliteDatabase:
        return _CountingDatabase(self.program, self.code, self.symbols, self.limits, self.counters)


class _CountingDatabase(SqliteDatabase):
    def __init__(
        self, program: Program, code: SqlCode, symbols: Symbols, limits: Limits, counters: _Counters
    ) -> None:
        self.counters = counters
        super().__init__(program, code, symbols, limits)

    def connect(self) -> sqlite3.Connection:
        connection = super().connect()
        # Not deterministic: SQLite would call it once for all rows.
        connection.create_function("sl_met", 2, self.counters.met)
        connection.create_function("sl_match", 2, self.counters.match)
        return connection


class _Counters:
    """A number for each scan of each statement, and how often it met a row."""

    def __init__(self) -> None:
        self.places: list[tuple[str, int, Place]] = []
        self.counts: list[int] = []

    def writer(self, rule: Rule, symbols: Symbols, lookup: Lookup) -> RuleText:
        return _CountingText(rule, symbols, lookup, self)

    def place(self, rule: Rule, first: int, place: Place) -> int:
        self.places.append((rule.name, first, place))
        self.counts.append(0)
        return len(self.places) - 1

    def met(self, number: int, _: int) -> int:
        self.counts[number] += 1
        return 1

    def match(self, number: int, value: int) -> int:
        self.counts[number] += 1
        return value

    def enter(self, ledger: Ledger) -> None:
        for (rule, first, place), count in zip(self.places, self.counts, strict=True):
            version = ledger.versions.get((rule, first))
            if version is None:
                continue
            if version.met is None:
                version.met = {}
            version.met[place] = version.met.get(place, 0) + count


class _CountingText(RuleText):
    """Writes statements that count the rows each scan meets, and the matches of the whole body."""

    def __init__(self, rule: Rule, symbols: Symbols, lookup: Lookup, counters: _Counters) -> None:
        super().__init__(rule, symbols, lookup)
        self.counters = counters
        self.first = -1
        self.inside: Place = ()

    def insert(self, steps: Sequence[Step], delta: Delta | None = None) -> str:
        self.first = delta.item if delta else -1
        return super().insert(steps, delta)

    def row(self, values: Sequence[str]) -> str:
        number = self.counters.place(self.rule, self.first, ())
        return super().row([f"sl_match({number}, {values[0]})", *values[1:]])

    def scan(self, query: Query, step: Scan, delta: Delta | None) -> None:
        super().scan(query, step, delta)
        number = self.counters.place(self.rule, self.first, (*self.inside, step.item))
        query.conditions.append(f"sl_met({number}, a{self.aliases}.c0)")

    def fold(self, query: Query, step: Fold) -> None:
        self.inside = (step.item,)
        super().fold(query, step)
        self.inside = ()


class Trial:
    """Counts what the join of one clause looks at when it starts from another condition, with the final rows of a model."""

    def __init__(self, model: Model, limits: Limits = _TRIAL) -> None:
        self.model = model
        self.limits = limits
        self.counters = _Counters()
        self._database: _CountingDatabase | None = None

    def tried(self, rule: Rule, first: int) -> int | None:
        """Rows met when the join starts from condition `first`; None where that takes too many steps."""
        database = self._loaded()
        begin = len(self.counters.places)
        text = _CountingText(rule, database.symbols, self._table, self.counters)
        steps = order_rule(rule, self.model.program.relations, first=first)
        needs = tuple(step.atom.relation for step in steps if isinstance(step, Scan))
        try:
            database.selected(Statement(text.insert(steps), rule.head.relation, needs, "", rule, steps))
        except ScheduleError:
            return None
        counted = zip(self.counters.places[begin:], self.counters.counts[begin:], strict=True)
        return sum(count for (_, _, place), count in counted if place)

    def _table(self, relation: str, negated: bool, bound: tuple[int, ...]) -> str:
        return self._loaded().code.tables[relation].name

    def _loaded(self) -> _CountingDatabase:
        if self._database is None:
            model, symbols = self.model, self.model.symbols.fork()
            _, code = compile_sql(model.program, symbols)
            self._database = _CountingDatabase(model.program, code, symbols, self.limits, self.counters)
            fill(self._database, model)
        return self._database
