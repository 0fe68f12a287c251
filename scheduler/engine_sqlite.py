"""The default engine: rules compiled once to SQL and run in an in-memory SQLite database.

    compiled = compile_program(program)
    model = compiled.evaluate({"edge": [(0, 1, 0)]}, functions)

A `CompiledProgram` never changes and may be shared. An `Evaluator` owns one connection and belongs to the thread that
made it; `CompiledProgram.evaluate` keeps one for each thread.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Protocol, runtime_checkable

from schedulog.errors import ScheduleError, UsageError
from schedulog.scheduler.driver import evaluate
from schedulog.scheduler.engine import (
    DEFAULT_LIMITS,
    Functions,
    Limits,
    Row,
    Setting,
    arithmetic_failed,
    not_finished,
)
from schedulog.scheduler.functions import ARITHMETIC, Calls, check_functions
from schedulog.scheduler.model import Model
from schedulog.scheduler.program import Program, Rule
from schedulog.scheduler.sql_compile import SqlCode, Statement, SubCode, compile_sql, rows_of
from schedulog.scheduler.sql_tables import Table
from schedulog.scheduler.strata import Strata, SubComponent
from schedulog.scheduler.symbols import Symbols, decoder

Facts = Mapping[str, Iterable[Row]]


class CompiledProgram:
    """A program ready to be evaluated on many graphs. `symbols` holds the strings of its rules."""

    def __init__(self, program: Program, limits: Limits = DEFAULT_LIMITS) -> None:
        self.program = program
        self.limits = limits
        self.symbols = Symbols()
        self.strata, self.code = compile_sql(program, self.symbols)
        self._local = threading.local()

    def evaluator(self) -> Evaluator:
        """Return a new evaluator with a connection of its own."""
        return Evaluator(self.program, self.strata, self.code, self.symbols, self.limits)

    def evaluate(
        self, facts: Facts, functions: Functions | None = None, symbols: Symbols | None = None
    ) -> Model:
        """Evaluate one graph with this thread's evaluator; see `Evaluator.evaluate`."""
        evaluator: Evaluator | None = getattr(self._local, "evaluator", None)
        if evaluator is None:
            evaluator = self._local.evaluator = self.evaluator()
        return evaluator.evaluate(facts, functions, symbols)


def compile_program(program: Program, limits: Limits = DEFAULT_LIMITS) -> CompiledProgram:
    """Compile a checked program for SQLite, once for all graphs. Raises RuleError SL110 for an unbound variable."""
    return CompiledProgram(program, limits)


class Evaluator:
    """One connection and its prepared statements. Use it only in the thread that made it."""

    def __init__(
        self, program: Program, strata: Strata, code: SqlCode, symbols: Symbols, limits: Limits
    ) -> None:
        self.program = program
        self.strata = strata
        self.code = code
        self.symbols = symbols
        self.limits = limits
        self.database = _SqliteDatabase(program, code, symbols, limits)
        self.generation = 0

    def evaluate(
        self, facts: Facts, functions: Functions | None = None, symbols: Symbols | None = None
    ) -> Model:
        """Return the well-founded model over `facts`: rows of integers by relation.

        `symbols` numbers the strings of the facts: a fork of `self.symbols`, or that table itself. Rows given for a
        derived relation count as facts beside its rules. A model read after the next `evaluate` computes itself anew.
        Raises ScheduleError SL120, SL130, SL131 or SL140, UsageError SL701 or SL702 for what was handed in.
        """
        given = {relation: list(rows) for relation, rows in facts.items()}
        functions, symbols = functions or {}, symbols or self.symbols
        setting = Setting(self.program, self.strata, symbols, functions, self.limits)
        check_functions(self.program.functions, functions)
        self.generation += 1
        database = self.database
        try:
            database.begin(given, functions, symbols)
            statistics = evaluate(setting, database)
            database.end()
        except BaseException:
            # Without a journal SQLite cannot undo the half of a statement that ran.
            self.database = _SqliteDatabase(self.program, self.code, self.symbols, self.limits)
            raise
        statistics.statements = database.statements
        counts = dict(database.counts)
        source = _Source(self, self.generation, given, functions, symbols)
        also_given = {name: frozenset(rows) for name, rows in database.given.items()}
        return Model(self.program, symbols, source, counts, functions, statistics, also_given)


def load_model(model: Model) -> RuleMatches:
    """Return the final rows of any engine's model in a new SQLite database, where rules can be matched with them."""
    symbols = model.symbols.fork()
    _, code = compile_sql(model.program, symbols)
    database = _SqliteDatabase(model.program, code, symbols, Limits())
    database.calls.restart(model.functions)
    database.cursor.execute("BEGIN")
    for name in code.tables:
        database.insert(
            name, model.rows(name) if model.program.relations[name].arity else [(0,)] * model.count(name)
        )
    for name in code.snapshots:
        database.keep_snapshot(name)
    database.end()
    return database


