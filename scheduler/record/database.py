"""Databases of runs, in memory and opened from a file for reading only.

The tables are described in facts/schema.sql. Besides them every derived relation has a table `rel_<name>` with the column
`run_id` and the relation's own columns.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from schedulog.errors import DatabaseError, Place, SchedulogError
from schedulog.facts.json_format import read_graph, write_graph
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.pack_functions import recorded
from schedulog.scheduler.record.database_rows import Values, edge_rows, graph_rows, relation_rows, run_rows
from schedulog.scheduler.record.file_kind import RUNS, application, file_kind
from schedulog.scheduler.record.program_text import read_program, write_program
from schedulog.scheduler.record.run_record import RunRecord
from schedulog.scheduler.schedule import Decisions, Scheduler

VERSION: Final = 3
_OTHER_FACTS: Final = ("SL315", "SL701", "SL702")
"""What rules that once decided about this graph end with only if inputs or functions were added or taken away since."""
PATIENCE: Final = 60.0
"""Seconds to wait for a process that is just bringing a run to the file."""


def memory_database(record: RunRecord) -> sqlite3.Connection:
    """A new database in memory that holds one run. Any thread may use it."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.execute("begin")
    for statement in schema_statements():
        connection.execute(statement)
    add_run(connection, record)
    connection.execute("commit")
    return connection


def schema() -> str:
    """The text of facts/schema.sql."""
    return files("schedulog.facts").joinpath("schema.sql").read_text(encoding="utf-8")


def schema_statements() -> Iterator[str]:
    """The statements of facts/schema.sql, one by one: as a script they would end the transaction they are part of."""
    lines: list[str] = []
    for line in schema().splitlines():
        lines.append(line)
        if sqlite3.complete_statement("\n".join(lines)):
            yield "\n".join(lines)
            lines = []


def open_database(path: str | os.PathLike[str]) -> sqlite3.Connection:
    """A saved database, for reading only.

    Raises DatabaseError: SL601 no file, SL602 no database of runs, SL603 one of another version.
    """
    target = Path(path)
    if not target.is_file():
        raise DatabaseError("SL601", f"no database at {target}", where=str(target),
                            help="schedulog run GRAPH --save RUN.db writes one")  # fmt: skip
    problem: DatabaseError | None
    try:
        # Not mode=ro: after a process died while it wrote, whoever opens the file next has to clean up.
        connection = sqlite3.connect(
            f"{target.resolve().as_uri()}?mode=rw", PATIENCE, uri=True, isolation_level=None
        )
        connection.execute("pragma query_only = 1")
        problem = _problem(connection, target)
    except sqlite3.Error as error:
        raise DatabaseError("SL602", f"{target} cannot be read as a database", where=str(target),
                            reason=str(error), help="the file is damaged or cut off, or no SQLite file") from error  # fmt: skip
    if problem is not None:
        connection.close()
        raise problem
    return connection


def _problem(connection: sqlite3.Connection, target: Path) -> DatabaseError | None:
    found = application(connection)
    if found != RUNS:
        kind = file_kind(found)
        return DatabaseError("SL602", f"{target} holds no schedulog runs", where=str(target), reason=kind.holds,
                             help=kind.readers or "schedulog run GRAPH --save RUN.db writes one")  # fmt: skip
    return version_problem(connection, target)


def version_problem(connection: sqlite3.Connection, target: Path) -> DatabaseError | None:
    """SL603 if the database in `target` has another version of the schema than the one read and written here."""
    number = connection.execute("pragma user_version").fetchone()[0]
    if number == VERSION:
        return None
    return DatabaseError("SL603", f"{target} has version {number} of the schema", where=str(target),
                         reason=f"this schedulog reads version {VERSION}",
                         help="save the run again, or use the schedulog that wrote it")  # fmt: skip


def saved_decisions(connection: sqlite3.Connection, run: int | None = None) -> Decisions:
    """The decisions of a saved run (the newest unless `run` is given), derived again from its graph and rules.

    Raises DatabaseError: SL602 the file is damaged, SL603 the facts that rules are given have changed since, SL606 there is
    no such run; RuleError SL121 and GraphError for a changed file.
    """
    try:
        return _derived_again(connection, run)
    except sqlite3.Error as error:
        raise DatabaseError(
            "SL602", "the database is damaged", reason=str(error), help="save the run again"
        ) from error


