"""Rule text to statements of tokens, with the comments between them.

A file is cut into statements before it is parsed, so that a mistake in one does not hide those of the others.
A statement ends at its `.`, or, when that is missing, where a line begins with a directive, `%!` or `%?`, or,
after a complete condition, with a name.
`%` and `//` between two operands of one line are the operators; anywhere else they begin a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lark import Token

MAX_OPERATORS: Final = 64
"""The most operators, calls and parentheses of one body item: what follows recurses over expressions."""

_WORDS: Final = {
    ":-": "_IF",
    ".": "_DOT",
    ",": "_COMMA",
    "not": "_NOT",
    "!": "_NOT",
    "(": "_LPAR",
    ")": "_RPAR",
    "{": "_LBRACE",
    "}": "_RBRACE",
    ":": "_COLON",
    "@": "_AT",
    "->": "_ARROW",
    ".decl": "_DECL",
    ".function": "_FUNCTION",
    ".input": "_INPUT",
    ".open": "_OPEN",
    ".type": "_TYPE",
    "#count": "AGGREGATE",
    "#sum": "AGGREGATE",
    "#min": "AGGREGATE",
    "#max": "AGGREGATE",
    "+": "PLUS_MINUS",
    "-": "PLUS_MINUS",
    "*": "TIMES",
    "/": "TIMES",
    "\\": "TIMES",
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">="), "COMPARATOR"),
}
DIRECTIVES: Final = (".decl", ".function", ".input", ".open", ".type")

_TOKEN: Final = re.compile(
    r"""(?P<BLANK>[ \t\r\f]+)
    |(?P<NEWLINE>\n)
    |(?P<VARIABLE>[A-Z]\w*|_(?!\w))
    |(?P<WORD>[a-z]\w*)
    |(?P<FLOAT>[0-9]+\.[0-9]+)
    |(?P<INTEGER>[0-9]+(?!\w))
    |(?P<STRING>"(?:\\.|[^"\\\n])*")
    |(?P<COMMENT>(?:%|//)[^\n]*)
    |(?P<DIRECTIVE>\.[a-z]\w*)
    |(?P<SIGN>:-|->|!=(?!=)|<=|>=|\#[a-z]+|[.,!(){}:@+\-*/\\]|[=<>](?!=))
    |(?P<UNKNOWN>"[^\n]*|'[^'\n]*'?|==|!==|\w+|.)""",
    re.VERBOSE | re.ASCII,
)
_OPERAND_NEXT: Final = re.compile(r"(?:%|//)[ \t]*(?:-?[0-9]+|[A-Z]\w*|@[a-z]\w*[ \t]*\(|\()", re.ASCII)
_PROSE_NEXT: Final = re.compile(r"[ \t]+[A-Za-z]")
_OPERANDS: Final = frozenset({"VARIABLE", "INTEGER", "_RPAR"})
_ENDS: Final = frozenset({"VARIABLE", "INTEGER", "STRING", "_RPAR", "_RBRACE"})
_NESTING: Final = frozenset({"PLUS_MINUS", "TIMES", "_AT", "_LPAR"})


@dataclass(frozen=True, slots=True)
class Statement:
    """The tokens of one clause or directive, and its extent; `deep` when it has too many operators."""

    tokens: list[Token]
    start: int
    end: int
    deep: bool = False


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment between statements: its sign (`%`, `%!`, `%?`, `//`) and whether it has a line to itself."""

    sign: str
    text: str
    start: int
    own_line: bool


class Scanner:
    """Cuts one rule text into statements and comments, in order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: list[Statement | Comment] = []
        self._tokens: list[Token] = []
        self._depth = 0
        self._operators = 0
        self._deep = False

    def scan(self) -> list[Statement | Comment]:
        """All statements and comments of the text."""
        position, end, match = 0, len(self.text), _TOKEN.match
        while position < end:
            found = match(self.text, position)
            assert found is not None and found.lastgroup is not None
            position = self._take(found.lastgroup, found.group(), position)
        self._close()
        return self.pieces

    def _take(self, kind: str, value: str, start: int) -> int:
        """Handle one token and return the offset after it."""
        if kind == "BLANK":
            return start + len(value)
        if kind == "NEWLINE":
            if self._tokens and self._tokens[0].type in _DIRECTIVE_KINDS and self._depth <= 0:
                self._close()
            return start + 1
        if kind == "COMMENT":
            return self._comment(value, start)
        if kind == "DIRECTIVE":
            if not self._starts_line(start):
                return self._add("_DOT", ".", start)
            self._close()
            return self._add(_WORDS.get(value, "DIRECTIVE"), value, start)
        if kind in ("WORD", "SIGN"):
            kind = _WORDS.get(value, "NAME" if kind == "WORD" else "UNKNOWN")
        if kind == "NAME" and self.text[start - 1 : start] in ("", "\n") and self._complete():
            self._close()
        return self._add(kind, value, start)

    def _add(self, kind: str, value: str, start: int) -> int:
        self._tokens.append(Token(kind, value, start))
        if kind in _NESTING:
            self._operators += 1
            self._deep |= self._operators > MAX_OPERATORS
            self._depth += kind == "_LPAR"
        elif kind == "_RPAR":
            self._depth -= 1
        elif kind == "_COMMA" and self._depth <= 0:
            self._operators = 0
        elif kind == "_DOT":
            self._close()
        return start + len(value)

    def _comment(self, value: str, start: int) -> int:
        """A comment, or the operator of the same spelling when it stands between two operands."""
        sign = value[:2] if value[:2] in ("%!", "%?", "//") else "%"
        if sign in ("%", "//") and self._is_operator(start):
            return self._add("TIMES", sign, start)
        own_line = self._starts_line(start)
        if own_line and sign in ("%!", "%?"):
            self._close()
        if not self._tokens or (self._tokens[0].type in _DIRECTIVE_KINDS and self._depth <= 0):
            self._close()
            self.pieces.append(Comment(sign, value[len(sign) :], start, own_line))
        return start + len(value)

    def _is_operator(self, start: int) -> bool:
        if not self._tokens or self._tokens[-1].type not in _OPERANDS:
            return False
        found = _OPERAND_NEXT.match(self.text, start)
        if found is None or "\n" in self.text[self._tokens[-1].start_pos : start]:
            return False
        return _PROSE_NEXT.match(self.text, found.end()) is None

    def _complete(self) -> bool:
        """Whether the open statement could end here."""
        return bool(self._tokens) and self._depth <= 0 and self._tokens[-1].type in _ENDS

    def _starts_line(self, start: int) -> bool:
        begin = self.text.rfind("\n", 0, start) + 1
        return not self.text[begin:start].strip()

    def _close(self) -> None:
        """End the open statement, if there is one."""
        tokens = self._tokens
        if tokens:
            last = tokens[-1]
            assert tokens[0].start_pos is not None and last.start_pos is not None
            end = last.start_pos + len(last)
            self.pieces.append(Statement(tokens, tokens[0].start_pos, end, self._deep))
        self._tokens, self._depth, self._operators, self._deep = [], 0, 0, False


_DIRECTIVE_KINDS: Final = frozenset({"_DECL", "_FUNCTION", "_INPUT", "_OPEN", "_TYPE", "DIRECTIVE"})
