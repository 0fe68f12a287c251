"""The default engine: rules compiled once to SQL and run in an in-memory SQLite database.

    compiled = compile_program(program)
    model = compiled.evaluate({"edge": [(0, 1, 0)]}, functions)

A `CompiledProgram` never changes and may be shared. An `Evaluator` owns one connection and belongs to the thread that
made it; `CompiledProgram.evaluate` keeps one for each thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from schedulog.errors import UsageError
from schedulog.scheduler.engines.driver import evaluate
from schedulog.scheduler.engines.engine import (
    DEFAULT_LIMITS,
    Functions,
    Limits,
    Row,
    Setting,
)
from schedulog.scheduler.engines.functions import check_functions
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.engines.sql_compile import SqlCode, compile_sql
from schedulog.scheduler.engines.sqlite_database import SqliteDatabase
from schedulog.scheduler.engines.strata import Strata
from schedulog.scheduler.engines.symbols import Symbols
from schedulog.scheduler.language.program import Program, Rule

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
        self.database = self.new_database()
        self.generation = 0
        self.thread = threading.get_ident()

    def new_database(self) -> SqliteDatabase:
        """Return an empty database for the program."""
        return SqliteDatabase(self.program, self.code, self.symbols, self.limits)

    def evaluate(
        self, facts: Facts, functions: Functions | None = None, symbols: Symbols | None = None
    ) -> Model:
        """Return the well-founded model over `facts`: rows of integers by relation.

        `symbols` numbers the strings of the facts: a fork of `self.symbols`, or that table itself. Rows given for a
        derived relation count as facts beside its rules. A model read after the next `evaluate` computes itself anew.
        Raises ScheduleError SL120, SL130, SL131 or SL140, UsageError SL701 or SL702 for what was handed in.
        """
        if threading.get_ident() != self.thread:
            raise UsageError(
                "SL707",
                "an evaluator is used outside the thread that made it",
                help="give each thread its own: CompiledProgram.evaluate does",
            )
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
            self.database = self.new_database()
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
    database = SqliteDatabase(model.program, code, symbols, Limits())
    fill(database, model)
    return database


def fill(database: SqliteDatabase, model: Model) -> None:
    """Load the final rows of a model into a new database for its program."""
    code = database.code
    database.calls.restart(model.functions)
    database.cursor.execute("BEGIN")
    for name in code.tables:
        database.insert(
            name, model.rows(name) if model.program.relations[name].arity else [(0,)] * model.count(name)
        )
    for name in code.snapshots:
        database.keep_snapshot(name)
    database.end()


@runtime_checkable
class RuleMatches(Protocol):
    """Whoever can match a rule's body with the rows of a finished evaluation."""

    def matches(self, rule: Rule) -> list[Row]:
        """Return the head of every match of a rule's body, once for each match."""
        ...


class _Source:
    """Where a model's rows come from: its evaluator, or a new evaluation once that serves another graph.

    A thread other than the evaluator's gets an evaluation of its own as well: a connection belongs to one thread.
    """

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
        self.again: dict[int, Evaluator] = {}

    def rows(self, relation: str) -> list[Row]:
        return self.database().rows(relation)

    def matches(self, rule: Rule) -> list[Row]:
        return self.database().matches(rule)

    def count(self, relation: str) -> int:
        return self.database().count(relation)

    def finds(self, relation: str, columns: tuple[int, ...]) -> bool:
        return self.database().finds(relation, columns)

    def find(self, relation: str, columns: tuple[int, ...], values: Row) -> list[Row]:
        return self.database().find(relation, columns, values)

    def database(self) -> SqliteDatabase:
        """Return a database with the model's rows that this thread may read."""
        thread = threading.get_ident()
        if thread == self.evaluator.thread and self.evaluator.generation == self.generation:
            return self.evaluator.database
        if thread not in self.again:
            old = self.evaluator
            again = Evaluator(old.program, old.strata, old.code, old.symbols, old.limits)
            again.evaluate(self.facts, self.functions, self.symbols)
            self.again[thread] = again
        return self.again[thread].database
