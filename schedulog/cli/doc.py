"""`schedulog doc`: the pages of rules, relations and packs, made from the rule files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from schedulog.errors import UsageError
from schedulog.rules import pack_names
from schedulog.scheduler.language.describe import describe_pack, describe_relation, describe_rule
from schedulog.scheduler.language.diagnostic import nearest
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.language.rule_file import Part
from schedulog.scheduler.language.sources import read_sources, with_required
from schedulog.scheduler.rungs import RUNGS, rungs

_INTRODUCTION = """# The rules

Every rule that comes with schedulog, made from the rule files by `schedulog doc`. How rules are written:
[rules/README.md](../rules/README.md).
"""


def doc_command(
    name: Annotated[
        str | None, typer.Argument(help="A rule, a relation or a pack. All packs if left out.")
    ] = None,
    rules: Annotated[
        list[str] | None, typer.Option("--rules", help="A rule pack, file or folder; repeatable.")
    ] = None,
) -> None:
    """Print the page of a rule or a relation, or the chapter of a pack, as Markdown."""
    if name is None:
        typer.echo(all_packs(), nl=False)
        return
    parts = with_required(rules or pack_names())
    program = load_program(parts)
    typer.echo(page_of(program, name, _files(parts)), nl=False)


def all_packs() -> str:
    """The chapters of all packs that come with schedulog: docs/rules.md."""
    program = load_program(pack_names())
    return "\n".join(
        [
            _INTRODUCTION,
            *(describe_pack(program, pack, files) for pack, files in _files(pack_names()).items()),
        ]
    )


def _files(parts: Sequence[Part]) -> dict[str, list[tuple[str, str]]]:
    """The files of the packs among `parts`, names and texts, by the name of the pack."""
    found: dict[str, list[tuple[str, str]]] = {}
    sources = read_sources(parts, [])
    for file in sources.files:
        if file.pack in {pack.name for pack in sources.packs}:
            found.setdefault(file.pack, []).append((file.name, file.text))
    return found


def page_of(program: Program, name: str, packs: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """The page of what is called `name`; `packs` holds the files of packs. Raises UsageError SL716 when nothing is."""
    rule = name.partition("#")[0]
    aliases = {alias: info.id for info in program.infos.values() for alias in info.alias}
    rule = aliases.get(rule, rule)
    if rule in program.infos:
        rung = rungs(program)[rule]
        return f"{describe_rule(program, rule)}\nVerified to rung {rung}: {RUNGS[rung]}.\n"
    if name in program.relations:
        return describe_relation(program, name)
    if name in packs:
        return describe_pack(program, name, packs[name])
    known = [*program.infos, *program.relations, *packs]
    help = nearest(name, known) or "schedulog rules lists the rules; --rules loads others"
    raise UsageError("SL716", f"no rule, relation or pack is called `{name}`", help=help)
