"""Are the relations and functions that rules name declared, and used with the right number of arguments?"""

from __future__ import annotations

from collections.abc import Iterator

from schedulog.errors import RuleError
from schedulog.scheduler.language.diagnostic import nearest, nearest_name, plural
from schedulog.scheduler.language.program import Aggregate, Atom, Call, Literal_, Relation, Rule
from schedulog.scheduler.language.rule_set import RuleSet
from schedulog.scheduler.language.variables import calls, parts


def check_names(rules: RuleSet) -> Iterator[RuleError]:
    """Unknown relations (SL101), wrong numbers of arguments (SL102), wrong calls of functions (SL104)."""
    for rule in rules.rules:
        for atom in atoms(rule):
            yield from _check_atom(atom, rules)
        for call in (call for item in rule.body for part in parts(item) for call in calls(part)):
            yield from _check_call(call, rules)


def atoms(rule: Rule) -> Iterator[Atom]:
    """The head of a rule and all atoms of its body, those in aggregates too."""
    yield rule.head
    for item in rule.body:
        if isinstance(item, Literal_):
            yield item.atom
        elif isinstance(item, Aggregate):
            yield from (part.atom for part in item.body if isinstance(part, Literal_))


def known(atom: Atom, rules: RuleSet) -> Relation | None:
    """The relation of an atom, or None when it is not declared or has another number of arguments."""
    relation = rules.relations.get(atom.relation)
    return relation if relation is not None and relation.arity == len(atom.terms) else None


def _check_atom(atom: Atom, rules: RuleSet) -> Iterator[RuleError]:
    relation = rules.relations.get(atom.relation)
    if relation is None and atom.relation not in rules.broken:
        yield _unknown(atom, rules)
    elif relation is not None and relation.arity != len(atom.terms):
        columns = ", ".join(f"{column.name}: {column.type}" for column in relation.columns)
        yield RuleError(
            "SL102",
            f"`{atom.relation}` has {plural(relation.arity, 'argument')}, not {len(atom.terms)}",
            where=atom.place,
            reason=f"declared at {relation.place}: {relation.name}({columns})",
        )


def _unknown(atom: Atom, rules: RuleSet) -> RuleError:
    match = nearest_name(atom.relation, rules.relations)
    if match:
        help = f"did you mean `{match}`? It is declared at {rules.relations[match].place}"
    else:
        arguments = ", ".join(f"a{index}: node" for index in range(1, len(atom.terms) + 1))
        help = f"declare it: .decl {atom.relation}({arguments})"
    return RuleError("SL101", f"unknown relation `{atom.relation}`", where=atom.place, help=help)


def _check_call(call: Call, rules: RuleSet) -> Iterator[RuleError]:
    function = rules.functions.get(call.function)
    assert call.place is not None
    if function is None and call.function not in rules.broken:
        help = nearest(call.function, rules.functions)
        if not help:
            help = f"declare it (.function {call.function}(a: int) -> int) and register it in Python"
        yield RuleError("SL104", f"unknown function `@{call.function}`", where=call.place, help=help)
    elif function is not None and len(function.arguments) != len(call.arguments):
        arguments = plural(len(function.arguments), "argument")
        yield RuleError(
            "SL104",
            f"`@{call.function}` has {arguments}, not {len(call.arguments)}",
            where=call.place,
            reason=f"declared at {function.place}",
        )