@runtime_checkable
class RuleMatches(Protocol):
    """Whoever can match a rule's body with the rows of a finished evaluation."""

    def matches(self, rule: Rule) -> list[Row]:
        """Return the head of every match of a rule's body, once for each match."""
        ...


class _Source:
    """Where a model's rows come from: its evaluator, or a new evaluation once that serves another graph."""

    def __init__(
        self,
        evaluator: Evaluator,
        generation: int,
        facts: dict[str, list[Row]],
        functions: Functions,
        symbols: Symbols,
    ) -> None:
        self.evaluator = evaluator
        self.generation = generation
        self.facts = facts
        self.functions = functions
        self.symbols = symbols

    def rows(self, relation: str) -> list[Row]:
        return self.database().rows(relation)

    def matches(self, rule: Rule) -> list[Row]:
        return self.database().matches(rule)

    def database(self) -> _SqliteDatabase:
        if self.evaluator.generation != self.generation:
            old = self.evaluator
            self.evaluator = Evaluator(old.program, old.strata, old.code, old.symbols, old.limits)
            self.evaluator.evaluate(self.facts, self.functions, self.symbols)
            self.generation = self.evaluator.generation
        return self.evaluator.database


class _SqliteDatabase:
    """The tables of one connection: the driver's engine."""

    def __init__(self, program: Program, code: SqlCode, symbols: Symbols, limits: Limits) -> None:
        self.program = program
        self.code = code
        self.symbols = symbols
        self.limits = limits
        self.derived = {name for sub in code.subs for name in sub.relations}
        self.counts = dict.fromkeys(program.relations, 0)
        self.snapshot_counts = dict.fromkeys(code.snapshots, 0)
        self.given: dict[str, list[Row]] = {}
        self.stale: set[str] = set(code.base_facts)
        self.statements = 0
        self.calls = Calls({})
        self.connection = self.connect()
        self.cursor = self.connection.cursor()
        self.inserts = {name: table.insert() for name, table in code.tables.items()}
        self.deletes = {name: f'DELETE FROM "{table.name}"' for name, table in code.tables.items()}

    def connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=8192)
        for pragma in ("page_size=16384", "journal_mode=off", "synchronous=off", "temp_store=memory"):
            connection.execute(f"PRAGMA {pragma}")
        arities = {name: len(function.arguments) for name, function in self.program.functions.items()}
        for name, arity in arities.items():
            call = self.calls.function(name, arity)
            connection.create_function(f"f_{name}", arity, call, deterministic=True)
        for name in ARITHMETIC:
            connection.create_function(name, 2, self.calls.function(name, 2), deterministic=True)
        for table in (*self.code.tables.values(), *self.code.snapshots.values()):
            for statement in table.statements():
                connection.execute(statement)
        return connection

    def begin(self, given: dict[str, list[Row]], functions: Functions, symbols: Symbols) -> None:
        """Empty what the last graph left and load the given rows."""
        self.statements = 0
        self.calls.restart(functions)
        self.symbols = symbols
        self.cursor.execute("BEGIN")
        self.given = {}
        for relation in self.counts:
            if self.counts[relation] and (
                relation in self.derived or relation in self.stale or relation in given
            ):
                self.clear((relation,))
        for relation in sorted(self.stale | set(given)):
            self.load(relation, given.get(relation, ()))

    def end(self) -> None:
        """Close the transaction; the rows stay."""
        self.cursor.execute("COMMIT")

    def load(self, relation: str, rows: Sequence[Row]) -> None:
        """Set the given rows of a relation. Raises UsageError SL702 for rows that do not fit it."""
        if relation not in self.counts:
            raise UsageError(
                "SL702", f"no relation is called {relation}", help="load only declared relations"
            )
        if not self.program.relations[relation].arity:
            rows = [(0,)] if rows else []
        if relation in self.derived:
            self.given[relation] = list(rows)
            return
        self.insert(relation, self.code.base_facts.get(relation, ()))
        self.insert(relation, rows)
        self.stale.discard(relation)
        if rows:
            self.stale.add(relation)

    def insert(self, relation: str, rows: Sequence[Row]) -> None:
        """Add rows to a relation."""
        if not rows:
            return
        try:
            self.counts[relation] += self.cursor.executemany(self.inserts[relation], rows).rowcount
        except (sqlite3.Error, OverflowError, TypeError, ValueError) as error:
            raise UsageError(
                "SL702",
                f"rows of {relation} do not fit its {self.program.relations[relation].arity} integer columns",
                reason=str(error),
                help="give tuples of ints from -2**63 to 2**63 - 1; intern strings with the program's Symbols",
            ) from error

    def evaluate(self, sub: SubComponent) -> int:
        """Run a sub-component to its least fixpoint; return the number of rounds."""
        code = self.code.subs[sub.index]
        for relation, rows in code.facts:
            self.insert(relation, rows)
        if self.given:
            for relation in code.relations:
                self.insert(relation, self.given.get(relation, ()))
        counts = self.counts
        for statement in code.entry:
            for relation in statement.needs:
                if not counts[relation]:
                    break
            else:
                self.run(statement, ())
        return self.fixpoint(code) if code.steps else 1

    def fixpoint(self, code: SubCode) -> int:
        """Repeat the recursive statements on the rows of the last round until a round adds none."""
        counts = self.counts
        done = dict.fromkeys(code.relations, 0)
        last: Statement | None = None
        for rounds in range(1, self.limits.rounds + 1):
            reached = {relation: counts[relation] for relation in code.relations}
            if reached == done:
                return rounds
            last = None
            for statement in code.steps:
                low, high = done[statement.delta], reached[statement.delta]
                if low == high:
                    continue
                for relation in statement.needs:
                    if not counts[relation]:
                        break
                else:
                    if self.run(statement, (low, high)):
                        last = statement
            done = reached
        if last is None:
            return self.limits.rounds
        raise self.unfinished(last, f"after {self.limits.rounds} rounds")

    def run(self, statement: Statement, window: tuple[int, ...]) -> int:
        """Run one statement; return how many rows it added."""
        self.statements += 1
        try:
            added = self.cursor.execute(statement.sql, window).rowcount
        except sqlite3.Error as error:
            raise self.failed(statement, error) from error
        if added:
            self.counts[statement.head] += added
            if self.counts[statement.head] > self.limits.rows:
                raise self.unfinished(statement, f"at {self.limits.rows} rows")
        return added

    @cached_property
    def statements_by_rule(self) -> dict[str, Statement]:
        """One statement a rule; of a recursive rule the one that reads the new rows of its first recursive atom."""
        found: dict[str, Statement] = {}
        for sub in self.code.subs:
            for statement in (*sub.entry, *sub.steps):
                found.setdefault(statement.rule.name, statement)
        return found

    def matches(self, rule: Rule) -> list[Row]:
        """Return the head of every match of a rule's body with the rows of now, once for each match."""
        statement = self.statements_by_rule.get(rule.name)
        if statement is None:
            return [tuple(row) for row in rows_of([rule], self.symbols)[rule.head.relation]]
        if not all(self.counts[relation] for relation in statement.needs):
            return []
        select = statement.sql[statement.sql.index(" SELECT ") + 1 :]
        # All rows count as new: then the statement meets every match, and each once.
        window = (0, 2**63 - 1) if statement.delta else ()
        try:
            return self.cursor.execute(select, window).fetchall()
        except sqlite3.Error as error:
            raise self.failed(statement, error) from error

    def failed(self, statement: Statement, error: sqlite3.Error) -> ScheduleError:
        if self.calls.failure is not None:
            return self.calls.failure.error(statement.rule)
        return arithmetic_failed(statement.rule, f"SQLite says: {error}")

    def unfinished(self, statement: Statement, what: str) -> ScheduleError:
        table = self.code.tables[statement.head]
        newest = "rowid" if table.appends else "c0"
        row = self.cursor.execute(f'SELECT * FROM "{table.name}" ORDER BY {newest} DESC LIMIT 1').fetchone()
        decode = decoder(self.symbols, self.program.relations)
        width = self.program.relations[statement.head].arity
        return not_finished(statement.rule, statement.head, what, decode(statement.head, row[:width]))

    def count(self, relation: str) -> int:
        """Return the number of rows of a relation."""
        return self.counts[relation]

    def rows(self, relation: str) -> list[Row]:
        """Return the rows of a relation, sorted."""
        table = self.code.tables[relation]
        if not self.program.relations[relation].arity:
            return [()] if self.counts[relation] else []
        return self.cursor.execute(f'SELECT * FROM "{table.name}" ORDER BY {_all_columns(table)}').fetchall()

    def clear(self, relations: Sequence[str]) -> None:
        """Empty some relations."""
        for relation in relations:
            if self.counts[relation]:
                self.cursor.execute(self.deletes[relation])
                self.counts[relation] = 0

    def keep_snapshot(self, relation: str) -> None:
        """Copy a relation's rows of now to the table that `not` reads."""
        self.drop_snapshot(relation)
        table, snapshot = self.code.tables[relation], self.code.snapshots[relation]
        if self.counts[relation]:
            self.cursor.execute(f'INSERT INTO "{snapshot.name}" SELECT * FROM "{table.name}"')
        self.snapshot_counts[relation] = self.counts[relation]

    def drop_snapshot(self, relation: str) -> None:
        """Empty the table that `not` reads."""
        if self.snapshot_counts[relation]:
            self.cursor.execute(f'DELETE FROM "{self.code.snapshots[relation].name}"')
            self.snapshot_counts[relation] = 0


def _all_columns(table: Table) -> str:
    return ", ".join(f"c{i}" for i in range(table.width))
