"""What is allowed and probably not meant: warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from schedulog.errors import RuleError
from schedulog.scheduler.language.check_names import atoms
from schedulog.scheduler.language.diagnostic import RuleWarning
from schedulog.scheduler.language.program import Aggregate, Rule, Var
from schedulog.scheduler.language.rule_set import RuleSet
from schedulog.scheduler.language.variables import inner_variables, outer_variables, variables


def check_use(rules: RuleSet) -> Iterator[RuleError]:
    """Variables used once (SL150) and relations used nowhere (SL151)."""
    for rule in rules.rules:
        yield from _check_singles(rule)
    used = {atom.relation for rule in rules.rules for atom in atoms(rule)} | rules.broken
    for relation in rules.relations.values():
        # An input is an offer of the graph to every pack, and an open relation one to other packs.
        if not (relation.name in used or relation.is_input or relation.is_open):
            message = f"relation `{relation.name}` is declared and never used"
            yield RuleWarning("SL151", message, where=relation.place, help="use it or delete it")


def _check_singles(rule: Rule) -> Iterator[RuleError]:
    found = [v for term in rule.head.terms for v in variables(term)]
    for item in rule.body:
        found += outer_variables(item)
        found += inner_variables(item) if isinstance(item, Aggregate) else ()
    counts = Counter(v.name for v in found)
    for variable in found:
        if counts[variable.name] == 1 and not variable.anonymous:
            yield _single(variable, rule)


def _single(variable: Var, rule: Rule) -> RuleError:
    where = variable.place if variable.place is not None else rule.place
    return RuleWarning(
        "SL150", f"variable `{variable.name}` is used once", where=where, help="write `_` if that is meant"
    )
