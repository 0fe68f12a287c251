"""The one spelling of a rule file: tokens and comments stay, blanks, line breaks and the two spellings of `not` do not matter.

A clause stands on one line where it fits; else its conditions fill lines that begin below the first of them. Comments keep
their text and their place among the tokens. Reading the result gives the same rules, headers and tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from lark import Token

from schedulog.scheduler.language.diagnostic import raise_all
from schedulog.scheduler.language.scan import Comment, Scanner, Statement
from schedulog.scheduler.language.syntax import parse_text

WIDTH: Final = 100
"""Columns that a line may have; what cannot be broken may be longer."""

HARMLESS: Final = frozenset({"SL106", "SL117", "SL118"})
"""Mistakes that leave no doubt about where tokens and statements begin and end."""

_DEEP: Final = WIDTH // 2
_INDENT: Final = "    "
_ENTRY_START: Final = re.compile(r"(?:[ \t]{2,}|[ \t]*%![ \t]*)(?=[A-Za-z_]+(?:[ \t]+[0-9]{1,4})?[ \t]*:)")
_QUOTED: Final = re.compile(r'"(?:\\.|[^"\\])*"')
_COMMENT: Final = re.compile(r"(?:%|//)[^\n]*")
_OPERANDS: Final = frozenset({"VARIABLE", "NAME", "INTEGER", "STRING", "_RPAR", "_RBRACE"})
_TIGHT_AFTER: Final = frozenset({"_LPAR", "_AT"})
_TIGHT_BEFORE: Final = frozenset({"_RPAR", "_COMMA", "_DOT", "_LPAR"})
_DIRECTIVES: Final = frozenset({"_DECL", "_FUNCTION", "_INPUT", "_OPEN", "_TYPE"})


@dataclass(slots=True)
class Chunk:
    """What is not broken inside: a head with its `:-`, or a condition with its comma; and the comments behind it."""

    text: str
    comments: list[tuple[str, bool]] = field(default_factory=list)


def format_text(text: str, file: str) -> str:
    """The text of a rule file in the one spelling. Raises RuleError with all mistakes of a text that does not parse."""
    text = plain_text(text)
    raise_all([error for error in parse_text(text, file, "pack").errors if error.code not in HARMLESS])
    return lay_out(Scanner(text).scan(), text, comment, lambda statement: statement_lines(statement, text))


def plain_text(text: str) -> str:
    """A text without byte order mark, with the line ends of Unix."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def lay_out(
    pieces: Sequence[Statement | Comment],
    text: str,
    note: Callable[[str, str], str],
    statement: Callable[[Statement], list[str]],
) -> str:
    """The pieces of `text` written anew: each comment as `note(sign, text)` gives it, each statement as lines.

    Empty lines between pieces stay, one for several. A comment stays beside what it stands behind.
    """
    lines: list[str] = []
    end, apart, beside = 0, False, False
    for piece in pieces:
        gap = text[end : piece.start].count("\n")
        apart |= gap > 1
        if isinstance(piece, Comment):
            end = piece.start + len(piece.sign) + len(piece.text)
            made = [note(piece.sign, piece.text)]
            if not piece.own_line and beside and gap == 0:
                lines[-1] += f"  {made[0]}"
                continue
        else:
            end = piece.end
            made = statement(piece)
        lines += [""] if apart and lines and made else []
        lines += made
        apart, beside = apart and not made, bool(made)
    return "".join(f"{line}\n" for line in lines)


def comment(sign: str, text: str) -> str:
    """A comment as it is written; `//` becomes `%` where that means the same."""
    if sign == "%!":
        return header_line(text)
    if sign == "%?":
        return f"%?{text}".rstrip() if text[:1] in (" ", "\t", "") else f"%? {text}".rstrip()
    return f"{'//' if sign == '//' and text[:1] in ('!', '?') else '%'}{text}".rstrip()


def header_line(text: str, sign: str = "%!") -> str:
    """`%! key: value    %! key: value`, each entry with its own sign."""
    hidden = _QUOTED.sub(lambda found: "x" * len(found[0]), text)
    starts = [found.span() for found in _ENTRY_START.finditer(" %!" + hidden)]
    if not starts:
        return f"{sign}{text}".rstrip()
    ends = [start for start, _ in starts[1:]] + [len(text) + 3]
    shifted = " %!" + text
    entries = (shifted[begin:end].strip() for (_, begin), end in zip(starts, ends, strict=True))
    return f"{sign} " + f"    {sign} ".join(
        re.sub(r"^(\w+(?:[ \t]+[0-9]+)?)[ \t]*:[ \t]*", r"\1: ", e) for e in entries
    )


