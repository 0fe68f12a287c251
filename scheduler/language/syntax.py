"""Rule text to rules, declarations and headers, with the place of every term.

Parsed with lark (LALR), statement by statement, so that every mistake of a file is found in one run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final

from lark import Lark, Token, Tree, UnexpectedToken
from lark.common import LexerConf
from lark.lexer import Lexer

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.build import Builder, Rejected
from schedulog.scheduler.language.diagnostic import SourceText
from schedulog.scheduler.language.metadata import Header, check_header, plain_info, read_entries, rule_info
from schedulog.scheduler.language.program import (
    Atom,
    BodyItem,
    Function,
    Relation,
    Rule,
    RuleInfo,
    RuleTest,
)
from schedulog.scheduler.language.scan import Comment, Scanner, Statement
from schedulog.scheduler.language.syntax_error import syntax_error, too_deep


@dataclass(frozen=True, slots=True)
class Mark:
    """A `.input`, `.open` or `.type` directive: `kind` and the name it is about."""

    kind: str
    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What one rule file says, before any check across statements.

    `headers` are the rules that have a `%!` header, `plain` those that are named after their relation.
    `requires` are the packs the file asks for. `broken` holds names whose declaration or rule cannot be read:
    nothing more is said about those. `errors` are the mistakes found so far.
    """

    file: str
    pack: str
    relations: tuple[Relation, ...]
    functions: tuple[Function, ...]
    marks: tuple[Mark, ...]
    rules: tuple[Rule, ...]
    headers: tuple[RuleInfo, ...]
    plain: tuple[RuleInfo, ...]
    requires: tuple[tuple[str, Place], ...]
    broken: frozenset[str]
    errors: tuple[RuleError, ...]


class _TokenLexer(Lexer):
    """Hands the scanner's tokens to lark."""

    def __init__(self, lexer_conf: LexerConf) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any = None) -> Iterator[Token]:
        tokens: list[Token] = lexer_state
        return iter(tokens)


