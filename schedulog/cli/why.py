"""`schedulog why`: the reasons for a fact, of a graph or of a saved run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated

import typer

from schedulog.cli.inputs import check_options, pairs
from schedulog.cli.output import print_json, working
from schedulog.cli.proof import proof_lines, proof_record
from schedulog.cli.run import AsJson, Options, Rules
from schedulog.cli.source import Constants, Dims, Shapes, bindings, read_graph_file, tell_assumed
from schedulog.facts.graph import Graph
from schedulog.graph_file import SUFFIXES
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
    shape: Shapes = None,
    const: Constants = None,
    set_: Options = None,
    as_json: AsJson = False,
) -> None:
    """Say why a fact holds: which rule derived it from what, down to the facts of the graph."""
    given, options = bindings(dim, shape, const), pairs(set_ or (), "--set", int)
    assumed: Mapping[str, int] = {}
    with working(f"asking {source}"):
        if PurePath(source.partition("#")[0]).name.lower().endswith(SUFFIXES):
            graph = read_graph_file(source, given)
            decisions, assumed = _decided(graph, rules or ["classic"], options), graph.assumed
        else:
            decisions = _saved(source, run, given=bool(rules or given.given or options))
        proof = why(decisions, fact)
    if as_json:
        print_json(proof_record(proof, names(decisions)) | {"assumed": dict(assumed)})
    else:
        tell_assumed(assumed)
        typer.echo("\n".join(proof_lines(proof, names(decisions), depth)))


def _decided(graph: Graph, rules: list[str], options: dict[str, int]) -> Decisions:
    program = load_program(rules)
    check_options(program, options)
    return Scheduler(program).decide(graph, options)


def _saved(source: str, run: int | None, *, given: bool) -> Decisions:
    if given:
        raise typer.BadParameter(
            "a saved run has its rules, sizes and switches",
            param_hint="--rules, --dim, --shape, --const, --set",
        )
    connection = open_database(source)
    try:
        return saved_decisions(connection, run)
    finally:
        connection.close()
