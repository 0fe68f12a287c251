"""A text in pyDatalog's spelling as an ordinary rule file, with the same rules, headers, tests and comments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedulog.scheduler.language.diagnostic import SourceText, raise_all
from schedulog.scheduler.language.layout import comment as datalog_comment
from schedulog.scheduler.language.layout import format_text, lay_out, plain_text, statement_lines
from schedulog.scheduler.language.program import Rule
from schedulog.scheduler.language.pydatalog.layout import attached, inside
from schedulog.scheduler.language.pydatalog.read import PydatalogReader, reader
from schedulog.scheduler.language.pydatalog.scan import AGGREGATE
from schedulog.scheduler.language.rule_text import format_atom, format_item
from schedulog.scheduler.language.scan import Comment, Statement


def write_datalog(text: str, file: str) -> str:
    """The text as rule files have it. Raises RuleError with all mistakes of a text that does not parse."""
    text = plain_text(text)
    read = reader(text, file, "pack")
    raise_all([error for error in read.read().errors if error.code != "SL118"])
    source = SourceText(file, text)
    made = lay_out(read.pieces, text, datalog_comment, lambda piece: _statement(piece, source, read))
    return format_text(made, file)


def _statement(statement: Statement, source: SourceText, read: PydatalogReader) -> list[str]:
    """The lines of one statement. A part of an aggregate has none, but for the comments in it."""
    if statement.tokens:
        return [] if statement.tokens[0] == AGGREGATE else statement_lines(statement, source.text)
    notes = inside(statement, read.inner)
    rules = read.made.get(statement.start, ())
    if not rules:
        return [datalog_comment(note.sign, note.text) for note in notes]
    lines = list(_clause(rules[0], source, notes))
    return [*lines, *(line for rule in rules[1:] for line in _clause(rule, source, ()))]


def _clause(rule: Rule, source: SourceText, comments: Sequence[Comment]) -> Iterator[str]:
    """A clause, one line a condition, each with its comments behind it."""
    begins = [source.starts[item.place.line - 1] + item.place.column - 1 for item in rule.body]
    notes = attached(comments, begins)
    parts = [format_atom(rule.head), *(format_item(item) for item in rule.body)]
    for number, part in enumerate(parts):
        sign = "." if number + 1 == len(parts) else "," if number else " :-"
        beside = [note for note in notes.get(number, ()) if not note.own_line][:1]
        yield "  ".join([part + sign, *(datalog_comment(note.sign, note.text) for note in beside)])
        yield from (datalog_comment(n.sign, n.text) for n in notes.get(number, ()) if n not in beside)
