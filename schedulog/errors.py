"""The one error family. Every boundary turns what it meets into it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What a terminal obeys instead of showing it, or cannot be written at all."""
_LONGEST: Final = 160
"""Characters of a line that are shown: a rule or a graph may stand on one line of megabytes."""


def shown(text: str) -> str:
    """A name as it is shown on a line: a graph's names may come from anywhere, and hold what a terminal would obey."""
    return _escaped(" ".join(text.split("\n")).replace("\t", " "))


def _escaped(text: str) -> str:
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a text file: 1-based line and column, and how many characters to underline."""

    file: str
    line: int
    column: int = 1
    width: int = 1
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def excerpt(self) -> tuple[str, str]:
        """The line as it can be shown, and the carets below it; of a long line, what is around them."""
        start = max(0, min(self.column - 1 - _LONGEST // 2, len(self.text) - _LONGEST))
        end = start + _LONGEST
        before, after = "... " * (start > 0), " ..." * (end < len(self.text))
        # One character each, a tab too, so that the carets stay where they belong.
        shown = _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", self.text[start:end].replace("\t", " "))
        width = max(1, min(self.width, end - self.column + 1))
        return f"{before}{shown}{after}", " " * (len(before) + self.column - 1 - start) + "^" * width


class SchedulogError(Exception):
    """What went wrong, where, why, and the way out.

    `code` is stable for life ("SL110"); `where` names the place in the user's terms (a file position, a node, a
    kernel); `reason` says why it is refused; `help` says what to do about it.
    """

    def __init__(
        self, code: str, message: str, *, where: Place | str = "", reason: str = "", help: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.where = where
        self.reason = reason
        self.help = help

    def __str__(self) -> str:
        """The full text, several lines, as the command line prints it."""
        lines = [f"error[{self.code}] {self.message}"]
        if self.where:
            lines.append(f"  at {self.where}")
        if isinstance(self.where, Place) and self.where.text:
            lines += (f"  {line}" for line in self.where.excerpt())
        if self.reason:
            lines.append(f"  why: {self.reason}")
        if self.help:
            lines.append(f"  help: {self.help}")
        return _escaped("\n".join(lines))


class RuleError(SchedulogError):
    """A rule text or rule set that cannot be used (SL1xx). `others` holds the further errors of the same run."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        where: Place | str = "",
        reason: str = "",
        help: str = "",
        others: tuple[RuleError, ...] = (),
    ) -> None:
        super().__init__(code, message, where=where, reason=reason, help=help)
        self.others = others

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(str(other) for other in self.others)])


class GraphError(SchedulogError):
    """A graph, or a file that should hold one, that is not valid (SL2xx)."""


class ScheduleError(SchedulogError):
    """The rules gave no usable schedule for this graph (SL3xx)."""


class CodegenError(SchedulogError):
    """A kernel that cannot be written as code (SL4xx)."""


class DeviceError(SchedulogError):
    """A device, a compiler or an input that cannot be used (SL5xx)."""


class DatabaseError(SchedulogError):
    """A run database that cannot be read or written (SL6xx)."""


class UsageError(SchedulogError):
    """A wrong call of the command line or of a public function (SL7xx)."""