@cache
def _parser() -> Lark:
    """The parser of one statement, built once: building it costs as much as reading a pack."""
    grammar = files("schedulog.scheduler.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer=_TokenLexer, maybe_placeholders=True)


def parse_text(text: str, file: str, pack: str) -> ParsedFile:
    """Read one rule file. `file` names it in messages, `pack` prefixes the ids of rules that have none.

    Mistakes are collected in the result's `errors`; nothing is raised.
    """
    return FileReader(SourceText(file, text.replace("\r\n", "\n").replace("\r", "\n")), pack).read()


class FileReader:
    """Reads the statements and comments of one file in order. A subclass reads another spelling of clauses."""

    def __init__(self, source: SourceText, pack: str) -> None:
        self.source = source
        self.pack = pack
        self.errors: list[RuleError] = []
        self.relations: list[Relation] = []
        self.functions: list[Function] = []
        self.marks: list[Mark] = []
        self.rules: list[Rule] = []
        self.headers: dict[str, RuleInfo] = {}
        self.repeated: list[RuleInfo] = []
        self.plain: dict[str, RuleInfo] = {}
        self.tests: dict[str, list[RuleTest]] = {}
        self.requires: list[tuple[str, Place]] = []
        self.broken: set[str] = set()
        self._waiting = Header()
        self._current: tuple[str, str] | None = None
        self._clauses: dict[str, int] = {}
        self._open_test: RuleTest | None = None
        self._test_end = 0

    def read(self) -> ParsedFile:
        """What the file says."""
        pieces = self._scan()
        for index, piece in enumerate(pieces):
            if isinstance(piece, Comment):
                self._comment(piece)
            else:
                self._statement(piece, pieces, index)
        self._drop_header()
        return self._result()

    def _scan(self) -> list[Statement | Comment]:
        return Scanner(self.source.text).scan()

    def _result(self) -> ParsedFile:
        headers = [self._with_tests(info) for info in self.headers.values()] + self.repeated
        plain = [self._with_tests(info) for info in self.plain.values()]
        return ParsedFile(
            self.source.file,
            self.pack,
            tuple(self.relations),
            tuple(self.functions),
            tuple(self.marks),
            tuple(self.rules),
            tuple(headers),
            tuple(plain),
            tuple(self.requires),
            frozenset(self.broken),
            tuple(self.errors),
        )

    def _with_tests(self, info: RuleInfo) -> RuleInfo:
        return replace(info, tests=tuple(self.tests.get(info.id, ())))

    def _comment(self, comment: Comment) -> None:
        if comment.sign == "%!":
            self._waiting.entries += read_entries(comment, self.source, self.errors)
        elif comment.sign == "%?":
            self._test_line(comment)

    def _test_line(self, comment: Comment) -> None:
        line = self.source.line(comment.start)
        place = self.source.place(comment.start, comment.start + 2)
        if comment.text.split(maxsplit=1)[:1] == ["test"]:
            if self._current is None:
                self._error("SL118", "a test that belongs to no rule", place, "tests stand below their rule")
                return
            title = comment.text.split('"')[1] if comment.text.count('"') >= 2 else ""
            test = RuleTest(title, comment.text, place)
            self.tests.setdefault(self._current[0], []).append(test)
        elif self._open_test is None or line != self._test_end + 1:
            self._error(
                "SL118", "a test line without its test", place, 'a test begins with `%? test "title"`'
            )
            return
        else:
            test = replace(self._open_test, text=f"{self._open_test.text}\n{comment.text}")
            assert self._current is not None
            self.tests[self._current[0]][-1] = test
        self._open_test, self._test_end = test, line

    def _error(self, code: str, message: str, where: Place, help: str) -> None:
        self.errors.append(RuleError(code, message, where=where, help=help))

    def _statement(self, statement: Statement, pieces: list[Statement | Comment], index: int) -> None:
        self._open_test = None
        tree = self._parse(statement)
        if tree is None:
            self._give_up(
                statement, _first_name(statement), statement.tokens[0].type in ("NAME", "PLUS_MINUS")
            )
        elif tree.data == "clause":
            self._clause(statement, tree)
        else:
            self._drop_header()
            self._current = None
            self._directive(tree, doc_of(statement, pieces, index, self.source))

    def _parse(self, statement: Statement) -> Tree[Token] | None:
        if statement.deep:
            self.errors.append(too_deep(statement, self.source))
            return None
        try:
            # Lark's own signature knows text only; a custom lexer takes what it is given.
            tokens: Any = statement.tokens
            return _parser().parse(tokens)
        except UnexpectedToken as found:
            self.errors.append(syntax_error(found, statement, self.source))
            return None

    def _give_up(self, statement: Statement, name: str, is_rule: bool) -> None:
        """Remember what an unreadable statement was about, so that its absence is no further mistake."""
        self.broken.add(name)
        if is_rule:
            self._enter_rule(name, statement)
        else:
            self._waiting, self._current = Header(), None

    def _directive(self, tree: Tree[Token], doc: str) -> None:
        builder = Builder(self.source)
        if tree.data == "declaration":
            self.relations.append(builder.relation(tree, doc))
        elif tree.data == "function":
            self.functions.append(builder.function(tree, doc))
        else:
            name = tree.children[0]
            assert isinstance(name, Token)
            self.marks.append(Mark(str(tree.data), str(name), builder.place(name)))

    def _clause(self, statement: Statement, tree: Tree[Token]) -> None:
        builder = Builder(self.source)
        try:
            head, body = builder.clause(tree)
        except Rejected:
            self.errors += builder.errors
            self._give_up(statement, _first_name(statement), is_rule=True)
            return
        self.errors += builder.errors
        self._add(statement, head, body, self.source.text[statement.start : statement.end])

    def _add(self, statement: Statement, head: Atom, body: tuple[BodyItem, ...], text: str) -> None:
        """Take one clause, of which `text` is the spelling in rule files, on as many lines as the statement has."""
        rule_id = self._enter_rule(head.relation, statement)
        number = self._clauses[rule_id] = self._clauses.get(rule_id, 0) + 1
        self.rules.append(Rule(rule_id, number, head, body, head.place, text))

    def _enter_rule(self, relation: str, statement: Statement) -> str:
        """The id of the rule that a clause for `relation` belongs to; takes the waiting header."""
        if self._waiting.entries:
            self._take_header(relation)
        if self._current is None or self._current[1] != relation:
            rule_id = f"{self.pack}/{relation.replace('_', '-')}"
            self._current = (rule_id, relation)
            if rule_id not in self.plain:
                place = self.source.place(statement.start, statement.start + len(relation))
                self.plain[rule_id] = plain_info(rule_id, self.pack, place)
        return self._current[0]

    def _take_header(self, relation: str) -> None:
        header, self._waiting = self._waiting, Header()
        self._about_file(header)
        if header.about_file:
            return
        self.errors += check_header(header)
        rule_id = header.value("id") or f"{self.pack}/{relation.replace('_', '-')}"
        info = rule_info(header, rule_id, self.pack)
        if rule_id in self.headers:
            self.repeated.append(info)
        else:
            self.headers[rule_id] = info
        self._current = (rule_id, relation)

    def _about_file(self, header: Header) -> None:
        self.pack = header.value("pack") or self.pack
        self.requires += [(entry.value, entry.place) for entry in header.entries if entry.key == "requires"]

    def _drop_header(self) -> None:
        """A header that no clause follows may speak of the file only."""
        header, self._waiting = self._waiting, Header()
        if not header.entries:
            return
        self._about_file(header)
        if not header.about_file:
            where = header.entries[0].place
            self._error("SL118", "a header that belongs to no rule", where, "a header stands above its rule")


def _first_name(statement: Statement) -> str:
    return next((str(token) for token in statement.tokens if token.type == "NAME"), "")


_PLAIN: Final = frozenset({"%", "//"})


def doc_of(statement: Statement, pieces: list[Statement | Comment], index: int, source: SourceText) -> str:
    """The sentence about a declaration: the comment directly below it, or else directly above."""
    below = _run(pieces, index, 1, source.line(statement.end - 1), source)
    return below or _run(pieces, index, -1, source.line(statement.start), source)


def _run(pieces: list[Statement | Comment], index: int, step: int, line: int, source: SourceText) -> str:
    """The plain comments on adjacent lines from `line` on, upwards or downwards, as one text."""
    lines: list[str] = []
    index += step
    while 0 <= index < len(pieces):
        piece = pieces[index]
        if isinstance(piece, Statement) or piece.sign not in _PLAIN:
            break
        at = source.line(piece.start)
        if at != line + step and (step < 0 or at != line or piece.own_line):
            break
        if step < 0 and not piece.own_line:
            break
        lines.append(piece.text.strip())
        line, index = at, index + step
    return " ".join(lines if step > 0 else reversed(lines)).strip()
