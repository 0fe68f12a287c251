"""The tables of a program in one SQLite connection, and the statements that fill them."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from typing import Final

from schedulog.errors import ScheduleError, UsageError
from schedulog.scheduler.engines.budget import Budget
from schedulog.scheduler.engines.engine import (
    Functions,
    Limits,
    Row,
    arithmetic_failed,
    not_finished,
    too_much,
)
from schedulog.scheduler.engines.functions import ARITHMETIC, Calls
from schedulog.scheduler.engines.sql_compile import SqlCode, Statement, SubCode, rows_of
from schedulog.scheduler.engines.sql_tables import Table, index_orders
from schedulog.scheduler.engines.strata import SubComponent
from schedulog.scheduler.engines.symbols import Symbols, decoder
from schedulog.scheduler.language.program import Program, Rule

_PAGE: Final = 16384
"""Bytes of a page."""
_PAGES: Final = 2**32 - 2
"""Pages that SQLite allows."""
_ROW: Final = 100
"""Bytes that a row of some columns needs with its indexes, roughly and at most."""
_SPARE: Final = 64
"""Pages that are granted whatever the limit of rows is."""
_BLOCKS: Final = (64, 8)
"""Rows that are inserted by one statement, as long as there are so many: each statement costs more than a row."""
_LOOK: Final = 100_000
"""Steps of SQLite's machine between two looks at the budget and at pending signals: a few milliseconds."""
_ROUNDS: Final = 64
"""Rounds between two looks at the time."""
_RAISED: Final = "user-defined function raised exception"


