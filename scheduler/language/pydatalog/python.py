"""Rules as syntax trees of Python: the reverse of reading them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import count

from schedulog.scheduler.language.program import (
    Arithmetic,
    Atom,
    Call,
    Compare,
    Const,
    Expr,
    Literal_,
    Term,
    Var,
)
from schedulog.scheduler.language.pydatalog.conditions import COMPARISONS, Use
from schedulog.scheduler.language.pydatalog.names import written
from schedulog.scheduler.language.pydatalog.values import ARITHMETIC
from schedulog.scheduler.language.variables import variables

_OPERATORS = {sign: kind for kind, sign in ARITHMETIC.items()}
_COMPARATORS = {sign: kind for kind, sign in COMPARISONS.items()}


class Scope:
    """The names of one statement: each `_` gets its own, and each constant that needs a variable gets one."""

    def __init__(self) -> None:
        self.fixed: list[ast.expr] = []
        self._blanks = count(1)
        self._names: dict[str, int] = {}

    def term(self, term: Term) -> ast.expr:
        """A variable or a constant."""
        return self.value(term)

    def value(self, expr: Expr) -> ast.expr:
        """A value."""
        if isinstance(expr, Const):
            return _constant(expr.value)
        if isinstance(expr, Var):
            return name(self._blank() if expr.anonymous else written(expr.name))
        if isinstance(expr, Call):
            return call(expr.function, [self.value(part) for part in expr.arguments])
        assert isinstance(expr, Arithmetic)
        return ast.BinOp(self.value(expr.left), _OPERATORS[expr.op](), self.value(expr.right))

    def fix(self, value: int | str) -> ast.expr:
        """A variable that a condition of its own fixes to a constant."""
        stem = "_one" if value == 1 else "_value"
        number = self._names[stem] = self._names.get(stem, 0) + 1
        variable = name(stem if number == 1 else f"{stem}_{number}")
        self.fixed.append(ast.Compare(variable, [ast.Eq()], [_constant(value)]))
        return variable

    def atom(self, atom: Atom) -> ast.expr:
        """A relation with its terms."""
        return call(atom.relation, [self.term(term) for term in atom.terms])

    def condition(self, item: Literal_ | Compare | Use) -> list[ast.expr]:
        """A condition, behind those that fix the constants in it."""
        before = len(self.fixed)
        made = self._condition(item)
        return [*self.fixed[before:], made]

    def _condition(self, item: Literal_ | Compare | Use) -> ast.expr:
        if isinstance(item, Literal_):
            atom = self.atom(item.atom)
            return ast.UnaryOp(ast.Invert(), atom) if item.negated else atom
        if isinstance(item, Use):
            return equation(
                subscript(item.name, [self.term(key) for key in item.keys]), self.term(item.value)
            )
        left = self.value(item.left)
        if not variables(item.left) and not variables(item.right):
            # Python would compute it; with a variable in it, pyDatalog does.
            left = self._with_variable(left)
        return ast.Compare(left, [_COMPARATORS[item.op]()], [self.value(item.right)])

    def _with_variable(self, node: ast.expr) -> ast.expr:
        """A value with its first constant in a variable."""
        if isinstance(node, ast.BinOp):
            return ast.BinOp(self._with_variable(node.left), node.op, node.right)
        if isinstance(node, ast.Call):
            return ast.Call(node.func, [self._with_variable(node.args[0]), *node.args[1:]], [])
        negative = isinstance(node, ast.UnaryOp)
        plain = node.operand if isinstance(node, ast.UnaryOp) else node
        assert isinstance(plain, ast.Constant) and isinstance(plain.value, int | str)
        return self.fix(-plain.value if negative and isinstance(plain.value, int) else plain.value)

    def _blank(self) -> str:
        number = next(self._blanks)
        return "_" if number == 1 else f"_{number}"


def name(spelled: str) -> ast.Name:
    """A name."""
    return ast.Name(spelled, ast.Load())


def call(called: str, arguments: Sequence[ast.expr]) -> ast.Call:
    """A relation or a function with its arguments."""
    return ast.Call(name(written(called)), list(arguments), [])


def subscript(aggregate: str, keys: Sequence[ast.expr]) -> ast.Subscript:
    """`aggregate[keys]`."""
    key = keys[0] if len(keys) == 1 else ast.Tuple(list(keys), ast.Load())
    return ast.Subscript(name(written(aggregate)), key, ast.Load())


def equation(left: ast.expr, right: ast.expr) -> ast.Compare:
    """`left == right`."""
    return ast.Compare(left, [ast.Eq()], [right])


def conjoined(conditions: Iterable[ast.expr]) -> ast.expr:
    """Conditions with `&` between them."""
    return reduce(lambda left, right: ast.BinOp(left, ast.BitAnd(), right), conditions)


def _constant(value: int | str) -> ast.expr:
    if isinstance(value, int) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)
