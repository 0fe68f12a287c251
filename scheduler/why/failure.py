"""One condition that fails: its text with the values it met, what stands against it, and what would mend it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from schedulog.scheduler.engines.join_order import Bind, Fold, order_rule
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.language.expression import is_simple
from schedulog.scheduler.language.program import (
    Aggregate,
    Atom,
    BodyItem,
    Compare,
    Const,
    Expr,
    Literal_,
    Rule,
    Term,
    Var,
)
from schedulog.scheduler.language.rule_text import format_item
from schedulog.scheduler.why.filled import filled_expr, filled_text, shown_values
from schedulog.scheduler.why.match import Matcher, Rows, Values
from schedulog.scheduler.why.names import Names
from schedulog.scheduler.why.proof import Absence, Condition, Proof

Pattern = tuple[int | None, ...]
"""A row; None stands for any value."""

_SHOWN: Final = 3
"""So many facts are shown of those that stand against a condition."""
_DEAR: Final = 2
"""What it costs to mend a condition that no single fact mends."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """A fact that stands against a `not`: the clause that derives it ("" for a fact of the graph) and from what."""

    fact: str
    rule: str
    place: str
    premises: tuple[str, ...]

    def __str__(self) -> str:
        if not self.rule:
            return f"{self.fact}   of the graph"
        return f"{self.fact}   {self.rule}  {self.place}: {', '.join(self.premises) or 'stated'}"


@dataclass(frozen=True, slots=True)
class Failure:
    """Condition `number` (from 1) of a clause, which fails; `text` is as written, `filled` has the values it met.

    `words` are the rule's own for this refusal. `untried`: it reads a value that only a failing condition supplies.
    `blockers` are facts that stand against a `not`, of `blocked` in all. `changes` are the facts that would have to
    hold or not to hold, empty where that is not known.
    """

    number: int
    text: str
    filled: str
    reason: str
    words: str = ""
    untried: bool = False
    blockers: tuple[Blocker, ...] = ()
    blocked: int = 0
    changes: tuple[str, ...] = ()

    @property
    def cost(self) -> int:
        """How many facts would have to change."""
        return len(self.changes) or max(self.blocked, _DEAR)

    def lines(self, rule: str) -> Iterator[str]:
        """The failure as text."""
        kind = "untried" if self.untried else "fails"
        shown = self.text if self.text == self.filled else f"{self.text}   here {self.filled}"
        yield f"{kind} {self.number}  {shown}   ({rule}:{self.number})"
        if self.words:
            yield f'   "{self.words}"'
        if self.reason:
            yield f"   {self.reason}"
        yield from (f"   blocked by {blocker}" for blocker in self.blockers)
        if self.blocked > len(self.blockers):
            yield f"   and by {self.blocked - len(self.blockers)} more"


@dataclass(frozen=True, slots=True)
class Repair:
    """A change that makes the fact hold, the rest being as it is: of a rule (`kind` "drop") or of facts ("facts")."""

    kind: str
    text: str
    size: int

    def __str__(self) -> str:
        return self.text


def smallest_repairs(found: Iterable[tuple[Rule, tuple[Failure, ...], bool]]) -> tuple[Repair, ...]:
    """The repairs of least size; the flag says whether the clause may do without the failing conditions."""
    repairs: dict[Repair, None] = {}
    for rule, way, droppable in found:
        if droppable:
            numbers = " and ".join(str(failure.number) for failure in way)
            text = f"drop condition{'s' * (len(way) > 1)} {numbers} of {rule.name}"
            repairs[Repair("drop", text, len(way))] = None
        if all(failure.changes for failure in way):
            changes = tuple(dict.fromkeys(change for failure in way for change in failure.changes))
            repairs[Repair("facts", " and ".join(changes), len(changes))] = None
    least = min((repair.size for repair in repairs), default=0)
    return tuple(repair for repair in repairs if repair.size == least)


class Failures:
    """Describes failing conditions of the rules of one model."""

    def __init__(self, model: Model, rows: Rows, names: Names) -> None:
        self.model = model
        self.rows = rows
        self.names = names
        self.program = model.program
        self.matcher = Matcher(model.program, model.symbols, model.functions, rows, rows)
        self.derived = {rule.head.relation for rule in model.program.rules}

    def of(self, rule: Rule, index: int, values: Values, untried: bool) -> Failure:
        """The condition at `index` of a clause, which fails for these values, or cannot be tried with them."""
        item = rule.body[index]
        filled = self.filled(rule, item, values)
        words = self.words(rule, index + 1, values)
        made = Failure(index + 1, format_item(item), filled, "", words, untried)
        if untried:
            return _with(made, reason="reads a value that a failing condition would supply")
        if isinstance(item, Compare):
            return _with(made, reason=self.sides(rule, item, values))
        if isinstance(item, Aggregate):
            return _with(made, reason=self.result(rule, item, values))
        return self.denied(made, item.atom, values) if item.negated else self.missing(made, item.atom, values)

    def row(self, atom: Atom, values: Values) -> Pattern:
        return tuple(
            values.get(t.name) if isinstance(t, Var) else self.matcher.constant(t) for t in atom.terms
        )

    def denied(self, made: Failure, atom: Atom, values: Values) -> Failure:
        held = self.holding(atom.relation, self.row(atom, values))
        changes = tuple(
            f"{'drop fact' if atom.relation not in self.derived else 'without'} {self.names.atom(atom.relation, row)}"
            for row in held
        )
        blockers = tuple(self.blocker(atom.relation, row) for row in held[:_SHOWN])
        return _with(
            made, blockers=blockers, blocked=len(held), changes=changes if len(held) <= _SHOWN else ()
        )

    def missing(self, made: Failure, atom: Atom, values: Values) -> Failure:
        relation, row = atom.relation, self.row(atom, values)
        fact, derived = self.names.atom(relation, row), relation in self.derived
        reason = (
            f"no rule derives it: schedulog whynot ... '{fact}'" if derived else "the graph has no such fact"
        )
        change = (f"add fact {fact}",) if None not in row else ()
        other = self.other(relation, row)
        if other:
            reason, change = f"{other} holds", (f"have {fact} for {other}",) if change else ()
        return _with(made, reason=reason, changes=change)

    def other(self, relation: str, row: Pattern) -> str:
        """The fact that holds where the leading columns determine the rest, "" for none."""
        key = self.program.relations[relation].key
        if key is None or None in row[:key]:
            return ""
        held = self.holding(relation, (*row[:key], *(None for _ in row[key:])))
        return self.names.atom(relation, held[0]) if held else ""

    def holding(self, relation: str, row: Pattern) -> Sequence[tuple[int, ...]]:
        """The facts that a pattern fits."""
        known = {i: number for i, number in enumerate(row) if number is not None}
        return self.rows.matching(relation, tuple(known), tuple(known.values()))

    def blocker(self, relation: str, row: tuple[int, ...]) -> Blocker:
        proof = self.model.why(relation, row)
        place = f"{proof.place.file}:{proof.place.line}" if proof.place else ""
        premises = tuple(self.premise(part) for part in proof.premises)
        return Blocker(self.names.atom(relation, row), proof.rule, place, premises)

    def premise(self, part: Proof | Absence | Condition) -> str:
        if isinstance(part, Condition):
            return part.text
        return f"{'not ' * isinstance(part, Absence)}{self.names.atom(part.relation, part.row)}"

    def words(self, rule: Rule, number: int, values: Values) -> str:
        """The rule's own words for the failing of this condition, "" where they need other values."""
        text = dict(self.program.infos[rule.id].refusals).get(number, "")
        shown = {
            name: str(getattr(e, "name", getattr(e, "value", "")))
            for name, e in self.shown(rule, values).items()
        }
        if not set(re.findall(r"\{(\w+)\}", text)) <= shown.keys():
            return ""
        return re.sub(r"\{(\w+)\}", lambda found: shown[found[1]], text)

    def sides(self, rule: Rule, item: Compare, values: Values) -> str:
        """What the sides of a comparison are, where they are computed."""
        parts: list[str] = []
        for side in (item.left, item.right):
            if not is_simple(side):
                text = format_item(
                    Compare("=", filled_expr(side, self.shown(rule, values)), Const(0), item.place)
                )
                parts.append(f"{text.removesuffix(' = 0')} is {self.computed(side, values)}")
        return ", ".join(parts)

    def computed(self, side: Expr, values: Values) -> str:
        found = next(self.matcher.advance(Bind("_side", side, 0), values), None)
        return "not defined" if found is None else str(found["_side"])

    def result(self, rule: Rule, item: Aggregate, values: Values) -> str:
        """What an aggregate amounts to."""
        alone = Rule(rule.id, rule.clause, rule.head, (item,), rule.place, rule.text)
        step = order_rule(alone, self.program.relations, known=values)[0]
        assert isinstance(step, Fold)
        found = self.matcher.aggregate(item, step.steps, values)
        return "nothing is between the braces" if found is None else f"it is {found}"

    def filled(self, rule: Rule, item: BodyItem, values: Values) -> str:
        """A condition with the values it met, nodes by their short names; `_` for what is not known of an atom."""
        if isinstance(item, Literal_):
            row = self.row(item.atom, values)
            return ("not " if item.negated else "") + self.names.atom(item.atom.relation, row)
        return filled_text(item, self.shown(rule, values))

    def shown(self, rule: Rule, values: Values) -> dict[str, Term]:
        """The values as terms; a node's short name is written like a variable, without quotes."""
        return shown_values(self.program, self.names.symbols, rule, values)


def _with(made: Failure, *, reason: str = "", blockers: tuple[Blocker, ...] = (), blocked: int = 0,
          changes: tuple[str, ...] = ()) -> Failure:  # fmt: skip
    return Failure(
        made.number, made.text, made.filled, reason, made.words, made.untried, blockers, blocked, changes
    )
