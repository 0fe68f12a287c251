"""What commands print: aligned tables, JSON, and a sign of life on a terminal."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any, Final, TextIO

import typer

from schedulog.errors import shown

_PIECE: Final = re.compile(r"\w\([^()]*\)|\{[^{}]*\}|by \S+$")
_JOINED: Final = "\0"
"""Stands for a blank at which a line is not parted."""


def print_json(value: Any) -> None:
    """One JSON value on standard output; floats that JSON does not know become texts ("nan", "inf")."""
    typer.echo(json.dumps(_plain(value), ensure_ascii=not _is_utf8(sys.stdout), indent=2))


def _is_utf8(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Rows under their column names, numbers to the right. The last column is never padded."""
    texts = [[_text(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *texts, strict=True)]
    right = [
        bool(rows) and all(isinstance(row[i], (int, float)) for row in rows) for i in range(len(columns))
    ]
    for line in (list(columns), *texts):
        cells = [
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(line, widths, right, strict=True)
        ]
        typer.echo("  ".join(cells).rstrip())


def width() -> int:
    """Columns of the terminal, or as COLUMNS says; 100 where there is none."""
    return max(40, get_terminal_size((100, 24)).columns)


def fitted(line: str, columns: int) -> list[str]:
    """A line in parts of at most so many columns, the further ones deeper; a fact or a group stays in one piece."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    whole = _PIECE.sub(lambda piece: piece[0].replace(" ", _JOINED), line)
    parts = wrap(whole, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [part.replace(_JOINED, " ") for part in parts] or [line]


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else shown(str(value))


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show `text` while a long step runs, if people watch."""
    if not (sys.stderr.isatty() and sys.stdout.isatty()):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield
