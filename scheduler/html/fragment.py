"""One piece of HTML that stands by itself: a title, tables and texts, without scripts or colours of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jinja2 import Template

_ROWS: Final = 200
"""A table longer than that says how many rows are left out."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under the names of their columns; `more` is a line below."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float]]
    more: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """Lines as they are; with `summary` they are folded below it."""

    text: str
    summary: str = ""


def fragment(title: str, *blocks: Table | Text) -> str:
    """The HTML of some blocks below a title. Whatever stands in them is escaped."""
    return _template().render(title=title, blocks=[_short(block) for block in blocks])


def _short(block: Table | Text) -> Table | Text:
    if isinstance(block, Text) or len(block.rows) <= _ROWS:
        return block
    return Table(block.columns, block.rows[:_ROWS], f"and {len(block.rows) - _ROWS} rows more")


@cache
def _template() -> Template:
    from jinja2 import Environment  # results are made far more often than they are shown

    text = files("schedulog.scheduler.html").joinpath("fragment.j2").read_text(encoding="utf-8")
    return Environment(autoescape=True).from_string(text)
