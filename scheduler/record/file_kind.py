"""What our SQLite files hold, by the application id in their headers."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

RUNS: Final = 1397518183
""""SLog" in ASCII."""
CALLS: Final = 1397506160
""""SLcp" in ASCII."""
COMPARISONS: Final = 1397515622
""""SLdf" in ASCII."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """`holds` says what is in a file, `readers` the commands that read it."""

    holds: str
    readers: str


_OTHER: Final = FileKind("it is a SQLite file of another program", "")
_KINDS: Final = MappingProxyType(
    {
        RUNS: FileKind("it holds saved runs", "`schedulog sql`, `why` and `graph` read it"),
        CALLS: FileKind("it holds captured calls", "`schedulog replay` reads it"),
        COMPARISONS: FileKind("it holds kept comparisons", "`schedulog diff --resume` reads it"),
    }
)


def application(connection: sqlite3.Connection) -> int:
    """The id in the header of the file; 0 where none was set."""
    return int(connection.execute("pragma application_id").fetchone()[0])


def file_kind(found: int) -> FileKind:
    """What a file with this id holds. That of another program has no readers here."""
    return _KINDS.get(found, _OTHER)
