"""`schedulog graph`: a picture of a graph and of what was decided about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from schedulog.cli.inputs import check_options, pairs
from schedulog.cli.output import working
from schedulog.cli.run import Options, Rules
from schedulog.cli.source import (
    Bindings,
    Constants,
    Dims,
    Shapes,
    WhichRun,
    bindings,
    read_graph_file,
    tell_assumed,
)
from schedulog.errors import UsageError
from schedulog.facts.new_file import new_file
from schedulog.graph_file import SUFFIXES, load_tensors
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.record.database import open_database, saved_decisions
from schedulog.scheduler.schedule import Decisions, Scheduler

if TYPE_CHECKING:
    from schedulog.pictures.subject import Subject


class StageName(StrEnum):
    """The stages that can be drawn."""

    tensor = "tensor"
    simplified = "simplified"
    kernels = "kernels"


class FormatName(StrEnum):
    """The formats of a picture."""

    html = "html"
    dot = "dot"


def graph_command(
    source: Annotated[str, typer.Argument(metavar="GRAPH_OR_DB", help="A graph, or a saved run.")],
    stage: Annotated[
        StageName, typer.Option(help="The graph asked for, the one scheduled in its kernels, or the kernels.")
    ] = StageName.simplified,
    format_: Annotated[
        FormatName, typer.Option("--format", help="A page to look at, or Graphviz.")
    ] = FormatName.html,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write; else standard output."),
    ] = None,
    run: WhichRun = None,
    rules: Rules = None,
    dim: Dims = None,
    shape: Shapes = None,
    const: Constants = None,
    set_: Options = None,
) -> None:
    """Draw a graph: its operations, kernels and order, with the reasons.

    The page is one file and loads nothing.
    """
    given, options = bindings(dim, shape, const), pairs(set_ or (), "--set", int)
    if output is not None:
        _check_output(output, source)
    with working(f"drawing {source}"):
        if PurePath(source.partition("#")[0]).name.lower().endswith(SUFFIXES):
            subject = _scheduled(source, stage, rules, given, options)
        else:
            subject = _saved(source, run, given=bool(rules or given.given or options))
        text = _drawn(subject, stage, format_)
    if output is None:
        typer.echo(text, nl=False)
    else:
        _write(output, text)


def _drawn(subject: Subject, stage: StageName, format_: FormatName) -> str:
    from schedulog.pictures.document import html_text
    from schedulog.pictures.dot import dot_text
    from schedulog.pictures.stages import picture

    made = picture(subject, stage.value)
    return html_text(made) if format_ is FormatName.html else dot_text(made)


def _scheduled(
    source: str, stage: StageName, rules: list[str] | None, given: Bindings, options: dict[str, int]
) -> Subject:
    """Schedule a graph; of a recorded call the tensor graph is simplified here, if that is what is to be seen."""
    from schedulog.facts.simplify import simplify
    from schedulog.pictures.subject import Subject
    from schedulog.scheduler.verify.simplified import check_simplified

    program = load_program(rules or ["classic"])
    check_options(program, options)
    tensors = None
    if stage is StageName.tensor and source.partition("#")[0].lower().endswith(SUFFIXES[2:]):
        graph = load_tensors(source)
        tensors = (graph, simplify(graph))
        check_simplified(*tensors)
    scheduler = Scheduler(program)
    graph = read_graph_file(source, given) if tensors is None else tensors[1].graph
    tell_assumed(graph.assumed)
    decisions = scheduler.decide(graph, options)
    return Subject(decisions, scheduler.schedule(decisions), tensors)


def _saved(source: str, run: int | None, *, given: bool) -> Subject:
    from schedulog.pictures.subject import Subject

    if given:
        raise typer.BadParameter(
            "a saved run has its rules, sizes and switches",
            param_hint="--rules, --dim, --shape, --const, --set",
        )
    connection = open_database(source)
    try:
        decisions: Decisions = saved_decisions(connection, run)
    finally:
        connection.close()
    return Subject(decisions, Scheduler(decisions.model.program).schedule(decisions))


def _check_output(output: str, source: str) -> None:
    """Refuse to draw over what is drawn, and over any file but a picture drawn here. Raises UsageError SL720."""
    drawn, place = Path(source.partition("#")[0]), Path(output)
    with _refusal(output):
        if place.exists() and drawn.exists() and place.samefile(drawn):
            raise _not_written(output, "it is the file that is drawn")
        _check_replaced(place)


def _check_replaced(place: Path) -> None:
    """A device or a pipe has no contents to be replaced; an empty file has nothing to lose. Raises UsageError, OSError."""
    from schedulog.pictures.drawn_here import drawn_here

    if place.is_file() and place.stat().st_size and not drawn_here(place):
        raise _not_written(
            str(place), "it exists and is no picture that schedulog drew", "give another name or remove it"
        )


def _write(output: str, text: str) -> None:
    with _refusal(output):
        # Again: drawing takes time, and somebody may have put a file there.
        _check_replaced(Path(output))
        with new_file(output) as file:
            file.write(text.encode())
    typer.echo(f"wrote {output}")


@contextmanager
def _refusal(output: str) -> Iterator[None]:
    """Turn the errors of the system into ours."""
    try:
        yield
    except OSError as error:
        raise _not_written(output, error.strerror or str(error)) from error


def _not_written(output: str, reason: str, help: str = "give another place with -o") -> UsageError:
    return UsageError("SL720", f"cannot write {output}", where=output, reason=reason, help=help)
