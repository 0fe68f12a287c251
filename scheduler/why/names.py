"""Derived rows in the user's words: nodes as n12, views as v3, strings in quotes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from schedulog.facts.graph import Graph
from schedulog.scheduler.engines.symbols import Symbols, quote
from schedulog.scheduler.language.program import Program


class Names:
    """Writes the values of one model. `program` tells what type a column has."""

    def __init__(self, graph: Graph, program: Program, symbols: Symbols) -> None:
        self.graph = graph
        self.program = program
        self.symbols = symbols

    def value(self, number: int, kind: str) -> int | str:
        """What a number means in a column of type `kind`: "n12", "v3", the text of a string, or the number."""
        return value_text(self.symbols, number, kind)

    def columns(self, relation: str) -> list[Callable[[int], int | str]]:
        """One function a column that does what `value` does, with what can be known before done before."""
        return [self._column(column.type) for column in self.program.relations[relation].columns]

    def _column(self, kind: str) -> Callable[[int], int | str]:
        if kind == "int":
            return int
        if kind in _LETTERS:
            return f"{_LETTERS[kind]}{{}}".format
        return lambda number: self.symbols.value(number, kind)

    def atom(self, relation: str, row: Sequence[int | None]) -> str:
        """A row as rules and questions spell it: `op(n3, "ADD")`; None is written `_`."""
        columns = self.program.relations[relation].columns
        values = (
            "_" if number is None else self._term(number, column.type)
            for number, column in zip(row, columns, strict=True)
        )
        return f"{relation}({', '.join(values)})"

    def _term(self, number: int, kind: str) -> str:
        value = self.value(number, kind)
        return str(value) if kind in _LETTERS else quote(value)

    def described(self, relation: str, row: Sequence[int | None]) -> list[str]:
        """The nodes that a row speaks of, each once, as `Graph.describe_fully` shows them."""
        columns = self.program.relations[relation].columns
        nodes = [n for n, c in zip(row, columns, strict=True) if c.type == "node" and n is not None]
        return [self.graph.describe_fully(n) for n in dict.fromkeys(nodes)]


def value_text(symbols: Symbols, number: int, kind: str) -> int | str:
    """What `Names.value` gives."""
    return f"{_LETTERS[kind]}{number}" if kind in _LETTERS else symbols.value(number, kind)


def is_numbered(kind: str) -> bool:
    """Whether values of this type are written as a letter and a number."""
    return kind in _LETTERS


_LETTERS = {"node": "n", "view": "v"}
