"""`schedulog check`: all that is wrong with rules, once or whenever a file changes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Final

import typer

from schedulog.cli.findings import FORMATS
from schedulog.errors import SchedulogError
from schedulog.rules import USER_RULES, pack_names
from schedulog.scheduler.language.diagnostic import ordered
from schedulog.scheduler.language.pack import MANIFEST, is_pack, pack_around
from schedulog.scheduler.language.pack_finder import shipped_name
from schedulog.scheduler.language.rule_file import SUFFIXES, files_below, rules_beside
from schedulog.scheduler.rule_check import check_rules

WITNESSES: Final = Path(".schedulog")
"""The folder for graphs on which rules disagree."""

_CLEAR: Final = "\033[2J\033[H"

_SECONDS: Final = 0.5
"""Between two looks at the files."""

Paths = Annotated[list[str] | None, typer.Argument(metavar="[PATH]...", help="Packs, rule files or folders.")]
Select = Annotated[
    str | None, typer.Option("-k", metavar="TEXT", help="Only tests whose file:line or title has TEXT.")
]
Format = Annotated[str, typer.Option("--format", help="text, json, sarif or github.")]


def check_command(
    paths: Paths = None,
    format_: Format = "text",
    watch: Annotated[bool, typer.Option("--watch", help="Check again whenever a rule file changes.")] = False,
) -> int:
    """Check rules: all mistakes at once.

    Without a path: every pack, and ./schedulog_rules if it is there.
    """
    write = FORMATS.get(format_)
    if write is None:
        raise typer.BadParameter(f"`{format_}` is none of {', '.join(FORMATS)}", param_hint="--format")
    groups = rule_groups(paths)
    if watch:
        for _ in changes(watched(groups)):
            if sys.stdout.isatty():
                typer.echo(_CLEAR, nl=False)
            typer.echo(write(findings(groups)))
    found = findings(groups)
    output = write(found)
    if output:
        typer.echo(output)
    return 1 if found else 0


def rule_groups(paths: Sequence[str] | None) -> Sequence[Sequence[str | Path]]:
    """What is looked at together: what was given, or else each pack by itself, and ./schedulog_rules by itself."""
    if paths:
        return [[_part(path) for path in paths]]
    own = [[Path(USER_RULES)]] if Path(USER_RULES).is_dir() else []
    return [*([name] for name in pack_names()), *own]


def _part(path: str) -> str | Path:
    """A pack by its name, or a path: a file of a pack means that pack, a file of tests the rule file that it stands beside."""
    if path in pack_names() or not (path.endswith(SUFFIXES) or Path(path).exists()):
        return path
    around = pack_around(Path(path)) if Path(path).is_file() else Path(path)
    if around is not None and is_pack(around):
        return shipped_name(around) or around
    return rules_beside(Path(path))


def findings(groups: Sequence[Sequence[str | Path]]) -> list[SchedulogError]:
    """The findings about all groups, each once."""
    found = [finding for group in groups for finding in check_rules(group, WITNESSES)]
    return list({(str(f.where), f.code, f.message): f for f in ordered(found)}.values())


def watched(groups: Sequence[Sequence[str | Path]]) -> list[Path]:
    """The files and folders among `groups`. Raises BadParameter when there are none."""
    found = [part for group in groups for part in group if isinstance(part, Path)]
    if not found:
        raise typer.BadParameter("there is no file to watch; give a path", param_hint="--watch")
    return found


def changes(
    paths: Sequence[Path], sleep: Callable[[float], None] = time.sleep
) -> Iterator[dict[Path, tuple[int, int]]]:
    """The state of the rule files at `paths`: at once, and again after each change. Endless."""
    last: dict[Path, tuple[int, int]] | None = None
    while True:
        now = _state(paths)
        if now != last:
            last = now
            yield now
        sleep(_SECONDS)


def _state(paths: Sequence[Path]) -> dict[Path, tuple[int, int]]:
    """Time and size of every rule file; a file that vanishes meanwhile is absent."""
    found: dict[Path, tuple[int, int]] = {}
    files = (_watched_in(path) if path.is_dir() else [path] for path in paths)
    for path in chain.from_iterable(files):
        try:
            status = path.stat()
        except OSError:
            continue
        found[path] = (status.st_mtime_ns, status.st_size)
    return found


def _watched_in(folder: Path) -> list[Path]:
    """The files of a folder on which its findings depend."""
    return [
        *files_below(folder, *SUFFIXES),
        folder / MANIFEST,
        *sorted(folder.glob("*.py")),
    ]
