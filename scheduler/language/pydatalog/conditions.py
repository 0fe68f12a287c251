"""Syntax trees of Python to the conditions of rules."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

from schedulog.errors import Place
from schedulog.scheduler.language.build import Rejected
from schedulog.scheduler.language.program import Atom, Compare, ComparisonOp, Literal_, Term
from schedulog.scheduler.language.pydatalog import mistakes
from schedulog.scheduler.language.pydatalog.values import ValueBuilder
from schedulog.scheduler.language.scan import MAX_OPERATORS

COMPARISONS: Final[dict[type[ast.cmpop], ComparisonOp]] = {
    ast.Eq: "=", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_OPERATORS: Final = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.Subscript, ast.Tuple)


@dataclass(frozen=True, slots=True)
class Use:
    """`(name[keys] == value)`: the value that an aggregate has for its keys."""

    name: str
    keys: tuple[Term, ...]
    value: Term
    place: Place


@dataclass(frozen=True, slots=True)
class Choice:
    """`(X in (1, 2))`: one of some comparisons holds."""

    options: tuple[Compare, ...]
    place: Place


Condition = Literal_ | Compare | Use | Choice


def too_deep(node: ast.expr) -> bool:
    """Whether a condition or a head has too many operators: what follows recurses over them."""
    return sum(isinstance(part, _OPERATORS) for part in ast.walk(node)) > MAX_OPERATORS


class ConditionBuilder(ValueBuilder):
    """Builds the conditions of one statement."""

    def conditions(self, nodes: list[ast.expr]) -> list[Condition] | None:
        """The conditions of a body, from left to right, without those that fix a `_` variable; None if one is wrong."""
        found: list[Condition] = []
        failed = False
        for node in (node for node in nodes if node not in self.blanks.fixing):
            try:
                found += self._condition(node)
            except Rejected:
                failed = True
        return None if failed else found

    def atom(self, node: ast.expr) -> Atom:
        """`relation(terms)`."""
        if not isinstance(node, ast.Call):
            raise self._no_condition(node)
        name = self._name(node, "a relation")
        terms = tuple(self.term(argument) for argument in node.args)
        return Atom(name, terms, self.located.place(node.func))

    def _condition(self, node: ast.expr) -> list[Condition]:
        if too_deep(node):
            raise self._told(mistakes.too_deep(self.located))
        if isinstance(node, ast.Call):
            return [Literal_(self.atom(node))]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            return [self._negated(node.operand)]
        if isinstance(node, ast.Compare):
            return self._compared(node)
        raise self._no_condition(node)

    def _negated(self, node: ast.expr) -> Literal_:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
            help = "give the conjunction a relation of its own, and negate that"
            raise self._reject("SL134", "`~` before several conditions", self.located.place(node), help)
        if isinstance(node, ast.Compare):
            help = "the opposite of `==` is `!=`, that of `<` is `>=`"
            raise self._reject("SL133", "`~` before a comparison", self.located.place(node), help)
        return Literal_(self.atom(node), negated=True)

    def _compared(self, node: ast.Compare) -> list[Condition]:
        if len(node.ops) > 1:
            raise self._chained(node)
        op, right = node.ops[0], node.comparators[0]
        if isinstance(op, ast.In | ast.NotIn):
            return self._membership(node, right, isinstance(op, ast.In))
        if type(op) not in COMPARISONS:
            word = "is not" if isinstance(op, ast.IsNot) else "is"
            help = f"write `{'!=' if word == 'is not' else '=='}`"
            raise self._reject("SL133", f"`{word}` in a condition", self.located.place(node), help)
        if isinstance(node.left, ast.Subscript) or isinstance(right, ast.Subscript):
            return [self._use(node)]
        place = self.located.place(node)
        one, other = self._value(node.left), self._value(right)
        self._no_blank((one, other), "a comparison")
        self._has_variable(node)
        return [Compare(COMPARISONS[type(op)], one, other, place)]

    def _has_variable(self, node: ast.Compare) -> None:
        called = {part.func for part in ast.walk(node) if isinstance(part, ast.Call)}
        if not any(isinstance(part, ast.Name) and part not in called for part in ast.walk(node)):
            reason = "Python computes it before pyDatalog sees it"
            help = "leave it out"
            self._error("SL134", "a comparison without a variable", self.located.place(node), help, reason)
            raise Rejected

    def _membership(self, node: ast.Compare, right: ast.expr, inside: bool) -> list[Condition]:
        """`X in (1, 2)`, as one of some equations; `X not in (1, 2)`, as inequalities."""
        if not isinstance(right, ast.Tuple | ast.List | ast.Set) or not right.elts:
            raise self._reject(
                "SL133", "`in` without its values", self.located.place(right), "name them: `(X in (1, 2))`"
            )
        place, left = self.located.place(node), self._value(node.left)
        values = [self.term(part) for part in right.elts]
        self._no_blank((left, *values), "a comparison")
        self._has_variable(node)
        if not inside:
            return [Compare("!=", left, value, place) for value in values]
        return [Choice(tuple(Compare("=", left, value, place) for value in values), place)]

    def _use(self, node: ast.Compare) -> Use:
        if not isinstance(node.left, ast.Subscript) or not isinstance(node.ops[0], ast.Eq):
            written = self.located.written(
                node.left if isinstance(node.left, ast.Subscript) else node.comparators[0]
            )
            help = f"give its value a name, then compare that: `({written} == Value)`"
            raise self._reject("SL133", "an aggregate that is not used as `(name[X] == Value)`",
                               self.located.place(node), help)  # fmt: skip
        name, keys = self.subscript(node.left)
        return Use(name, keys, self.term(node.comparators[0]), self.located.place(node))

    def _no_condition(self, node: ast.expr) -> Rejected:
        if isinstance(node, ast.BoolOp):
            return self._told(mistakes.connective(node, self.located))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._told(mistakes.negation(self.located.place(node)))
        if isinstance(node, ast.Tuple) and len(node.elts) > 1:
            return self._told(mistakes.comma(node, self.located))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._told(mistakes.no_value(node, self.located))
        message = f"`{self.located.written(node)}` is no condition"
        return self._reject("SL133", message, self.located.place(node), mistakes.FORM)

    def _chained(self, node: ast.Compare) -> Rejected:
        sides = [self.located.written(side) for side in (node.left, *node.comparators)]
        signs = ["==" if s == "=" else s for op in node.ops if (s := COMPARISONS.get(type(op), "in"))]
        parts = [f"({a} {sign} {b})" for a, sign, b in zip(sides, signs, sides[1:], strict=False)]
        return self._reject("SL134", "a chain of comparisons", self.located.place(node),
                            f"write one by one: `{' & '.join(parts)}`")  # fmt: skip
