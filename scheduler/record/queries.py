"""Questions to a database of runs in SQL: reading only, with the queries people ask most under names."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

from schedulog.errors import DatabaseError

_HEAD: Final = re.compile(r"^-- ([a-z][a-z0-9-]*): (.+)$", re.MULTILINE)
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_READS: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
_PRAGMAS: Final = frozenset({"table_info", "table_xinfo", "table_list", "index_list", "user_version"})
_STEPS: Final = 100_000
"""Virtual machine steps between two looks at pending signals: well below a second."""


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A query with a name, what it answers, and its parameters."""

    name: str
    title: str
    sql: str
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Column names and rows."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


@cache
def named_queries() -> Mapping[str, NamedQuery]:
    """The queries of facts/queries.sql by name, in their order there."""
    text = files("schedulog.facts").joinpath("queries.sql").read_text(encoding="utf-8")
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found: dict[str, NamedQuery] = {}
    for head, end in zip(heads, ends, strict=True):
        sql = text[head.end() : end].strip().removesuffix(";")
        parameters = tuple(dict.fromkeys(re.findall(r":([a-z_]+)", sql)))
        found[head[1]] = NamedQuery(head[1], head[2], sql, parameters)
    return MappingProxyType(found)


def ask(connection: sqlite3.Connection, query: str, values: Mapping[str, Any] = _NOTHING) -> Answer:
    """Answer one SELECT, or one named query; `values` are its parameters.

    Raises DatabaseError: SL605 the query is wrong, SL608 it would change something, SL609 a parameter has no value.
    """
    known = named_queries().get(query.strip())
    sql = known.sql if known else query
    with _reading_only(connection):
        try:
            cursor = connection.execute(sql, dict(values))
            return Answer(tuple(column[0] for column in cursor.description or ()), cursor.fetchall())
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            raise _refused(connection, query, error) from error


@contextmanager
def _reading_only(connection: sqlite3.Connection) -> Iterator[None]:
    """Refuse whatever is no reading, and let Ctrl-C end a long query."""
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(lambda: 0, _STEPS)
    try:
        yield
    except DatabaseError as error:
        # SQLite swallows the KeyboardInterrupt that its progress handler raised.
        if "interrupted" in error.reason:
            raise KeyboardInterrupt from error
        raise
    finally:
        connection.set_authorizer(None)
        connection.set_progress_handler(None, 0)


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    allowed = action in _READS or (action == sqlite3.SQLITE_PRAGMA and first in _PRAGMAS)
    if action == sqlite3.SQLITE_PRAGMA and first == "user_version":
        allowed = second is None
    if action == sqlite3.SQLITE_FUNCTION and second == "load_extension":
        allowed = False
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _refused(connection: sqlite3.Connection, query: str, error: Exception) -> DatabaseError:
    reason = str(error)
    if "not authorized" in reason or "readonly" in reason:
        return DatabaseError("SL608", "only reading is allowed", where=query, reason=reason,
                             help="ask with SELECT; copy the file to change it")  # fmt: skip
    if "supply a value for binding" in reason or "did not supply" in reason:
        return DatabaseError("SL609", "a parameter of the query has no value", where=query, reason=reason,
                             help="give it: --param NAME=VALUE")  # fmt: skip
    return DatabaseError("SL605", "the query cannot be answered", where=query, reason=reason,
                         help=_hint(connection, query, reason))  # fmt: skip


def _hint(connection: sqlite3.Connection, query: str, reason: str) -> str:
    """The names that come nearest to the one SQLite does not know."""
    missing = re.search(r"no such (table|column): (\S+)", reason)
    if missing is None:
        named = list(named_queries()) if re.fullmatch(r"\s*[\w-]+\s*", query) else []
        return _did_you_mean(query.strip(), named)
    name = missing[2].rpartition(".")[2]
    if missing[1] == "column":
        return _column_hint(connection, query, name)
    known = table_names(connection)
    return _did_you_mean(name, known) or "tables: " + ", ".join(_plain(known))


def _column_hint(connection: sqlite3.Connection, query: str, name: str) -> str:
    """A near column of the tables that are asked, or else all of theirs."""
    words = set(re.findall(r"\w+", query))
    columns = {table: _columns(connection, table) for table in table_names(connection) if table in words}
    near = _did_you_mean(name, [column for of_table in columns.values() for column in of_table])
    return near or "; ".join(
        f"columns of {table}: {', '.join(of_table)}" for table, of_table in columns.items()
    )


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, sorted(set(known)), 3)
    return f"did you mean {', '.join(near)}?" if near else ""


def table_names(connection: sqlite3.Connection) -> list[str]:
    """The tables and views, sorted."""
    rows = connection.execute("select name from sqlite_master where type in ('table', 'view') order by name")
    return [name for (name,) in rows if not name.startswith("sqlite_")]


def _plain(names: Sequence[str]) -> list[str]:
    return [name for name in names if not name.startswith("rel_")]


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f'pragma table_info("{table}")')]
