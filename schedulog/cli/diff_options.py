"""The options of `schedulog diff`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class FailOn(StrEnum):
    """What makes the exit status 1."""

    ANY = "any"
    WORSE = "worse"
    WRONG = "wrong"


Graphs = Annotated[list[str] | None, typer.Argument(metavar="GRAPH", help="Graphs to compare on.")]
Corpus = Annotated[
    list[str] | None,
    typer.Option("--corpus", metavar="PATH", help="All graphs of a folder or a record; repeatable."),
]
With = Annotated[list[str] | None, typer.Option("--with", help="Rules to add; repeatable.")]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="ID[#CLAUSE][:CONDITION]", help="What to leave out; repeatable."),
]
Replace = Annotated[
    list[str] | None,
    typer.Option("--replace", metavar="[ID=]FILE", help="Rules in the place of others; repeatable."),
]
SetAfter = Annotated[
    list[str] | None, typer.Option("--set-after", help="A switch for the second side only: X=1.")
]
Ablate = Annotated[bool, typer.Option("--ablate", help="Leave out each rule in turn.")]
Brief = Annotated[bool, typer.Option("--brief", help="Measures and results only, without what changed.")]
Only = Annotated[
    list[str] | None, typer.Option("--only", help="With --ablate: this pack or rule; repeatable.")
]
Execute = Annotated[bool, typer.Option("--execute", help="Run both, on every device that is there.")]
Devices = Annotated[list[str] | None, typer.Option("--device", help="Run both on this device; repeatable.")]
Seed = Annotated[int, typer.Option(min=0, help="For the inputs of what is run.")]
MostWork = Annotated[
    int, typer.Option("--most-work", min=0, help="Element operations up to which a graph is run.")
]
FailOnOption = Annotated[FailOn, typer.Option("--fail-on", help="What makes the exit status 1.")]
Resume = Annotated[
    str | None, typer.Option(metavar="FILE", help="Where the answers about a corpus are kept.")
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes; as many as cores if left out.")]
