"""Saving a run to a file: whole or not at all, and whatever other processes save to it at the same time.

A new file is made beside and linked to its place, which fails if another process was faster. A file that is there is
changed in one transaction with SQLite's rollback journal, under the lock of a writer. A process that dies in it leaves the
journal, by which whoever opens the file next brings back the old content. (Replacing a file that another process is
changing would leave that process's journal beside a file it does not belong to: the end of both.)
"""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Final

from schedulog.errors import DatabaseError
from schedulog.scheduler.record.database import (
    add_run,
    memory_database,
    schema_statements,
    version_problem,
)
from schedulog.scheduler.record.file_kind import RUNS, application, file_kind
from schedulog.scheduler.record.run_record import RunRecord

PATIENCE: Final = 600.0
"""Seconds to wait for the other processes that write."""
_PAUSE: Final = 0.5
"""Seconds of one wait inside SQLite: Ctrl-C is heard between two of them."""


def save(record: RunRecord, path: str | os.PathLike[str], *, append: bool = False) -> None:
    """Write a run to the file at `path`; with `append` beside the runs that are in it, else in their place.

    Whatever happens on the way, the old content stays whole, and no run that another process saves is lost.
    Raises DatabaseError: SL604 the file cannot be written, SL602 it is damaged, SL613 it is something else than a
    database of runs; with `append` SL603 a file of another version, SL607 runs whose relations differ.
    """
    # A link stays one: what it points to is changed.
    target = Path(path).resolve()
    with _told(target):
        _check_kind(target)
        if not _create(record, target):
            _change(record, target, append=append)


def check_destination(path: str | os.PathLike[str], *, append: bool = False) -> None:
    """Raise what `save` would raise for the file that is at `path` now, before the work whose result is to be saved."""
    target = Path(path).resolve()
    with _told(target):
        _check_kind(target)
        if target.exists():
            with _opened(target) as connection:
                _is_of_runs(connection, target, append=append)
        else:
            _check_folder(target)


@contextmanager
def _told(target: Path) -> Iterator[None]:
    """Turn the errors of SQLite and of the system into ours."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise _error(target, error) from error
    except UnicodeEncodeError as error:
        raise no_text(target, error) from error


def no_text(target: Path, error: UnicodeEncodeError) -> DatabaseError:
    """The error for a label or the name of a file that is made of bytes which are no UTF-8: databases hold text."""
    return DatabaseError("SL604", f"cannot write {target}", where=str(target),
                         reason=f"a name in it is no text: {error.object[:80]!a}",
                         help="nothing was changed; rename the file, or give another label")  # fmt: skip


def _error(target: Path, error: sqlite3.Error | OSError) -> DatabaseError:
    code = _code_of(error)
    if code == sqlite3.SQLITE_NOTADB:
        return _not_ours(target, str(error))
    if code == sqlite3.SQLITE_CORRUPT or (
        isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
    ):
        return DatabaseError("SL602", f"{target} is damaged", where=str(target), reason=str(error),
                             help="nothing was changed; give another name or remove it")  # fmt: skip
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if code == sqlite3.SQLITE_BUSY:
        reason = f"another process has been writing to it for {PATIENCE:.0f} seconds"
    return DatabaseError("SL604", f"cannot write {target}", where=str(target), reason=reason,
                         help="nothing was changed; give another place, or make room")  # fmt: skip


def _code_of(error: sqlite3.Error | OSError) -> int:
    """SQLite's number of an error, 0 for another kind of error."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def _check_kind(target: Path) -> None:
    """A folder or a device is no place for a database."""
    if target.exists() and not target.is_file():
        raise _not_ours(target, "it is no plain file")


def _check_folder(target: Path) -> None:
    """Raises the OSError that making a file there would raise."""
    folder = target.parent
    if not folder.is_dir():
        missing = errno.ENOTDIR if folder.exists() else errno.ENOENT
        raise OSError(missing, os.strerror(missing))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


def _not_ours(target: Path, reason: str, readers: str = "") -> DatabaseError:
    help = "; ".join(filter(None, ("give another name or remove it", readers)))
    return DatabaseError("SL613", f"{target} exists and is not a run database", where=str(target), reason=reason,
                         help=help)  # fmt: skip


def _create(record: RunRecord, target: Path) -> bool:
    """Make the file if there is none. False if there is one, perhaps by now, or if this file system has no links."""
    # What a process left beside a file that was removed later would be taken for part of a new one. SQLite clears it up
    # when it opens the file empty.
    if any(Path(f"{target}{end}").exists() for end in ("", "-journal", "-wal")):
        return False
    handle, beside = mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    try:
        with closing(memory_database(record)) as memory, closing(sqlite3.connect(beside)) as file:
            memory.backup(file)
        _settle(beside)
        return _put(beside, target)
    finally:
        Path(beside).unlink(missing_ok=True)


def _settle(beside: str) -> None:
    """Bring the finished file to disk, and give it the rights a new file has."""
    with open(beside, "rb+") as file:
        os.fsync(file.fileno())
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(beside, 0o666 & ~mask)


def _put(beside: str, target: Path) -> bool:
    try:
        os.link(beside, target)
    except OSError:
        return False
    return True


def _change(record: RunRecord, target: Path, *, append: bool) -> None:
    with _opened(target) as connection:
        with _transaction(connection):
            if not _is_of_runs(connection, target, append=append) or not append:
                _empty(connection)
            add_run(connection, record)
        _shrink(connection)


@contextmanager
def _opened(target: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(target, timeout=_PAUSE, isolation_level=None)) as connection:
        # Nothing reaches the file before the commit, and readers are kept out no longer than that takes.
        connection.execute("pragma cache_spill = off")
        yield connection


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """From the start with the lock of a writer: one taken later could meet another's, and neither could go on."""
    _patiently(connection, "begin immediate")
    try:
        yield
        _patiently(connection, "commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def _patiently(connection: sqlite3.Connection, statement: str) -> None:
    """Execute what waits for other processes."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if _code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise


def _is_of_runs(connection: sqlite3.Connection, target: Path, *, append: bool) -> bool:
    """Whether a file holds runs; False for an empty one. Raises DatabaseError SL613, and SL603 with `append`."""
    found = application(connection)
    if found != RUNS:
        if target.stat().st_size:
            kind = file_kind(found)
            raise _not_ours(target, kind.holds, kind.readers)
        return False
    problem = version_problem(connection, target)
    if problem is not None and append:
        raise problem
    return True


def _empty(connection: sqlite3.Connection) -> None:
    """Make the tables anew, without rows."""
    found = connection.execute(
        "select type, name from sqlite_master where type in ('table', 'view')"
    ).fetchall()
    for kind, name in sorted(found, reverse=True):
        if not name.startswith("sqlite_"):
            connection.execute(f'drop {kind} "{name}"')
    for statement in schema_statements():
        connection.execute(statement)


def _shrink(connection: sqlite3.Connection) -> None:
    """Give back the room of the runs that are no more, if that is much of the file and nobody is at it just now."""
    free, pages = (
        connection.execute(f"pragma {name}").fetchone()[0] for name in ("freelist_count", "page_count")
    )
    if 4 * free > pages:
        with suppress(sqlite3.Error):
            connection.execute("vacuum")
