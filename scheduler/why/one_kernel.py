"""Why some kernel computes two nodes, or where they are kept apart.

Two nodes are in one kernel exactly if some value is made of both on ways without a stored value before it. So the ways to
each common value are compared by how many values on them are stored; those on the best ones are what has to change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from schedulog.facts.graph import in_short
from schedulog.scheduler.schedule import Decisions
from schedulog.scheduler.why.answer import Answer, kernels_text, storing_lines, storing_record
from schedulog.scheduler.why.placement import Placement, first_cuts, way_to
from schedulog.scheduler.why.proof import Proof
from schedulog.scheduler.why.refusals import Storing, storings
from schedulog.scheduler.why.subject import Together

_SHOWN = 5
"""So many cuts are shown as text."""


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A stored value at which ways end: the operands that are cut there, and the clauses that store it."""

    node: str
    edges: tuple[str, ...]
    clauses: tuple[Storing, ...]

    def record(self) -> dict[str, Any]:
        clauses = [storing_record(clause) for clause in self.clauses]
        return {"node": self.node, "edges": list(self.edges), "stored_by": clauses}


@dataclass(frozen=True, slots=True, eq=False)
class OneKernelAnswer(Answer):
    """Whether some kernel computes both nodes. If so, `kernels` do, and `way` has the operands that join them there, none
    of which is cut. If not, `cuts` are the first on each way, and `repair` the fewest values that must not be stored to have
    them in one kernel, the other decisions being as they are; empty if no value is made of both.
    """

    first: str
    second: str
    nodes: tuple[str, ...]
    kernels: tuple[str, ...]
    way: tuple[str, ...]
    cuts: tuple[Cut, ...]
    repair: tuple[Cut, ...]
    proofs: tuple[Proof, ...]

    @property
    def holds(self) -> bool:
        return bool(self.kernels)

    @property
    def fact(self) -> str:
        return f"one_kernel({self.first}, {self.second})"

    def lines(self) -> Iterator[str]:
        yield from map(in_short, self.nodes)
        if self.holds:
            yield f"{self.fact} holds: both are computed in {kernels_text(self.kernels)}"
            yield from (f"   {edge}   nothing stores {edge.partition(' ')[0]}" for edge in self.way)
            return
        yield f"{self.fact} does not hold."
        if not self.repair:
            yield "No value is made of both, and a kernel computes one value."
            return
        yield "The ways between them are first cut at"
        for cut in self.cuts[:_SHOWN]:
            yield f"{cut.node}, which is stored: {', '.join(cut.edges[:_SHOWN])}"
            yield from storing_lines(cut.clauses)
        if len(self.cuts) > _SHOWN:
            yield f"and {len(self.cuts) - _SHOWN} more"
        yield f"Smallest repair: {'; and '.join(_repair_text(cut) for cut in self.repair)}"

    def record(self) -> dict[str, Any]:
        return {
            "fact": self.fact,
            "holds": self.holds,
            "nodes": list(self.nodes),
            "kernels": list(self.kernels),
            "way": list(self.way),
            "cuts": [cut.record() for cut in self.cuts],
            "repair": [cut.record() for cut in self.repair],
        }


def _repair_text(cut: Cut) -> str:
    """What keeps one value from being stored: its clauses do not apply, or are not there."""
    fixed = [clause.rule.name for clause in cut.clauses if clause.rule.id.startswith("core/")]
    dropped = " and ".join(clause.rule.name for clause in cut.clauses)
    note = f" ({', '.join(fixed)}: no policy changes that)" if fixed else ""
    return f"do not store {cut.node}: drop {dropped}{note}"


def explain_together(pair: Together, decisions: Decisions, *, every: bool) -> OneKernelAnswer:
    """Whether some kernel computes both nodes, and why. `every`: with all derivations in the proofs."""
    placement, a, b = Placement(decisions), pair.first, pair.second
    common = sorted({*placement.holders[a]} & {*placement.holders[b]})
    found = _Ways(placement, a, b)
    # Without stored values between, the ways to a common value are inside the kernels that compute it.
    way = [f"n{x} -> n{y}" for x, y in found.operands()] if common else []
    nodes = tuple(decisions.graph.describe_fully(n) for n in dict.fromkeys((a, b)))
    if common:
        proofs = tuple(
            decisions.model.why("member", (common[0], n), every=every) for n in dict.fromkeys((a, b))
        )
        return OneKernelAnswer(
            f"n{a}", f"n{b}", nodes, tuple(f"n{k}" for k in common), tuple(way), (), (), proofs
        )
    clauses = storings(decisions)
    cuts = tuple(_cut(n, users, clauses) for n, users in found.first_cuts().items())
    needed = found.stored()
    repair = tuple(_cut(n, [user], clauses) for n, user in needed)
    proofs = tuple(decisions.model.why("stored", (n,), every=every) for n, _ in needed[:_SHOWN])
    return OneKernelAnswer(f"n{a}", f"n{b}", nodes, (), (), cuts, repair, proofs)


def _cut(n: int, users: Sequence[int], clauses: Mapping[int, tuple[Storing, ...]]) -> Cut:
    return Cut(f"n{n}", tuple(f"n{n} -> n{user}" for user in users), clauses[n])


class _Ways:
    """The ways from two nodes to a value that is made of both, with the fewest stored values on them."""

    def __init__(self, placement: Placement, a: int, b: int) -> None:
        self.placement = placement
        self.starts = (a, b)
        (cost_a, before_a), (cost_b, before_b) = placement.cheapest(a), placement.cheapest(b)
        self.ends = sorted(cost_a.keys() & cost_b.keys(), key=lambda n: (cost_a[n] + cost_b[n], n))
        end = self.ends[0] if self.ends else None
        self.ways = [] if end is None else [way_to(end, before_a), way_to(end, before_b)]

    def operands(self) -> list[tuple[int, int]]:
        """The operands on the best ways."""
        return list(dict.fromkeys(edge for way in self.ways for edge in pairwise(way)))

    def stored(self) -> list[tuple[int, int]]:
        """The operands on the best ways that are cut."""
        return [(n, user) for n, user in self.operands() if self.placement.is_stored(n)]

    def first_cuts(self) -> dict[int, list[int]]:
        """The stored values at which the ways to the values made of both are first cut, with who reads them.

        Where one of the two is made of the other and joined best there, the ways to it are all that counts.
        """
        best = self.ends[:1]
        region = self.placement.above(best if best and best[0] in self.starts else self.ends)
        found: dict[int, dict[int, None]] = {}
        for start in self.starts:
            for n, user in first_cuts(self.placement, start, region):
                found.setdefault(n, {})[user] = None
        return {n: list(users) for n, users in sorted(found.items())}
