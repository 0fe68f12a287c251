"""Run the examples on the pages of the error codes and of docs/, so that each page shows what is really said.

A page has fenced blocks. A block with a file name (` ```prolog mine.dl `) is a file of the example. Blocks that are run:

    prolog     rules by themselves, without core
    graph      a graph in the short notation
    python     a program: what it prints, and the error it may end with; one that follows on the page knows its names
    console    `$ schedulog ...` commands, in a folder with the example's files; in a tutorial any commands

What a block gives stands in the `text` block behind it; for `console`, below each command.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from schedulog.__main__ import main
from schedulog.errors import RuleError, SchedulogError
from schedulog.facts.notation import read_notation
from schedulog.scheduler.language.diagnostic import ordered
from schedulog.scheduler.language.load import link
from schedulog.scheduler.language.rule_set import merge
from schedulog.scheduler.language.syntax import parse_text
from schedulog.scheduler.lint.lint import lint

_BLOCK: Final = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def refreshed(page: str) -> str:
    """The page with what its examples give now."""
    return _refreshed(page, _output)


def tutorial(page: str) -> str:
    """The same for a page whose commands are those of a shell, one process each, as a reader types them.

    Times differ from run to run: where nothing else does, the old text stays.
    """
    made = _refreshed(page, _in_a_shell)
    return page if _without_times(made) == _without_times(page) else made


def _without_times(page: str) -> str:
    return re.sub(r" +[0-9.]+ (?:us|ms|s)\b", " TIME", page)


def _refreshed(page: str, run: Callable[[str], str]) -> str:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return _rewritten(page, run)
        finally:
            os.chdir(before)


def _rewritten(page: str, run: Callable[[str], str]) -> str:
    parts: list[str] = []
    end, given = 0, ""
    names: dict[str, object] = {"__name__": "example"}
    for block in _BLOCK.finditer(page):
        kind, name, text = block.groups()
        parts.append(page[end : block.start()])
        end = block.end()
        if given and kind != "text":
            raise ValueError(f"a block gives what no `text` block shows: {given}")
        if name:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text, encoding="utf-8")
        elif kind == "console":
            text = "".join(f"$ {command}\n{run(command)}" for command in _commands(text))
        elif kind == "python":
            given = _program(text, names)
        elif kind in _RUNNERS:
            given = _RUNNERS[kind](text)
        elif kind == "text" and given:
            text, given = given, ""
        head = f"```{kind} {name}" if name else f"```{kind}"
        parts.append(f"{head}\n{text}```\n")
    return "".join(parts) + page[end:]


def _rules(text: str) -> str:
    """The errors of a rule text, or else its warnings."""
    files = [parse_text(text, "example.dl", "example")]
    try:
        warnings = link(files).warnings
    except RuleError as error:
        return f"{error}\n"
    return "".join(f"{warning}\n" for warning in ordered([*warnings, *lint(merge(files)[0])]))


def _graph(text: str) -> str:
    try:
        read_notation(text, "example")
    except SchedulogError as error:
        return f"{error}\n"
    return ""


def _program(text: str, names: dict[str, object]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(text, "example.py", "exec"), names)  # noqa: S102 (the pages are ours)
        except SchedulogError as error:
            print(error)
    return out.getvalue()


def _commands(text: str) -> Iterator[str]:
    return (line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ "))


def _output(command: str) -> str:
    program, *arguments = re.findall(r"'[^']*'|\S+", command)
    assert program == "schedulog"
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        main([argument.strip("'") for argument in arguments])
    return out.getvalue()


def _in_a_shell(command: str) -> str:
    """What a command prints, in the environment of this Python. Its exit status is part of the page only if it is shown."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "110", "PYTHONUNBUFFERED": "1"}
    made = subprocess.run(
        ["bash", "-c", command],
        check=False,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return made.stdout


_RUNNERS: Final[Mapping[str, Callable[[str], str]]] = MappingProxyType({"prolog": _rules, "graph": _graph})
