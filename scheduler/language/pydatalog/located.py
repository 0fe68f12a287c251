"""One statement of Python as a syntax tree, with the place of each of its nodes in the whole text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from schedulog.errors import Place
from schedulog.scheduler.language.diagnostic import SourceText
from schedulog.scheduler.language.scan import Statement

Located_ = ast.expr | ast.stmt | ast.keyword


class Located:
    """The text of one statement; it is parsed as Python and never run.

    `ast` is used because this spelling is a part of Python's grammar: what else a user may write has its own kind of
    node, and so its own message.
    """

    def __init__(self, source: SourceText, statement: Statement) -> None:
        self.source = source
        self.start = statement.start
        self.end = statement.end
        self.text = source.text[statement.start : statement.end]
        self._lines = self.text.split("\n")
        self._starts = [statement.start]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def parse(self) -> ast.stmt:
        """The tree of the statement.

        Raises what `ast.parse` raises: SyntaxError, RecursionError and MemoryError for what is nested too deeply, and
        ValueError for characters that no Python text has.
        """
        (found,) = ast.parse(self.text).body
        return found

    def span(self, node: Located_) -> tuple[int, int]:
        """The offsets in the whole text between which a node stands, without parentheses around it."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def place(self, node: Located_) -> Place:
        """The place of a node."""
        return self.source.place(*self.span(node))

    def written(self, node: Located_) -> str:
        """A node as it is written, on one line."""
        begin, end = self.span(node)
        return " ".join(self.source.text[begin:end].split())

    def between(self, first: Located_, second: Located_) -> tuple[int, str]:
        """The text between two nodes, and its offset."""
        begin, end = self.span(first)[1], self.span(second)[0]
        return begin, self.source.text[begin:end]

    def at(self, line: int, column: int) -> int:
        """The offset of a 1-based line and a 0-based column of the statement, counted in characters."""
        line = min(max(line, 1), len(self._lines))
        return self._starts[line - 1] + min(max(column, 0), len(self._lines[line - 1]))

    def _offset(self, line: int, column: int) -> int:
        text = self._lines[line - 1]
        if not text.isascii():
            # Python counts bytes of UTF-8.
            column = len(text.encode()[:column].decode(errors="replace"))
        return self._starts[line - 1] + column


def conjuncts(body: ast.expr) -> Iterator[ast.expr]:
    """The conditions between the `&` of a body, from left to right."""
    stack = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
            stack += [node.right, node.left]
        else:
            yield node
