"""Proofs as people read them: a tree with rule ids, reasons and places; and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from schedulog.scheduler.language.program import Rule, Var
from schedulog.scheduler.why.names import Names
from schedulog.scheduler.why.proof import Absence, Condition, Proof

Part = Proof | Absence | Condition


def proof_lines(proof: Proof, names: Names, depth: int) -> Iterator[str]:
    """The tree, `depth` levels of rules deep; a part that is needed twice is written out once."""
    yield from names.described(proof.relation, proof.row)
    writer = _Writer(names, depth)
    stack: list[tuple[Part, str, str, int]] = [(proof, "", "", 0)]
    while stack:
        part, lead, below, level = stack.pop()
        yield lead + writer.head(part, level)
        if not isinstance(part, Proof) or not writer.opens(part, level):
            continue
        writer.shown.add(id(part))
        yield f"{below}`- {writer.reason(part)}"
        last = len(part.premises) - 1
        for i in range(last, -1, -1):
            sign, line = ("`- ", "   ") if i == last else ("|- ", "|  ")
            stack.append((part.premises[i], f"{below}   {sign}", f"{below}   {line}", level + 1))
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

    def opens(self, proof: Proof, level: int) -> bool:
        return bool(proof.premises) and level < self.depth and id(proof) not in self.shown

    def head(self, part: Part, level: int) -> str:
        """The first line of a part."""
        if isinstance(part, Condition):
            return part.text
        atom = self.names.atom(part.relation, part.row)
        if isinstance(part, Absence):
            return f"not {atom}"
        if not part.premises:
            return f"{atom}   {f'{part.rule}  {place_text(part)}' if part.rule else 'of the graph'}"
        if id(part) in self.shown:
            return f"{atom}   as above"
        if level >= self.depth:
            self.hidden += 1
            return f"{atom}   {part.rule} ..."
        return atom

    def reason(self, proof: Proof) -> str:
        """The rule, where it stands, and what it says in words."""
        rule = self.rules[proof.rule]
        words = reason_text(rule, proof, self.names)
        return f"{proof.rule}  {place_text(proof)}" + (f"  {words}" if words else "")


def place_text(proof: Proof) -> str:
    """file:line of the rule that made the step."""
    return f"{proof.place.file}:{proof.place.line}" if proof.place else ""


def reason_text(rule: Rule, proof: Proof, names: Names) -> str:
    """The rule's own words with the values of the head put in; its title where the words need other values."""
    info = names.program.infos[rule.id]
    columns = names.program.relations[rule.head.relation].columns
    values = {
        term.name: str(names.value(number, column.type))
        for term, number, column in zip(rule.head.terms, proof.row, columns, strict=True)
        if isinstance(term, Var)
    }
    wanted = set(re.findall(r"\{(\w+)\}", info.why))
    if not info.why or not wanted <= values.keys():
        return info.title
    filled = re.sub(r"\{(\w+)\}", lambda found: values[found[1]], info.why)
    return f'"{filled.replace(chr(92), "")}"'


def proof_record(proof: Proof, names: Names) -> dict[str, Any]:
    """The proof as one flat list of steps, the asked fact first; premises name facts that are steps of their own."""
    writer = _Writer(names, 0)
    return {
        "fact": names.atom(proof.relation, proof.row),
        "nodes": names.described(proof.relation, proof.row),
        "height": proof.height,
        "steps": [_step(step, names, writer) for step in proof.walk()],
    }


def _step(proof: Proof, names: Names, writer: _Writer) -> dict[str, Any]:
    rule = writer.rules.get(proof.rule)
    record: dict[str, Any] = {"fact": names.atom(proof.relation, proof.row)}
    if rule is None:
        return record | {"rule": None, "premises": []}
    return record | {
        "rule": rule.id,
        "clause": rule.clause,
        "reason": reason_text(rule, proof, names).strip('"'),
        "place": place_text(proof),
        "premises": [_premise(part, names) for part in proof.premises],
    }


def _premise(part: Part, names: Names) -> dict[str, str]:
    if isinstance(part, Condition):
        return {"kind": part.kind, "text": part.text}
    kind = "absent" if isinstance(part, Absence) else "fact"
    return {"kind": kind, "text": names.atom(part.relation, part.row)}
