"""One value a key: what the rules themselves do not show is looked at in the rows they derive."""

from __future__ import annotations

from collections.abc import Iterable

from schedulog.errors import ScheduleError
from schedulog.scheduler.engines.engine import Engine, Row, Setting
from schedulog.scheduler.engines.symbols import decoder
from schedulog.scheduler.language.program import Rule
from schedulog.scheduler.why.match import Matcher, Rows


def check_keys(setting: Setting, relations: Iterable[str], engine: Engine) -> None:
    """Require that no two rows of a relation that is declared with a key agree in it.

    Looked at are those of `relations` whose rules might disagree. Raises ScheduleError SL132, which names both rows
    and the rules that derive them.
    """
    for name in relations:
        key = setting.strata.keys.get(name)
        if key is None:
            continue
        before: Row = ()
        for row in engine.rows(name):
            if before and before[:key] == row[:key]:
                raise _clash(setting, name, row[:key], engine)
            before = row


def _clash(setting: Setting, name: str, key: Row, engine: Engine) -> ScheduleError:
    decode = decoder(setting.symbols, setting.program.relations)
    rows = [row for row in engine.rows(name) if row[: len(key)] == key]
    # Engines number strings differently; the texts are the same on all.
    rows = sorted(rows, key=lambda row: decode(name, row))[:2]
    read = Rows(engine.rows)
    matcher = Matcher(setting.program, setting.symbols, setting.functions, read, read)
    rules = [_rule(matcher, name, row) for row in rows]
    one, other = (decode(name, row) for row in rows)
    said = [f"{r.name} ({r.place})" if r else "a given fact" for r in rules]
    found = [rule for rule in rules if rule is not None]
    return ScheduleError(
        "SL132",
        f"`{name}` has two values for one key: {one} and {other}",
        where=found[-1].place if found else setting.program.relations[name].place,
        reason=f"{said[0]} derives the first, {said[1]} the second",
        help="exclude the case of the other rule by a condition, or declare the relation without `->`",
    )


def _rule(matcher: Matcher, name: str, row: Row) -> Rule | None:
    """The first rule that derives a row; None for a row that was given."""
    rules = (rule for rule in matcher.rules(name) if next(matcher.ways(rule, row), None) is not None)
    return next(rules, None)
