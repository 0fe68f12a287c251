"""Saved runs: one SQLite file, written whole or not at all, and opened for reading only.

The tables are described in facts/schema.sql. Besides them every derived relation has a table `rel_<name>` with the column
`run_id` and the relation's own columns.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from tempfile import mkstemp
from typing import Any, Final

from schedulog.errors import DatabaseError, Place
from schedulog.facts.json_format import read_graph, write_graph
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.record.database_rows import Values, edge_rows, graph_rows, relation_rows, run_rows
from schedulog.scheduler.record.program_text import read_program, write_program
from schedulog.scheduler.record.run_record import RunRecord
from schedulog.scheduler.schedule import Decisions, Scheduler

VERSION: Final = 2
APPLICATION: Final = 1397518183
"""The application id in the file's header: "SLog" in ASCII."""


def memory_database(record: RunRecord) -> sqlite3.Connection:
    """A new database in memory that holds one run."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(schema())
    _add_run(connection, record)
    return connection


def save(record: RunRecord, path: str | os.PathLike[str], *, append: bool = False) -> None:
    """Write a run to the file at `path`; with `append` beside the runs that are in it.

    The file is written beside and renamed: whatever happens on the way, the old file stays whole.
    Raises DatabaseError: SL604 the file cannot be written, and with `append` what `open_database` raises, SL607.
    """
    # A link stays one: what it points to is replaced.
    target = Path(path).resolve()
    connection = _copied(target) if append and target.exists() else None
    if connection is None:
        connection = memory_database(record)
    else:
        _add_run(connection, record)
    try:
        _write(connection, target)
    finally:
        connection.close()


def schema() -> str:
    """The text of facts/schema.sql."""
    return files("schedulog.facts").joinpath("schema.sql").read_text(encoding="utf-8")


def open_database(path: str | os.PathLike[str]) -> sqlite3.Connection:
    """A saved database, for reading only.

    Raises DatabaseError: SL601 no file, SL602 no database of runs, SL603 one of another version.
    """
    target = Path(path)
    if not target.is_file():
        raise DatabaseError("SL601", f"no database at {target}", where=str(target),
                            help="schedulog run GRAPH --save RUN.db writes one")  # fmt: skip
    try:
        connection = sqlite3.connect(f"{target.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
        found = connection.execute("pragma application_id").fetchone()[0]
        number = connection.execute("pragma user_version").fetchone()[0]
        whole = _is_whole(target)
    except (sqlite3.Error, OSError) as error:
        raise DatabaseError("SL602", f"{target} cannot be read as a database", where=str(target),
                            reason=str(error), help="the file is damaged, or no SQLite file") from error  # fmt: skip
    problem = _problem(target, found, number, whole=whole)
    if problem is not None:
        connection.close()
        raise problem
    return connection


def _is_whole(target: Path) -> bool:
    """Whether the file has as many pages as its header says (bytes 16 and 28 of the SQLite file format)."""
    with open(target, "rb") as file:
        head = file.read(100)
    size = int.from_bytes(head[16:18], "big")
    pages = int.from_bytes(head[28:32], "big")
    return target.stat().st_size >= pages * (65536 if size == 1 else size)


def _problem(target: Path, found: int, number: int, *, whole: bool) -> DatabaseError | None:
    if found != APPLICATION:
        return DatabaseError("SL602", f"{target} holds no schedulog runs", where=str(target),
                             reason="it is a SQLite file of another program",
                             help="schedulog run GRAPH --save RUN.db writes one")  # fmt: skip
    if number != VERSION:
        return DatabaseError("SL603", f"{target} has version {number} of the schema", where=str(target),
                             reason=f"this schedulog reads version {VERSION}",
                             help="save the run again, or use the schedulog that wrote it")  # fmt: skip
    if not whole:
        return DatabaseError("SL602", f"{target} is cut off", where=str(target),
                             reason="it is shorter than its header says", help="save the run again")  # fmt: skip
    return None


def saved_decisions(connection: sqlite3.Connection, run: int | None = None) -> Decisions:
    """The decisions of a saved run (the newest unless `run` is given), derived again from its graph and rules.

    Raises DatabaseError: SL602 the file is damaged, SL606 there is no such run; RuleError SL121 and GraphError for a
    changed file.
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
    return Scheduler(program).decide(read_graph(graph, f"graph of run {number}"), dict(options.fetchall()))


def _places(connection: sqlite3.Connection, run: int) -> Mapping[str, Place]:
    rows = connection.execute(
        'select rule_id, clause, file, line, "column", width from rule where run_id = ?', (run,)
    )
    return {f"{rule}#{clause}": Place(*at) for rule, clause, *at in rows}


def _with_titles(connection: sqlite3.Connection, run: int, program: Program) -> Program:
    rows = connection.execute("select rule_id, pack, title, why, status from rule where run_id = ?", (run,))
    infos = dict(program.infos)
    for rule, pack, title, why, status in rows:
        infos[rule] = replace(infos[rule], pack=pack, title=title, why=why, status=status)
    return replace(program, infos=infos)


def _copied(target: Path) -> sqlite3.Connection:
    """The runs of a file, in memory."""
    saved = open_database(target)
    memory = sqlite3.connect(":memory:", isolation_level=None)
    saved.backup(memory)
    saved.close()
    return memory


def _write(connection: sqlite3.Connection, target: Path) -> None:
    beside = ""
    try:
        handle, beside = mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        os.close(handle)
        file = sqlite3.connect(beside, isolation_level=None)
        try:
            connection.backup(file)
        finally:
            file.close()
        _settle(beside, target)
        beside = ""
    except (sqlite3.Error, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DatabaseError("SL604", f"cannot write {target}", where=str(target), reason=reason,
                            help="nothing was changed; give another place, or make room") from error  # fmt: skip
    finally:
        if beside:
            Path(beside).unlink(missing_ok=True)


def _settle(beside: str, target: Path) -> None:
    """Bring the finished file to disk, give it the rights a new file has, and put it in its place."""
    with open(beside, "rb+") as file:
        os.fsync(file.fileno())
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(beside, 0o666 & ~mask)
    os.replace(beside, target)


def _add_run(connection: sqlite3.Connection, record: RunRecord) -> None:
    connection.execute("begin")
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
    connection.execute("commit")


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
