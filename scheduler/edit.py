"""A rule set changed for the sake of a comparison: rules, clauses or single conditions left out.

What is left out is named as `whynot` names it: `my/rule` is a rule with all its clauses, `my/rule#2` one clause, `my/rule#2:4`
the fourth condition of that clause, `my/rule#2:3.1` the first one inside the aggregate that is its third, `my/rule:4` the same
for a rule of one clause. Rules of `core` may be left out too: what they no longer keep right, the checks behind the rules
refuse (SL322, SL323).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from schedulog.errors import UsageError
from schedulog.scheduler.language.check_binding import check_binding
from schedulog.scheduler.language.diagnostic import nearest, plural
from schedulog.scheduler.language.meaning import program_sha
from schedulog.scheduler.language.program import Aggregate, BodyItem, Program, Rule
from schedulog.scheduler.language.rule_set import RuleSet, rule_names
from schedulog.scheduler.language.rule_text import format_item

_PART: Final = re.compile(r"([^\s#:]+)(?:#(\d+))?(?::(\d+(?:\.\d+)?))?")
_FORM: Final = "write ID, ID#CLAUSE, ID:CONDITION or ID#CLAUSE:CONDITION, as in my/rule#2:4"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a rule set: a rule, a clause of it (0: all of them), a condition of that ("4", "3.1"; "": all of it)."""

    rule: str
    clause: int = 0
    condition: str = ""

    def __str__(self) -> str:
        return (
            f"{self.rule}{f'#{self.clause}' * bool(self.clause)}{f':{self.condition}' * bool(self.condition)}"
        )


def without(program: Program, parts: Sequence[str]) -> Program:
    """The program without these parts. All numbers are those of `program`, whatever else is left out.

    Raises UsageError: SL724 for a part that the program does not have, SL725 where a clause is none without it.
    """
    return without_parts(program, [part_of(program, text) for text in parts])


def without_parts(program: Program, parts: Sequence[Part]) -> Program:
    """The program without these parts of it. Raises UsageError SL725."""
    whole = {(part.rule, part.clause) for part in parts if not part.condition}
    dropped: dict[tuple[str, int], set[str]] = {}
    for part in parts:
        if part.condition:
            dropped.setdefault((part.rule, part.clause), set()).add(part.condition)
    kept = [r for r in program.rules if not {(r.id, 0), (r.id, r.clause)} & whole]
    return with_rules(program, [_shortened(rule, dropped, program) for rule in kept])


def with_rules(program: Program, rules: Sequence[Rule]) -> Program:
    """The program with these of its rules, which keep their names; its SHA-256 is that of what is left."""
    ids = {rule.id for rule in rules}
    infos = {name: info for name, info in program.infos.items() if name in ids}
    sha = program_sha(program.relations.values(), program.functions.values(), rules, infos)
    return replace(program, rules=tuple(rules), infos=infos, sha=sha)


def part_of(program: Program, text: str) -> Part:
    """The part of a program that `text` names. Raises UsageError SL724 if there is none, or if it may be several."""
    found = _PART.fullmatch(text.strip())
    if found is None:
        raise _absent(f"`{text}` names no part of a rule", _FORM)
    names = rule_names(program.infos)
    if found[1] not in names:
        raise _absent(
            f"no rule has the id `{found[1]}`", nearest(found[1], names) or "schedulog rules lists them"
        )
    clauses = [rule for rule in program.rules if rule.id == names[found[1]]]
    part = Part(names[found[1]], int(found[2] or 0), found[3] or "")
    if part.clause and part.clause not in [rule.clause for rule in clauses]:
        raise _absent(f"{part.rule} has no clause {part.clause}", f"it has {plural(len(clauses), 'clause')}")
    return _condition(part, clauses) if part.condition else part


def _condition(part: Part, clauses: Sequence[Rule]) -> Part:
    """A part that is a condition, with the number of its clause."""
    if not part.clause and len(clauses) > 1:
        choices = " or ".join(f"{rule.name}:{part.condition}" for rule in clauses[:3])
        raise _absent(f"{part.rule} has {len(clauses)} clauses", f"say which: {choices}")
    (rule,) = (rule for rule in clauses if part.clause in (0, rule.clause))
    places = [place for place, _, _ in conditions(rule.body)]
    if part.condition not in places:
        listed = f"its conditions are {', '.join(places)}" if places else "it is a fact, without conditions"
        raise _absent(f"{rule.name} has no condition {part.condition}", listed)
    return replace(part, clause=rule.clause)


def _absent(message: str, help: str) -> UsageError:
    return UsageError("SL724", message, where="--drop", help=help)


def conditions(body: Sequence[BodyItem]) -> Iterator[tuple[str, str, tuple[BodyItem, ...]]]:
    """Every condition of a body: its number, its text, and the body without it.

    Those inside an aggregate are numbered "3.1"; the only one there is no condition of its own.
    """
    for i, item in enumerate(body, 1):
        yield str(i), format_item(item), _left(body, {str(i)})
        if isinstance(item, Aggregate) and len(item.body) > 1:
            for j, inner in enumerate(item.body, 1):
                yield f"{i}.{j}", format_item(inner), _left(body, {f"{i}.{j}"})


def _left(body: Sequence[BodyItem], dropped: Collection[str]) -> tuple[BodyItem, ...]:
    """A body without the conditions of these numbers."""
    return tuple(_opened(item, i, dropped) for i, item in enumerate(body, 1) if str(i) not in dropped)


def _opened(item: BodyItem, number: int, dropped: Collection[str]) -> BodyItem:
    if not isinstance(item, Aggregate):
        return item
    inner = tuple(part for j, part in enumerate(item.body, 1) if f"{number}.{j}" not in dropped)
    return item if len(inner) == len(item.body) else replace(item, body=inner)


def _shortened(rule: Rule, dropped: Mapping[tuple[str, int], Collection[str]], program: Program) -> Rule:
    numbers = dropped.get((rule.id, rule.clause))
    if numbers is None:
        return rule
    shorter = replace(rule, body=_left(rule.body, numbers))
    if not is_rule(shorter, program):
        listed = " and ".join(f"`{text}`" for place, text, _ in conditions(rule.body) if place in numbers)
        raise UsageError("SL725", f"{rule.name} is no rule without {listed}", where=str(rule.place),
                         reason="nothing else binds one of its variables",
                         help=f"drop the whole clause: --drop {rule.name}")  # fmt: skip
    return shorter


def is_rule(rule: Rule, program: Program) -> bool:
    """Whether a clause of a program, of which conditions were dropped, is still one: something binds every variable."""
    if any(isinstance(item, Aggregate) and not item.body for item in rule.body):
        return False
    alone = RuleSet(program.relations, program.functions, frozenset(), (rule,), program.infos, frozenset())
    return next(check_binding(alone), None) is None
