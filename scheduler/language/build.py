"""Parse trees of one statement to rules and declarations, keeping places."""

from __future__ import annotations

import re
from itertools import count
from typing import Final, cast

from lark import Token, Tree

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.diagnostic import SourceText
from schedulog.scheduler.language.program import (
    Aggregate,
    AggregateOp,
    Arithmetic,
    ArithmeticOp,
    Atom,
    BodyItem,
    Call,
    Column,
    Compare,
    ComparisonOp,
    Const,
    Expr,
    Function,
    Literal_,
    Relation,
    Term,
    Var,
)
from schedulog.scheduler.language.variables import separate_locals, variables

Node = Tree[Token] | Token

_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1
_SPELLINGS: Final[dict[str, ArithmeticOp]] = {"/": "//", "\\": "%"}
_NUMBERED: Final = re.compile(r"[nv][0-9]+")
"""How questions write nodes and views."""
_ESCAPE: Final = re.compile(r'\\(["\\n])')
AGGREGATE_FORM: Final = "an aggregate stands alone: `N = #count { M : member(K, M) }`, then compare N"


def bare_name_help(name: str) -> str:
    """What to write instead of a name that is neither quoted nor a variable."""
    if _NUMBERED.fullmatch(name):
        return f"`{name}` is a name for questions to one graph; a variable begins with a capital: `{name.capitalize()}`"
    return f'a string is quoted: "{name}"; a variable begins with a capital: `{name.capitalize()}`'


class Rejected(Exception):
    """A statement that cannot become a rule; its errors are in the builder."""


