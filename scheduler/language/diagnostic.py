"""Places in a rule text and the words of what is wrong there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

from schedulog.errors import Place, RuleError


class RuleWarning(RuleError):
    """A finding that does not keep a rule set from being used (SL150 and up); never raised."""

    def __str__(self) -> str:
        """The full text, several lines, as the command line prints it."""
        return super().__str__().replace("error[", "warning[", 1)


class SourceText:
    """The text of one rule file, and the places in it by character offset."""

    __slots__ = ("file", "lines", "starts", "text")

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        # A tab counts one column; shown as a blank, it cannot move the caret.
        self.lines = text.replace("\t", " ").split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def line(self, offset: int) -> int:
        """The 1-based line that holds the character at `offset`."""
        return bisect_right(self.starts, offset)

    def place(self, start: int, end: int) -> Place:
        """The place of the characters `start` to `end`; of several lines, the first is underlined."""
        line = bisect_right(self.starts, start)
        column = start - self.starts[line - 1] + 1
        text = self.lines[line - 1]
        width = max(1, min(end - start, len(text) - column + 1))
        return Place(self.file, line, column, width, text.rstrip())


NO_THING: Final = 'rules say what holds of a node and name none: realize(N) :- op(N, "EXP"), size(N, 8); tests name theirs, in `given:`'
"""What to do instead of naming one thing of a graph in a rule."""


def nearest_name(name: str, known: Iterable[str]) -> str:
    """The known name that is most like `name`, or an empty string."""
    return next(iter(get_close_matches(name, sorted(known), n=1, cutoff=0.6)), "")


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean ...?` with the known name that is most like `name`, or an empty string."""
    match = nearest_name(name, known)
    return f"did you mean `{match}`?" if match else ""


def plural(count: int, noun: str) -> str:
    """`1 argument`, `2 arguments`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def sort_key(error: RuleError) -> tuple[str, int, int, str, str]:
    """The order in which findings are told: file, line, column, code."""
    where = error.where
    if isinstance(where, Place):
        return (where.file, where.line, where.column, error.code, error.message)
    return (where, 0, 0, error.code, error.message)


def ordered(errors: Iterable[RuleError]) -> list[RuleError]:
    """The findings in the order in which they are told."""
    return sorted(errors, key=sort_key)


def raise_all(errors: Sequence[RuleError]) -> None:
    """Raise the first of `errors` with all others in `others`; do nothing when there are none."""
    if not errors:
        return
    first, *others = ordered(errors)
    raise RuleError(
        first.code,
        first.message,
        where=first.where,
        reason=first.reason,
        help=first.help,
        others=tuple(others),
    )
