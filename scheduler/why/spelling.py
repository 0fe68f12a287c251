"""Rows as texts that two models of one graph can be compared by."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from schedulog.facts.node import Node
from schedulog.facts.split import split_nodes
from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.engines.symbols import quote
from schedulog.scheduler.schedule import Decisions, cuts_of

Spelled = tuple[str, ...]
"""The values of a row, each as text."""


class Speller:
    """Writes rows so that they mean the same in every run on a graph: a view, whose number does not, by its contents.

    `names` are those of the nodes, by position, where they are not to be n0, n1, ...: of `given_names`, that two runs can
    be compared by where one of them had the graph rewritten.
    """

    def __init__(self, decisions: Decisions, names: Sequence[str] = ()) -> None:
        self._names = names
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
            return self._names.__getitem__ if self._names else "n{}".format
        return self._view if kind == "view" else lambda number: quote(self._symbols.value(number, kind))

    def _view_text(self, number: int) -> str:
        return json.dumps(self._looks.view(number).to_json(), separators=(",", ":"))


def atom_text(relation: str, values: Sequence[str]) -> str:
    """An atom from its relation and its spelled values."""
    return f"{relation}({', '.join(values)})"


def given_names(decisions: Decisions) -> tuple[str, ...]:
    """The name of each node of the graph that was decided about, from the graph that was given.

    Where reductions were split, a node is called what it was made of; the second step of n12 is n12, and what else came of
    the split n12.1, n12.2, ...
    """
    first, graph = decisions.before, decisions.graph
    if first is None:
        return tuple(map(graph.label, graph.nodes))
    made, cuts = split_nodes(first.graph, cuts_of(first)), cuts_of(first)
    names: dict[Node, str] = {}
    for n in first.graph.nodes:
        names.setdefault(made[n].base if n in cuts else made[n], first.graph.label(n))
    for n in cuts:
        fresh = [m for m in _behind(made[n], names) if m in graph.position]
        for number, m in enumerate(sorted(fresh, key=graph.position.__getitem__), 1):
            names[m] = f"{first.graph.label(n)}.{number}"
    return tuple(names[n] for n in graph.nodes)


def _behind(end: Node, names: Mapping[Node, str]) -> set[Node]:
    """`end` and what it is made of, as far as it has no name; what has one is passed only at `end`'s base."""
    found: set[Node] = set()
    waiting = [end, *end.base.src]
    while waiting:
        n = waiting.pop()
        if n not in names and n not in found:
            found.add(n)
            waiting += n.src
    return found
