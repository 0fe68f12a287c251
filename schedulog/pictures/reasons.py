"""Why something in a picture is as it is: the rules behind it, and the upper part of the proof."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from schedulog.facts.node import Node
from schedulog.pictures.picture import Facts
from schedulog.pictures.subject import Subject
from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.kernels import Kernel
from schedulog.scheduler.why.names import Names
from schedulog.scheduler.why.proof_text import proof_lines
from schedulog.scheduler.why.question import names
from schedulog.scheduler.why.support import supports

_DEPTH = 4
_LINES = 48
_DECISIONS = 12
"""Levels and lines of a proof, and decisions about one node, that a picture carries; `schedulog why` prints all."""

_PROVED = 12_000
"""Nodes up to which a picture carries proofs: that of a value stored to bound a kernel walks through the whole kernel."""

_MADE_CLEAR = frozenset({"stored", "chosen", "kernel", "member", "data"})
"""Relations that the picture itself shows."""


class Reasons:
    """Answers for one subject. Each proof is made when it is asked for."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._model = subject.decisions.model
        self._graph = subject.graph
        self._proofs: dict[tuple[str, Row], str] = {}
        self._versions = {(row[0], row[1]): row for row in reversed(self._rows("version"))}

    @cached_property
    def _names(self) -> Names:
        return names(self._subject.decisions)

    @cached_property
    def _about(self) -> Mapping[int, tuple[tuple[str, str], ...]]:
        """Per node, what rules of kind realize and forbid say of it: the fact, and the rules."""
        found: dict[int, tuple[tuple[str, str], ...]] = {}
        for relation, rows in sorted(supports(self._model, ("realize", "forbid")).items()):
            columns = self._model.program.relations[relation].columns
            if relation in _MADE_CLEAR or not columns or columns[0].type != "node":
                continue
            for row, rules in sorted(rows.items()):
                fact = (self._names.atom(relation, row), ", ".join(rules))
                found[row[0]] = (*found.get(row[0], ()), fact)
        return found

    def decisions(self, n: Node) -> Facts:
        """The decisions that speak of a node first, each with its rules."""
        return self._about.get(self._graph.position[n], ())[:_DECISIONS]

    def stored(self, n: Node) -> str:
        """The proof that a node is stored; "" where it is not."""
        return self._proof("stored", (self._graph.position[n],))

    def version(self, before: Kernel, after: Kernel) -> str:
        """The proof that one kernel runs before another one that overwrites; "" where a copy aside is the reason."""
        position = self._graph.position
        row = self._versions.get((position[before.output], position[after.output]))
        return "" if row is None else self._proof("version", row)

    def _rows(self, relation: str) -> list[Row]:
        return self._model.rows(relation) if relation in self._model.program.relations else []

    def _proof(self, relation: str, row: Row) -> str:
        if not self._model.has(relation, row):
            return ""
        if len(self._graph.nodes) > _PROVED:
            return f"`schedulog why` prints the proof of {self._names.atom(relation, row)}."
        if (relation, row) not in self._proofs:
            self._proofs[relation, row] = self._written(relation, row)
        return self._proofs[relation, row]

    def _written(self, relation: str, row: Row) -> str:
        lines = list(proof_lines(self._model.why(relation, row), self._names, _DEPTH))
        left = [f"and {len(lines) - _LINES} more lines"] if len(lines) > _LINES else []
        return "\n".join([*lines[:_LINES], *left])
