"""Text in pyDatalog's spelling to statements and comments, in order.

A statement ends where Python ends it: at a line break outside of brackets, or at `;`. Where a bracket stays open, it ends
before the next line that surely begins another one, so that a missing `)` does not hide the mistakes below.

Comments carry what Python has no place for: `#!` is a header, `#?` a test, `#.` a directive. Blanks behind the `#` are
allowed, because formatters of Python put them there; `##` begins a comment that is none of these.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from lark import Token

from schedulog.scheduler.language.scan import DIRECTIVES, Comment, Scanner, Statement

AGGREGATE: Final = ".aggregate"
"""The directive that only this spelling has: it names an aggregate that is computed where it is used."""

_WORDS: Final = "|".join(word[1:] for word in (*DIRECTIVES, AGGREGATE))
_LIVE: Final = re.compile(rf"#[ \t]*(?P<sign>[!?])|#[ \t]*(?P<word>\.(?:{_WORDS})\b)|#(?P<other>\.[a-z])")
_ENTRY: Final = re.compile(r"(?<=[ \t])#[ \t]*!(?=[ \t]*[A-Za-z_]+(?:[ \t]+[0-9]+)?[ \t]*:)")
_QUOTED: Final = re.compile(r'"(?:\\.|[^"\\])*"')
_TOKEN: Final = re.compile(
    r"""(?P<BLANK>[ \t\f]+|\\\n)
    |(?P<NEWLINE>\n)
    |(?P<COMMENT>\#[^\n]*)
    |(?P<STRING>\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
    |(?P<OPEN>[(\[{])
    |(?P<CLOSE>[)\]}])
    |(?P<END>;)
    |(?P<OTHER>[^ \t\f\n\\#"'()\[\]{};]+|\\)""",
    re.VERBOSE | re.DOTALL,
)
_FRESH: Final = re.compile(
    r"[+-]?[a-z]\w*\([^()\n]*\)[ \t]*(?:<=|$)|\([a-z]\w*\[[^\]\n]*\][ \t]*==[^\n]*\)[ \t]*<=|[+-][a-z]\w*\(",
    re.ASCII | re.MULTILINE,
)


def is_live(text: str) -> bool:
    """Whether a comment with this text behind its `#` would be more than a comment."""
    return text.startswith("#") or _LIVE.match(f"#{text}") is not None


class PydatalogScanner:
    """Cuts one text into statements and comments. A statement without tokens is Python; the others are directives."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: list[Statement | Comment] = []
        self.inner: list[Comment] = []
        self._start: int | None = None
        self._end = 0
        self._depth = 0

    def scan(self) -> list[Statement | Comment]:
        """All statements and comments; `inner` are the comments inside of statements."""
        position, end = 0, len(self.text)
        while position < end:
            found = _TOKEN.match(self.text, position)
            assert found is not None and found.lastgroup is not None
            position = self._take(found.lastgroup, position, found.end())
        self._close()
        return self.pieces

    def _take(self, kind: str, start: int, end: int) -> int:
        """Handle one token and return the offset after it."""
        if kind == "BLANK":
            return end
        if kind == "NEWLINE":
            if self._depth <= 0 or _FRESH.match(self.text, end):
                self._close()
        elif kind == "COMMENT":
            return self._comment(start, end)
        elif kind == "END" and self._depth <= 0:
            self._close()
        else:
            self._start = start if self._start is None else self._start
            self._end = end
            self._depth += (kind == "OPEN") - (kind == "CLOSE")
        return end

    def _comment(self, start: int, end: int) -> int:
        live = _LIVE.match(self.text, start)
        own_line = not self.text[self.text.rfind("\n", 0, start) + 1 : start].strip()
        if self._start is not None and self._depth > 0 and not (live and own_line):
            self.inner.append(_comment(self.text[start:end], start, own_line))
            return end
        self._close()
        if live and live["sign"]:
            body = self.text[live.end() : end]
            sign = f"%{live['sign']}"
            text = _with_signs(body) if sign == "%!" else body
            self.pieces.append(Comment(sign, text, live.end() - len(sign), own_line))
            return end
        if live:
            return self._directive(live.start(live.lastgroup or 0))
        self.pieces.append(_comment(self.text[start:end], start, own_line))
        return end

    def _directive(self, start: int) -> int:
        """A directive, which goes on over lines of comment until its parentheses are closed."""
        masked, depth, position = "", 0, start
        while True:
            stop = min(
                (at for sign in "\n#" if (at := self.text.find(sign, position)) >= 0), default=len(self.text)
            )
            part = self.text[position:stop]
            masked += part
            depth += part.count("(") - part.count(")")
            following = re.compile(r"\n[ \t]*#(?![!?.#])").match(self.text, stop)
            if depth <= 0 or following is None:
                break
            masked += "\n" + " " * (following.end() - stop - 1)
            position = following.end()
        self.pieces.append(_moved(masked, start))
        return stop

    def _close(self) -> None:
        """End the open statement, if there is one."""
        if self._start is not None:
            self.pieces.append(Statement([], self._start, self._end))
        self._start, self._depth = None, 0


def _comment(written: str, start: int, own_line: bool) -> Comment:
    sign = "//" if written.startswith("##") else "%"
    return Comment(sign, written[len(sign) :], start, own_line)


def _with_signs(text: str) -> str:
    """A header line with the signs of its further entries as all headers have them, at the same offsets."""
    hidden = _QUOTED.sub(lambda found: "x" * len(found[0]), text)
    for found in _ENTRY.finditer(hidden):
        text = f"{text[: found.start()]}{'%!'.rjust(len(found[0]))}{text[found.end() :]}"
    return text


def _moved(masked: str, start: int) -> Statement:
    """The statement of a directive whose text stands at `start`."""
    word = re.match(r"\.\w+", masked)
    assert word is not None
    if word[0] == AGGREGATE:
        masked = " " * word.end() + masked[word.end() :]
    tokens = [
        Token.new_borrow_pos(token.type, str(token), token) for piece in Scanner(masked).scan()
        if isinstance(piece, Statement) for token in piece.tokens
    ]  # fmt: skip
    for token in tokens:
        token.start_pos = (token.start_pos or 0) + start
    if word[0] == AGGREGATE:
        tokens.insert(0, Token("AGGREGATE_DIRECTIVE", AGGREGATE, start))
    end = start + len(masked.rstrip())
    return replace(Statement(tokens, start, end), tokens=tokens)
