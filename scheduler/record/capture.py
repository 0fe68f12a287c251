"""A database of scheduling calls, to be scheduled again later: what was given, and what came of it.

Any number of processes may add to one file at once. Each call is one short transaction with SQLite's rollback journal: a
process that dies in it leaves nothing of that call, and the next one to open the file cleans up. (A write-ahead log would
spare a few milliseconds, at the price of two more files beside, and of file systems on which it does not work.) Calls that
are equal in all they were given and in all that came of it are kept once. Texts are kept once too, by their SHA-256.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from schedulog.errors import DatabaseError
from schedulog.facts.graph import Graph
from schedulog.facts.json_format import write_graph
from schedulog.scheduler.compare import Outcome
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.language.rule_file import RuleFile
from schedulog.scheduler.record.file_kind import CALLS, application, file_kind
from schedulog.scheduler.record.outcome import read_outcome, write_outcome
from schedulog.scheduler.record.program_text import write_program
from schedulog.scheduler.record.run_file import no_text

VERSION: Final = 1
"""The version of the tables."""
FORMAT: Final = 1
"""The version of a single call's texts: an older file may hold calls of a later program."""
PATIENCE: Final = 60.0
"""Seconds to wait for the other processes that write."""

_DAMAGE: Final = (ValueError, LookupError, TypeError, RecursionError, zlib.error)
"""What reading a row can raise whose content is not what was written."""

_SCHEMA: Final = """
create table text (sha text primary key, body blob not null);
create table capture (
  capture_id integer primary key, key text not null unique, format integer not null,
  created text not null, version text not null, name text not null, nodes integer not null,
  graph text not null, given text not null, rules_sha text not null, program text not null,
  engine text not null, options text not null, outcome text not null
);
"""


@dataclass(frozen=True, slots=True)
class GivenRules:
    """The rules a caller gave: packs by name, files by their text at that time, and the ids of rules left out."""

    packs: tuple[str, ...]
    files: tuple[RuleFile, ...] = ()
    disable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Capture:
    """One scheduling call. `graph` is JSON without the contents of buffers, `program` all rules in force as one text.

    `number` is 0 until it is in a database.
    """

    name: str
    nodes: int
    graph: str
    given: GivenRules
    rules_sha: str
    program: str
    engine: str
    options: Mapping[str, int]
    outcome: Outcome
    number: int = 0


def capture_of(
    graph: Graph,
    given: GivenRules,
    program: Program,
    engine: str,
    options: Mapping[str, int],
    outcome: Outcome,
) -> Capture:
    """The record of a call. Raises GraphError SL213 for a graph that cannot be written."""
    text = write_graph(graph, contents=False)
    return Capture(
        graph.name, len(graph.nodes), text, given, program.sha, write_program(program), engine, options, outcome
    )  # fmt: skip


def add_capture(capture: Capture, path: str | os.PathLike[str]) -> None:
    """Add a call to the database at `path`, which is made if it is absent.

    Raises DatabaseError: SL602 a file of something else, SL603 a later version, SL604 it cannot be written.
    """
    target = Path(path)
    try:
        texts, row = _rows(capture)
        with closing(sqlite3.connect(target, timeout=PATIENCE, isolation_level=None)) as connection:
            if not _holds(connection, row["key"]):
                _add(connection, target, texts, row)
    except UnicodeEncodeError as error:
        raise no_text(target, error) from error
    except sqlite3.Error as error:
        damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
        if damaged:
            raise _unreadable(target, error) from error
        raise DatabaseError("SL604", f"cannot add to {target}", where=str(target), reason=str(error),
                            help="nothing was changed; give another place, or make room") from error  # fmt: skip


def _rows(capture: Capture) -> tuple[Mapping[str, str], dict[str, Any]]:
    """The texts by their SHA-256, and the row that names them."""
    parts = {
        "graph": capture.graph,
        "given": _text(asdict(capture.given)),
        "program": capture.program,
        "outcome": write_outcome(capture.outcome),
    }
    shas = {name: sha256(text.encode()).hexdigest() for name, text in parts.items()}
    row: dict[str, Any] = shas | {
        "rules_sha": capture.rules_sha,
        "engine": capture.engine,
        "options": _text(dict(sorted(capture.options.items()))),
    }
    key = sha256("\n".join(row.values()).encode()).hexdigest()
    texts = {shas[name]: text for name, text in parts.items()}
    return texts, row | {"key": key, "format": FORMAT, "name": capture.name, "nodes": capture.nodes}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _holds(connection: sqlite3.Connection, key: str) -> bool:
    """Looked up without the lock of a writer: most calls of a test suite come again and again."""
    try:
        return connection.execute("select 1 from capture where key = ?", (key,)).fetchone() is not None
    except sqlite3.OperationalError as error:
        if "no such" in str(error):
            return False
        raise


def _add(
    connection: sqlite3.Connection, target: Path, texts: Mapping[str, str], row: Mapping[str, Any]
) -> None:
    with _transaction(connection):
        _prepare(connection, target)
        bodies = ((sha, zlib.compress(text.encode())) for sha, text in texts.items())
        connection.executemany("insert or ignore into text values (?, ?)", bodies)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        whole = {**row, "created": created, "version": _version()}
        names, places = ", ".join(whole), ", ".join(f":{name}" for name in whole)
        connection.execute(f"insert or ignore into capture ({names}) values ({places})", whole)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """From the start with the lock of a writer: one taken later could meet another's, and neither could go on."""
    connection.execute("begin immediate")
    try:
        yield
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")


