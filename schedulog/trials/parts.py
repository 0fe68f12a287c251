"""Parts of a rule set: core, and some clauses of the policy."""

from __future__ import annotations

from collections.abc import Collection

from schedulog.scheduler.edit import with_rules
from schedulog.scheduler.language.program import Program


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
