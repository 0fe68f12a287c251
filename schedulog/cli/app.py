"""The command line as a whole: which commands there are."""

from __future__ import annotations

from typing import Annotated, ClassVar

import typer

from schedulog.cli.lazy_group import LazyGroup


class _Commands(LazyGroup):
    """In the order in which they are listed."""

    modules: ClassVar = {
        "run": "run",
        "sql": "sql",
        "why": "why",
        "whynot": "whynot",
        "graph": "graph",
        "replay": "replay",
        "diff": "diff",
        "check": "check",
        "explain": "explain",
        "test": "test",
        "coverage": "coverage",
        "verify": "verify",
        "bisect": "bisect",
        "profile": "profile",
        "fmt": "fmt",
        "new": "new",
        "doc": "doc",
        "lsp": "lsp",
        "devices": "listing",
        "rules": "listing",
    }


app = typer.Typer(
    name="schedulog",
    cls=_Commands,
    help="Schedule tensor graphs by Datalog rules, run them, and ask why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        import schedulog

        typer.echo(f"schedulog {schedulog.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Schedule tensor graphs by Datalog rules, run them, and ask why."""
