"""One ordered rule body as the text of one SQL statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from schedulog.scheduler.engines.join_order import Absent, Bind, Fold, Scan, Step, Test
from schedulog.scheduler.engines.symbols import Symbols
from schedulog.scheduler.language.expression import fold
from schedulog.scheduler.language.program import (
    Aggregate,
    Arithmetic,
    Atom,
    Call,
    Compare,
    Const,
    Expr,
    Rule,
    Term,
    Var,
)

Lookup = Callable[[str, bool, tuple[int, ...]], str]
"""`(relation, under not, bound columns)` -> name of the table to read; the place where indexes are asked for."""


@dataclass(frozen=True, slots=True)
class Delta:
    """The scan that reads only the rows between the two parameters of a statement.

    Other scans of the same relation that stand before it in the rule (`older`: their body items) read only the rows
    below: each pair of rows is then met once.
    """

    item: int
    older: frozenset[int] = frozenset()


@dataclass(slots=True)
class Query:
    """What has been written of one SELECT: tables, conditions, and the SQL of each variable."""

    env: dict[str, str]
    tables: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)

    def text(self, columns: str) -> str:
        source = f" FROM {' CROSS JOIN '.join(self.tables)}" if self.tables else ""
        where = f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""
        return f"SELECT {columns}{source}{where}"


class RuleText:
    """Writes the statements of one rule. `symbols` numbers its strings; `lookup` names the tables."""

    def __init__(self, rule: Rule, symbols: Symbols, lookup: Lookup) -> None:
        self.rule = rule
        self.symbols = symbols
        self.lookup = lookup
        self.aliases = 0

    def insert(self, steps: Sequence[Step], delta: Delta | None = None) -> str:
        """Return the INSERT that adds the heads of all matches of the ordered body."""
        self.aliases = 0
        query = Query({})
        self.write(query, steps, delta)
        heads = [self.value(term, query.env) for term in self.rule.head.terms] or ["0"]
        table = self.lookup(self.rule.head.relation, False, ())
        return f'INSERT OR IGNORE INTO "{table}" {query.text(self.row(heads))}'

    def row(self, values: Sequence[str]) -> str:
        """Return what is selected for one match of the body."""
        return ", ".join(values)

    def write(self, query: Query, steps: Sequence[Step], delta: Delta | None) -> None:
        """Add some steps to a query."""
        for step in steps:
            if isinstance(step, Scan):
                self.scan(query, step, delta)
            elif isinstance(step, Absent):
                query.conditions.append(self.absent(step, query.env))
            elif isinstance(step, Bind):
                query.env[step.name] = self.value(step.value, query.env)
            elif isinstance(step, Test):
                query.conditions.append(self.test(step.compare, query.env))
            else:
                self.fold(query, step)

    def alias(self) -> str:
        self.aliases += 1
        return f"a{self.aliases}"

    def scan(self, query: Query, step: Scan, delta: Delta | None) -> None:
        alias, newest = self.alias(), delta is not None and delta.item == step.item
        table = self.lookup(step.atom.relation, False, () if newest else step.bound)
        query.tables.append(f'"{table}" AS {alias}')
        if newest:
            query.conditions.append(f"{alias}.rowid > ?1 AND {alias}.rowid <= ?2")
        elif delta is not None and step.item in delta.older:
            # The unary plus keeps the planner on the index of the bound columns.
            query.conditions.append(f"+{alias}.rowid <= ?1")
        query.conditions += self.agree(query.env, step.atom, alias, "+" if newest else "")

    def agree(self, env: dict[str, str], atom: Atom, alias: str, plus: str = "") -> list[str]:
        """Return the equations between an atom's terms and a table's columns; name the variables first met here."""
        conditions: list[str] = []
        for i, term in enumerate(atom.terms):
            column = f"{alias}.c{i}"
            if isinstance(term, Var) and term.name not in env:
                env[term.name] = column
            else:
                conditions.append(f"{plus}{column} = {self.value(term, env)}")
        return conditions

    def absent(self, step: Absent, env: Mapping[str, str]) -> str:
        table = self.lookup(step.atom.relation, True, step.bound)
        if len(step.bound) == 1:
            # No column is ever NULL, and NOT IN asks the index itself where NOT EXISTS runs a subquery. With more
            # columns NOT IN reads the whole table.
            column = step.bound[0]
            return f'{self.value(step.atom.terms[column], env)} NOT IN (SELECT c{column} FROM "{table}")'
        alias = self.alias()
        agree = self.agree(dict(env), step.atom, alias)
        where = f" WHERE {' AND '.join(agree)}" if agree else ""
        return f'NOT EXISTS (SELECT 1 FROM "{table}" AS {alias}{where})'

    def test(self, compare: Compare, env: Mapping[str, str]) -> str:
        op = "<>" if compare.op == "!=" else compare.op
        return f"{self.value(compare.left, env)} {op} {self.value(compare.right, env)}"

    def fold(self, query: Query, step: Fold) -> None:
        value = self.aggregate(step.aggregate, step.steps, query.env)
        name = step.aggregate.result.name
        if not step.binds:
            query.conditions.append(f"{query.env[name]} = {value}")
            return
        query.env[name] = value
        if step.aggregate.op in ("min", "max"):
            query.conditions.append(f"{value} IS NOT NULL")

    def aggregate(self, part: Aggregate, steps: Sequence[Step], env: Mapping[str, str]) -> str:
        """Return the aggregate as a scalar subquery over its distinct tuples."""
        inner = Query(dict(env))
        self.write(inner, steps, None)
        terms = [self.value(term, inner.env) for term in part.terms] or ["1"]
        if part.op in ("min", "max"):
            return f"({inner.text(f'{part.op}({terms[0]})')})"
        if len(terms) == 1:
            result = f"{part.op}(DISTINCT {terms[0]})"
            return f"({inner.text(result if part.op == 'count' else f'coalesce({result}, 0)')})"
        named = ", ".join(f"{term} AS t{i}" for i, term in enumerate(terms))
        result = "count(*)" if part.op == "count" else "coalesce(sum(t0), 0)"
        return f"(SELECT {result} FROM (SELECT DISTINCT {named}{inner.text('')[len('SELECT ') :]}))"

    def value(self, expr: Expr, env: Mapping[str, str]) -> str:
        """Return an expression as SQL."""
        if isinstance(expr, Var | Const):
            return self.term(expr, env)
        return fold(expr, lambda part, values: self.part(part, values, env))

    def term(self, term: Term, env: Mapping[str, str]) -> str:
        if isinstance(term, Var):
            return env[term.name]
        number = term.value if isinstance(term.value, int) else self.symbols.intern(term.value)
        return str(number) if number != -(2**63) else "(-9223372036854775807 - 1)"

    def part(self, part: Expr, values: Sequence[str], env: Mapping[str, str]) -> str:
        if isinstance(part, Call):
            return f"f_{part.function}({', '.join(values)})"
        if isinstance(part, Arithmetic):
            return _arithmetic(part, values[0], values[1])
        return self.term(part, env)


def _arithmetic(part: Arithmetic, left: str, right: str) -> str:
    """Return exact integer arithmetic: SQLite's own where its result can be checked, else a function that raises."""
    checked = f"{_CHECKED[part.op]}({left}, {right})"
    if part.op in "+-*" and _is_plain(left) and _is_plain(right):
        # SQLite turns a result beyond 64 bits into a float.
        value = f"({left} {part.op} {right})"
        return f"(CASE WHEN typeof{value} = 'integer' THEN {value} ELSE {checked} END)"
    if part.op in ("//", "%") and isinstance(part.right, Const) and _is_positive(right) and _is_plain(left):
        # SQLite rounds towards 0, rules round down.
        if part.op == "//":
            return f"({left} / {right} - ({left} % {right} < 0))"
        return f"({left} % {right} + ({left} % {right} < 0) * {right})"
    return checked


_CHECKED = {"+": "sl_add", "-": "sl_subtract", "*": "sl_multiply", "//": "sl_divide", "%": "sl_modulo"}


def _is_plain(sql: str) -> bool:
    """Say whether SQL is one column or number, cheap to write twice."""
    return "(" not in sql


def _is_positive(sql: str) -> bool:
    return sql.isdigit() and sql != "0"
