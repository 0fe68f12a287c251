"""The result of an evaluation: rows, and the reasons for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Protocol

from schedulog.scheduler.engines.driver import Statistics
from schedulog.scheduler.engines.engine import Functions, Row
from schedulog.scheduler.engines.symbols import Decode, Symbols, decoder
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.why.alternatives import Alternatives
from schedulog.scheduler.why.explain import Explainer
from schedulog.scheduler.why.match import Finder, Rows
from schedulog.scheduler.why.proof import Proof


class RowSource(Protocol):
    """Whatever still holds the rows of a model."""

    def rows(self, relation: str) -> list[Row]:
        """Return the rows of a relation, sorted."""
        ...


class Model:
    """The well-founded model of a program over one graph. Rows are read from the engine when asked for.

    `symbols` decodes the numbers of strings, `statistics` says what the evaluation cost.
    """

    def __init__(
        self,
        program: Program,
        symbols: Symbols,
        source: RowSource,
        counts: dict[str, int],
        functions: Functions,
        statistics: Statistics,
        given: Mapping[str, AbstractSet[Row]],
    ) -> None:
        self.program = program
        self.symbols = symbols
        self.statistics = statistics
        self.functions = functions
        self._given = given
        self._source = source
        self._counts = counts
        self._rows: dict[str, list[Row]] = {}
        self._sets: dict[str, frozenset[Row]] = {}

    @property
    def source(self) -> RowSource:
        """Whatever holds the rows."""
        return self._source

    def rows(self, relation: str) -> list[Row]:
        """Return the rows of a relation, sorted. Raises KeyError for an undeclared relation."""
        found = self._rows.get(relation)
        if found is None:
            found = self._rows[relation] = self._source.rows(relation) if self._counts[relation] else []
        return found

    def count(self, relation: str) -> int:
        """Return the number of rows of a relation."""
        return self._counts[relation]

    def has(self, relation: str, row: Sequence[int]) -> bool:
        """Say whether an atom is true."""
        found = self._sets.get(relation)
        if found is None:
            found = self._sets[relation] = frozenset(self.rows(relation))
        return tuple(row) in found

    @cached_property
    def decode(self) -> Decode:
        """A function that writes a row as the rules would: `decode("op", (3, -2))` is `op(3, "ADD")`."""
        return decoder(self.symbols, self.program.relations)

    def why(self, relation: str, row: Sequence[int], *, every: bool = False) -> Proof:
        """Return a proof of least height for a true atom. Its text: `proof.render(model.decode)`.

        `every`: with all derivations, of the atom and of those that its proof rests on, in `Proof.others`.

        Raises UsageError SL711 or SL712 for a row that no relation can hold, SL714 when the atom is not true.
        """
        if every:
            return Alternatives(self._explainer).why(self._explainer.goal(relation, tuple(row)))
        return self._explainer.why(relation, tuple(row))

    @cached_property
    def _explainer(self) -> Explainer:
        finder = self._source if isinstance(self._source, Finder) else None
        return Explainer(self.program, self.symbols, self.functions, Rows(self.rows, finder), self._given)