def _derived_again(connection: sqlite3.Connection, run: int | None) -> Decisions:
    row = connection.execute(
        "select run_id, json, rules_sha, rules_text from run join graph using (graph_id) "
        "where run_id = coalesce(?, (select max(run_id) from run))",
        (run,),
    ).fetchone()
    if row is None:
        numbers = [str(n) for (n,) in connection.execute("select run_id from run order by run_id")]
        which = "no run" if run is None else f"no run {run}"
        raise DatabaseError(
            "SL606", f"{which} in this database", help=f"runs: {', '.join(numbers) or 'none'}"
        )
    number, graph, sha, text = row
    program = _with_titles(connection, number, read_program(text, sha, _places(connection, number)))
    options = connection.execute("select name, value from option where run_id = ?", (number,))
    values = connection.execute(
        "select function, arguments, result from function_value where run_id = ?", (number,)
    )
    scheduler = Scheduler(program, functions=recorded(program, values))
    try:
        return scheduler.decide(read_graph(graph, f"graph of run {number}"), dict(options.fetchall()))
    except SchedulogError as error:
        if error.code not in _OTHER_FACTS:
            raise
        raise DatabaseError("SL603", f"run {number} is from a schedulog that tells its rules other facts", where="rules",
                            reason=error.message,
                            help="save the run again, or use the schedulog that wrote it") from error  # fmt: skip


def _places(connection: sqlite3.Connection, run: int) -> Mapping[str, Place]:
    rows = connection.execute(
        'select rule_id, clause, file, line, "column", width from rule where run_id = ?', (run,)
    )
    return {f"{rule}#{clause}": Place(*at) for rule, clause, *at in rows}


def _with_titles(connection: sqlite3.Connection, run: int, program: Program) -> Program:
    rows = connection.execute(
        "select rule_id, pack, pack_version, title, why, status, refusal, refuse from rule where run_id = ?",
        (run,),
    )
    infos, versions = dict(program.infos), dict[str, str]()
    for rule, pack, number, title, why, status, refusal, refuse in rows:
        words = tuple((int(condition), text) for condition, text in json.loads(refuse).items())
        infos[rule] = replace(
            infos[rule], pack=pack, title=title, why=why, status=status, refusal=refusal, refusals=words
        )
        versions |= {pack: number} if number else {}
    return replace(program, infos=infos, versions=versions)


def add_run(connection: sqlite3.Connection, record: RunRecord) -> None:
    """Add a run to a database with the tables of the schema, in the transaction that is open. Raises DatabaseError SL607."""
    graph = _graph_number(connection, record)
    run = connection.execute("select coalesce(max(run_id), 0) + 1 from run").fetchone()[0]
    statistics = record.decisions.model.statistics
    created = datetime.now(UTC).isoformat(timespec="seconds")
    _insert(connection, "run", (run,), [(
        graph, record.label, created, _version(), record.engine, record.program.sha, write_program(record.program),
        statistics.seconds * 1e3, statistics.rounds, statistics.alternations,
    )])  # fmt: skip
    for table, rows in run_rows(record):
        _insert(connection, table, (run,), rows)
    for relation, columns, rows in relation_rows(record):
        _make_table(connection, relation, columns)
        _insert(connection, f"rel_{relation}", (run,), rows)


def _version() -> str:
    try:
        return version("schedulog")
    except PackageNotFoundError:
        return "unknown"


def _graph_number(connection: sqlite3.Connection, record: RunRecord) -> int:
    """The number of the record's graph, which is added unless it is there."""
    graph = record.schedule.graph
    text = write_graph(graph, contents=False)
    sha = sha256(text.encode()).hexdigest()
    row = connection.execute("select graph_id from graph where sha = ?", (sha,)).fetchone()
    if row is not None:
        return int(row[0])
    number = int(connection.execute("select coalesce(max(graph_id), 0) + 1 from graph").fetchone()[0])
    _insert(connection, "graph", (number,), [(graph.name, sha, len(graph.nodes), text)])
    for table, rows in (*graph_rows(graph), ("edge", edge_rows(record))):
        _insert(connection, table, (number,), rows)
    return number


def _make_table(connection: sqlite3.Connection, relation: str, columns: tuple[str, ...]) -> None:
    wanted = ["run_id", *columns]
    there = [row[1] for row in connection.execute(f'pragma table_info("rel_{relation}")')]
    if there and there != wanted:
        raise DatabaseError("SL607", f"the relation {relation} has other columns in the runs of this file",
                            reason=f"{', '.join(there[1:])} there, {', '.join(columns)} here",
                            help="save to a new file")  # fmt: skip
    if not there:
        names = ", ".join(f'"{name}"' for name in wanted)
        connection.execute(f'create table "rel_{relation}" ({names})')


def _insert(connection: sqlite3.Connection, table: str, key: tuple[int, ...], rows: Iterable[Values]) -> None:
    """Add rows that all start with `key`."""
    found: Iterable[tuple[Any, ...]] = (key + tuple(row) for row in rows)
    width = len(connection.execute(f'pragma table_info("{table}")').fetchall())
    connection.executemany(f'insert into "{table}" values ({", ".join("?" * width)})', found)
