"""What `schedulog sql` answers to a line that begins with a dot: what there is to ask about."""

from __future__ import annotations

import re
import sqlite3
from typing import Final

from schedulog.errors import DatabaseError
from schedulog.scheduler.language.diagnostic import nearest
from schedulog.scheduler.record.queries import Answer, named_queries, table_names

HELP: Final = "a SELECT, the name of a query, .queries, .tables [PREFIX], .schema TABLE or .quit"

_OF_RULES: Final = "rel_"
"""How the names of tables begin that hold the relations of the rules."""
_COLUMN: Final = re.compile(r'^\s*"?(\w+)"? .*?--\s*(.+)$', re.MULTILINE)


def command_answer(connection: sqlite3.Connection, line: str, *, whole: bool = False) -> Answer:
    """The answer to a command. `whole`: every table, where people are told only how many relations of the rules there are.

    Raises DatabaseError SL605 for what is no command, or a table that is not there.
    """
    match line.split():
        case [".queries"]:
            return Answer(("query", "answers"), [(q.name, q.title) for q in named_queries().values()])
        case [".tables"]:
            return _tables(connection, whole=whole)
        case [".tables", prefix]:
            return Answer(
                ("table",), [(name,) for name in table_names(connection) if name.startswith(prefix)]
            )
        case [".schema", name]:
            return _schema(connection, name)
        case [".schema"]:
            raise DatabaseError(
                "SL605", "`.schema` is about a table", help=".schema kernel; .tables lists them"
            )
    raise DatabaseError("SL605", f"there is no command `{line}`", help=HELP)


def _tables(connection: sqlite3.Connection, *, whole: bool) -> Answer:
    """Tables, then views, then those of the rules."""
    kinds = dict(connection.execute("select name, type from sqlite_master where type in ('table', 'view')"))
    names = table_names(connection)
    own = sorted((n for n in names if not n.startswith(_OF_RULES)), key=lambda name: kinds[name])
    of_rules = [name for name in names if name.startswith(_OF_RULES)]
    rows = [(name, kinds[name]) for name in own]
    if whole:
        return Answer(("table", "kind"), rows + [(name, "relation") for name in of_rules])
    told = f"{len(of_rules)} relations of the rules: .tables {_OF_RULES} lists them"
    return Answer(("table", "kind"), rows + [(f"{_OF_RULES}*", told)] * bool(of_rules))


def _schema(connection: sqlite3.Connection, name: str) -> Answer:
    """The columns of a table, with what the database itself says about each."""
    if name not in (names := table_names(connection)):
        help = nearest(name, names) or ".tables lists them"
        raise DatabaseError("SL605", f"there is no table `{name}`", help=help)
    text = connection.execute("select sql from sqlite_master where name = ?", (name,)).fetchone()[0]
    about = dict(_COLUMN.findall(text))
    columns = connection.execute(f'pragma table_info("{name}")')
    return Answer(("column", "type", "about"), [(c[1], c[2].lower(), about.get(c[1], "")) for c in columns])
