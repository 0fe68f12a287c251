"""Findings about rules as an object that prints well."""

from __future__ import annotations

from schedulog.cli.findings import summary, text
from schedulog.errors import SchedulogError
from schedulog.scheduler.html.fragment import Text, fragment


class Findings(tuple[SchedulogError, ...]):
    """Errors and warnings in the order in which they are told. Empty, and so false, where there is nothing to say."""

    __slots__ = ()

    def __str__(self) -> str:
        return text(self)

    def __repr__(self) -> str:
        return f"<{summary(self)}>"

    def _repr_html_(self) -> str:
        return fragment(summary(self), *(Text(str(finding)) for finding in self))
