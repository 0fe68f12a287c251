"""`schedulog sql`: questions in SQL to a saved run, one or many."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import suppress
from typing import Annotated

import typer

from schedulog.cli.inputs import pairs
from schedulog.cli.output import print_json, print_table
from schedulog.errors import SchedulogError
from schedulog.scheduler.record.database import open_database
from schedulog.scheduler.record.queries import Answer, ask, named_queries, table_names

_HELP = "A SELECT, the name of a query, .queries, .tables or .quit"


def sql_command(
    database: Annotated[str, typer.Argument(metavar="RUN.db", help="A saved run.")],
    query: Annotated[str | None, typer.Argument(help="A SELECT, or the name of a query.")] = None,
    param: Annotated[list[str] | None, typer.Option(help="A parameter: old=1; repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print columns and rows as JSON.")] = False,
) -> None:
    """Ask a saved run in SQL. Without a query: a prompt on a terminal, else the query from standard input."""
    values = pairs(param or (), "--param", _number)
    connection = open_database(database)
    try:
        if query is None and sys.stdin.isatty():
            _Prompt(connection, values).run()
        else:
            text = sys.stdin.read() if query is None else query
            answer = ask(connection, text.strip().removesuffix(";"), values)
            show(answer, as_json=as_json)
    finally:
        connection.close()


def _number(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdigit() else text


def show(answer: Answer, *, as_json: bool = False) -> None:
    """Print an answer."""
    if as_json:
        print_json({"columns": list(answer.columns), "rows": [list(row) for row in answer.rows]})
    else:
        print_table(answer.columns, answer.rows)


class _Prompt:
    """Asks for queries until the end of input. A wrong one is told, and the next may follow."""

    def __init__(self, connection: sqlite3.Connection, values: dict[str, int | str]) -> None:
        self.connection = connection
        self.values = values

    def run(self) -> None:
        with suppress(ImportError):
            # With it, input() edits lines and remembers them.
            import readline  # noqa: F401
        typer.echo(_HELP)
        while (line := self.read()) is not None:
            if line in (".quit", ".exit"):
                return
            if line:
                self.answer(line)

    def read(self) -> str | None:
        """One line, None at the end of input; Ctrl-C empties the line."""
        try:
            return input("sql> ").strip().removesuffix(";")
        except EOFError:
            typer.echo("")
            return None
        except KeyboardInterrupt:
            typer.echo("")
            return ""

    def answer(self, line: str) -> None:
        try:
            if line == ".queries":
                print_table(("query", "answers"), [(q.name, q.title) for q in named_queries().values()])
            elif line == ".tables":
                typer.echo("  ".join(table_names(self.connection)))
            elif line.startswith("."):
                typer.echo(_HELP)
            else:
                show(ask(self.connection, line, self.values))
        except SchedulogError as error:
            typer.echo(str(error), err=True)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
