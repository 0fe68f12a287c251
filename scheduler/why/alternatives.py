"""All derivations of a fact, and of the facts that its lowest proof rests on.

A derivation is shown if it can be completed without the fact itself: where the lowest proof of a premise uses the fact, a
proof is searched for that does not. So every derivation shown is the last step of a proof. When enough are shown, or enough
proofs were searched for, the rest is counted only, whether or not it has such proofs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from schedulog.scheduler.why.explain import Explainer, Fact, Way
from schedulog.scheduler.why.proof import Proof

_ALL: Final = 100
"""Derivations written out beside the first ones, over all facts together."""
_ONE: Final = 20
"""Derivations written out beside the first one, of one fact."""
_FACTS: Final = 200
"""Facts of which all derivations are looked for."""
_WAYS: Final = 1000
"""So many derivations of one fact are counted."""
_STEPS: Final = 20_000
"""So many derivations are looked at in search of proofs besides that of the fact itself."""


class Alternatives:
    """Finds all derivations for one question."""

    def __init__(self, explainer: Explainer) -> None:
        self.explainer = explainer
        self.first: dict[Fact, Proof] = {}
        self.chosen: dict[Fact, Way | None] = {}
        self.others: dict[Fact, list[list[Proof]]] = {}
        self.more: dict[Fact, int] = {}
        self.ways: dict[Fact, list[Way]] = {}
        self.steps = _STEPS

    def why(self, goal: Fact) -> Proof:
        """The proof of least height; it and the proofs in it have `others`, and in `more` how many were left out."""
        self.prove(goal)
        self.search(goal)
        return self.whole(goal)

    def prove(self, goal: Fact, most: int | None = None) -> Proof | None:
        """The proof of least height, without others; None if it takes more than `most` steps to find one."""
        if goal not in self.first:
            heights = self.explainer.explore(goal, most=most)
            self.steps -= 0 if most is None else heights.ways
            if goal not in heights.height:
                return None
            for fact, proof in self.explainer.proofs(goal, heights).items():
                self.first.setdefault(fact, proof)
                self.chosen.setdefault(fact, heights.by.get(fact))
        return self.first[goal]

    def search(self, goal: Fact) -> None:
        """Collect the derivations of facts, those nearest to the goal first, until there are enough."""
        waiting, seen, left = deque([goal]), {goal}, _ALL
        for _ in range(_FACTS):
            if not waiting:
                return
            fact = waiting.popleft()
            if fact[0] in self.explainer.derived:
                left -= self.collect(fact, min(_ONE, left))
            following = [(p.relation, p.row) for p in self.first[fact].premises if isinstance(p, Proof)]
            fresh = [other for other in dict.fromkeys(following) if other not in seen]
            seen.update(fresh)
            waiting += fresh

    def collect(self, fact: Fact, most: int) -> int:
        """Note up to `most` further derivations of a fact; how many they are."""
        kept: list[Way] = []
        left = 0
        for way in islice(self.further(fact), _WAYS):
            if len(kept) == most or self.steps <= 0:
                left += 1
                continue
            proofs = [proof for need in way.needs if (proof := self.premise(need, fact)) is not None]
            if len(proofs) == len(way.needs):
                kept.append(way)
                self.others.setdefault(fact, []).append(proofs)
            elif self.steps <= 0:
                left += 1
        self.ways[fact], self.more[fact] = kept, left
        return len(kept)

    def further(self, fact: Fact) -> Iterator[Way]:
        """The ways to derive a fact apart from the first."""
        first = self.chosen.get(fact)
        for way in self.explainer.every_way(fact):
            if first is None or (way.rule.name, way.values) != (first.rule.name, first.values):
                yield way

    def premise(self, need: Fact, without: Fact) -> Proof | None:
        """A proof of a premise that does not use the fact it is to prove."""
        if need == without:
            return None
        proof = self.prove(need, self.steps)
        if proof is None:
            return None
        # Heights fall along a proof, so one that is no higher than the fact's own does not use it.
        if proof.height <= self.first[without].height:
            return proof
        if all((part.relation, part.row) != without for part in proof.walk()):
            return proof
        heights = self.explainer.explore(need, without, self.steps)
        self.steps -= 1 + heights.ways
        return self.explainer.proofs(need, heights)[need] if need in heights.height else None

    def made(self, fact: Fact) -> Iterator[Proof]:
        """The further derivations of a fact, each over the proofs found for its premises."""
        for way, needed in zip(self.ways.get(fact, ()), self.others.get(fact, ()), strict=True):
            proofs = {(p.relation, p.row): p for p in needed}
            height = 1 + max((p.height for p in needed), default=0)
            yield self.explainer.derivation(way, height, proofs)

    def whole(self, goal: Fact) -> Proof:
        """The first proof with others in it. What a fact's other derivations rest on has none, as it may use the fact."""
        done: dict[int, Proof] = {}
        for proof in sorted(self.first[goal].walk(), key=lambda p: p.height):
            fact = (proof.relation, proof.row)
            premises = tuple(done[id(part)] if isinstance(part, Proof) else part for part in proof.premises)
            others = tuple(self.made(fact)) if fact in self.ways else ()
            done[id(proof)] = replace(proof, premises=premises, others=others, more=self.more.get(fact))
        return done[id(self.first[goal])]
