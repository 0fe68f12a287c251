"""`schedulog whynot`: which conditions keep the rules from deriving a fact, and the smallest repairs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from schedulog.cli.decided import decisions_of
from schedulog.cli.output import print_json, working
from schedulog.cli.run import AsJson, Options, Rules
from schedulog.cli.source import Constants, Dims, Shapes, bindings, tell_assumed
from schedulog.scheduler.why.whynot import Miss, WhyNot, whynot


def whynot_command(
    source: Annotated[str, typer.Argument(metavar="GRAPH_OR_DB", help="A graph, or a saved run.")],
    fact: Annotated[str, typer.Argument(help="A fact that does not hold: realize(n12), stored('conv1').")],
    limit: Annotated[int, typer.Option(min=1, help="Clauses to show, nearest first.")] = 5,
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
    """Say why a fact does not hold: which rules could derive it, the conditions that fail, and the smallest repairs."""
    with working(f"asking {source}"):
        decisions, assumed = decisions_of(source, run, rules, bindings(dim, shape, const), set_)
        answer = whynot(decisions, fact)
    if as_json:
        print_json(_record(answer, limit) | {"assumed": dict(assumed)})
    else:
        tell_assumed(assumed)
        typer.echo("\n".join(answer.lines(limit)))


def _record(answer: WhyNot, limit: int) -> dict[str, Any]:
    """The answer as one JSON object: the `limit` nearest clauses with each largest set of conditions."""
    return {
        "fact": answer.fact,
        "nodes": list(answer.nodes),
        "rival": answer.rival or None,
        "rules": [_miss(miss) for miss in answer.misses[:limit]],
        "more": max(0, len(answer.misses) - limit),
        "others": answer.others,
        "repairs": [asdict(repair) for repair in answer.repairs],
    }


def _miss(miss: Miss) -> dict[str, Any]:
    rule = miss.rule
    return {
        "rule": rule.id,
        "clause": rule.clause,
        "place": f"{rule.place.file}:{rule.place.line}",
        "priority": miss.priority,
        "conditions": len(rule.body),
        "failing": miss.failing,
        "cut": miss.cut,
        "ways": [[asdict(f) | {"id": f"{rule.id}:{f.number}"} for f in way] for way in miss.ways],
    }
