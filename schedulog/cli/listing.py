"""`schedulog devices` and `schedulog rules`: what there is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Annotated

import typer

from schedulog.cli.output import print_json, print_table
from schedulog.errors import UsageError
from schedulog.scheduler.language.diagnostic import nearest

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
    pack: Annotated[
        list[str] | None, typer.Option("--pack", help="Only rules of this pack; repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the rules of packs (core and classic unless named): what kind, where, and how far they were tried."""
    from schedulog.scheduler.language.load import load_program
    from schedulog.scheduler.language.sources import with_required
    from schedulog.scheduler.rule_list import rule_list

    found = rule_list(load_program(with_required(packs or ["classic"])))
    names = {rule.pack for rule in found}
    for name in pack or ():
        if name not in names:
            raise UsageError("SL716", f"no rule here is of the pack `{name}`",
                             help=nearest(name, names) or _packs(names))  # fmt: skip
    found = [rule for rule in found if not pack or rule.pack in pack]
    if as_json:
        print_json([asdict(rule) for rule in found])
        return
    rows = [(r.id, r.kind, r.status, r.rung, r.place, r.title) for r in found]
    print_table(("rule", "kind", "status", "rung", "place", "title"), rows)


def _packs(names: Collection[str]) -> str:
    return f"packs: {', '.join(sorted(names))}; of another one name its folder: schedulog rules ./FOLDER"