def statement_lines(statement: Statement, text: str) -> list[str]:
    """The lines of one statement, given its tokens."""
    return fill(list(_chunks(statement, text)))


def fill(chunks: Sequence[Chunk]) -> list[str]:
    """Lines of chunks: one where they fit, else filled from below the first chunk on."""
    first = chunks[0].text
    width = len(first) + (not first.endswith("("))
    fits = sum(len(chunk.text) + 1 for chunk in chunks) - 1 <= WIDTH
    lines = _Lines(" " * width if width <= _DEEP or fits else _INDENT)
    # Comments before the last sign come to stand behind the statement, where they are comments of the file.
    last = chunks[-1].comments
    beside = bool(last) and not last[0][1]
    chunks[-1].comments, last = last[:beside], last[beside:]
    for chunk in chunks:
        lines.add(chunk)
        lines.open &= fits or width <= _DEEP or chunk is not chunks[0]
    return lines.done + [comment for comment, _ in last]


class _Lines:
    """Lines filled with chunks; all but the first begin with `indent`."""

    def __init__(self, indent: str) -> None:
        self.indent = indent
        self.done: list[str] = []
        self.open = False

    def add(self, chunk: Chunk) -> None:
        blank = "" if self.open and self.done[-1].endswith("(") else " "
        if self.open and len(self.done[-1]) + len(blank + chunk.text) <= WIDTH:
            self.done[-1] += blank + chunk.text
        else:
            self.done.append((self.indent if self.done else "") + chunk.text)
        self.open = True
        for text, own_line in chunk.comments:
            if own_line or not self.open:
                self.done.append(self.indent + text)
            else:
                self.done[-1] += "  " + text
            self.open = False


def _chunks(statement: Statement, text: str) -> Iterator[Chunk]:
    """The parts between which a line may break: behind `:-`, and behind the commas of a body or of columns."""
    tokens = statement.tokens
    columns = tokens[0].type in _DIRECTIVES
    depth, chunk = 0, Chunk("")
    for i, token in enumerate(tokens):
        chunk.text += (_blank(tokens, i, columns) if chunk.text else "") + _spelled(token)
        depth += _nesting(token)
        if i + 1 == len(tokens):
            break
        between = _between(token, tokens[i + 1], text)
        chunk.comments += ((comment(note.sign, note.text), note.own_line) for note in between)
        opens = columns and token.type == "_LPAR"
        if opens or token.type == "_IF" or (token.type == "_COMMA" and depth == columns):
            yield chunk
            chunk = Chunk("")
    yield chunk


def _nesting(token: Token) -> int:
    if token.type in ("_LPAR", "_LBRACE"):
        return 1
    return -1 if token.type in ("_RPAR", "_RBRACE") else 0


def _spelled(token: Token) -> str:
    return "not" if token.type == "_NOT" else str(token)


def _blank(tokens: Sequence[Token], i: int, columns: bool) -> str:
    """What stands between a token and the one before it."""
    before, token = tokens[i - 1], tokens[i]
    if before.type in _TIGHT_AFTER or _is_sign(tokens, i - 1):
        return ""
    if token.type == "_LPAR":
        return "" if before.type == "NAME" else " "
    return "" if token.type in _TIGHT_BEFORE or (token.type == "_COLON" and columns) else " "


def _is_sign(tokens: Sequence[Token], i: int) -> bool:
    """Whether `+` or `-` is the sign of what follows, not between two operands."""
    return tokens[i].type == "PLUS_MINUS" and (i == 0 or tokens[i - 1].type not in _OPERANDS)


def inner_comments(statement: Statement, text: str) -> Iterator[Comment]:
    """The comments between the tokens of a statement."""
    for token, after in pairwise(statement.tokens):
        yield from _between(token, after, text)


def _between(token: Token, after: Token, text: str) -> Iterator[Comment]:
    """The comments between two tokens of a statement."""
    begin = (token.start_pos or 0) + len(token)
    gap = text[begin : after.start_pos]
    for found in _COMMENT.finditer(gap):
        sign = "//" if found[0].startswith("//") else "%"
        yield Comment(sign, found[0][len(sign) :], begin + found.start(), "\n" in gap[: found.start()])
