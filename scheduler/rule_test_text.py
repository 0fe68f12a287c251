"""The text of rule tests: `%?` lines of rule files, and the same without `%?` in files `NAME_test.dl`.

%? test "two reductions"   graph: x=load f32[8,8]; s=sum x axis=1; t=sum s axis=0; out t
%?   set: FUSE_CONV_BW=1   given: realize(s)
%?   holds realize(s).   by my/rule.   set realize == {s, t}.   kernels == {{s}, {t}}.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from schedulog.errors import GraphError, Place, RuleError
from schedulog.facts.json_format import read_graph
from schedulog.facts.node import Node
from schedulog.facts.notation import NamedGraph, read_names
from schedulog.scheduler.language.diagnostic import SourceText
from schedulog.scheduler.language.pack import GRAPHS
from schedulog.scheduler.language.program import Program, RuleTest
from schedulog.scheduler.rule_test import Case
from schedulog.scheduler.rule_test_claims import ClaimReader

_TITLE: Final = re.compile(r'[ \t]*(?:%\?)?[ \t]*test[ \t]+"([^"\n]+)"')
_GRAPH: Final = re.compile(r"(?:\s|%\?)*graph:")
_FILE: Final = re.compile(r"[ \t]*file[ \t]+([^\s=]\S*)")
_OUT: Final = re.compile(r"(?:(?<=[;\n:])|(?<=%\?))[ \t]*out[ \t]+\w+(?:[ \t]*,[ \t]*\w+)*", re.ASCII)


def side_tests(text: str, file: str) -> tuple[RuleTest, ...]:
    """The tests of a file `NAME_test.dl`: a test begins with `test "title"` and ends before the next.

    Lines that begin with `%` are comments. Raises RuleError SL160 for a line that stands before the first test.
    """
    found: list[RuleTest] = []
    for number, line in enumerate(SourceText(file, text).lines, 1):
        title = _TITLE.match(line)
        # A comment stays as an empty line, so that the lines after it keep their numbers.
        kept = "" if line.lstrip().startswith("%") else line.rstrip()
        place = Place(file, number, 1, max(1, len(kept)), kept)
        if kept and title is not None:
            found.append(RuleTest(title[1], kept, place))
        elif found:
            found[-1] = replace(found[-1], text=f"{found[-1].text}\n{kept}")
        elif kept:
            raise RuleError(
                "SL160", "a line before the first test", where=place, help='test "title"  graph: ...'
            )
    return tuple(replace(test, text=test.text.rstrip()) for test in found)


def read_test(test: RuleTest, program: Program, folder: Path) -> Case:
    """The test, ready to run with `program`; graph files are looked up in `folder`.

    Raises RuleError: SL160 not well formed, SL162 a name that is not in the graph, SL101 and SL102 about relations, SL119
    an unknown rule; GraphError for what is wrong with the graph.
    """
    block = _Block(test)
    named, end = block.graph(folder)
    position = named.graph.position
    bases = {name: position[n.base] for name, n in named.names.items() if n.base in position}
    names = {f"n{i}": i for i in range(len(named.graph.nodes))} | bases
    reader = ClaimReader(block.source, end, program, names)
    options, given = reader.setting()
    return Case(test, named.graph, named.names, options, given, reader.assertions())


def graph_text(test: RuleTest) -> str:
    """The graph of a well-formed test in the short notation, "" for one in a file."""
    text = test.text.partition("graph:")[2]
    found = None if _FILE.match(text) else _OUT.search(text)
    return text[: found.end()].replace("%?", "  ").strip() if found is not None else ""


class _Block:
    """The lines of one test at their places in the file, so that offsets are places without translation."""

    def __init__(self, test: RuleTest) -> None:
        column = test.place.column - 1
        margin = " " * column + ("%?" if test.place.text[column:].startswith("%?") else "")
        lines = [margin + line for line in test.text.split("\n")]
        self.test = test
        self.source = SourceText(test.place.file, "\n" * (test.place.line - 1) + "\n".join(lines))

    def graph(self, folder: Path) -> tuple[NamedGraph, int]:
        """The graph, and the offset behind it."""
        text, start = self.source.text, self.test.place.line - 1
        title = _TITLE.match(text, start)
        if title is None:
            raise self.error("a test has a title", start, 'test "what it shows"  graph: ...')
        head = _GRAPH.match(text, title.end())
        if head is None:
            raise self.error("a test says its graph", start, "graph: x=load f32[8]; y=exp x; out y")
        file = _FILE.match(text, head.end())
        if file is not None:
            if not file[1].endswith(".json"):
                raise self.error(
                    f"{file[1]} is no graph file", file.start(1), "graph: file NAME.json, without blanks"
                )
            return self.graph_file(folder, file), file.end()
        found = _OUT.search(text, head.end())
        if found is None:
            raise self.error("the graph has no `out`", head.end() - 6, "graph: x=load f32[8]; y=exp x; out y")
        blank = re.sub(r"[^\n]", " ", text[: head.end()])
        try:
            return read_names(
                blank + text[head.end() : found.end()].replace("%?", "  "), self.source.file
            ), found.end()
        except GraphError as error:
            raise self.with_line(error) from None

    def graph_file(self, folder: Path, found: re.Match[str]) -> NamedGraph:
        """The graph of a JSON file in the folder, in its `graphs/`, or beside the test; labels that are words are its names."""
        here = Path(self.source.file).parent
        places = (folder, folder / GRAPHS, here, here / GRAPHS, here.parent / GRAPHS)
        path = next((place / found[1] for place in places if (place / found[1]).exists()), folder / found[1])
        try:
            graph = read_graph(path.read_text(encoding="utf-8-sig"), path.as_posix())
        except OSError as problem:
            raise self.error(f"{found[1]} cannot be read: {problem.strerror}", found.start(1), "") from None
        except UnicodeDecodeError as problem:
            what = f"{found[1]} cannot be read: byte {problem.start} is not UTF-8"
            raise self.error(what, found.start(1), "") from None
        labels: dict[str, Node] = {}
        for n in graph.nodes:
            if n.label.isidentifier():
                labels.setdefault(n.label, n)
        return NamedGraph(graph, labels)

    def with_line(self, error: GraphError) -> GraphError:
        """The error, showing the whole line of the rule file."""
        where = error.where
        if isinstance(where, Place):
            where = replace(where, text=self.source.lines[where.line - 1].rstrip())
        return GraphError(error.code, error.message, where=where, reason=error.reason, help=error.help)

    def error(self, message: str, offset: int, help: str) -> RuleError:
        return RuleError("SL160", message, where=self.source.place(offset, offset + 1), help=help)
