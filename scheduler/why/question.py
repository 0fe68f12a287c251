"""Questions in the user's words: `realize(n12)`, `stored("conv1")`, to the row of a model that is meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice, product
from typing import Final

from schedulog.errors import UsageError
from schedulog.facts.graph import Graph, in_short
from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.language.program import Relation
from schedulog.scheduler.schedule import Decisions
from schedulog.scheduler.why.names import Names
from schedulog.scheduler.why.proof import Proof
from schedulog.scheduler.why.proof_text import proof_lines

_ATOM: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\((.*)\))?\s*\.?\s*", re.DOTALL)
_TERM: Final = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s,()'"]+))\s*(,|$)""")
_MOST: Final = 1000
"""Combinations of nodes with one label that are looked at."""


def why(decisions: Decisions, fact: str, *, every: bool = False) -> Proof:
    """The proof of least height of the fact that is asked about; `every`: with all derivations in `Proof.others`.

    Raises what `find_row` raises.
    """
    model = decisions.model
    found = model.why(*find_row(fact, model, decisions.graph), every=every)
    spelled = names(decisions)
    return replace(found, write=lambda proof, depth: proof_lines(proof, spelled, depth))


def names(decisions: Decisions) -> Names:
    """Writes the rows of these decisions in the user's words."""
    return Names(decisions.graph, decisions.model.program, decisions.model.symbols)


def find_row(text: str, model: Model, graph: Graph) -> tuple[str, Row]:
    """The relation and the row that `text` asks about.

    Nodes are given as n12 or by the user's label in quotes; views as v3; strings in quotes; `_` stands for any value.

    Raises UsageError: SL710 not a question, SL711 unknown relation, SL712 wrong number of arguments, SL713 an unknown
    value, SL714 a fact that does not hold, SL715 several facts that are meant.
    """
    name, terms = _parsed(text)
    relation = model.program.relations.get(name)
    if relation is None and name == "one_kernel":
        raise UsageError(
            "SL712",
            f"`one_kernel` has 2 arguments, not {len(terms)}",
            where=text,
            help="one_kernel(a: node, b: node)",
        )
    if relation is None:
        raise UsageError("SL711", f"no relation is called `{name}`", where=text,
                         help=_nearest(name, model.program.relations))  # fmt: skip
    if len(terms) != relation.arity:
        spelling = ", ".join(f"{column.name}: {column.type}" for column in relation.columns)
        raise UsageError("SL712", f"`{name}` has {relation.arity} argument{'s' * (relation.arity != 1)}, not {len(terms)}", where=text,
                         help=f"{name}({spelling})")  # fmt: skip
    asker = _Asker(text, relation, model, graph)
    return name, asker.row([asker.candidates(*term, i) for i, term in enumerate(terms)])


def _parsed(text: str) -> tuple[str, list[tuple[str, bool]]]:
    """The relation, and the terms: text, and whether it stood in quotes."""
    found = _ATOM.fullmatch(text) if isinstance(text, str) else None
    terms: list[tuple[str, bool]] = []
    inner, position = (found[2] or "", 0) if found else ("", 0)
    while found and position < len(inner) and inner.strip():
        term = _TERM.match(inner, position)
        if term is None:
            found = None
            break
        quoted = term[1] if term[1] is not None else term[2]
        terms.append((term[3], False) if quoted is None else (re.sub(r"\\(.)", r"\1", quoted), True))
        position = term.end()
        if term[4] and position == len(inner):
            found = None
    if found is None:
        raise UsageError(
            "SL710",
            f"cannot read the question `{text}`",
            help="ask like this: realize(n12), 'n3 -> n5', 'one_kernel(n3, n5)', 'kernel k3', realize",
        )
    return found[1], terms


def find_nodes(term: str, quoted: bool, graph: Graph, question: str) -> list[int]:
    """The nodes that a term of a question may mean: n12, or a label, in quotes or not. Raises UsageError SL713."""
    if not quoted and re.fullmatch(r"n?[0-9]+", term):
        digits = term.lstrip("n").lstrip("0") or "0"
        # Python refuses to read thousands of digits.
        if len(digits) <= len(str(len(graph.nodes))) and int(digits) < len(graph.nodes):
            return [int(digits)]
        raise UsageError("SL713", f"there is no node {term}", where=question,
                         help=f"nodes: n0 to n{len(graph.nodes) - 1}")  # fmt: skip
    labels = [n.label for n in graph.nodes]
    found = [i for i, label in enumerate(labels) if label == term]
    if not found:
        raise UsageError("SL713", f"no node has the label `{term}`", where=question,
                         help=_nearest(term, filter(None, labels)))  # fmt: skip
    return found


