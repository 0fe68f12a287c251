"""`schedulog sql`: questions in SQL to a saved run, one or many."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Final

import typer

from schedulog.cli.inputs import pairs
from schedulog.cli.output import print_json, print_table
from schedulog.cli.sql_commands import HELP, command_answer
from schedulog.errors import SchedulogError
from schedulog.scheduler.record.database import open_database
from schedulog.scheduler.record.queries import Answer, ask, named_queries

_END: Final = (".quit", ".exit")


def sql_command(
    database: Annotated[str, typer.Argument(metavar="RUN.db", help="A saved run.")],
    query: Annotated[
        str | None,
        typer.Argument(help="A SELECT, the name of a query, .queries, .tables [PREFIX] or .schema TABLE."),
    ] = None,
    param: Annotated[list[str] | None, typer.Option(help="A parameter: old=1; repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print columns and rows as JSON.")] = False,
) -> None:
    """Ask a saved run in SQL.

    Without a query: a prompt on a terminal, else the queries from standard input.
    """
    values = pairs(param or (), "--param", _number)
    connection = open_database(database)
    try:
        if query is None and sys.stdin.isatty():
            _Prompt(connection, values).run()
            return
        asked = list(queries(sys.stdin.read() if query is None else query))
        if not asked:
            raise typer.BadParameter("no query is given", param_hint="QUERY")
        for line in asked:
            if line in _END:
                return
            show(answered(connection, line, values, whole=as_json), as_json=as_json)
    finally:
        connection.close()


def queries(text: str) -> Iterator[str]:
    """The queries in a text: each ends with `;` or with the text; a command or a query's name takes a line."""
    waiting = ""
    for line in text.splitlines():
        alone = line.strip().removesuffix(";")
        if not waiting.strip() and (alone.startswith(".") or alone in named_queries()):
            yield alone
            continue
        waiting += line + "\n"
        if sqlite3.complete_statement(waiting):
            yield waiting.strip().removesuffix(";")
            waiting = ""
    if waiting.strip():
        yield waiting.strip()


def answered(
    connection: sqlite3.Connection, line: str, values: Mapping[str, int | str], *, whole: bool = False
) -> Answer:
    """The answer to a query or a command that starts with a dot; `whole` as for commands. Raises DatabaseError."""
    if line.startswith("."):
        return command_answer(connection, line, whole=whole)
    return ask(connection, line, values)


def _number(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def show(answer: Answer, *, as_json: bool = False) -> None:
    """Print an answer."""
    if as_json:
        print_json({"columns": list(answer.columns), "rows": [list(row) for row in answer.rows]})
    else:
        print_table(answer.columns, answer.rows)


class _Prompt:
    """Asks for queries until the end of input. A wrong one is told, and the next may follow."""

    def __init__(self, connection: sqlite3.Connection, values: Mapping[str, int | str]) -> None:
        self.connection = connection
        self.values = values

    def run(self) -> None:
        with suppress(ImportError):
            # With it, input() edits lines and remembers them.
            import readline  # noqa: F401
        typer.echo(f"Ask with {HELP}")
        while (line := self.read()) is not None:
            if line in _END:
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
            show(answered(self.connection, line, self.values))
        except SchedulogError as error:
            typer.echo(str(error), err=True)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
