"""Rows as texts that two models of one graph can be compared by."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache

from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.engines.symbols import quote
from schedulog.scheduler.schedule import Decisions

Spelled = tuple[str, ...]
"""The values of a row, each as text."""


class Speller:
    """Writes rows so that they mean the same in every run on a graph: a view, whose number does not, by its contents."""

    def __init__(self, decisions: Decisions) -> None:
        self._relations = decisions.model.program.relations
        self._symbols = decisions.model.symbols
        self._looks = decisions.facts.looks
        self._view = cache(self._view_text)
        self._columns = cache(self._spellers)

    def value(self, relation: str, column: int, number: int) -> str:
        """One value of a row, as `row` writes it."""
        return self._columns(relation)[column](number)

    def row(self, relation: str, row: Row) -> Spelled:
        """The values of a row as texts: n12 for a node, a string in quotes."""
        return tuple(spell(number) for spell, number in zip(self._columns(relation), row, strict=True))

    def atom(self, relation: str, row: Row) -> str:
        """A row as rules spell it: realize(n5)."""
        return atom_text(relation, self.row(relation, row))

    def _spellers(self, relation: str) -> tuple[Callable[[int], str], ...]:
        return tuple(self._speller(column.type) for column in self._relations[relation].columns)

    def _speller(self, kind: str) -> Callable[[int], str]:
        if kind == "int":
            return str
        if kind == "node":
            return "n{}".format
        return self._view if kind == "view" else lambda number: quote(self._symbols.value(number, kind))

    def _view_text(self, number: int) -> str:
        return json.dumps(self._looks.view(number).to_json(), separators=(",", ":"))


def atom_text(relation: str, values: Sequence[str]) -> str:
    """An atom from its relation and its spelled values."""
    return f"{relation}({', '.join(values)})"
