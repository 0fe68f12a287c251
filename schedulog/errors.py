"""The one error family. Every boundary turns what it meets into it."""

from __future__ import annotations

from dataclasses import dataclass


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
            lines.append(f"  {self.where.text}")
            lines.append("  " + " " * (self.where.column - 1) + "^" * max(1, self.where.width))
        if self.reason:
            lines.append(f"  why: {self.reason}")
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)


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
