"""Why an operand is computed inside the kernel that reads it, or is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from schedulog.facts.graph import in_short
from schedulog.facts.ops import Op
from schedulog.scheduler.schedule import Decisions
from schedulog.scheduler.why.answer import Answer, kernels_text, storing_lines, storing_record
from schedulog.scheduler.why.proof import Proof
from schedulog.scheduler.why.refusals import Prices, Storing, storings
from schedulog.scheduler.why.subject import Operand

State = Literal["fused", "stored", "memory", "constant"]


@dataclass(frozen=True, slots=True, eq=False)
class EdgeAnswer(Answer):
    """How `consumer` gets the value of `producer`: computed in its kernel (fused), stored and loaded, from memory, or as a
    constant in the code.

    `kernels` are those that compute the consumer, `copies` those that compute the producer, each named by its output.
    `clauses` store the producer; without them `bytes_lost` bytes less would be moved.
    """

    producer: str
    consumer: str
    nodes: tuple[str, ...]
    state: State
    kernels: tuple[str, ...]
    copies: tuple[str, ...]
    clauses: tuple[Storing, ...]
    bytes_lost: int
    proofs: tuple[Proof, ...]

    def lines(self) -> Iterator[str]:
        a, b, where = self.producer, self.consumer, kernels_text(self.kernels)
        yield from map(in_short, self.nodes)
        if self.state == "memory":
            yield f"{a} -> {b}: {a} is memory, read by {where}"
        elif self.state == "constant":
            yield f"{a} -> {b}: {a} is a constant in the code of {where}"
        elif self.state == "fused":
            yield f"{a} -> {b}: fused. Nothing stores {a}, so it is computed with {b} in {where}"
            if len(self.copies) > len(self.kernels):
                yield f"{a} is computed {len(self.copies)} times, in {kernels_text(self.copies)}"
        else:
            yield f"{a} -> {b}: not fused. {a} is stored, and loaded for {b} in {where}"
            yield from storing_lines(self.clauses)
            yield f"   {self.bytes_lost} bytes less would be moved if {a} were computed there"

    def record(self) -> dict[str, Any]:
        return {
            "edge": [self.producer, self.consumer],
            "nodes": list(self.nodes),
            "state": self.state,
            "kernels": list(self.kernels),
            "copies": list(self.copies),
            "stored_by": [storing_record(clause) for clause in self.clauses],
            "bytes_lost": self.bytes_lost,
        }


def explain_edge(operand: Operand, decisions: Decisions, *, every: bool) -> EdgeAnswer:
    """How an operand gets to its reader, and why. `every`: with all derivations in the proofs."""
    prices = Prices(decisions)
    placement, model = prices.placement, decisions.model
    a, b = operand.producer, operand.consumer
    kernels, copies = placement.holders.get(b, ()), placement.holders.get(a, ())
    stored, made = placement.is_stored(a), placement.nodes[a].op not in (Op.BUFFER, Op.CONST, Op.BIND)
    state: State = (
        "stored"
        if stored
        else "fused"
        if made
        else "memory"
        if placement.nodes[a].op is Op.BUFFER
        else "constant"
    )
    proofs: tuple[Proof, ...] = ()
    if made:
        goal = ("stored", (a,)) if stored else ("member", (kernels[0], a))
        proofs = (model.why(*goal, every=every),)
    return EdgeAnswer(
        f"n{a}",
        f"n{b}",
        tuple(decisions.graph.describe_fully(n) for n in dict.fromkeys((a, b))),
        state,
        tuple(f"n{k}" for k in kernels),
        tuple(f"n{k}" for k in copies),
        storings(decisions)[a] if stored else (),
        prices.lost(a, b) if stored else 0,
        proofs,
    )
