"""`schedulog fmt`: rule files in their one layout, or in the other spelling."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Annotated

import typer

from schedulog.errors import RuleError, UsageError
from schedulog.facts.new_file import new_file
from schedulog.rules import USER_RULES
from schedulog.scheduler.language.diagnostic import nearest, plural
from schedulog.scheduler.language.rule_file import SUFFIXES, files_below, is_rule_file, stem
from schedulog.scheduler.language.spelling import SPELLINGS, format_file, translate


def fmt_command(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Rule files and folders; - for a filter.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 if a file would change.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Write nothing; show what would change.")] = False,
    to: Annotated[
        str | None, typer.Option("--to", help="Translate to a spelling: datalog or pydatalog.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="PATH", help="With --to: a file, or a folder for several files."
        ),
    ] = None,
) -> int:
    """Bring rule files into their one layout. Comments stay; files with mistakes are told and left as they are."""
    if to is not None:
        return _translate(paths, to, output, check=check or diff)
    if output is not None:
        raise typer.BadParameter(
            "only a translation goes to another file: --to datalog", param_hint="--output"
        )
    if paths == ["-"]:
        typer.echo(format_file(sys.stdin.read(), "<stdin>"), nl=False)
        return 0
    return _format(list(rule_paths(paths or [USER_RULES])), check=check, diff=diff)


def _format(found: Sequence[Path], *, check: bool, diff: bool) -> int:
    changed, mistakes = 0, 0
    for path in found:
        try:
            before = _read(path)
            after = format_file(before, path.as_posix())
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


def _translate(paths: list[str] | None, to: str, output: str | None, *, check: bool) -> int:
    """Write rule files in another spelling: one to standard output or a file, several into a folder."""
    if to not in SPELLINGS:
        help = nearest(to, SPELLINGS) or f"spellings: {', '.join(SPELLINGS)}"
        raise typer.BadParameter(f"there is no spelling `{to}`; {help}", param_hint="--to")
    if check:
        raise typer.BadParameter(
            "a translation changes no file; leave out --check and --diff", param_hint="--to"
        )
    if paths == ["-"]:
        # What comes in is in the spelling that does not go out.
        other = next(suffix for name, suffix in SPELLINGS.items() if name != to)
        typer.echo(translate(sys.stdin.read(), f"<stdin>{other}", to), nl=False)
        return 0
    found = list(rule_paths(paths or [USER_RULES]))
    folder = Path(output) if output is not None and (len(found) > 1 or Path(output).is_dir()) else None
    if len(found) > 1 and folder is None:
        raise typer.BadParameter(f"{len(found)} files go into a folder: -o FOLDER", param_hint="--output")
    made = [translate(_read(path), path.as_posix(), to) for path in found]
    if output is None:
        typer.echo(made[0], nl=False)
        return 0
    into = [Path(output) if folder is None else folder / f"{stem(p.name)}{SPELLINGS[to]}" for p in found]
    _write_new(dict(zip(_free(into), made, strict=True)))
    return 0


def _free(paths: Sequence[Path]) -> Sequence[Path]:
    """Paths at which nothing is yet, each for one file. Raises UsageError SL709."""
    for path, times in Counter(paths).items():
        if path.exists() or times > 1:
            what = f"{path} exists already" if path.exists() else f"two files would be {path}"
            raise UsageError("SL709", what, help="give another place: -o PATH, or one file at a time")
    return paths


def _write_new(made: Mapping[Path, str]) -> None:
    """Write new files, each whole or not at all. Raises UsageError SL709."""
    for path, text in made.items():
        _replace(path, text)
        typer.echo(f"{path.as_posix()} written")


def rule_paths(paths: Sequence[str]) -> Iterator[Path]:
    """The rule files at some paths; files of tests beside them are no rule text. Raises BadParameter for a path without one."""
    for path in map(Path, paths):
        if path.is_dir():
            found = [file for file in files_below(path, *SUFFIXES) if is_rule_file(file.name)]
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
        _replace(path, after)
        typer.echo(f"{path.as_posix()} changed")


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all, in a folder that is made if need be. Raises UsageError SL709."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(path) as file:
            file.write(text.encode())
    except OSError as problem:
        raise UsageError("SL709", f"cannot write {path}", reason=problem.strerror or str(problem),
                         help="give another place: -o PATH") from None  # fmt: skip