def _prepare(connection: sqlite3.Connection, target: Path) -> None:
    """Make the tables in an empty file; refuse the file of something else."""
    if connection.execute("select count(*) from sqlite_master").fetchone()[0]:
        _check(connection, target)
        return
    for statement in _SCHEMA.split(";")[:-1]:
        connection.execute(statement)
    connection.execute(f"pragma application_id = {CALLS}")
    connection.execute(f"pragma user_version = {VERSION}")


def _check(connection: sqlite3.Connection, target: Path) -> None:
    found = application(connection)
    if found != CALLS:
        kind = file_kind(found)
        raise DatabaseError("SL602", f"{target} holds no captured calls", where=str(target), reason=kind.holds,
                            help=kind.readers or "SCHEDULOG_CAPTURE=CALLS.db fills one")  # fmt: skip
    number = connection.execute("pragma user_version").fetchone()[0]
    if number > VERSION:
        raise DatabaseError("SL603", f"{target} has version {number} of the tables", where=str(target),
                            reason=f"this schedulog reads version {VERSION}", help="update schedulog")  # fmt: skip


def _version() -> str:
    try:
        return version("schedulog")
    except PackageNotFoundError:
        return "unknown"


class Captures:
    """The calls in a database, for reading.

    Raises DatabaseError: SL601 no file, SL602 no database of calls or a damaged one, SL603 a later version.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise DatabaseError("SL601", f"no database at {self.path}", where=str(self.path),
                                help="SCHEDULOG_CAPTURE=CALLS.db fills one")  # fmt: skip
        with self._opened() as connection:
            _check(connection, self.path)
            rows = connection.execute("select capture_id, name, nodes from capture order by capture_id")
            self.names = {number: (name, nodes) for number, name, nodes in rows}

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the calls, in the order they were made."""
        return tuple(self.names)

    def given(self) -> list[GivenRules]:
        """What rules were given, each choice once, of the calls that are not damaged. Raises DatabaseError SL602."""
        found = []
        with self._opened() as connection:
            for (sha,) in connection.execute("select distinct given from capture").fetchall():
                with suppress(*_DAMAGE):
                    found.append(_given(json.loads(_body(connection, sha))))
        return found

    def read(self, number: int) -> Capture:
        """One call. Raises DatabaseError: SL610 one of a later version, SL611 one that is damaged; KeyError: none."""
        with self._opened() as connection:
            connection.row_factory = sqlite3.Row
            row = connection.execute("select * from capture where capture_id = ?", (number,)).fetchone()
            if row is None:
                raise KeyError(number)
            try:
                if row["format"] > FORMAT:
                    raise DatabaseError("SL610", f"call {number} was captured by a later schedulog", where=row["name"],
                                        reason=f"it has format {row['format']}, this one reads {FORMAT}",
                                        help=f"schedulog {row['version']} wrote it")  # fmt: skip
                return _read(connection, row)
            except _DAMAGE as error:
                raise DatabaseError("SL611", f"call {number} is damaged", where=str(self.names[number][0]),
                                    reason=f"{type(error).__name__}: {error}",
                                    help="capture it again") from error  # fmt: skip

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        # Not mode=ro: after a process died while it wrote, whoever opens the file next has to clean up.
        address = f"{self.path.resolve().as_uri()}?mode=rw"
        try:
            with closing(sqlite3.connect(address, PATIENCE, uri=True, isolation_level=None)) as connection:
                connection.execute("pragma query_only = 1")
                yield connection
        except sqlite3.Error as error:
            raise _unreadable(self.path, error) from error


def _unreadable(target: Path, error: Exception) -> DatabaseError:
    return DatabaseError("SL602", f"{target} cannot be read as a database of calls", where=str(target),
                         reason=str(error), help="the file is damaged, or none of that kind")  # fmt: skip


def _read(connection: sqlite3.Connection, row: sqlite3.Row) -> Capture:
    graph, given, program, outcome = (
        _body(connection, row[name]) for name in ("graph", "given", "program", "outcome")
    )
    return Capture(
        row["name"], row["nodes"], graph, _given(json.loads(given)), row["rules_sha"], program, row["engine"],
        _options(row["options"]), read_outcome(outcome), row["capture_id"],
    )  # fmt: skip


def _options(text: str) -> dict[str, int]:
    found = json.loads(text)
    if not isinstance(found, dict) or not all(isinstance(value, int) for value in found.values()):
        raise ValueError("options that are no switches")
    return found


def _body(connection: sqlite3.Connection, sha: str) -> str:
    found = connection.execute("select body from text where sha = ?", (sha,)).fetchone()
    if found is None:
        raise ValueError(f"the text {sha[:12]} is missing")
    text = zlib.decompress(found[0]).decode()
    if sha256(text.encode()).hexdigest() != sha:
        raise ValueError(f"the text {sha[:12]} was changed")
    return text


def _given(record: Mapping[str, Any]) -> GivenRules:
    files = tuple(RuleFile(**file) for file in record["files"])
    return GivenRules(tuple(record["packs"]), files, tuple(record["disable"]))
