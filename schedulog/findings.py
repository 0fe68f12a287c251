"""Findings about rules: as text, and as an object that prints well."""

from __future__ import annotations

from collections.abc import Sequence

from schedulog.errors import SchedulogError
from schedulog.scheduler.html.fragment import Text, fragment
from schedulog.scheduler.language.diagnostic import RuleWarning, plural


def severity(finding: SchedulogError) -> str:
    """`warning` for what does not keep rules from being used, `error` for all else."""
    return "warning" if isinstance(finding, RuleWarning) else "error"


def summary(findings: Sequence[SchedulogError]) -> str:
    """`2 errors, 1 warning`, or `no findings`."""
    counts = [(sum(severity(f) == kind for f in findings), kind) for kind in ("error", "warning")]
    return ", ".join(plural(count, kind) for count, kind in counts if count) or "no findings"


def text(findings: Sequence[SchedulogError]) -> str:
    """Each finding as errors are told, an empty line between two, and a last line that counts them."""
    more = " (schedulog explain CODE says more)" if findings else ""
    return "\n\n".join([*map(str, findings), summary(findings) + more])


class Findings(tuple[SchedulogError, ...]):
    """Errors and warnings in the order in which they are told. Empty, and so false, where there is nothing to say."""

    __slots__ = ()

    def __str__(self) -> str:
        return text(self)

    def __repr__(self) -> str:
        return f"<{summary(self)}>"

    def _repr_html_(self) -> str:
        return fragment(summary(self), *(Text(str(finding)) for finding in self))