class Builder:
    """Builds what one statement says; `errors` collects what is wrong with it."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.errors: list[RuleError] = []
        self._anonymous = count(1)

    def clause(self, tree: Tree[Token]) -> tuple[Atom, tuple[BodyItem, ...]]:
        """Head and body of a clause. Raises Rejected when they have no form as a rule."""
        head = self._atom(_tree(tree.children[0]))
        for term in head.terms:
            if isinstance(term, Var) and term.anonymous:
                self._error(
                    "SL111", "`_` in a head", _at(term), "a head says of which values it holds; name them"
                )
        body = tree.children[1] if len(tree.children) > 1 else None
        items = self._body(body) if isinstance(body, Tree) else ()
        return head, separate_locals(head, items)

    def relation(self, tree: Tree[Token], doc: str) -> Relation:
        """The relation that a `.decl` declares."""
        name, keys, *rest = tree.children
        key_columns = self._columns(_tree(keys))
        values = self._columns(_tree(rest[0])) if rest and rest[0] is not None else ()
        key = len(key_columns) if values else None
        return Relation(str(name), key_columns + values, self.place(_token(name)), doc, key)

    def function(self, tree: Tree[Token], doc: str) -> Function:
        """The function that a `.function` declares."""
        name, columns, result = tree.children
        return Function(str(name), self._columns(_tree(columns)), str(result), self.place(_token(name)), doc)

    def place(self, token: Token) -> Place:
        """The place of one token."""
        start = token.start_pos or 0
        return self.source.place(start, start + len(token))

    def _columns(self, tree: Tree[Token]) -> tuple[Column, ...]:
        return tuple(Column(str(_tree(c).children[0]), str(_tree(c).children[1])) for c in tree.children)

    def _error(self, code: str, message: str, where: Place, help: str, reason: str = "") -> None:
        self.errors.append(RuleError(code, message, where=where, help=help, reason=reason))

    def _reject(self, code: str, message: str, where: Place, help: str) -> Rejected:
        self._error(code, message, where, help)
        return Rejected()

    def _body(self, tree: Tree[Token]) -> tuple[BodyItem, ...]:
        return tuple(self._item(_tree(child)) for child in tree.children)

    def _item(self, tree: Tree[Token]) -> BodyItem:
        if tree.data == "atom":
            return Literal_(self._atom(tree))
        if tree.data == "negation":
            return Literal_(self._atom(_tree(tree.children[0])), negated=True)
        return self._comparison(tree)

    def _atom(self, tree: Tree[Token]) -> Atom:
        name, arguments = tree.children
        return Atom(str(name), self._terms(_tree(arguments)), self.place(_token(name)))

    def _terms(self, tree: Tree[Token]) -> tuple[Term, ...]:
        return tuple(self._term(child) for child in tree.children)

    def _term(self, node: Node) -> Term:
        expr = self._expr(node)
        if isinstance(expr, Var | Const):
            return expr
        place = self._span(node)
        message = "an expression stands where a variable or a constant must"
        raise self._reject("SL111", message, place, _name_it(place))

    def _comparison(self, tree: Tree[Token]) -> Compare | Aggregate:
        left, sign, right = tree.children
        if _is_aggregate(left) or _is_aggregate(right):
            return self._aggregate(left, str(sign), right)
        op = cast(ComparisonOp, str(sign))
        one, other = self._expr(left), self._expr(right)
        self._no_blank((one, other), "a comparison")
        return Compare(op, one, other, self._span(tree))

    def _no_blank(self, exprs: tuple[Expr, ...], what: str) -> None:
        """`_` has no value, so it cannot be compared, computed with or counted."""
        for variable in (v for expr in exprs for v in variables(expr) if v.anonymous):
            self._error("SL111", f"`_` in {what}", _at(variable), "`_` has no value: name it and bind it")

    def _aggregate(self, left: Node, sign: str, right: Node) -> Aggregate:
        if _is_aggregate(left) and not _is_aggregate(right):
            left, right = right, left
        word, arguments, body = _tree(right).children
        place = self.place(_token(word))
        result = None if _is_aggregate(left) else self._expr(left)
        if sign != "=" or not isinstance(result, Var) or result.anonymous:
            raise self._reject(
                "SL111", f"`{word}` is not used as `Name = {word} {{ ... }}`", place, AGGREGATE_FORM
            )
        # Looked for before the body is built, so that braces in braces cannot make this recurse.
        if any(_is_aggregate(part) for item in _tree(body).children for part in _tree(item).children):
            raise self._reject(
                "SL111", f"an aggregate inside `{word}`", place, "give the inner one its own relation"
            )
        inner = tuple(part for part in self._body(_tree(body)) if not isinstance(part, Aggregate))
        terms = self._terms(_tree(arguments))
        self._no_blank(terms, f"what `{word}` reads")
        return Aggregate(cast(AggregateOp, str(word)[1:]), result, terms, inner, place)

    def _expr(self, node: Node) -> Expr:
        if isinstance(node, Token):
            return self._leaf(node)
        if node.data == "negative":
            return self._negative(node)
        if node.data == "call":
            name, arguments = node.children
            parts = tuple(self._expr(child) for child in _tree(arguments).children)
            return Call(str(name), parts, self.place(_token(name)))
        if node.data == "bare":
            return self._bare(_token(node.children[0]))
        if node.data == "bare_call":
            name = _token(node.children[0])
            help = f"a function is called as `@{name}(...)`"
            raise self._reject("SL104", f"`{name}(...)` is not a value", self.place(name), help)
        return self._chain(node)

    def _leaf(self, token: Token) -> Expr:
        place = self.place(token)
        if token.type == "VARIABLE":
            return Var(f"_{next(self._anonymous)}" if token == "_" else str(token), place)
        if token.type == "STRING":
            return Const(_unquoted(token), place)
        return self._integer(str(token), place)

    def _integer(self, digits: str, place: Place) -> Const:
        # Measured before it is converted: converting is quadratic in the digits, and Python limits them.
        plain = digits.lstrip("-").lstrip("0") or "0"
        value = _MOST + 1 if len(plain) > 19 else int(plain) * (-1 if digits[0] == "-" else 1)
        if _LEAST <= value <= _MOST:
            return Const(value, place)
        reason = "integers have 64 bits: from -9223372036854775808 to 9223372036854775807"
        self._error("SL117", "an integer that is too large", place, "", reason)
        return Const(0, place)

    def _negative(self, tree: Tree[Token]) -> Expr:
        sign, operand = tree.children
        place = self._span(tree)
        if isinstance(operand, Token) and operand.type == "INTEGER":
            return self._integer(f"-{operand}" if sign == "-" else str(operand), place)
        value = self._expr(operand)
        return Arithmetic("-", Const(0, place), value, place) if sign == "-" else value

    def _bare(self, token: Token) -> Const:
        place = self.place(token)
        self._error("SL106", f"bare name `{token}`", place, bare_name_help(str(token)))
        return Const(str(token), place)

    def _chain(self, tree: Tree[Token]) -> Expr:
        """`a + b - c`, grouped from the left."""
        children = tree.children
        value = self._expr(children[0])
        place = self._span(tree)
        for index in range(1, len(children), 2):
            sign = str(children[index])
            op = _SPELLINGS.get(sign, cast(ArithmeticOp, sign))
            value = Arithmetic(op, value, self._expr(children[index + 1]), place)
        return value

    def _span(self, node: Node) -> Place:
        """The place of a whole subtree, with the `@` before it and the parentheses that belong to it."""
        first, last = _edge(node, 0), _edge(node, -1)
        start, end = first.start_pos or 0, (last.start_pos or 0) + len(last)
        text = self.source.text
        if text[start - 1 : start] == "@":
            start -= 1
        part = text[start:end]
        missing = part.count("(") - part.count(")")
        for _ in range(missing):
            end += text[end : end + 1] == ")"
        for _ in range(-missing):
            start -= text[start - 1 : start] == "("
        return self.source.place(start, end)


def _tree(node: Node) -> Tree[Token]:
    assert isinstance(node, Tree)
    return node


def _token(node: Node) -> Token:
    assert isinstance(node, Token)
    return node


def _edge(node: Node, index: int) -> Token:
    """The first (0) or last (-1) token of a subtree."""
    while isinstance(node, Tree):
        node = node.children[index]
    return node


def _is_aggregate(node: Node) -> bool:
    return isinstance(node, Tree) and node.data == "aggregate"


def _at(term: Term) -> Place:
    assert term.place is not None
    return term.place


def _unquoted(token: Token) -> str:
    return _ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], token[1:-1])


def _name_it(place: Place) -> str:
    written = place.text[place.column - 1 : place.column - 1 + place.width]
    return f"give it a name in the body: `Value = {written}`"