class _Asker:
    """One question. A term means one number, several (a label that several nodes have), or None for any."""

    def __init__(self, text: str, relation: Relation, model: Model, graph: Graph) -> None:
        self.text = text
        self.relation = relation
        self.model = model
        self.graph = graph
        self.names = Names(graph, model.program, model.symbols)

    def candidates(self, term: str, quoted: bool, at: int) -> list[int] | None:
        """The numbers that a term may mean."""
        if term == "_" and not quoted:
            return None
        kind = self.relation.columns[at].type
        if kind == "node":
            return find_nodes(term, quoted, self.graph, self.text)
        if kind == "int" or (not quoted and re.fullmatch(r"-?\d+", term)):
            return [self.integer(term)]
        if kind == "view" and re.fullmatch(r"v\d+", term):
            return [self.integer(term[1:])]
        number = self.model.symbols.find(term)
        if number is None:
            raise self.unknown(f"nothing in this run is called `{term}`", "")
        return [number]

    def integer(self, term: str) -> int:
        try:
            return int(term)
        except ValueError:
            raise self.unknown(f"`{term}` is no integer", "") from None

    def unknown(self, message: str, help: str) -> UsageError:
        return UsageError("SL713", message, where=self.text, help=help)

    def row(self, terms: Sequence[list[int] | None]) -> Row:
        """The one row that is meant."""
        name = self.relation.name
        if None in terms:
            wanted = [None if term is None else set(term) for term in terms]
            rows = (row for row in self.model.rows(name) if _agrees(row, wanted))
            found = next(rows, None)
            return found if found is not None else self.absent(terms)
        exact = (tuple(row) for row in product(*(term for term in terms if term is not None)))
        held = [row for row in islice(exact, _MOST) if self.model.has(name, row)]
        if len(held) > 1:
            shown = ", ".join(self.names.atom(name, row) for row in held[:5])
            raise UsageError("SL715", f"`{self.text}` means several facts", where=shown,
                             help="ask with the short name of a node (n12)")  # fmt: skip
        return held[0] if held else self.absent(terms)

    def absent(self, terms: Sequence[list[int] | None]) -> Row:
        """Raise SL714 with the rows of the relation that share most with what was asked."""
        name = self.relation.name
        rows = self.model.rows(name)
        wanted = [None if term is None else set(term) for term in terms]
        shared = sorted((-_shared(row, wanted), _distance(row, wanted), row) for row in rows)
        near = [row for score, _, row in shared[:5] if score < 0 or self.relation.arity == 1]
        shown = ", ".join(self.names.atom(name, row) for row in near)
        raise UsageError(
            "SL714",
            f"{self.text.strip()} does not hold",
            where=", ".join(map(in_short, self.described(terms))),
            reason="no rule derives it" if self.derived() else "it is no fact of the graph",
            help=f"these hold: {shown}" if shown else f"{name} has {len(rows)} rows",
        )

    def derived(self) -> bool:
        return any(rule.head.relation == self.relation.name for rule in self.model.program.rules)

    def described(self, terms: Sequence[list[int] | None]) -> list[str]:
        row = [term[0] if term else None for term in terms]
        return self.names.described(self.relation.name, row)


def _agrees(row: Row, wanted: Sequence[set[int] | None]) -> bool:
    return all(numbers is None or value in numbers for value, numbers in zip(row, wanted, strict=True))


def _shared(row: Row, wanted: Sequence[set[int] | None]) -> int:
    return sum(numbers is not None and value in numbers for value, numbers in zip(row, wanted, strict=True))


def _distance(row: Row, wanted: Sequence[set[int] | None]) -> int:
    """How far apart in the graph the values are: neighbours are the likelier ones to be meant."""
    return sum(
        min(abs(value - n) for n in numbers) for value, numbers in zip(row, wanted, strict=True) if numbers
    )


def _nearest(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, sorted(set(known)), 3)
    return f"did you mean {', '.join(f'`{n}`' for n in near)}?" if near else ""
