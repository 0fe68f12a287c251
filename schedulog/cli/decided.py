"""The decisions that a question is about: of a graph file, or of a saved run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

import typer

from schedulog.cli.inputs import check_options, pairs
from schedulog.cli.source import Bindings, read_graph_file
from schedulog.facts.graph import Graph
from schedulog.graph_file import SUFFIXES
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.record.database import open_database, saved_decisions
from schedulog.scheduler.schedule import Decisions, Scheduler


def decisions_of(
    source: str, run: int | None, rules: list[str] | None, given: Bindings, switches: list[str] | None
) -> tuple[Decisions, Mapping[str, int]]:
    """What was decided about `source`, and the sizes that were assumed for a graph file's open dims.

    `switches` are NAME=VALUE texts. A saved run takes no rules, sizes or switches: they are its own.
    """
    options = pairs(switches or (), "--set", int)
    if PurePath(source.partition("#")[0]).name.lower().endswith(SUFFIXES):
        graph = read_graph_file(source, given)
        return _decided(graph, rules or ["classic"], options), graph.assumed
    return _saved(source, run, given=bool(rules or given.given or options)), {}


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