class SqliteDatabase:
    """The tables of one connection: the driver's engine.

    A single statement may run long. It is ended by Ctrl-C, which comes out as KeyboardInterrupt, after `limits.steps`
    steps, when its component has used up its time, and when all rows together take the room of `budget.rows`. SQLite cannot undo the half that ran, so the
    database is of no use then.
    """

    def __init__(self, program: Program, code: SqlCode, symbols: Symbols, limits: Limits) -> None:
        self.program = program
        self.code = code
        self.symbols = symbols
        self.limits = limits
        self.budget = Budget(limits)
        self.derived = {name for sub in code.subs for name in sub.relations}
        self.counts = dict.fromkeys(program.relations, 0)
        self.snapshot_counts = dict.fromkeys(code.snapshots, 0)
        self.given: dict[str, list[Row]] = {}
        self.stale: set[str] = set(code.base_facts)
        self.statements = 0
        self.watched = 0
        self.looks = 0
        self.timed_out = False
        self.calls = Calls({})
        self.connection = self.connect()
        self.cursor = self.connection.cursor()
        self.inserts = {name: table.insert() for name, table in code.tables.items()}
        self.block_inserts = {
            (name, size): table.insert(size) for name, table in code.tables.items() for size in _BLOCKS
        }
        self.deletes = {name: f'DELETE FROM "{table.name}"' for name, table in code.tables.items()}

    def connect(self) -> sqlite3.Connection:
        if sqlite3.sqlite_version_info < (3, 37):
            raise UsageError(
                "SL705",
                f"SQLite {sqlite3.sqlite_version} is too old",
                reason="tables that take integers only came with 3.37",
                help="use a Python with a newer sqlite3 module",
            )
        connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=8192)
        for pragma in (f"page_size={_PAGE}", "journal_mode=off", "synchronous=off", "temp_store=memory"):
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
        connection.set_progress_handler(self.over, _LOOK)
        return connection

    def over(self) -> bool:
        """Say whether the running statement has used up its steps or time. That this is called lets Ctrl-C through."""
        if self.watched != self.statements:
            self.watched, self.looks = self.statements, 0
        self.looks += 1
        self.timed_out = self.looks > 0 and self.budget.late()
        return self.timed_out or self.looks * _LOOK > self.limits.steps

    @contextmanager
    def unbounded(self) -> Iterator[None]:
        """Run statements that are no rules, as many steps as they take. Ctrl-C, of which SQLite makes an error, comes out."""
        self.watched, self.looks = self.statements, -sys.maxsize
        try:
            yield
        except sqlite3.Error as error:
            if _is_interrupt(error):
                raise KeyboardInterrupt from error
            raise

    def begin(self, given: dict[str, list[Row]], functions: Functions, symbols: Symbols) -> None:
        """Empty what the last graph left and load the given rows."""
        self.statements, self.watched = 0, -1
        self.calls.restart(functions)
        self.symbols = symbols
        self.cursor.execute("BEGIN")
        self.cursor.execute(f"PRAGMA max_page_count = {_PAGES}")
        self.given = {}
        for relation in self.counts:
            if self.counts[relation] and (
                relation in self.derived or relation in self.stale or relation in given
            ):
                self.clear((relation,))
        for relation in sorted(self.stale | set(given)):
            self.load(relation, given.get(relation, ()))
        pages = self.cursor.execute("PRAGMA page_count").fetchone()[0]
        self.timed_out = False
        self.budget.begin(sum(map(len, given.values())))
        most = min(pages + _SPARE + self.budget.rows * _ROW // _PAGE, _PAGES)
        self.cursor.execute(f"PRAGMA max_page_count = {most}")

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
            with self.unbounded():
                self.counts[relation] += self.add(relation, rows)
        except (sqlite3.Error, OverflowError, TypeError, ValueError) as error:
            raise UsageError(
                "SL702",
                f"rows of {relation} do not fit its {self.program.relations[relation].arity} integer columns",
                reason=str(error),
                help="give tuples of ints from -2**63 to 2**63 - 1; intern strings with the program's Symbols",
            ) from error

    def add(self, relation: str, rows: Sequence[Row]) -> int:
        """Insert rows, in blocks where all have as many columns as the table; return how many were new."""
        execute, width = self.cursor.execute, self.code.tables[relation].width
        added = 0
        if len(rows) >= _BLOCKS[-1] and set(map(len, rows)) == {width}:
            for size in _BLOCKS:
                whole = len(rows) - len(rows) % size
                if not whole:
                    continue
                values, step = list(chain.from_iterable(rows[:whole])), size * width
                for at in range(0, len(values), step):
                    added += execute(self.block_inserts[relation, size], values[at : at + step]).rowcount
                rows = rows[whole:]
        return added + self.cursor.executemany(self.inserts[relation], rows).rowcount if rows else added

    def evaluate(self, sub: SubComponent) -> int:
        """Run a sub-component to its least fixpoint; return the number of rounds."""
        self.budget.enter(sub.index)
        try:
            return self.least_fixpoint(self.code.subs[sub.index])
        finally:
            self.budget.leave()

    def late(self, sub: SubComponent) -> str:
        """Say after what the sub-component is not to be evaluated again; empty when it may be."""
        return f"{self.budget.seconds:g} s of computing" if self.budget.spent(sub.index) else ""

    def least_fixpoint(self, code: SubCode) -> int:
        """Load what is stated and given, run the rules that are not recursive, then those that are."""
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
            if last is not None and not rounds % _ROUNDS and self.budget.late():
                raise self.unfinished(last, f"after {self.budget.seconds:g} s of computing")
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
            if self.counts[statement.head] > self.budget.rows:
                raise self.unfinished(statement, f"at {self.budget.rows} rows")
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
        return self.selected(statement)

    def selected(self, statement: Statement) -> list[Row]:
        """Return what a statement would insert with the rows of now, once for each match of its body."""
        if not all(self.counts[relation] for relation in statement.needs):
            return []
        select = statement.sql[statement.sql.index(" SELECT ") + 1 :]
        # All rows count as new: then the statement meets every match, and each once.
        window = (0, 2**63 - 1) if statement.delta else ()
        self.statements += 1
        try:
            return self.cursor.execute(select, window).fetchall()
        except sqlite3.Error as error:
            raise self.failed(statement, error) from error

    def failed(self, statement: Statement, error: sqlite3.Error) -> ScheduleError:
        """Return the error for what SQLite says. Raises KeyboardInterrupt where that was one."""
        if self.calls.failure is not None:
            return self.calls.failure.error(statement.rule)
        if _code(error) == sqlite3.SQLITE_FULL:
            return too_much(statement.rule, f"its rows need more room than {self.budget.rows} rows")
        if _code(error) == sqlite3.SQLITE_INTERRUPT and self.timed_out:
            return too_much(statement.rule, f"it took more than {self.budget.seconds:g} s of computing")
        if _code(error) == sqlite3.SQLITE_INTERRUPT and self.looks * _LOOK > self.limits.steps:
            return too_much(statement.rule, f"it took more than {self.limits.steps} steps")
        if _is_interrupt(error):
            raise KeyboardInterrupt from error
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
        with self.unbounded():
            return self.cursor.execute(
                f'SELECT * FROM "{table.name}" ORDER BY {_all_columns(table)}'
            ).fetchall()

    def finds(self, relation: str, columns: tuple[int, ...]) -> bool:
        """Say whether some index begins with these columns."""
        table = self.code.tables[relation]
        orders = index_orders(table.lookups, table.width)
        return any(set(order[: len(columns)]) == set(columns) for order in orders)

    def find(self, relation: str, columns: tuple[int, ...], values: Row) -> list[Row]:
        """Return the rows whose `columns` hold `values`, sorted."""
        table = self.code.tables[relation]
        same = " AND ".join(f"c{i} = ?" for i in columns)
        with self.unbounded():
            return self.cursor.execute(
                f'SELECT * FROM "{table.name}" WHERE {same} ORDER BY {_all_columns(table)}', values
            ).fetchall()

    def clear(self, relations: Sequence[str]) -> None:
        """Empty some relations."""
        for relation in relations:
            if self.counts[relation]:
                with self.unbounded():
                    self.cursor.execute(self.deletes[relation])
                self.counts[relation] = 0

    def keep_snapshot(self, relation: str) -> None:
        """Copy a relation's rows of now to the table that `not` reads."""
        self.drop_snapshot(relation)
        table, snapshot = self.code.tables[relation], self.code.snapshots[relation]
        if self.counts[relation]:
            with self.unbounded():
                self.cursor.execute(f'INSERT INTO "{snapshot.name}" SELECT * FROM "{table.name}"')
        self.snapshot_counts[relation] = self.counts[relation]

    def drop_snapshot(self, relation: str) -> None:
        """Empty the table that `not` reads."""
        if self.snapshot_counts[relation]:
            with self.unbounded():
                self.cursor.execute(f'DELETE FROM "{self.code.snapshots[relation].name}"')
            self.snapshot_counts[relation] = 0


def _all_columns(table: Table) -> str:
    return ", ".join(f"c{i}" for i in range(table.width))


def _is_interrupt(error: sqlite3.Error) -> bool:
    """Say whether Ctrl-C is behind an error. What a function raises otherwise is noted, so it was no Exception."""
    return _code(error) == sqlite3.SQLITE_INTERRUPT or _RAISED in str(error)


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's number of an error; 0 for one that the module sqlite3 itself raised."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF
