"""`schedulog devices` and `schedulog rules`: what there is."""

from __future__ import annotations

from typing import Annotated

import typer

from schedulog.cli.output import print_json, print_table

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def devices_command(as_json: AsJson = False) -> None:
    """List the devices, and why one cannot run here."""
    from schedulog.runtimes import default_device, devices

    found, usual = devices(), default_device()
    if as_json:
        print_json([
            {"name": name, "available": why is None, "reason": why, "default": name == usual}
            for name, why in found.items()
        ])  # fmt: skip
        return
    for name, why in found.items():
        state = "available" + (", the default" if name == usual else "") if why is None else why
        typer.echo(f"{name:<10}{state}")


def rules_command(
    packs: Annotated[list[str] | None, typer.Argument(help="Packs, rule files or folders.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the rules of packs (core and classic unless named) with their places."""
    from schedulog.scheduler.language.load import load_program

    program = load_program(packs or ["classic"])
    clauses: dict[str, int] = {}
    for rule in program.rules:
        clauses[rule.id] = clauses.get(rule.id, 0) + 1
    places = {rule.id: rule.place for rule in reversed(program.rules)}
    infos = [info for name, info in program.infos.items() if name in clauses]
    if as_json:
        print_json([
            {
                "id": i.id, "kind": i.kind, "status": i.status, "title": i.title, "clauses": clauses[i.id],
                "file": places[i.id].file, "line": places[i.id].line,
            }
            for i in infos
        ])  # fmt: skip
        return
    rows = [(i.id, i.kind, i.status, f"{places[i.id].file}:{places[i.id].line}", i.title) for i in infos]
    print_table(("rule", "kind", "status", "place", "title"), rows)
