"""A text in pyDatalog's spelling to rules, declarations and headers: the same that other rule files give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from schedulog.errors import Place
from schedulog.scheduler.language.diagnostic import SourceText
from schedulog.scheduler.language.program import Atom, BodyItem, Rule
from schedulog.scheduler.language.pydatalog.aggregates import Aggregates
from schedulog.scheduler.language.pydatalog.names import is_kept, is_name, meant
from schedulog.scheduler.language.pydatalog.order import misplaced
from schedulog.scheduler.language.pydatalog.scan import AGGREGATE, PydatalogScanner
from schedulog.scheduler.language.pydatalog.statement import Said, read_statement
from schedulog.scheduler.language.rule_text import format_atom, format_item
from schedulog.scheduler.language.scan import Comment, Statement
from schedulog.scheduler.language.syntax import FileReader, ParsedFile

_FIRST_NAME: Final = re.compile(r"[a-z]\w*", re.ASCII)


def parse_pydatalog(text: str, file: str, pack: str) -> ParsedFile:
    """Read one rule file in pyDatalog's spelling; see `parse_text`. Nothing of it is run."""
    return reader(text, file, pack).read()


def reader(text: str, file: str, pack: str) -> PydatalogReader:
    """What reads a text; it keeps what each statement gave."""
    return PydatalogReader(SourceText(file, text.replace("\r\n", "\n").replace("\r", "\n")), pack)


class PydatalogReader(FileReader):
    """Reads the statements and comments of one file in order."""

    def __init__(self, source: SourceText, pack: str) -> None:
        super().__init__(source, pack)
        self.pieces: list[Statement | Comment] = []
        self.inner: list[Comment] = []
        self.said: dict[int, Said | None] = {}
        self.made: dict[int, list[Rule]] = {}
        self.aggregates = Aggregates((), {})

    def _scan(self) -> list[Statement | Comment]:
        scanner = PydatalogScanner(self.source.text)
        self.pieces, self.inner = scanner.scan(), scanner.inner
        statements = [piece for piece in self.pieces if isinstance(piece, Statement)]
        self._check_indentation([piece for piece in statements if not piece.tokens])
        for statement in statements:
            if not statement.tokens:
                self.said[statement.start], errors = read_statement(statement, self.source)
                self.errors += errors
        said = [one for one in self.said.values() if one is not None]
        broken = {self._first_name(s) for s in statements if self.said.get(s.start, s) is None}
        self.aggregates = Aggregates(said, self._marked(statements), broken)
        self.errors += self.aggregates.errors
        for one in said:
            self.errors += misplaced(one.conditions, frozenset(self.aggregates.marked))
        return self.pieces

    def _statement(self, statement: Statement, pieces: list[Statement | Comment], index: int) -> None:
        if statement.tokens and statement.tokens[0] != AGGREGATE:
            super()._statement(statement, pieces, index)
            return
        self._open_test = None
        if not statement.tokens:
            self._python(statement, self.said[statement.start])

    def _python(self, statement: Statement, said: Said | None) -> None:
        """A rule, a fact, or a part of an aggregate."""
        if said is None:
            name = self._first_name(statement)
            self._give_up(statement, name, is_rule=bool(name))
            return
        if self.aggregates.is_part(said):
            return
        clauses = self.aggregates.clauses(said)
        before = len(self.rules)
        for head, body in clauses:
            self._add(statement, head, body, self._text(statement, head, body))
        self.made[statement.start] = self.rules[before:]
        if not clauses:
            name = self._first_name(statement)
            self._give_up(statement, name, is_rule=True)

    def _first_name(self, statement: Statement) -> str:
        found = _FIRST_NAME.search(self.source.text, statement.start, statement.end)
        return meant(found[0]) if found and not is_kept(found[0]) else ""

    def _text(self, statement: Statement, head: Atom, body: Sequence[BodyItem]) -> str:
        """A clause as rule files spell it, on the lines on which it stands here: places are counted by lines."""
        line = self.source.line(statement.start)
        text = format_atom(head)
        for number, item in enumerate(body):
            below = max(0, item.place.line - line)
            text += ("," if number else " :-") + ("\n" * below or " ") + format_item(item)
            line += below
        return f"{text}{chr(10) * max(0, self.source.line(statement.end - 1) - line)}."

    def _marked(self, statements: Sequence[Statement]) -> dict[str, Place]:
        """The names of `#.aggregate`, with their places."""
        found: dict[str, Place] = {}
        for statement in statements:
            if not statement.tokens or statement.tokens[0] != AGGREGATE:
                continue
            rest = statement.tokens[1:]
            place = self.source.place(statement.start, statement.end)
            if len(rest) == 1 and is_name(str(rest[0])) and not is_kept(str(rest[0])):
                found[meant(str(rest[0]))] = place
            else:
                self._error("SL100", "the directive is not complete", place, "#.aggregate users")
        return found

    def _check_indentation(self, statements: Sequence[Statement]) -> None:
        """Python takes a change of indentation for a block (SL100)."""
        first: int | None = None
        for statement in statements:
            begin = self.source.starts[self.source.line(statement.start) - 1]
            if self.source.text[begin : statement.start].strip():
                continue
            column = statement.start - begin
            first = column if first is None else first
            if column != first:
                place = self.source.place(statement.start, statement.end)
                self._error("SL100", "a statement that begins in another column", place,
                            "let all statements begin in one column")  # fmt: skip
