"""Why the facts of a relation hold: how many each clause gives; and which conditions alone keep further ones out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from schedulog.scheduler.decisive import Probes
from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.language.program import Literal_, Program, Rule
from schedulog.scheduler.language.rule_text import format_item
from schedulog.scheduler.schedule import Decisions
from schedulog.scheduler.why.answer import Answer
from schedulog.scheduler.why.names import Names
from schedulog.scheduler.why.proof import Proof
from schedulog.scheduler.why.question import names
from schedulog.scheduler.why.subject import OfRelation
from schedulog.scheduler.why.support import support_of

_SHOWN = 12
"""So many facts are shown as text."""
_NEAR = 5
"""So many facts that nearly hold are kept for each condition."""


@dataclass(frozen=True, slots=True)
class ClauseShare:
    """How many facts of a relation a clause gives, and how many of them no other clause does."""

    rule: str
    place: str
    title: str
    facts: int
    alone: int


@dataclass(frozen=True, slots=True, eq=False)
class SetAnswer(Answer):
    """The facts of a relation, by clause; `given` are facts of the graph. `bytes` is the size of the nodes that they speak of
    first, each once."""

    relation: str
    facts: tuple[str, ...]
    given: int
    bytes: int
    clauses: tuple[ClauseShare, ...]
    proofs: tuple[Proof, ...] = ()

    def lines(self) -> Iterator[str]:
        count = len(self.facts)
        size = f", about {self.bytes} bytes of values" if self.bytes else ""
        yield f"{self.relation}: {count} fact{'s' * (count != 1)}{size}"
        for share in self.clauses:
            yield f"   {share.facts:>6}  {share.rule}  {share.place}  {share.title}   ({share.alone} by it alone)"
        if self.given:
            yield f"   {self.given:>6}  of the graph"
        more = f" and {count - _SHOWN} more" if count > _SHOWN else ""
        if count:
            yield f"{', '.join(self.facts[:_SHOWN])}{more}"

    def record(self) -> dict[str, Any]:
        shares = [
            {"rule": s.rule, "place": s.place, "title": s.title, "facts": s.facts, "alone": s.alone}
            for s in self.clauses
        ]
        return {"relation": self.relation, "facts": list(self.facts), "given": self.given, "bytes": self.bytes,
                "rules": shares}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeptOut:
    """A condition (from 1) that alone keeps a clause from giving `count` further facts, some of which are `near`."""

    rule: str
    place: str
    condition: int
    text: str
    count: int
    near: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SetMissAnswer(Answer):
    """Which single conditions keep further facts out of a relation, those first that keep out most. `read` are the derived
    relations that its clauses read."""

    relation: str
    facts: int
    conditions: tuple[KeptOut, ...]
    read: tuple[str, ...]
    proofs: tuple[Proof, ...] = ()

    def lines(self) -> Iterator[str]:
        yield f"{self.relation}: {self.facts} facts. Conditions that alone keep further ones out:"
        for kept in self.conditions:
            more = ", ..." if kept.count > len(kept.near) else ""
            yield f"   {kept.count:>6}  {kept.rule}  {kept.place}  {kept.condition}: {kept.text}"
            yield f"           {', '.join(kept.near)}{more}"
        if not self.conditions:
            yield "   none"
        if self.read:
            yield f"The facts of {', '.join(self.read)} are what else it may be missing"

    def record(self) -> dict[str, Any]:
        conditions = [
            {"rule": k.rule, "place": k.place, "condition": k.condition, "text": k.text, "count": k.count,
             "near": list(k.near)}
            for k in self.conditions
        ]  # fmt: skip
        return {"relation": self.relation, "facts": self.facts, "conditions": conditions,
                "read": list(self.read)}  # fmt: skip


def explain_set(wanted: OfRelation, decisions: Decisions) -> SetAnswer:
    """Which clauses give the facts of a relation."""
    model, writer = decisions.model, names(decisions)
    relation, rows = wanted.relation, model.rows(wanted.relation)
    found = support_of(model, relation)
    shares = Counter(name for clauses in found.values() for name in clauses)
    alone = Counter(clauses[0] for clauses in found.values() if len(clauses) == 1)
    rules = {rule.name: rule for rule in model.program.rules}
    clauses = tuple(
        ClauseShare(
            name,
            f"{rules[name].place.file}:{rules[name].place.line}",
            model.program.infos[rules[name].id].title,
            count,
            alone[name],
        )
        for name, count in sorted(shares.items(), key=lambda share: (-share[1], share[0]))
    )
    facts = tuple(writer.atom(relation, row) for row in rows)
    return SetAnswer(
        relation, facts, sum(row not in found for row in rows), _bytes(relation, rows, decisions), clauses
    )


def _bytes(relation: str, rows: Sequence[Row], decisions: Decisions) -> int:
    columns = decisions.model.program.relations[relation].columns
    first = next((i for i, column in enumerate(columns) if column.type == "node"), None)
    nodes = decisions.graph.nodes
    return 0 if first is None else sum(nodes[n].nbytes for n in {row[first] for row in rows})


def explain_set_misses(wanted: OfRelation, decisions: Decisions) -> SetMissAnswer:
    """Which single conditions keep further facts out of a relation, where the others give all values."""
    model, writer, relation = decisions.model, names(decisions), wanted.relation
    rules = [rule for rule in model.program.rules if rule.head.relation == relation]
    probes = Probes(model.program, rules)
    asked = [probe for probe in probes.probes if not probe.widened]
    found = [
        KeptOut(
            probe.rule.name,
            f"{probe.rule.place.file}:{probe.rule.place.line}",
            probe.condition,
            format_item(probe.rule.body[probe.condition - 1]),
            len(rows),
            _near(relation, rows, writer),
        )
        for probe, rows in probes.kept_out(model, asked)
        if rows and () not in rows
    ]
    ranked = sorted(found, key=lambda kept: (-kept.count, kept.rule, kept.condition))
    return SetMissAnswer(relation, len(model.rows(relation)), tuple(ranked), _read(rules, model.program))


def _read(rules: Sequence[Rule], program: Program) -> tuple[str, ...]:
    """The derived relations that clauses read."""
    derived = {rule.head.relation for rule in program.rules}
    read = {
        item.atom.relation
        for rule in rules
        for item in rule.body
        if isinstance(item, Literal_) and not item.negated
    }
    return tuple(sorted((read & derived) - {rule.head.relation for rule in rules}))


def _near(relation: str, rows: Collection[Row], writer: Names) -> tuple[str, ...]:
    return tuple(writer.atom(relation, row) for row in sorted(rows)[:_NEAR])
