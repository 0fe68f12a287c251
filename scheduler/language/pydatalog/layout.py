"""The one spelling of rules in pyDatalog's operators: comments stay, blanks and line breaks do not matter.

A rule stands on one line where it fits; else its body stands in parentheses, and its conditions fill lines that begin below
the first of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from schedulog.scheduler.language.diagnostic import SourceText, raise_all
from schedulog.scheduler.language.layout import (
    HARMLESS,
    WIDTH,
    Chunk,
    fill,
    header_line,
    lay_out,
    plain_text,
    statement_lines,
)
from schedulog.scheduler.language.pydatalog.code import code, condition_code
from schedulog.scheduler.language.pydatalog.located import Located, conjuncts
from schedulog.scheduler.language.pydatalog.read import reader
from schedulog.scheduler.language.pydatalog.scan import AGGREGATE, is_live
from schedulog.scheduler.language.scan import Comment, Statement

Notes = list[tuple[str, bool]]
"""Comments as they are written, and whether each has a line to itself."""


@dataclass(slots=True)
class Rule:
    """A rule as text: its head, its conditions, and the comments behind each, those behind the head at 0."""

    head: str
    conditions: list[str]
    notes: dict[int, Notes] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """The lines of the rule."""
        if not self.conditions:
            return fill([Chunk(self.head, self.notes.get(0, []))])
        line = f"{self.head} <= {' & '.join(self.conditions)}"
        if len(line) <= WIDTH and not self.notes:
            return [line]
        last = len(self.conditions)
        chunks = [Chunk(f"{self.head} <= (", self.notes.get(0, []))]
        for number, condition in enumerate(self.conditions, 1):
            chunks.append(Chunk(condition + (")" if number == last else " &"), self.notes.get(number, [])))
        return fill(chunks)


def format_pydatalog(text: str, file: str) -> str:
    """A text in the one spelling. Raises RuleError with all mistakes of a text that does not parse."""
    text = plain_text(text)
    read = reader(text, file, "pack")
    raise_all([error for error in read.read().errors if error.code not in HARMLESS or error.code == "SL117"])
    source = SourceText(file, text)

    def statement(piece: Statement) -> list[str]:
        return directive(piece, text) if piece.tokens else _python(piece, source, read.inner)

    return lay_out(read.pieces, text, comment, statement)


def comment(sign: str, text: str) -> str:
    """A comment as it is written here; `sign` is that of rule files: `%`, `%!`, `%?` or `//`."""
    if sign == "%!":
        return header_line(text, "#!")
    if sign == "%?":
        return f"#?{text}".rstrip() if text[:1] in (" ", "\t", "") else f"#? {text}".rstrip()
    return f"{'##' if is_live(text) else '#'}{text}".rstrip()


def directive(statement: Statement, text: str) -> list[str]:
    """The lines of a directive, each of them a comment."""
    if statement.tokens[0] == AGGREGATE:
        return [f"#{AGGREGATE} {statement.tokens[1]}"]
    first, *rest = statement_lines(statement, text)
    return [f"#{first}", *(f"#{line}" for line in rest)]


def attached(comments: Iterable[Comment], begins: Sequence[int]) -> dict[int, list[Comment]]:
    """Comments inside a statement by the part that they stand behind: 0 the head, else the condition that begins so."""
    found: dict[int, list[Comment]] = {}
    for note in comments:
        found.setdefault(sum(begin <= note.start for begin in begins), []).append(note)
    return found


def inside(statement: Statement, comments: Iterable[Comment]) -> list[Comment]:
    """Those of the comments that stand inside a statement."""
    return [note for note in comments if statement.start <= note.start < statement.end]


def _python(statement: Statement, source: SourceText, comments: Iterable[Comment]) -> list[str]:
    """The lines of a rule or a fact."""
    located = Located(source, statement)
    tree = located.parse()
    assert isinstance(tree, ast.Expr)
    node = tree.value
    if isinstance(node, ast.UnaryOp):
        rule, begins = Rule(f"+{code(node.operand)}", []), []
    else:
        assert isinstance(node, ast.Compare)
        conditions = list(conjuncts(node.comparators[0]))
        begins = [located.span(condition)[0] for condition in conditions]
        rule = Rule(condition_code(node.left), [condition_code(condition) for condition in conditions])
    notes = attached(inside(statement, comments), begins)
    rule.notes = {i: [(comment(n.sign, n.text), n.own_line) for n in found] for i, found in notes.items()}
    return rule.lines()
