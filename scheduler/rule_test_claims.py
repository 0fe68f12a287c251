"""What a rule test sets and claims, read from the text behind its graph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from schedulog.errors import RuleError
from schedulog.scheduler.language.diagnostic import SourceText, nearest, plural
from schedulog.scheduler.language.program import Program, Relation, Rule
from schedulog.scheduler.rule_test import (
    Assertion,
    BlockedAt,
    By,
    BytesAre,
    Claim,
    Computes,
    CountIs,
    Fails,
    Holds,
    KernelCount,
    KernelsAre,
    Order,
    Pattern,
    SetIs,
    Snapshot,
    Term,
)

_TOKEN: Final = re.compile(
    r"""(?P<BLANK>[ \t\n]+|%\?)
    |(?P<STRING>"[^"\n]*")
    |(?P<RULE>[a-z0-9][a-z0-9_-]*/[a-z0-9][a-z0-9_-]*(?:\#[0-9]+)?(?::[0-9]+)?)
    |(?P<INTEGER>-?[0-9]+(?!\w))
    |(?P<WORD>[A-Za-z_]\w*:?)
    |(?P<SIGN>==|<=|[{}(),.~=])
    |(?P<UNKNOWN>.)""",
    re.VERBOSE | re.ASCII,
)
_FORMS: Final[Mapping[str, str]] = {
    "holds": "holds realize(s).",
    "not": "not realize(s).",
    "set": "set realize == {s, t}.",
    "count": "count realize == 2.",
    "kernels": "kernels == 2.",
    "bytes": "bytes <= 4096.",
    "order": "order s before t.",
    "by": "holds realize(s). by my/rule.",
    "blocked": "blocked realize(s) at my/rule:2.",
    "snapshot": "snapshot realize.",
    "error": "error SL310.",
    "result": "result ~ numpy.",
    "todo": "todo kernels == 1.",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number, string, rule id or sign between two offsets."""

    kind: str
    text: str
    start: int
    end: int


class ClaimReader:
    """Reads the settings and assertions that stand behind `begin`. `names` are positions in the graph."""

    def __init__(self, source: SourceText, begin: int, program: Program, names: Mapping[str, int]) -> None:
        self.source = source
        self.program = program
        self.names = names
        found = ((m.lastgroup or "", m) for m in _TOKEN.finditer(source.text, begin))
        self.tokens = [Token(kind, m.group(), m.start(), m.end()) for kind, m in found if kind != "BLANK"]
        self.end = Token("END", "the end of the test", begin - 1, begin)
        self.at = 0
        self.held: Pattern | None = None
        self.kept = False

    def setting(self) -> tuple[dict[str, int], tuple[Pattern, ...]]:
        """`set: NAME=1 ...` and `given: fact, fact`, in either order."""
        options: dict[str, int] = {}
        given: list[Pattern] = []
        while (word := self.peek().text) in ("set:", "given:"):
            self.at += 1
            if word == "set:":
                options.update(self.options())
            else:
                given.append(self.fact())
                while self.skip(","):
                    given.append(self.fact())
        return options, tuple(given)

    def options(self) -> Iterator[tuple[str, int]]:
        while self.peek(1).text == "=":
            name = self.take("WORD", "a name")
            self.at += 1
            yield name.text, int(self.take("INTEGER", "a whole number").text)

    def assertions(self) -> tuple[Assertion, ...]:
        """All assertions. Raises RuleError SL160 when there is none."""
        found: list[Assertion] = []
        while self.at < len(self.tokens):
            first = self.peek()
            todo = self.skip("todo")
            claim = self.claim()
            last = self.ended(first)
            text = re.sub(r"\s*(?:%\?)?\s+", " ", self.source.text[first.start : last.start])
            place = self.source.place(first.start, last.start)
            found.append(Assertion(claim, todo, text, place))
        if not found:
            raise self.error("a test without an assertion", self.end, "holds realize(s).")
        return tuple(found)

    def ended(self, first: Token) -> Token:
        """The `.` behind an assertion that begins with `first`."""
        if self.peek().text == "by":
            help = "end the assertion with `.` first: " * (first.text == "holds") + _FORMS["by"]
            raise self.error(
                f"`{first.text}` takes no `by`, which stands behind `holds ... .`", self.peek(), help
            )
        return self.take(".", "`.` at the end of the assertion")

    def claim(self) -> Claim:
        word = self.take("WORD", "an assertion")
        match word.text:
            case "holds":
                self.held = self.fact()
                return Holds(self.held, True)
            case "not":
                return Holds(self.fact(), False)
            case "by":
                return self.by(word)
            case "blocked":
                return self.blocked()
            case "set":
                return self.set_is()
            case "count":
                return self.count_is()
            case "kernels":
                return self.kernels()
            case _:
                return self.of_schedule(word)

    def of_schedule(self, word: Token) -> Claim:
        """The assertions about the schedule as a whole."""
        match word.text:
            case "bytes":
                return self.bytes_are()
            case "order":
                first = self.node()
                self.take("before", "`before`")
                return Order(first, self.node())
            case "snapshot":
                return self.snapshot(word)
            case "error":
                return Fails(self.take("WORD", "an error code").text)
            case "result":
                self.take("~", "`~`")
                self.take("numpy", "`numpy`")
                return Computes()
            case _:
                help = nearest(word.text, _FORMS) or "for example: " + "  ".join(_FORMS.values())
                raise self.error(f"unknown assertion `{word.text}`", word, help)

    def by(self, word: Token) -> By:
        if self.held is None:
            raise self.error(
                "`by` without a `holds` before it: no other assertion takes it", word, _FORMS["by"]
            )
        rule = self.take("RULE", "a rule id")
        self.rules(rule.text, rule)
        return By(self.held, rule.text)

    def rules(self, name: str, token: Token) -> list[Rule]:
        """The clauses that an id means."""
        found = [rule for rule in self.program.rules if name in (rule.id, rule.name)]
        if not found:
            known = {name for r in self.program.rules for name in (r.id, r.name)}
            raise self.error(f"no rule has the id `{name}`", token, nearest(name, known), "SL119")
        return found

    def blocked(self) -> BlockedAt:
        fact = self.fact()
        self.take("at", "`at`")
        token = self.take("RULE", "a rule and a condition")
        name, _, number = token.text.partition(":")
        condition = int(number or 0)
        clauses = [rule for rule in self.rules(name, token) if rule.head.relation == fact.relation]
        if not clauses:
            raise self.error(f"`{name}` derives no `{fact.relation}`", token, "")
        if not any(1 <= condition <= len(rule.body) for rule in clauses):
            most = plural(max(len(rule.body) for rule in clauses), "condition")
            raise self.error(f"`{name}` has {most}", token, f"{name}:1 is the first of them")
        return BlockedAt(fact, name, condition)

    def bytes_are(self) -> BytesAre:
        exact = self.peek().text == "=="
        self.take("==" if exact else "<=", "`<=` or `==`")
        return BytesAre(int(self.take("INTEGER", "a whole number").text), exact)

    def snapshot(self, word: Token) -> Snapshot:
        if self.kept:
            raise self.error("a second snapshot", word, "name all relations in one: snapshot realize, owner.")
        self.kept = True
        found: list[str] = []
        while self.peek().kind == "WORD" or found:
            found.append(self.relation().name)
            if not self.skip(","):
                break
        return Snapshot(tuple(found))

    def set_is(self) -> SetIs:
        relation = self.relation()
        self.take("==", "`==`")
        self.take("{", "`{`")
        rows: list[Pattern] = []
        while not self.skip("}"):
            if rows:
                self.take(",", "`,` or `}`")
            rows.append(self.row(relation))
        return SetIs(relation.name, tuple(rows))

    def row(self, relation: Relation) -> Pattern:
        first = self.peek()
        if self.skip("("):
            return self.pattern(relation, first)
        return self.fitting(relation, (self.term(),), first)

    def count_is(self) -> CountIs:
        if self.peek(1).text == "(":
            fact = self.fact()
        else:
            relation = self.relation()
            fact = Pattern(relation.name, (None,) * relation.arity, relation.name)
        self.take("==", "`==`")
        return CountIs(fact, int(self.take("INTEGER", "a whole number").text))

    def kernels(self) -> KernelCount | KernelsAre:
        self.take("==", "`==`")
        if self.peek().kind == "INTEGER":
            return KernelCount(int(self.take("INTEGER", "a whole number").text))
        self.take("{", "a number or `{`")
        found: list[frozenset[int]] = []
        while not self.skip("}"):
            if found:
                self.take(",", "`,` or `}`")
            found.append(self.members())
        return KernelsAre(tuple(found))

    def members(self) -> frozenset[int]:
        self.take("{", "`{`")
        found: set[int] = set()
        while not self.skip("}"):
            if found:
                self.take(",", "`,` or `}`")
            found.add(self.node())
        return frozenset(found)

    def fact(self) -> Pattern:
        first = self.peek()
        relation = self.relation()
        if not relation.arity and self.peek().text != "(":
            return Pattern(relation.name, (), relation.name)
        self.take("(", "`(`")
        return self.pattern(relation, first)

    def pattern(self, relation: Relation, first: Token) -> Pattern:
        """The terms up to the closing parenthesis."""
        terms: list[Term] = []
        while not self.skip(")"):
            if terms:
                self.take(",", "`,` or `)`")
            terms.append(self.term())
        return self.fitting(relation, tuple(terms), first)

    def fitting(self, relation: Relation, terms: tuple[Term, ...], first: Token) -> Pattern:
        text = self.source.text[first.start : self.tokens[self.at - 1].end]
        if len(terms) != relation.arity:
            wanted = plural(relation.arity, "argument")
            raise self.error(f"`{relation.name}` has {wanted}, not {len(terms)}", first, "", "SL102")
        return Pattern(relation.name, terms, text)

    def relation(self) -> Relation:
        name = self.take("WORD", "a relation")
        found = self.program.relations.get(name.text)
        if found is None:
            help = nearest(name.text, self.program.relations)
            raise self.error(f"unknown relation `{name.text}`", name, help, "SL101")
        return found

    def term(self) -> Term:
        token = self.peek()
        if token.kind == "INTEGER":
            self.at += 1
            return int(token.text)
        if token.kind == "STRING":
            self.at += 1
            return token.text[1:-1]
        return None if self.skip("_") else self.node()

    def node(self) -> int:
        name = self.take("WORD", "a name of the graph")
        if name.text not in self.names:
            help = nearest(name.text, self.names) or "a name is one of the graph; a string stands in quotes"
            raise self.error(f"the graph has no `{name.text}`", name, help, "SL162")
        return self.names[name.text]

    def peek(self, ahead: int = 0) -> Token:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else self.end

    def skip(self, text: str) -> bool:
        """Pass a token of this text, if it is the next one."""
        found = self.peek().text == text
        self.at += found
        return found

    def take(self, what: str, words: str) -> Token:
        """The next token, which has to be of this kind or this text."""
        token = self.peek()
        if what not in (token.kind, token.text):
            raise self.error(f"{words} is expected, not {_shown(token)}", token, "")
        self.at += 1
        return token

    def error(self, message: str, token: Token, help: str, code: str = "SL160") -> RuleError:
        return RuleError(code, message, where=self.source.place(token.start, token.end), help=help)


def _shown(token: Token) -> str:
    return token.text if token.kind == "END" else f"`{token.text}`"
