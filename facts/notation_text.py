"""The text of a graph in the short notation, cut into statements; what they mean is in facts/notation.py."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from schedulog.errors import GraphError, Place

Item = int | str
"""A whole number or a word, for example the name of a variable size."""
Group = Item | tuple[Item, ...]
"""An item, or several in brackets: `8`, `[8,n]`, `(1,1)`."""

_TOKEN: Final = re.compile(
    r"""(?P<BLANK>[ \t\r]+)
    |(?P<END>[;\n])
    |(?P<NUMBER>[-+]?(?:(?:[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)|inf|nan)(?![\w.]))
    |(?P<WORD>[A-Za-z_]\w*(?::[0-9]+)?)
    |(?P<SIGN>[=,()\[\]])
    |(?P<UNKNOWN>.)""",
    re.VERBOSE | re.ASCII,
)
_CLOSING: Final[Mapping[str, str]] = {"[": "]", "(": ")"}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or sign, and the offset at which it stands; `gap` when blanks stand before it."""

    kind: str
    text: str
    start: int
    gap: bool


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand as written: a word or number, and the sizes in brackets directly behind it (`f32[8,8]`)."""

    text: str
    number: bool
    sizes: tuple[Item, ...] | None
    place: Place


@dataclass(frozen=True, slots=True)
class Option:
    """The value of `key=value`: the groups between its commas."""

    groups: tuple[Group, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Definition:
    """`name=op operands key=value...`"""

    name: str
    op: str
    operands: tuple[Operand, ...]
    options: Mapping[str, Option]
    place: Place
    op_place: Place


@dataclass(frozen=True, slots=True)
class Request:
    """`out a, b`: the names, each with its place."""

    names: tuple[tuple[str, Place], ...]
    place: Place


Statement = Definition | Request


def statements(text: str, file: str) -> Iterator[Statement]:
    """The statements of a text, in order. Raises GraphError SL250 for one that is not well formed."""
    waiting: list[Token] = []
    gap = True
    for found in _TOKEN.finditer(text + "\n"):
        kind = found.lastgroup or ""
        if kind == "END" and waiting:
            yield _Reader(text, file, waiting).statement()
            waiting = []
        elif kind not in ("END", "BLANK"):
            waiting.append(Token(kind, found.group(), found.start(), gap))
        gap = kind in ("END", "BLANK")


class _Reader:
    """Reads the tokens of one statement."""

    def __init__(self, text: str, file: str, tokens: list[Token]) -> None:
        self.text = text
        self.file = file
        self.tokens = tokens
        self.at = 0

    def statement(self) -> Statement:
        first = self.take("WORD", "a name", "x=load f32[8,8]")
        if first.text == "out" and self.peek() != "=":
            return Request(tuple(self.requested()), self.place(first))
        self.take("=", "`=`", f"{first.text}=exp x")
        op = self.take("WORD", "an operation", f"{first.text}=exp x")
        operands: list[Operand] = []
        options: dict[str, Option] = {}
        while self.at < len(self.tokens):
            if self.peek(1) == "=":
                key = self.take("WORD", "a key", "axis=1")
                if key.text in options:
                    raise self.error(f"`{key.text}` is given twice", key)
                options[key.text] = self.option(key)
            else:
                operands.append(self.operand())
        return Definition(first.text, op.text, tuple(operands), options, self.place(first), self.place(op))

    def requested(self) -> Iterator[tuple[str, Place]]:
        while True:
            name = self.take("WORD", "a name", "out a, b")
            yield name.text, self.place(name)
            if self.at == len(self.tokens):
                return
            self.take(",", "`,`", "out a, b")

    def operand(self) -> Operand:
        token = self.tokens[self.at]
        if token.kind not in ("WORD", "NUMBER"):
            raise self.error(f"`{token.text}` cannot stand here", token)
        self.at += 1
        sizes = None
        if token.kind == "WORD" and self.peek() == "[" and not self.tokens[self.at].gap:
            sizes = self.bracket()
        return Operand(token.text, token.kind == "NUMBER", sizes, self.place(token))

    def option(self, key: Token) -> Option:
        self.take("=", "`=`", f"{key.text}=1")
        groups = [self.group()]
        while self.peek() == ",":
            self.at += 1
            groups.append(self.group())
        return Option(tuple(groups), self.place(key))

    def group(self) -> Group:
        return self.bracket() if self.peek() in _CLOSING else self.item()

    def bracket(self) -> tuple[Item, ...]:
        closing = _CLOSING[self.tokens[self.at].text]
        self.at += 1
        items: list[Item] = []
        while self.peek() != closing:
            if items:
                self.take(",", f"`,` or `{closing}`", "[8,8]")
            items.append(self.item())
        self.at += 1
        return tuple(items)

    def item(self) -> Item:
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        if token is not None and token.kind == "WORD":
            self.at += 1
            return token.text
        found = self.take("NUMBER", "a whole number or a name", "to=[8,8]")
        if not re.fullmatch(r"[-+]?[0-9]+", found.text):
            raise self.error(f"{found.text} is no whole number", found)
        return int(found.text)

    def peek(self, ahead: int = 0) -> str:
        """The text of a coming token, or nothing at the end of the statement."""
        at = self.at + ahead
        return self.tokens[at].text if at < len(self.tokens) else ""

    def take(self, what: str, words: str, example: str) -> Token:
        """The next token, which has to be of this kind or this sign."""
        if self.at == len(self.tokens):
            last = self.tokens[-1]
            raise self.error(f"{words} is missing after `{last.text}`", last, example)
        token = self.tokens[self.at]
        if what not in (token.kind, token.text):
            raise self.error(f"`{token.text}` where {words} is expected", token, example)
        self.at += 1
        return token

    def error(self, message: str, token: Token, example: str = "") -> GraphError:
        help = (
            f"for example: {example}" if example else "statements: name=op operands key=value, and: out name"
        )
        return GraphError("SL250", message, where=self.place(token), help=help)

    def place(self, token: Token) -> Place:
        begin = self.text.rfind("\n", 0, token.start) + 1
        line = self.text.count("\n", 0, token.start) + 1
        shown = self.text[begin:].split("\n", 1)[0].rstrip()
        return Place(self.file, line, token.start - begin + 1, len(token.text), shown)
