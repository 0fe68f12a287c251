"""`schedulog fmt`: rule files in their one spelling."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Annotated

import typer

from schedulog.errors import RuleError
from schedulog.rules import USER_RULES
from schedulog.scheduler.language.diagnostic import plural
from schedulog.scheduler.language.layout import format_text


def fmt_command(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Rule files and folders; - for a filter.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 if a file would change.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Write nothing; show what would change.")] = False,
) -> int:
    """Bring rule files into their one spelling. Comments stay; files with mistakes are told and left as they are."""
    if paths == ["-"]:
        typer.echo(format_text(sys.stdin.read(), "<stdin>"), nl=False)
        return 0
    found = list(rule_paths(paths or [USER_RULES]))
    changed, mistakes = 0, 0
    for path in found:
        try:
            before = _read(path)
            after = format_text(before, path.as_posix())
        except RuleError as error:
            typer.echo(str(error), err=True)
            mistakes += 1
            continue
        if after != before:
            changed += 1
            _change(path, before, after, check=check, diff=diff)
    dry = check or diff
    done = f"{plural(changed, 'file')} {'would change' if dry else 'changed'}, {len(found) - changed - mistakes} as they should be"
    typer.echo(done + (f", {mistakes} with mistakes" if mistakes else ""), err=diff)
    return 1 if mistakes or (changed and dry) else 0


def rule_paths(paths: Sequence[str]) -> Iterator[Path]:
    """The rule files at some paths; files of tests beside them are no rule text. Raises BadParameter for a path without one."""
    for path in map(Path, paths):
        if path.is_dir():
            found = sorted(p for p in path.rglob("*.dl") if not p.name.endswith("_test.dl"))
        else:
            found = [path]
        if not found or not path.exists():
            raise typer.BadParameter(f"there is no rule file at {path}", param_hint="PATH")
        yield from found


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as problem:
        raise RuleError(
            "SL107", "a rule file cannot be read", where=path.as_posix(), reason=str(problem)
        ) from None


def _change(path: Path, before: str, after: str, *, check: bool, diff: bool) -> None:
    if diff:
        name = path.as_posix()
        lines = unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="")
        typer.echo("\n".join(lines))
    elif check:
        typer.echo(f"{path.as_posix()} would change")
    else:
        # Beside the file and renamed, so that an interruption leaves the old file whole.
        beside = path.with_name(path.name + ".new")
        beside.write_text(after, encoding="utf-8", newline="\n")
        beside.replace(path)
        typer.echo(f"{path.as_posix()} changed")
