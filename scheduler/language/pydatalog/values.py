"""Syntax trees of Python to the values that stand in conditions: variables, constants and calculations."""

from __future__ import annotations

import ast
from typing import Final

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.build import Builder, Rejected, bare_name_help
from schedulog.scheduler.language.program import Arithmetic, ArithmeticOp, Call, Const, Expr, Term, Var
from schedulog.scheduler.language.pydatalog import mistakes
from schedulog.scheduler.language.pydatalog.blanks import Blanks
from schedulog.scheduler.language.pydatalog.located import Located
from schedulog.scheduler.language.pydatalog.names import (
    AGGREGATES,
    OTHER_AGGREGATES,
    is_kept,
    is_name,
    is_variable,
    meant,
    written,
)

ARITHMETIC: Final[dict[type[ast.operator], ArithmeticOp]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip
_MOST: Final = 10**30


class ValueBuilder(Builder):
    """Builds the values of one statement; `errors` collects what is wrong with it."""

    def __init__(self, located: Located, blanks: Blanks) -> None:
        super().__init__(located.source)
        self.located = located
        self.blanks = blanks
        for name in blanks.repeated:
            help = "give each a name of its own: `_`, `_2`, `_3`"
            reason = "pyDatalog takes them for one variable and asks for equal values"
            self._error("SL134", f"`{name.id}` a second time", located.place(name), help, reason)

    def rejected(self, code: str, message: str, where: Place, help: str) -> Rejected:
        """The end of a statement that cannot be read, whose error is kept."""
        return self._reject(code, message, where, help)

    def counted(self, node: ast.expr) -> Term:
        """A term that an aggregate reads."""
        term = self.term(node)
        self._no_blank((term,), "what an aggregate reads")
        return term

    def no_blank_head(self, terms: tuple[Term, ...]) -> None:
        """A head says of which values it holds (SL111)."""
        for term in terms:
            if isinstance(term, Var) and term.anonymous and term.place is not None:
                help = "a head says of which values it holds; name them"
                self._error("SL111", "`_` in a head", term.place, help)

    def term(self, node: ast.expr) -> Term:
        """A variable or a constant."""
        value = self._value(node)
        if isinstance(value, Var | Const):
            return value
        message = "an expression stands where a variable or a constant must"
        help = f"give it a name in the body: `(Value == {self.located.written(node)})`"
        raise self._reject("SL111", message, self.located.place(node), help)

    def subscript(self, node: ast.Subscript) -> tuple[str, tuple[Term, ...]]:
        """The name and the keys of `name[keys]`; `name[()]` has none."""
        if not isinstance(node.value, ast.Name):
            raise self._told(mistakes.no_value(node.value, self.located))
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return self._named(node.value, "an aggregate"), tuple(self.term(part) for part in parts)

    def _value(self, node: ast.expr) -> Expr:
        if isinstance(node, ast.Name):
            return self._variable(node)
        if isinstance(node, ast.Constant):
            return self._constant(node)
        place = self.located.place(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            return self._signed(node, place)
        if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            return Arithmetic(
                ARITHMETIC[type(node.op)], self._value(node.left), self._value(node.right), place
            )
        if isinstance(node, ast.Call):
            name = self._name(node, "a function")
            return Call(name, tuple(self._value(part) for part in node.args), self.located.place(node.func))
        if isinstance(node, ast.Subscript):
            help = "name its value in a condition: `(name[X] == Value)`"
            raise self._reject("SL133", "`[ ]` inside a value", place, help)
        raise self._told(mistakes.no_value(node, self.located))

    def _signed(self, node: ast.UnaryOp, place: Place) -> Expr:
        negative = isinstance(node.op, ast.USub)
        if isinstance(node.operand, ast.Constant) and type(node.operand.value) is int:
            return self._integer(_digits(-node.operand.value if negative else node.operand.value), place)
        value = self._value(node.operand)
        return Arithmetic("-", Const(0, place), value, place) if negative else value

    def _constant(self, node: ast.Constant) -> Const:
        place = self.located.place(node)
        if type(node.value) is int:
            return self._integer(_digits(node.value), place)
        if not isinstance(node.value, str):
            raise self._told(mistakes.no_value(node, self.located))
        if "\r" in node.value or any("\ud800" <= letter <= "\udfff" for letter in node.value):
            help = "leave out carriage returns and halves of characters"
            raise self._reject("SL133", "a string that no rule file can hold", place, help)
        return Const(node.value, place)

    def _variable(self, node: ast.Name) -> Term:
        place = self.located.place(node)
        if node.id in self.blanks.fixed:
            value = self.term(self.blanks.fixed[node.id])
            assert isinstance(value, Const)
            return Const(value.value, place)
        self._not_reserved(node)
        if node.id.startswith("_"):
            return Var(f"_{next(self._anonymous)}", place)
        if is_kept(node.id):
            raise self._kept(node)
        if is_variable(node.id):
            return Var(meant(node.id), place)
        self._error("SL106", f"bare name `{node.id}`", place, bare_name_help(node.id))
        return Const(node.id, place)

    def _name(self, node: ast.Call, what: str) -> str:
        """The name that is called, with what is wrong about the call."""
        if not isinstance(node.func, ast.Name):
            raise self._told(mistakes.no_value(node.func, self.located))
        for keyword in node.keywords:
            help = f"{what} takes its arguments in order"
            raise self._reject("SL133", "a keyword argument", self.located.place(keyword), help)
        name = self._named(node.func, what)
        if not node.args:
            raise self._reject("SL133", f"`{node.func.id}()` has no argument", self.located.place(node),
                               "a relation is about something: it has a column or more")  # fmt: skip
        return name

    def _named(self, node: ast.Name, what: str) -> str:
        self._not_reserved(node)
        if is_kept(node.id):
            raise self._kept(node)
        if not is_name(node.id):
            help = f"{what} begins with a small letter, and has letters of ASCII, digits and `_`"
            raise self._reject(
                "SL133", f"`{node.id}` is not the name of {what}", self.located.place(node), help
            )
        return meant(node.id)

    def _not_reserved(self, node: ast.Name) -> None:
        if node.id.startswith("_pyD_"):
            help = "give it another name"
            raise self._reject(
                "SL133", f"`{node.id}` is a name of pyDatalog's own", self.located.place(node), help
            )

    def _kept(self, node: ast.Name) -> Rejected:
        message = f"`{node.id}` is a name of Python or pyDatalog itself"
        help = f"the `{node.id}` of rules is written `{written(node.id)}`"
        if node.id in (*AGGREGATES, *OTHER_AGGREGATES):
            help = "an aggregate stands in the head of a rule: `(users[N] == len_(U)) <= edge(N, U, _)`"
        elif f"{node.id}_" in AGGREGATES:
            help = f"the aggregate is `{node.id}_`; a relation `{node.id}` would be `{written(node.id)}`"
        return self._reject("SL133", message, self.located.place(node), help)

    def _told(self, error: RuleError) -> Rejected:
        self.errors.append(error)
        return Rejected()


def _digits(value: int) -> str:
    """The digits of an integer; Python does not write very long ones."""
    return str(value) if -_MOST < value < _MOST else str(_MOST if value > 0 else -_MOST)
