"""Parts of a rule set: core, and some clauses of the policy."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from schedulog.scheduler.edit import with_rules
from schedulog.scheduler.language.program import Aggregate, Compare, Const, Literal_, Program, Rule


def clauses(program: Program) -> list[str]:
    """The names of the clauses that no pack of core holds, in the program's order."""
    return [rule.name for rule in program.rules if program.infos[rule.id].pack != "core"]


def only(program: Program, kept: Collection[str]) -> Program:
    """The program with the rules of core and these clauses. A relation that has lost its rules is empty."""
    names = frozenset(kept)
    rules = tuple(
        rule for rule in program.rules if program.infos[rule.id].pack == "core" or rule.name in names
    )
    return with_rules(program, rules)


def strings(rule: Rule) -> Iterator[str]:
    """The strings among the conditions of a clause: names of operations, types and switches."""
    left = list(rule.body)
    while left:
        item = left.pop()
        if isinstance(item, Aggregate):
            left += item.body
        terms = item.atom.terms if isinstance(item, Literal_) else ()
        sides = (item.left, item.right) if isinstance(item, Compare) else ()
        values = (term.value for term in (*terms, *sides) if isinstance(term, Const))
        yield from (value for value in values if isinstance(value, str))
