"""`schedulog why`: the reasons for a fact, of a graph or of a saved run."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated

import typer

from schedulog.cli.inputs import check_options, pairs
from schedulog.cli.output import print_json, working
from schedulog.cli.proof import proof_lines, proof_record
from schedulog.cli.run import AsJson, Dims, Options, Rules
from schedulog.graph_file import SUFFIXES, load
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.record.database import open_database, saved_decisions
from schedulog.scheduler.schedule import Decisions, Scheduler
from schedulog.scheduler.why.question import names, why


def why_command(
    source: Annotated[str, typer.Argument(metavar="GRAPH_OR_DB", help="A graph, or a saved run.")],
    fact: Annotated[str, typer.Argument(help="A fact: realize(n12), stored('conv1'), data(_, n7).")],
    depth: Annotated[int, typer.Option(min=1, help="Levels to write out.")] = 6,
    run: Annotated[
        int | None, typer.Option(help="Which run of a saved file; the newest if left out.")
    ] = None,
    rules: Rules = None,
    dim: Dims = None,
    set_: Options = None,
    as_json: AsJson = False,
) -> None:
    """Say why a fact holds: which rule derived it from what, down to the facts of the graph."""
    with working(f"asking {source}"):
        if PurePath(source.partition("#")[0]).name.lower().endswith(SUFFIXES):
            options, dims = pairs(set_ or (), "--set", int), pairs(dim or (), "--dim", int)
            program = load_program(rules or ["classic"])
            check_options(program, options)
            decisions = Scheduler(program).decide(load(source, dims=dims), options)
        else:
            decisions = _saved(source, run, given=bool(rules or dim or set_))
        proof = why(decisions, fact)
    if as_json:
        print_json(proof_record(proof, names(decisions)))
    else:
        typer.echo("\n".join(proof_lines(proof, names(decisions), depth)))


def _saved(source: str, run: int | None, *, given: bool) -> Decisions:
    if given:
        raise typer.BadParameter(
            "a saved run has its rules, dims and switches", param_hint="--rules, --dim, --set"
        )
    connection = open_database(source)
    try:
        return saved_decisions(connection, run)
    finally:
        connection.close()
