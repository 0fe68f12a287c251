"""Does a claim of a rule test hold, and if not, what holds instead?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from difflib import unified_diff
from functools import cached_property
from typing import Final

from schedulog.errors import SchedulogError
from schedulog.facts.ops import Op
from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.engines.symbols import quote
from schedulog.scheduler.kernels import Kernel, Schedule
from schedulog.scheduler.rule_test import (
    BlockedAt,
    By,
    BytesAre,
    Case,
    Claim,
    Computes,
    CountIs,
    Fails,
    Holds,
    KernelCount,
    KernelsAre,
    Order,
    Pattern,
    SetIs,
    Snapshot,
)
from schedulog.scheduler.schedule import Decisions, Edit, Scheduler
from schedulog.scheduler.why.blocked import Blocks
from schedulog.scheduler.why.match import Matcher, Rows

Execute = Callable[[Schedule], Mapping[str, str]]
"""Runs a schedule on every device present: per device what differs from the unscheduled reference, "" for nothing."""

_MOST: Final = 12
"""So many rows are shown of what holds instead."""
_SILENT: Final = frozenset({Op.VIEW, Op.CONST, Op.BIND})


class Outcome:
    """What one scheduler makes of a case. Everything is computed when it is first asked for, and once."""

    def __init__(
        self,
        case: Case,
        scheduler: Scheduler,
        edit: Edit,
        execute: Execute | None = None,
        accepted: str | None = None,
    ) -> None:
        self.case = case
        self.accepted = accepted
        self.scheduler = scheduler
        self.edit = edit
        self.execute = execute
        position = case.graph.position
        based = [(name, n.base) for name, n in case.names.items() if n.base in position]
        self.shown = {position[base]: name for name, base in reversed(based)}

    @cached_property
    def decided(self) -> Decisions | SchedulogError:
        try:
            return self.scheduler.decide(self.case.graph, self.case.options, self.edit)
        except SchedulogError as error:
            return error

    @cached_property
    def scheduled(self) -> Schedule | SchedulogError:
        if isinstance(self.decided, SchedulogError):
            return self.decided
        try:
            return self.scheduler.schedule(self.decided)
        except SchedulogError as error:
            return error

    @property
    def model(self) -> Model:
        """The model. Raises the error that deciding ended with."""
        if isinstance(self.decided, SchedulogError):
            raise self.decided
        return self.decided.model

    @property
    def schedule(self) -> Schedule:
        """The schedule. Raises the error that deciding or scheduling ended with."""
        if isinstance(self.scheduled, SchedulogError):
            raise self.scheduled
        return self.scheduled

    def problem(self, claim: Claim) -> str:
        """What is wrong with a claim, "" if it holds."""
        try:
            return self.check(claim)
        except SchedulogError as error:
            return str(error)

    def check(self, claim: Claim) -> str:
        match claim:
            case Holds():
                return self.holds(claim)
            case By():
                return self.by(claim)
            case SetIs():
                return self.set_is(claim)
            case CountIs():
                number = len(self.fitting(claim.fact))
                return "" if number == claim.number else f"there are {number}: {self.rows(claim.fact)}"
            case KernelCount():
                number = len(self.schedule.kernels)
                return "" if number == claim.number else f"there are {number}: {self.kernels()}"
            case KernelsAre():
                return self.kernels_are(claim)
            case BlockedAt():
                return self.blocked(claim)
            case BytesAre():
                return self.bytes_are(claim)
            case Order():
                return self.order(claim)
            case Snapshot():
                return self.compared_with(self.snapshot(claim))
            case Fails():
                return self.fails(claim)
            case Computes():
                return self.computes()

    def holds(self, claim: Holds) -> str:
        found = self.fitting(claim.fact)
        if bool(found) == claim.wanted:
            return ""
        if claim.wanted:
            return f"it does not hold; {claim.fact.relation} is {self.rows_of(claim.fact.relation)}{self.near(claim.fact)}"
        proof = self.model.why(claim.fact.relation, found[0])
        return "it holds:\n" + proof.render(self.spell)

    def by(self, claim: By) -> str:
        found = self.fitting(claim.fact)
        for row in found:
            clauses = self.rules(claim.fact.relation, row)
            rules = clauses if "#" in claim.rule else {name.rpartition("#")[0] for name in clauses}
            if rules != {claim.rule}:
                fact = self.spell(claim.fact.relation, row)
                return f"{fact} is derived by {', '.join(sorted(clauses)) or 'no rule'}"
        return "" if found else f"{claim.fact.text} does not hold"

    def near(self, fact: Pattern) -> str:
        """The rules that come nearest to deriving a fact, and the conditions in which they fail."""
        return "".join(f"\n{found}" for found in self.blocks.nearest(fact.relation, self.numbers(fact)))

    def blocked(self, claim: BlockedAt) -> str:
        if self.fitting(claim.fact):
            return self.holds(Holds(claim.fact, wanted=False))
        row = self.numbers(claim.fact)
        clauses = [r for r in self.matcher.rules(claim.fact.relation) if claim.rule in (r.id, r.name)]
        if any(
            self.blocks.blocks(r, claim.condition, row) for r in clauses if claim.condition <= len(r.body)
        ):
            return ""
        return f"it does not hold for another reason{self.near(claim.fact) or ': no rule is near'}"

    @cached_property
    def blocks(self) -> Blocks:
        return Blocks(self.model)

    def rules(self, relation: str, row: Row) -> set[str]:
        """The clauses that derive a row of the model."""
        return {
            rule.name
            for rule in self.matcher.rules(relation)
            if any(True for _ in self.matcher.ways(rule, row))
        }

    @cached_property
    def matcher(self) -> Matcher:
        model, rows = self.model, Rows(self.model.rows)
        return Matcher(model.program, model.symbols, model.functions, rows, rows)

    def set_is(self, claim: SetIs) -> str:
        rows = self.model.rows(claim.relation)
        unwanted = [row for row in rows if not any(self.fits(pattern, row) for pattern in claim.rows)]
        missing = [pattern.text for pattern in claim.rows if not self.fitting(pattern)]
        if not unwanted and not missing:
            return ""
        parts = [f"it is {self.rows_of(claim.relation)}"]
        parts += [f"too much: {self.list(claim.relation, unwanted)}"] if unwanted else []
        parts += [f"missing: {{{', '.join(missing)}}}"] if missing else []
        return "; ".join(parts)

    def kernels_are(self, claim: KernelsAre) -> str:
        named = self.shown.keys() | {n for members in claim.kernels for n in members}
        found = [self.members(kernel, named) for kernel in self.schedule.kernels]
        same = sorted(map(sorted, found)) == sorted(map(sorted, claim.kernels))
        return "" if same else f"they are {self.kernels()}"

    def kernels(self) -> str:
        """The kernels in running order, as a test writes them."""
        found = [sorted(map(self.name, self.members(k, self.shown.keys()))) for k in self.schedule.kernels]
        return "{" + ", ".join("{" + ", ".join(names) + "}" for names in found) + "}"

    def members(self, kernel: Kernel, named: AbstractSet[int]) -> frozenset[int]:
        """What a kernel computes, as far as it is `named`; a kernel that only keeps memory aside has that."""
        position = self.case.graph.position
        members = kernel.members or (kernel.output,)
        return frozenset(position[n] for n in members if n.op not in _SILENT and position[n] in named)

    def bytes_are(self, claim: BytesAre) -> str:
        number = sum(kernel.bytes_read + kernel.bytes_written for kernel in self.schedule.kernels)
        right = number == claim.number if claim.exact else number <= claim.number
        return "" if right else f"there are {number}: {self.kernels()}"

    def snapshot(self, claim: Snapshot) -> str:
        """What a snapshot says: a line for each relation, without its views, then the kernels and their bytes."""
        columns = self.model.program.relations
        lines = []
        for name in claim.relations:
            views = {i for i, column in enumerate(columns[name].columns) if column.type == "view"}
            rows = {tuple(None if i in views else n for i, n in enumerate(r)) for r in self.model.rows(name)}
            shown = [self.tuple(name, row) for row in sorted(rows, key=lambda row: [n or 0 for n in row])]
            lines.append(f"{name} {{{', '.join(shown)}}}")
        number = sum(kernel.bytes_read + kernel.bytes_written for kernel in self.schedule.kernels)
        return "\n".join([*lines, f"kernels {self.kernels()}", f"bytes {number}"])

    def shown_snapshot(self, claim: Snapshot) -> str | None:
        """The snapshot, None where there is no schedule."""
        try:
            return self.snapshot(claim)
        except SchedulogError:
            return None

    def compared_with(self, found: str) -> str:
        """How a snapshot differs from the accepted one."""
        if self.accepted is None:
            return "no baseline, accept it with --accept:\n" + found
        if found == self.accepted:
            return ""
        changed = unified_diff(
            self.accepted.splitlines(), found.splitlines(), "accepted", "now", lineterm="", n=99
        )
        return "\n".join(["it changed; --accept takes it over", *list(changed)[3:]])

    def order(self, claim: Order) -> str:
        place = {self.case.graph.position[k.output]: k.index for k in self.schedule.kernels}
        for n in (claim.first, claim.second):
            if n not in place:
                return f"{self.name(n)} is no kernel: {self.kernels()}"
        return "" if place[claim.first] < place[claim.second] else f"they run as {self.kernels()}"

    def fails(self, claim: Fails) -> str:
        if isinstance(self.scheduled, SchedulogError):
            return "" if self.scheduled.code == claim.code else f"the error is {self.scheduled}"
        return f"no error: {self.kernels()}"

    def computes(self) -> str:
        assert self.execute is not None
        wrong = {device: text for device, text in self.execute(self.schedule).items() if text}
        return "; ".join(f"on {device}: {text}" for device, text in sorted(wrong.items()))

    def fitting(self, pattern: Pattern) -> list[Row]:
        """The rows of the model that a pattern fits."""
        return [row for row in self.model.rows(pattern.relation) if self.fits(pattern, row)]

    def numbers(self, pattern: Pattern) -> tuple[int | None, ...]:
        """The terms of a pattern as numbers; a string that nothing else uses has one of its own."""
        symbols = self.model.symbols
        return tuple(symbols.intern(term) if isinstance(term, str) else term for term in pattern.terms)

    def fits(self, pattern: Pattern, row: Row) -> bool:
        wanted = (self.model.symbols.find(term) if isinstance(term, str) else term for term in pattern.terms)
        return all(t is None or n == w for t, n, w in zip(pattern.terms, row, wanted, strict=True))

    def rows(self, pattern: Pattern) -> str:
        return self.list(pattern.relation, self.fitting(pattern))

    def rows_of(self, relation: str) -> str:
        return self.list(relation, self.model.rows(relation))

    def list(self, relation: str, rows: Sequence[Row]) -> str:
        """Rows as a test writes them."""
        shown = [self.tuple(relation, row) for row in rows[:_MOST]]
        rest = [f"and {len(rows) - _MOST} more"] if len(rows) > _MOST else []
        return "{" + ", ".join(shown + rest) + "}"

    def tuple(self, relation: str, row: Sequence[int | None]) -> str:
        inner = ", ".join(self.values(relation, row))
        return inner if len(row) == 1 else f"({inner})"

    def spell(self, relation: str, row: Sequence[int | None]) -> str:
        """A row as rules write it, with the graph's names."""
        return f"{relation}({', '.join(self.values(relation, row))})" if row else relation

    def values(self, relation: str, row: Sequence[int | None]) -> Iterable[str]:
        for number, column in zip(row, self.model.program.relations[relation].columns, strict=True):
            if number is None:
                yield "_"
            elif column.type == "node":
                yield self.name(number)
            elif column.type == "view":
                yield f"view{number}"
            else:
                yield quote(self.model.symbols.value(number, column.type))

    def name(self, position: int) -> str:
        """The first name of a node in the graph's text, else its id."""
        return self.shown.get(position, f"n{position}")


def same_decisions(one: Outcome, other: Outcome, relations: Collection[str]) -> str:
    """The first relation whose rows differ between two outcomes, "" for none.

    Views are not compared: their numbers depend on which was met first.
    """
    for relation in sorted(relations):
        if _plain(one, relation) != _plain(other, relation):
            return f"{relation} is {one.rows_of(relation)}, and shuffled {other.rows_of(relation)}"
    return ""


def _plain(outcome: Outcome, relation: str) -> set[tuple[str, ...]]:
    columns = outcome.model.program.relations[relation].columns
    kept = [i for i, column in enumerate(columns) if column.type != "view"]
    rows = (tuple(outcome.values(relation, row)) for row in outcome.model.rows(relation))
    return {tuple(row[i] for i in kept) for row in rows}
