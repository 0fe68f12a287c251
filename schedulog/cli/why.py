"""`schedulog why`: the reasons for a fact, of a graph or of a saved run."""

from __future__ import annotations

from typing import Annotated

import typer

from schedulog.cli.decided import decisions_of
from schedulog.cli.output import print_json, working
from schedulog.cli.proof import proof_lines, proof_record
from schedulog.cli.run import AsJson, Options, Rules
from schedulog.cli.source import Constants, Dims, Shapes, bindings, tell_assumed
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
    with working(f"asking {source}"):
        decisions, assumed = decisions_of(source, run, rules, bindings(dim, shape, const), set_)
        proof = why(decisions, fact)
    if as_json:
        print_json(proof_record(proof, names(decisions)) | {"assumed": dict(assumed)})
    else:
        tell_assumed(assumed)
        typer.echo("\n".join(proof_lines(proof, names(decisions), depth)))
