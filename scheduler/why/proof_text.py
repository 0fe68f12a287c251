"""Proofs as people read them: a tree with rule ids, reasons and places; and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from schedulog.facts.graph import in_short
from schedulog.scheduler.why.names import Names
from schedulog.scheduler.why.proof import Absence, Condition, Proof
from schedulog.scheduler.why.words import reason_text

Part = Proof | Absence | Condition


@dataclass(frozen=True, slots=True)
class _Step:
    """One derivation of a fact, of which there may be several."""

    proof: Proof


@dataclass(frozen=True, slots=True)
class _Left:
    """So many derivations that are not written out."""

    count: int


@dataclass(frozen=True, slots=True)
class _Line:
    """What a line is about; `lead` stands before it, `below` before what belongs to it."""

    part: Part | _Step | _Left
    lead: str
    below: str
    level: int


def proof_lines(proof: Proof, names: Names, depth: int, *, described: bool = True) -> Iterator[str]:
    """The tree, `depth` levels of rules deep; a part that is needed twice is written out once.

    `described`: with a line about each node that the fact speaks of.
    """
    yield from map(in_short, names.described(proof.relation, proof.row)) if described else ()
    writer = _Writer(names, depth)
    stack = [_Line(proof, "", "", 0)]
    while stack:
        line = stack.pop()
        yield line.lead + writer.head(line.part, line.level)
        stack += reversed(list(writer.under(line)))
    if writer.hidden:
        yield f"{writer.hidden} more to open: --depth {depth + 4}"


class _Writer:
    """One tree: what was shown, and how many parts were too deep."""

    def __init__(self, names: Names, depth: int) -> None:
        self.names = names
        self.depth = depth
        self.rules = {rule.name: rule for rule in names.program.rules}
        self.shown: set[int] = set()
        self.hidden = 0

    def under(self, line: _Line) -> Iterator[_Line]:
        """The lines below one: the derivations of a fact, the premises of a derivation."""
        part = line.part
        if isinstance(part, _Step):
            yield from _listed(part.proof.premises, line.below, line.level + 1)
        elif isinstance(part, Proof) and self.opens(part, line.level):
            self.shown.add(id(part))
            steps: list[_Step | _Left] = [_Step(one) for one in (part, *part.others) if one.premises]
            steps += [_Left(part.more)] if part.more else []
            yield from _listed(steps, line.below, line.level)

    def opens(self, proof: Proof, level: int) -> bool:
        return bool(proof.premises or proof.others) and level < self.depth and id(proof) not in self.shown

    def head(self, part: Part | _Step | _Left, level: int) -> str:
        """The first line of a part."""
        if isinstance(part, _Left):
            return f"and {part.count} more"
        if isinstance(part, _Step):
            return self.reason(part.proof)
        if isinstance(part, Condition):
            return part.text
        atom = self.names.atom(part.relation, part.row)
        if isinstance(part, Absence):
            return f"not {atom}"
        if not part.premises:
            atom += f"   {f'{part.rule}  {place_text(part)}' if part.rule else 'of the graph'}"
            return atom + (", and derived" if part.others else "")
        if id(part) in self.shown:
            return f"{atom}   as above"
        if level >= self.depth:
            self.hidden += 1
            return f"{atom}   {part.rule} ..."
        count = 1 + len(part.others) + (part.more or 0)
        return f"{atom}   {count} derivations" if count > 1 else atom

    def reason(self, proof: Proof) -> str:
        """The rule, where it stands, and what it says in words."""
        rule = self.rules[proof.rule]
        words = reason_text(rule, proof.row, self.names)
        return f"{proof.rule}  {place_text(proof)}" + (f"  {words}" if words else "")


def _listed(parts: Sequence[Part | _Step | _Left], below: str, level: int) -> Iterator[_Line]:
    """Parts one under the other, with the lines that join them."""
    for i, part in enumerate(parts, 1):
        sign, line = ("|- ", "|  ") if i < len(parts) else ("`- ", "   ")
        yield _Line(part, below + sign, below + line, level)


def place_text(proof: Proof) -> str:
    """file:line of the rule that made the step."""
    return f"{proof.place.file}:{proof.place.line}" if proof.place else ""


def proof_record(proof: Proof, names: Names) -> dict[str, Any]:
    """The proof as one flat list of steps, the asked fact first; premises name facts that are steps of their own.

    A fact with several derivations has a step for each; `more` counts those that are left out, if they were looked for.
    """
    writer = _Writer(names, 0)
    steps = {json.dumps(made): made for made in (_step(step, names, writer) for step in proof.walk())}
    return {
        "fact": names.atom(proof.relation, proof.row),
        "nodes": names.described(proof.relation, proof.row),
        "height": proof.height,
        "steps": list(steps.values()),
    }


def _step(proof: Proof, names: Names, writer: _Writer) -> dict[str, Any]:
    rule = writer.rules.get(proof.rule)
    record: dict[str, Any] = {"fact": names.atom(proof.relation, proof.row)}
    if rule is None:
        return record | {"rule": None, "premises": []}
    return (
        record
        | {
            "rule": rule.id,
            "clause": rule.clause,
            "reason": reason_text(rule, proof.row, names).strip('"'),
            "place": place_text(proof),
            "premises": [_premise(part, names) for part in proof.premises],
        }
        | ({} if proof.more is None else {"more": proof.more})
    )


def _premise(part: Part, names: Names) -> dict[str, str]:
    if isinstance(part, Condition):
        return {"kind": part.kind, "text": part.text}
    kind = "absent" if isinstance(part, Absence) else "fact"
    return {"kind": kind, "text": names.atom(part.relation, part.row)}
