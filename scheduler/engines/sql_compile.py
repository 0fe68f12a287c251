"""A program as SQL: tables, and per sub-component the statements of a semi-naive evaluation.

Semi-naive: Bancilhon and Ramakrishnan, SIGMOD 1986. A recursive relation's table keeps the order of insertion, so the
rows of the last round are a range of rowids and no row is ever copied to a delta table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.engines.join_order import Scan, Step, order_rule
from schedulog.scheduler.engines.sql_tables import Table
from schedulog.scheduler.engines.sql_text import Delta, Lookup, RuleText
from schedulog.scheduler.engines.strata import Strata, SubComponent, stratify
from schedulog.scheduler.engines.symbols import Symbols
from schedulog.scheduler.language.program import Const, Literal_, Program, Rule

Writer = Callable[[Rule, Symbols, Lookup], RuleText]
"""Makes what writes one statement of a rule."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One INSERT of one rule, its body in the order of `steps`.

    `needs`: relations that must have rows; `delta`: the relation whose new rows the first step reads.
    """

    sql: str
    head: str
    needs: tuple[str, ...]
    delta: str
    rule: Rule
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class SubCode:
    """A sub-component's statements: `entry` once, `steps` once a round; `facts` are rows stated in the text."""

    relations: tuple[str, ...]
    facts: tuple[tuple[str, tuple[Row, ...]], ...]
    entry: tuple[Statement, ...]
    steps: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class SqlCode:
    """A whole program as SQL. `base_facts`: rows that the text states for relations no rule derives."""

    tables: Mapping[str, Table]
    snapshots: Mapping[str, Table]
    subs: tuple[SubCode, ...]
    base_facts: Mapping[str, tuple[Row, ...]]


class SqlCompiler:
    """Compiles one program; `code` is the result, written by `text`."""

    def __init__(self, program: Program, strata: Strata, symbols: Symbols, text: Writer = RuleText) -> None:
        self.program = program
        self.symbols = symbols
        self.text = text
        derived = {name for sub in strata.subs for name in sub.relations}
        growing = {name for sub in strata.subs if sub.recursive for name in sub.relations}
        negated = {name for component in strata.components for name in component.negated}
        self.tables = {
            name: Table(f"p_{name}", max(1, relation.arity), name in growing, name not in derived)
            for name, relation in sorted(program.relations.items())
        }
        self.snapshots = {
            name: Table(f"n_{name}", self.tables[name].width, name in growing, False)
            for name in sorted(negated)
        }
        self.code = SqlCode(
            self.tables,
            self.snapshots,
            tuple(self.sub(sub) for sub in strata.subs),
            rows_of(
                (rule for rule in program.rules if not rule.body and rule.head.relation not in derived),
                symbols,
            ),
        )

    def sub(self, sub: SubComponent) -> SubCode:
        """Compile one sub-component."""
        entry: list[Statement] = []
        steps: list[Statement] = []
        for rule in sub.rules:
            recursive = _recursive_items(rule, sub)
            if not recursive:
                entry.append(self.statement(rule, sub, order_rule(rule, self.program.relations), None))
            for i, item in enumerate(recursive):
                order = order_rule(rule, self.program.relations, first=item)
                relation = _relation(rule, item)
                older = frozenset(other for other in recursive[:i] if _relation(rule, other) == relation)
                steps.append(self.statement(rule, sub, order, Delta(item, older)))
        facts = rows_of(sub.facts, self.symbols)
        return SubCode(sub.relations, tuple(sorted(facts.items())), tuple(entry), tuple(steps))

    def statement(
        self, rule: Rule, sub: SubComponent, steps: Sequence[Step], delta: Delta | None
    ) -> Statement:
        """Compile one ordered version of a rule."""

        def lookup(relation: str, negated: bool, bound: tuple[int, ...]) -> str:
            snapshot = negated and relation in sub.negated
            table = (self.snapshots if snapshot else self.tables)[relation]
            table.lookups.add(frozenset(bound))
            return table.name

        return Statement(
            sql=self.text(rule, self.symbols, lookup).insert(steps, delta),
            head=rule.head.relation,
            needs=tuple(sorted({step.atom.relation for step in steps if isinstance(step, Scan)})),
            delta=_relation(rule, delta.item) if delta else "",
            rule=rule,
            steps=tuple(steps),
        )


def compile_sql(program: Program, symbols: Symbols) -> tuple[Strata, SqlCode]:
    """Compile a checked program. Raises RuleError SL110 for a variable that nothing binds."""
    strata = stratify(program)
    return strata, SqlCompiler(program, strata, symbols).code


def _recursive_items(rule: Rule, sub: SubComponent) -> list[int]:
    return [
        i
        for i, item in enumerate(rule.body)
        if isinstance(item, Literal_) and not item.negated and item.atom.relation in sub.relations
    ]


def _relation(rule: Rule, item: int) -> str:
    literal = rule.body[item]
    assert isinstance(literal, Literal_)
    return literal.atom.relation


def rows_of(facts: Iterable[Rule], symbols: Symbols) -> dict[str, tuple[Row, ...]]:
    """Return the rows that facts state, by relation; a relation without columns has the row (0,)."""
    found: dict[str, list[Row]] = {}
    for rule in facts:
        values = [term.value for term in rule.head.terms if isinstance(term, Const)]
        row = tuple(value if isinstance(value, int) else symbols.intern(value) for value in values)
        found.setdefault(rule.head.relation, []).append(row or (0,))
    return {relation: tuple(sorted(set(rows))) for relation, rows in found.items()}
