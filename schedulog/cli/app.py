"""The command line as a whole: which commands there are."""

from __future__ import annotations

from typing import Annotated

import typer

from schedulog.cli.bisect import bisect_command
from schedulog.cli.check import check_command
from schedulog.cli.coverage import coverage_command
from schedulog.cli.diff import diff_command
from schedulog.cli.doc import doc_command
from schedulog.cli.explain import explain_command
from schedulog.cli.fmt import fmt_command
from schedulog.cli.graph import graph_command
from schedulog.cli.listing import devices_command, rules_command
from schedulog.cli.lsp import lsp_command
from schedulog.cli.new import new_command
from schedulog.cli.profile import profile_command
from schedulog.cli.replay import replay_command
from schedulog.cli.run import run_command
from schedulog.cli.sql import sql_command
from schedulog.cli.test import test_command
from schedulog.cli.verify import verify_command
from schedulog.cli.why import why_command
from schedulog.cli.whynot import whynot_command

app = typer.Typer(
    name="schedulog",
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


app.command("run")(run_command)
app.command("sql")(sql_command)
app.command("why")(why_command)
app.command("whynot")(whynot_command)
app.command("graph")(graph_command)
app.command("replay")(replay_command)
app.command("diff")(diff_command)
app.command("check")(check_command)
app.command("explain")(explain_command)
app.command("test")(test_command)
app.command("coverage")(coverage_command)
app.command("verify")(verify_command)
app.command("bisect")(bisect_command)
app.command("profile")(profile_command)
app.command("fmt")(fmt_command)
app.command("new")(new_command)
app.command("doc")(doc_command)
app.command("lsp")(lsp_command)
app.command("devices")(devices_command)
app.command("rules")(rules_command)
