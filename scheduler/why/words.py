"""A rule's own words for what it derives."""

from __future__ import annotations

import re
from collections.abc import Callable

from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.language.program import Rule, Var
from schedulog.scheduler.why.names import Names


def reason_text(rule: Rule, row: Row, names: Names) -> str:
    """The rule's `why` with the values of its head put in, in quotes; its title where the words need other values."""
    return reason_writer(rule, names)(row)


def reason_writer(rule: Rule, names: Names) -> Callable[[Row], str]:
    """What `reason_text` does, for any number of rows of one rule."""
    info = names.program.infos[rule.id]
    columns = names.columns(rule.head.relation)
    places = {term.name: i for i, term in enumerate(rule.head.terms) if isinstance(term, Var)}
    wanted = set(re.findall(r"\{(\w+)\}", info.why))
    if not info.why or not wanted <= places.keys():
        return lambda row: info.title
    text = f'"{info.why.replace(chr(92), "")}"'
    if not wanted:
        return lambda row: text

    def written(row: Row) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: str(columns[places[found[1]]](row[places[found[1]]])), text)

    return written
