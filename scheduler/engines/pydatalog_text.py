"""The rules of one relation as a pyDatalog program.

pyDatalog gives no answers, or endless ones, for much that it accepts. Written here is what it is known to get right:
every literal after those that bind its variables, each function result in a variable of its own, every `_` a fresh
variable, nothing about relations without rows, aggregates only in the head of a rule of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.engines.functions import ARITHMETIC
from schedulog.scheduler.engines.join_order import Absent, Bind, Fold, Scan, Step, Test, order_rule
from schedulog.scheduler.engines.symbols import Symbols
from schedulog.scheduler.language.expression import fold, holds
from schedulog.scheduler.language.program import (
    Arithmetic,
    Atom,
    Call,
    Const,
    Expr,
    Relation,
    Rule,
    Term,
    Var,
)

_ARITHMETIC_NAMES = {op: name for name, op in ARITHMETIC.items()}

RowsOf = Callable[[str, bool], tuple[str, Sequence[Row]]]
"""`(relation, under not)` -> the name to read it by and its rows."""


@dataclass(slots=True)
class Question:
    """One question to pyDatalog: facts by name, rules, and the relation `goal` of `width` columns wanted.

    `calls` maps a function of the text to the rule that calls it and the function's own name.
    """

    goal: str
    width: int
    rules: list[str] = field(default_factory=list)
    facts: dict[str, list[Row]] = field(default_factory=dict)
    calls: dict[str, tuple[Rule, str]] = field(default_factory=dict)


def ask_relation(
    relation: Relation,
    rules: Sequence[Rule],
    relations: Mapping[str, Relation],
    symbols: Symbols,
    rows_of: RowsOf,
) -> Question:
    """Return the question for the rows that some rules, all for `relation`, derive in one step."""
    question = Question(f"p_{relation.name}", max(1, relation.arity))
    for i, rule in enumerate(rules):
        _RuleWriter(question, rule, i, symbols, rows_of).write(order_rule(rule, relations))
    return question


@dataclass(slots=True)
class _Body:
    """The literals written so far and the pyDatalog variable or number that each rule variable became."""

    literals: list[str]
    env: dict[str, str]

    def plus(self, *literals: str) -> _Body:
        return _Body([*self.literals, *literals], dict(self.env))


class _Never(Exception):
    """A body that cannot hold: it reads a relation without rows, or compares constants that differ."""


class _RuleWriter:
    """Writes one rule, and a rule for each aggregate in it."""

    def __init__(self, question: Question, rule: Rule, index: int, symbols: Symbols, rows_of: RowsOf) -> None:
        self.question = question
        self.rule = rule
        self.index = index
        self.symbols = symbols
        self.rows_of = rows_of
        self.numbers = count()
        self.aggregates = count()

    def write(self, steps: Sequence[Step]) -> None:
        for body in self.bodies([_Body([], {})], steps):
            heads = [self.term(term, body) for term in self.rule.head.terms] or ["0"]
            self.emit(f"{self.question.goal}({','.join(heads)})", body)

    def emit(self, head: str, body: _Body) -> None:
        # A rule without a positive literal is made one by a fact that always holds.
        self.question.facts["always"] = [(0,)]
        self.question.rules.append(f"{head} <= {' & '.join(['always(0)', *body.literals])}")

    def bodies(self, bodies: list[_Body], steps: Sequence[Step]) -> list[_Body]:
        """Return the bodies after some steps: an aggregate of count or sum doubles them, for the empty group."""
        for step in steps:
            following: list[_Body] = []
            for body in bodies:
                try:
                    following += self.step(step, body)
                except _Never:
                    continue
            bodies = following
        return bodies

    def step(self, step: Step, body: _Body) -> list[_Body]:
        if isinstance(step, Scan):
            return [self.scan(step.atom, body)]
        if isinstance(step, Absent):
            return [self.absent(step.atom, body)]
        if isinstance(step, Test):
            return [self.test(step, body)]
        if isinstance(step, Bind):
            after = body.plus()
            after.env[step.name] = self.value(step.value, after)
            return [after]
        return self.fold(step, body)

    def fresh(self) -> str:
        return f"V{next(self.numbers)}"

    def scan(self, atom: Atom, body: _Body) -> _Body:
        name, rows = self.rows_of(atom.relation, False)
        if not rows:
            raise _Never
        return self.literal("", name, rows, atom, body)

    def absent(self, atom: Atom, body: _Body) -> _Body:
        name, rows = self.rows_of(atom.relation, True)
        return self.literal("~", name, rows, atom, body) if rows else body

    def literal(self, sign: str, name: str, rows: Sequence[Row], atom: Atom, body: _Body) -> _Body:
        if rows:
            self.question.facts[name] = list(rows)
        after = body.plus()
        env = after.env if not sign else dict(after.env)
        for term in atom.terms:
            if isinstance(term, Var) and term.name not in env:
                env[term.name] = self.fresh()
        terms = [self.term(term, _Body([], env)) for term in atom.terms] or ["0"]
        after.literals.append(f"{sign}{name}({','.join(terms)})")
        return after

    def test(self, step: Test, body: _Body) -> _Body:
        after = body.plus()
        left, right = self.value(step.compare.left, after), self.value(step.compare.right, after)
        if not left.startswith("V") and not right.startswith("V"):
            if not holds(step.compare.op, int(left), int(right)):
                raise _Never
            return after
        if not left.startswith("V"):
            left = self.named(left, after)
        op = "==" if step.compare.op == "=" else step.compare.op
        after.literals.append(f"({left}{op}{right})")
        return after

    def named(self, text: str, body: _Body) -> str:
        """Return a new variable that has the value of some text."""
        name = self.fresh()
        body.literals.append(f"({name}=={text})")
        return name

    def term(self, term: Term, body: _Body) -> str:
        if isinstance(term, Var):
            return body.env[term.name]
        return str(term.value if isinstance(term.value, int) else self.symbols.intern(term.value))

    def value(self, expr: Expr, body: _Body) -> str:
        """Return the variable or number that has an expression's value; adds what computes it to the body."""

        def combine(part: Expr, inner: Sequence[str]) -> str:
            if isinstance(part, Var | Const):
                return self.term(part, body)
            name = self.called(part.function if isinstance(part, Call) else _operator(part))
            # Arguments that are all numbers would be computed while the text is read.
            given = [
                argument if argument.startswith("V") else self.named(argument, body) for argument in inner
            ]
            return self.named(f"{name}({','.join(given)})", body)

        return fold(expr, combine)

    def called(self, name: str) -> str:
        """Return the name by which this rule calls a function: a failure then tells the rule."""
        own = f"f{self.index}_{name}"
        self.question.calls[own] = (self.rule, name)
        return own

    def fold(self, step: Fold, body: _Body) -> list[_Body]:
        """Write an aggregate: its tuples, its value for each group that has some, 0 for a group that has none."""
        part = step.aggregate
        name = f"g{self.index}_{next(self.aggregates)}"
        # Whatever is known here names the group: more names than the aggregate needs split no tuples.
        group = ["0", *(text for text in sorted(set(body.env.values())) if text.startswith("V"))]
        written = False
        for inner in self.bodies([body], step.steps):
            terms = [self.term(term, inner) for term in part.terms] or ["0"]
            self.emit(f"{name}_set({','.join([*group, *terms])})", inner)
            self.emit(f"{name}_some({','.join(group)})", inner)
            written = True
        return self.with_result(step, body, name, group, written)

    def with_result(self, step: Fold, body: _Body, name: str, group: list[str], written: bool) -> list[_Body]:
        part = step.aggregate
        found: list[_Body] = []
        if written:
            self.define(name, group, part.op, len(part.terms) or 1)
            after = body.plus()
            result = self.fresh()
            after.literals.append(f"({name}[{','.join(group)}]=={result})")
            found.append(self.bound(step, after, result))
        if part.op in ("count", "sum"):
            after = body.plus(*([f"~{name}_some({','.join(group)})"] if written else []))
            found.append(self.bound(step, after, self.named("0", after)))
        return found

    def bound(self, step: Fold, body: _Body, result: str) -> _Body:
        name = step.aggregate.result.name
        if step.binds:
            body.env[name] = result
        else:
            body.literals.append(f"({result}=={body.env[name]})")
        return body

    def define(self, name: str, group: Sequence[str], op: str, width: int) -> None:
        """Write the rule that aggregates a set of tuples."""
        keys = [f"G{i}" for i in range(len(group))]
        terms = [f"T{i}" for i in range(width)]
        each = f"({','.join(terms)})" if width > 1 else terms[0]
        aggregate = {
            # len_ counts distinct values of one column, so tuples are counted as a sum of ones.
            "count": f"sum_(T{width},for_each={each})",
            "sum": f"sum_(T0,for_each={each})",
            "min": "min_(T0,order_by=T0)",
            "max": "max_(T0,order_by=T0)",
        }[op]
        if op == "count" and width == 1:
            aggregate = "len_(T0)"
        one = f" & (T{width}==1)" if op == "count" and width > 1 else ""
        body = f"{name}_set({','.join([*keys, *terms])}){one}"
        line = f"({name}[{','.join(keys)}]=={aggregate}) <= {body}"
        if line not in self.question.rules:
            self.question.rules.append(line)


def _operator(part: Expr) -> str:
    assert isinstance(part, Arithmetic)
    return _ARITHMETIC_NAMES[part.op]
