"""Rules that cost more than they must: products of unrelated rows, and groups that are counted again for every row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedulog.errors import RuleError
from schedulog.scheduler.engines.join_order import Scan, Step, order_rule
from schedulog.scheduler.language.diagnostic import RuleWarning
from schedulog.scheduler.language.expression import inner_names, item_names, outer_names
from schedulog.scheduler.language.program import Aggregate, Atom, Literal_, Rule, Var
from schedulog.scheduler.language.rule_set import ENTITY_TYPES, RuleSet
from schedulog.scheduler.language.rule_text import format_atom


def check_cost(rules: RuleSet) -> Iterator[RuleError]:
    """Joins without a common value (SL154), aggregates grouped by the rows they count (SL155)."""
    for rule in rules.rules:
        yield from _check_joins(rule, rules)
        yield from _check_groups(rule)


def _check_joins(rule: Rule, rules: RuleSet) -> Iterator[RuleError]:
    """The best order that there is, where it still meets every row of a relation for every row before."""
    steps = order_rule(rule, rules.relations)
    large = [step for step in _unbound(steps) if _grows(step.atom, rules)]
    if len(large) > 1:
        first, second = large[0].atom, large[1].atom
        yield RuleWarning(
            "SL154",
            f"every row of `{first.relation}` meets every row of `{second.relation}`",
            where=second.place,
            reason=f"`{format_atom(second)}` shares no variable with the conditions before it, in any order",
            help="add a condition that relates the two, or split the rule",
        )


def _unbound(steps: Sequence[Step]) -> list[Scan]:
    """The scans that know no value before."""
    return [step for step in steps if isinstance(step, Scan) and not step.bound]


def _grows(atom: Atom, rules: RuleSet) -> bool:
    """Whether a relation has more rows for larger graphs: it speaks of nodes, views, buffers or kernels."""
    return any(column.type in ENTITY_TYPES for column in rules.relations[atom.relation].columns)


def _check_groups(rule: Rule) -> Iterator[RuleError]:
    outside = outer_names(rule.body) | {term.name for term in rule.head.terms if isinstance(term, Var)}
    for item in (item for item in rule.body if isinstance(item, Aggregate)):
        group = inner_names(item) & outside
        suppliers = [
            i.atom for i in rule.body if isinstance(i, Literal_) and not i.negated and group & item_names(i)
        ]
        if group and all(_repeats(atom, item, group) for atom in suppliers) and suppliers:
            yield _quadratic(item, suppliers[0], group)


def _repeats(atom: Atom, item: Aggregate, group: set[str]) -> bool:
    """Whether a condition gives each group once for every row that is counted."""
    return any(
        isinstance(part, Literal_)
        and not part.negated
        and part.atom.relation == atom.relation
        and len(part.atom.terms) == len(atom.terms)
        and all(
            a == b for a, b in zip(atom.terms, part.atom.terms, strict=True) if _in(a, group) or _in(b, group)
        )
        and any(not _in(term, group) for term in atom.terms)
        for part in item.body
    )


def _in(term: object, group: set[str]) -> bool:
    return isinstance(term, Var) and term.name in group


def _quadratic(item: Aggregate, atom: Atom, group: set[str]) -> RuleWarning:
    names = ", ".join(sorted(group))
    return RuleWarning(
        "SL155",
        f"`#{item.op}` is computed again for every row of `{atom.relation}` that it looks at",
        where=item.place,
        reason=f"the group ({names}) comes from `{format_atom(atom)}`, which has it once for each of those rows",
        help=f"let the group come from a relation that has it once: `group({names}) :- {format_atom(atom)}.`",
    )
