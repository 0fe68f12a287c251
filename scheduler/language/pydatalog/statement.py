"""One statement of Python to what it says: a rule, a fact, or a part of an aggregate."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.build import Rejected
from schedulog.scheduler.language.diagnostic import SourceText
from schedulog.scheduler.language.program import AggregateOp, Atom, Const, Literal_, Term, Var
from schedulog.scheduler.language.pydatalog import mistakes
from schedulog.scheduler.language.pydatalog.blanks import blanks
from schedulog.scheduler.language.pydatalog.conditions import Condition, ConditionBuilder, too_deep
from schedulog.scheduler.language.pydatalog.folds import is_fold, read_fold
from schedulog.scheduler.language.pydatalog.located import Located, conjuncts
from schedulog.scheduler.language.pydatalog.names import written
from schedulog.scheduler.language.scan import Statement


@dataclass(frozen=True, slots=True)
class Clause:
    """`head <= conditions`, or a fact, which has no conditions."""

    head: Atom
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """`(name[keys] == len_(X)) <= conditions`: an aggregate over the rows of the conditions, for each of the keys."""

    name: str
    keys: tuple[Term, ...]
    op: AggregateOp
    terms: tuple[Term, ...]
    conditions: tuple[Condition, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Valued:
    """`(name[keys] == value) <= conditions` without an aggregate. `of_nothing`: it says `== 0` of `~(conditions)`."""

    name: str
    keys: tuple[Term, ...]
    value: Term
    conditions: tuple[Condition, ...]
    of_nothing: bool
    place: Place


Said = Clause | Definition | Valued


def read_statement(statement: Statement, source: SourceText) -> tuple[Said | None, list[RuleError]]:
    """What a statement says, None when that cannot be told, and what is wrong with it."""
    located = Located(source, statement)
    escape = mistakes.unknown_escape(located)
    if escape is not None:
        return None, [escape]
    try:
        tree = located.parse()
    except (SyntaxError, RecursionError, MemoryError, ValueError) as found:
        return None, [mistakes.not_python(found, located)]
    if not isinstance(tree, ast.Expr):
        return None, [mistakes.no_rule(tree, located)]
    try:
        return _Reader(located).read(tree.value)
    except _Misshapen as found:
        return None, [found.error]


class _Misshapen(Exception):
    """A statement of which it cannot be told what it is."""

    def __init__(self, error: RuleError) -> None:
        super().__init__(error.message)
        self.error = error


class _Reader:
    """Reads one statement that is an expression."""

    def __init__(self, located: Located) -> None:
        self.located = located

    def read(self, node: ast.expr) -> tuple[Said | None, list[RuleError]]:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd):
            return self._build(node, node.operand, [])
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.LtE) or len(node.ops) > 1:
            raise self._neither(node)
        body = node.comparators[0]
        return self._build(node, node.left, list(conjuncts(body)))

    def _build(
        self, whole: ast.expr, head: ast.expr, conditions: list[ast.expr]
    ) -> tuple[Said | None, list[RuleError]]:
        if too_deep(head):
            raise _Misshapen(mistakes.too_deep(self.located))
        nothing = _of_nothing(head, conditions)
        inner = list(conjuncts(nothing)) if nothing is not None else conditions
        builder = ConditionBuilder(self.located, blanks(whole, inner))
        made, built = self._made(builder, head), builder.conditions(inner)
        if made is None or built is None:
            return None, builder.errors
        if isinstance(made, Valued):
            made = replace(made, of_nothing=nothing is not None)
        return replace(made, conditions=tuple(built)), builder.errors

    def _made(self, builder: ConditionBuilder, head: ast.expr) -> Said | None:
        try:
            return self._head(builder, head)
        except Rejected:
            return None

    def _head(self, builder: ConditionBuilder, head: ast.expr) -> Said:
        """The head, as a statement without conditions."""
        if isinstance(head, ast.UnaryOp):
            raise builder.rejected(
                "SL133", "a sign before the head of a rule", self.located.place(head), mistakes.FORM
            )
        if not isinstance(head, ast.Compare):
            atom = builder.atom(head)
            builder.no_blank_head(atom.terms)
            return Clause(atom, ())
        right = head.comparators[0]
        if (
            len(head.ops) > 1
            or not isinstance(head.ops[0], ast.Eq)
            or not isinstance(head.left, ast.Subscript)
        ):
            raise builder.rejected("SL133", "a comparison as a head", self.located.place(head), mistakes.FORM)
        name, keys = builder.subscript(head.left)
        builder.no_blank_head(keys)
        place = self.located.place(head.left.value)
        if is_fold(right):
            op, terms = read_fold(right, builder)
            return Definition(name, keys, op, terms, (), place)
        return Valued(name, keys, builder.term(right), (), False, place)

    def _neither(self, node: ast.expr) -> _Misshapen:
        """What a statement is that is neither a fact nor a rule."""
        located = self.located
        if (
            isinstance(node, ast.Compare)
            and len(node.ops) > 1
            and any(isinstance(op, ast.LtE) for op in node.ops)
        ):
            return _Misshapen(mistakes.precedence(node, located))
        if isinstance(node, ast.Tuple) and len(node.elts) > 1:
            return _Misshapen(mistakes.comma(node, located))
        if isinstance(node, ast.BoolOp):
            return _Misshapen(mistakes.connective(node, located))
        return _Misshapen(mistakes.neither(node, located))


def _of_nothing(head: ast.expr, conditions: list[ast.expr]) -> ast.expr | None:
    """What is negated in `(name[keys] == 0) <= ~(conditions)`, the value of an aggregate over no rows."""
    if not isinstance(head, ast.Compare) or not isinstance(head.left, ast.Subscript) or len(conditions) != 1:
        return None
    value, body = head.comparators[0], conditions[0]
    zero = isinstance(value, ast.Constant) and value.value == 0 and type(value.value) is int
    if zero and isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.Invert):
        return body.operand
    return None


def same_conditions(one: Iterable[Condition], other: Iterable[Condition]) -> bool:
    """Whether two bodies are written alike, but for the names of `_`."""
    return [_plain(item) for item in one] == [_plain(item) for item in other]


def _plain(item: Condition) -> Condition:
    if not isinstance(item, Literal_):
        return item
    terms = tuple(Var("_") if isinstance(t, Var) and t.anonymous else t for t in item.atom.terms)
    return Literal_(Atom(item.atom.relation, terms, item.place), item.negated)


def as_atom(said: Valued) -> Atom:
    """The head of a rule for a relation that an aggregate gives values too."""
    return Atom(said.name, (*said.keys, said.value), said.place)


def shown(name: str, keys: tuple[Term, ...]) -> str:
    """`name[keys]` as it is written."""
    inner = ", ".join(_term(key) for key in keys) or "()"
    return f"{written(name)}[{inner}]"


def _term(term: Term) -> str:
    if isinstance(term, Const):
        return repr(term.value)
    return "_" if term.anonymous else written(term.name)
