"""One rule file as an editor asks about it: what is wrong, what a name means, where it is declared, what fits here.

Lines and columns count from 0 here, columns in characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from schedulog.errors import Place, RuleError, SchedulogError
from schedulog.lsp.files import shown_name, together
from schedulog.scheduler.language.check_names import atoms
from schedulog.scheduler.language.describe import declaration
from schedulog.scheduler.language.load import examine_files
from schedulog.scheduler.language.metadata import KEYS, KINDS, REFUSALS, STATUSES
from schedulog.scheduler.language.program import Function, Program, Relation, RuleInfo
from schedulog.scheduler.language.pydatalog.names import is_kept, meant, written
from schedulog.scheduler.language.respell import respelled
from schedulog.scheduler.language.rule_file import is_pydatalog
from schedulog.scheduler.language.scan import DIRECTIVES
from schedulog.scheduler.lint.lint import lint
from schedulog.scheduler.rule_test_text import read_test

_NAME: Final = re.compile(r"[a-z]\w*(?:-\w+)*(?:/[a-z][\w-]*)?|\.[a-z]\w*|#[a-z]+", re.ASCII)
_SENTENCES: Final = {
    ".decl": "Declares a relation: `.decl size(n: node -> elements: int)`; `->` for one value a key.",
    ".function": "Declares a registered function: `.function view_size(v: view) -> int`.",
    ".input": "The graph supplies this relation; no rule derives it.",
    ".open": "Other packs may derive this relation; it may stay empty.",
    ".type": "Declares a type of strings.",
    "#count": "How many distinct tuples there are; 0 of none.",
    "#sum": "The sum over distinct tuples; 0 of none.",
    "#min": "The least; of none the condition is false.",
    "#max": "The greatest; of none the condition is false.",
}
_HEADER_VALUES: Final = {"kind": KINDS, "status": STATUSES, "refusal": REFUSALS}


@dataclass(frozen=True, slots=True)
class Proposal:
    """One way to go on: what is written, what it is, and a sentence about it."""

    label: str
    kind: str
    detail: str
    sentence: str


class Document:
    """A rule file with the text that an editor shows."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.name = shown_name(path)
        self.pydatalog = is_pydatalog(self.name)
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        files, packs = together(path, text)
        self.examined = examine_files(files, packs=packs)
        self.relations = self.examined.rules.relations
        self.functions = self.examined.rules.functions

    def findings(self) -> list[RuleError]:
        """The errors and warnings about this file; warnings that need rules without errors where there are none."""
        found = list(self.examined.findings)
        if self.examined.program is not None:
            found += [*respelled(lint(self.examined.rules)), *self._test_mistakes(self.examined.program)]
        return [
            finding
            for finding in found
            if isinstance(finding.where, Place) and finding.where.file == self.name
        ]

    def hover(self, line: int, column: int) -> str:
        """What the name at a position means, as Markdown; "" for nothing."""
        word = self.word(line, column)
        if word in _SENTENCES:
            return _SENTENCES[word]
        if word in self.relations:
            return self._relation(self.relations[word])
        if word in self.functions:
            function = self.functions[word]
            return f"```prolog\n{declaration(function)}\n```\n{function.doc}"
        info = self.examined.rules.infos.get(word)
        return "" if info is None else self._rule(info)

    def definition(self, line: int, column: int) -> Place | None:
        """Where the name at a position is declared."""
        word = self.word(line, column)
        what: Relation | Function | RuleInfo | None = (
            self.relations.get(word) or self.functions.get(word) or self.examined.rules.infos.get(word)
        )
        return None if what is None else what.place

    def references(self, line: int, column: int) -> list[Place]:
        """Every place in rules where the relation at a position stands."""
        word = self.word(line, column)
        return [
            atom.place for rule in self.examined.rules.rules for atom in atoms(rule) if atom.relation == word
        ]

    def completions(self, line: int, column: int) -> list[Proposal]:
        """What may be written at a position."""
        before = self.lines[line][:column] if line < len(self.lines) else ""
        if self.pydatalog:
            return self._completions_of_python(before)
        return self._completions(before)

    def _completions_of_python(self, before: str) -> list[Proposal]:
        """Proposals for a line in pyDatalog's spelling, where headers, tests and directives are comments."""
        live = re.match(r"\s*#[ \t]*([!?].*|\.\w*)$", before)
        if live is not None:
            return self._completions(live[1] if live[1].startswith(".") else f"%{live[1]}")
        if "#" in before:
            return []
        called = [
            Proposal(written(f.name), "function", declaration(f), f.doc) for f in self.functions.values()
        ]
        return called + [replace(found, label=written(found.label)) for found in self._completions("")]

    def _completions(self, before: str) -> list[Proposal]:
        header = re.match(r"\s*%!.*?(?:(\w+)\s*:\s*)?(?:[\w-]+ )*\w*$", before)
        if header is not None:
            values = _HEADER_VALUES.get(header[1] or "", () if header[1] else KEYS)
            return [Proposal(value, "value" if header[1] else "key", "", "") for value in values]
        if before.lstrip().startswith("%") and not before.lstrip().startswith("%?"):
            return []
        if re.search(r"@\w*$", before):
            return [Proposal(f.name, "function", declaration(f), f.doc) for f in self.functions.values()]
        if re.match(r"\.\w*$", before):
            return [Proposal(word, "directive", "", _SENTENCES[word]) for word in DIRECTIVES]
        return [Proposal(r.name, "relation", declaration(r), r.doc) for r in self.relations.values()]

    def word(self, line: int, column: int) -> str:
        """The name at a position; "" where there is none."""
        if line >= len(self.lines):
            return ""
        spans = _NAME.finditer(self.lines[line])
        word = next((found[0] for found in spans if found.start() <= column <= found.end()), "")
        return meant(word) if self.pydatalog and not is_kept(word) else word

    def _relation(self, relation: Relation) -> str:
        rules = self.examined.rules.rules
        derive = sorted({rule.id for rule in rules if rule.head.relation == relation.name})
        source = "the graph" if relation.is_input else ", ".join(f"`{rule}`" for rule in derive) or "no rule"
        return f"```prolog\n{declaration(relation)}\n```\n{relation.doc}\n\nFrom {source}; declared at {relation.place}."

    def _rule(self, info: RuleInfo) -> str:
        why = f'\n\nwhy: "{info.why}"' if info.why else ""
        return f"**{info.id}** ({info.kind}, {info.status})\n\n{info.title}{why}"

    def _test_mistakes(self, program: Program) -> Iterator[RuleError]:
        tests = (test for info in program.infos.values() for test in info.tests)
        for test in (test for test in tests if test.place.file == self.name):
            try:
                read_test(test, program, self.path.parent)
            except SchedulogError as error:
                yield RuleError(
                    error.code, error.message, where=error.where, reason=error.reason, help=error.help
                )
