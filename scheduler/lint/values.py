"""Constants that no graph has: names of operations and element types, misspelt or of another language."""

from __future__ import annotations

from collections.abc import Iterator

from schedulog.errors import RuleError
from schedulog.facts.dtype import SCALARS, void
from schedulog.facts.ops import Op
from schedulog.scheduler.language.check_names import atoms, known
from schedulog.scheduler.language.diagnostic import RuleWarning, nearest
from schedulog.scheduler.language.program import Const, Rule
from schedulog.scheduler.language.rule_set import RuleSet


def check_values(rules: RuleSet) -> Iterator[RuleError]:
    """Constants in columns of type op and dtype that name none (SL156)."""
    names = {"op": {op.value for op in Op}, "dtype": {d.name for d in (*SCALARS, void)}}
    for rule in rules.rules:
        yield from _check_rule(rule, rules, names)


def _check_rule(rule: Rule, rules: RuleSet, names: dict[str, set[str]]) -> Iterator[RuleError]:
    for atom in atoms(rule):
        relation = known(atom, rules)
        for term, column in zip(atom.terms, relation.columns if relation else (), strict=False):
            if not isinstance(term, Const) or column.type not in names or term.value in names[column.type]:
                continue
            # Image types have sizes in their names.
            if not str(term.value).startswith("image"):
                yield RuleWarning(
                    "SL156",
                    f'no {column.type} is called "{term.value}"',
                    where=term.place if term.place is not None else rule.place,
                    reason="no graph has it, so this condition never holds",
                    help=nearest(str(term.value), names[column.type])
                    or "operations are those of facts/ops.py",
                )
