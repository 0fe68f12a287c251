"""A rule's test as data: a graph, what is set for it, and what has to hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from schedulog.errors import Place
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.scheduler.language.program import RuleTest

Term = int | str | None
"""A number, a string, or None for any value (`_`). A name of the graph is the position of its node."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """`relation(terms)`: the rows that it fits."""

    relation: str
    terms: tuple[Term, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Holds:
    """`holds fact` (`wanted`) or `not fact`: some row that fits is in the model, or none."""

    fact: Pattern
    wanted: bool


@dataclass(frozen=True, slots=True)
class By:
    """`by RULE` after `holds fact`: that rule derives the fact and no other does."""

    fact: Pattern
    rule: str


@dataclass(frozen=True, slots=True)
class SetIs:
    """`set relation == {rows}`: these rows and no others."""

    relation: str
    rows: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class CountIs:
    """`count relation == N`, or of the rows that fit a fact."""

    fact: Pattern
    number: int


@dataclass(frozen=True, slots=True)
class KernelCount:
    """`kernels == N`."""

    number: int


@dataclass(frozen=True, slots=True)
class KernelsAre:
    """`kernels == {{a,b},{c}}`: the members of each kernel that compute something, as far as they have names."""

    kernels: tuple[frozenset[int], ...]


@dataclass(frozen=True, slots=True)
class BytesAre:
    """`bytes <= N` (`exact`: `bytes == N`): what all kernels read and write together."""

    number: int
    exact: bool


@dataclass(frozen=True, slots=True)
class BlockedAt:
    """`blocked fact at RULE:k`: the fact does not hold, and `rule` would derive it if its condition k held."""

    fact: Pattern
    rule: str
    condition: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`snapshot relation, ...`: these relations, the kernels and their bytes are as once accepted."""

    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """`order a before b`: the kernels of two nodes."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Fails:
    """`error SLnnn`: deciding or scheduling ends with this error."""

    code: str


@dataclass(frozen=True, slots=True)
class Computes:
    """`result ~ numpy`: every device gives the numbers of the unscheduled reference."""

    reference: Literal["numpy"] = "numpy"


Claim = (
    Holds
    | By
    | BlockedAt
    | SetIs
    | CountIs
    | KernelCount
    | KernelsAre
    | BytesAre
    | Order
    | Snapshot
    | Fails
    | Computes
)


@dataclass(frozen=True, slots=True)
class Assertion:
    """One claim, as written and where; under `todo` it is known not to hold yet."""

    claim: Claim
    todo: bool
    text: str
    place: Place


@dataclass(frozen=True, eq=False)
class Case:
    """A test that is ready to run.

    `names` are the graph's names, `options` facts for the rules, `given` rows added to relations.
    """

    test: RuleTest
    graph: Graph
    names: Mapping[str, Node]
    options: Mapping[str, int]
    given: tuple[Pattern, ...]
    assertions: tuple[Assertion, ...]
