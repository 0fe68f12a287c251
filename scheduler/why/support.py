"""Which rules support what was derived: every rule of every decision, found by matching rules with the final rows.

A derived row may have several reasons. An engine keeps the first and goes on; here all of them are wanted, for all rows at
once, so each rule is matched once with the finished model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.engines.sqlite import RuleMatches, load_model
from schedulog.scheduler.language.program import Literal_, Program, Rule, Var

DECISIONS: Final = ("realize", "fuse", "forbid", "order")
"""The kinds of rules that decide something; rules of kind `helper` and `check` do not."""

Derivations = Mapping[str, Mapping[Row, int]]
"""Per rule name, the rows it derives, each with the number of ways in which it does."""


def derivations(model: Model, kinds: Collection[str] = DECISIONS) -> Derivations:
    """In how many ways each rule of these kinds derives each row of the final model.

    Set-wise: one query a rule, so the cost is that of one round of evaluation, not of one question a row.
    """
    rules = [rule for rule in model.program.rules if _kind(model.program, rule) in kinds]
    return _matched(model, rules)


def supports(model: Model, kinds: Collection[str] = DECISIONS) -> Mapping[str, Mapping[Row, tuple[str, ...]]]:
    """For every relation with rules of these kinds: which of those rules derive each of its rows, all of them, sorted.

    A rule is given by its name, "core/store-assign#1". A row that only other rules or loaded facts give is absent.
    """
    chosen = [rule for rule in model.program.rules if _kind(model.program, rule) in kinds]
    return _by_row(model, sorted(chosen, key=lambda rule: rule.name))


def support_of(model: Model, relation: str) -> Mapping[Row, tuple[str, ...]]:
    """The names of the clauses that derive each row of one relation, whatever their kind."""
    rules = [rule for rule in model.program.rules if rule.head.relation == relation]
    return _by_row(model, sorted(rules, key=lambda rule: rule.name)).get(relation, {})


def kernel_reasons(model: Model) -> dict[int, tuple[str, ...]]:
    """Why each kernel is one: kernel node -> ids of the rules that asked for its value to be stored, sorted."""
    clauses = storing_clauses(model)
    return {
        kernel: tuple(sorted({name.rpartition("#")[0] for name in names}))
        for kernel, names in clauses.items()
    }


def copy_reasons(model: Model) -> dict[int, tuple[str, ...]]:
    """Why each content is copied aside: content node -> ids of the rules that say so, sorted."""
    if not model.count("snapshot"):
        return {}
    names = support_of(model, "snapshot")
    return {
        row[0]: tuple(sorted({name.rpartition("#")[0] for name in found})) for row, found in names.items()
    }


def storing_clauses(model: Model, known: Derivations | None = None) -> dict[int, tuple[str, ...]]:
    """Kernel node -> the names of the clauses that asked for its value to be stored, "core/store-copy#2", sorted.

    `known` are the derivations of the model's rules of kind `realize`, if they are at hand.
    Looked at are the rules of kind `realize` behind `stored`. A rule that only hands on what another such relation
    says of the same node (`stored(N) :- chosen(N).`) is followed, not named.
    """
    rules = _realizing(model.program)
    found = _by_row(model, [rule for of_relation in rules.values() for rule in of_relation], known)
    handed = {rule.name: _handed_on(rule, rules) for of_relation in rules.values() for rule in of_relation}
    return {kernel[0]: _starts(kernel, found, handed) for kernel in model.rows("kernel")}


def _starts(
    kernel: Row, found: Mapping[str, Mapping[Row, tuple[str, ...]]], handed: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Walk from `stored` to the rules that start the chain for this kernel."""
    names: set[str] = set()
    waiting, seen = ["stored"], {"stored"}
    while waiting:
        for name in found.get(waiting.pop(), {}).get(kernel, ()):
            if not handed[name]:
                names.add(name)
            fresh = [relation for relation in handed[name] if relation not in seen]
            seen.update(fresh)
            waiting += fresh
    return tuple(sorted(names))


def _realizing(program: Program) -> dict[str, list[Rule]]:
    """The rules of kind `realize` for relations of one node, by relation."""
    found: dict[str, list[Rule]] = {}
    for rule in program.rules:
        if _kind(program, rule) != "realize":
            continue
        relation = program.relations[rule.head.relation]
        if relation.arity == 1 and relation.columns[0].type == "node":
            found.setdefault(relation.name, []).append(rule)
    return found


def _handed_on(rule: Rule, rules: Mapping[str, list[Rule]]) -> tuple[str, ...]:
    """The relations of one node in the body that speak of the head's node and have rules of kind `realize`."""
    (term,) = rule.head.terms
    return tuple(
        item.atom.relation
        for item in rule.body
        if isinstance(item, Literal_) and not item.negated and isinstance(term, Var)
        and item.atom.relation in rules and item.atom.terms == (term,)
    )  # fmt: skip


def _kind(program: Program, rule: Rule) -> str:
    return program.infos[rule.id].kind


def _matches(model: Model) -> RuleMatches:
    """SQLite still holds the rows it derived; those of another engine are handed to it."""
    source = model.source
    return source if isinstance(source, RuleMatches) else load_model(model)


def _matched(model: Model, rules: Collection[Rule]) -> dict[str, Counter[Row]]:
    source = _matches(model)
    return {rule.name: Counter(_row(row, model, rule) for row in source.matches(rule)) for rule in rules}


def _row(row: Row, model: Model, rule: Rule) -> Row:
    """SQL has no table without columns, so such a relation has a column of its own there."""
    return row if model.program.relations[rule.head.relation].arity else ()


def _by_row(
    model: Model, rules: Collection[Rule], known: Derivations | None = None
) -> dict[str, dict[Row, tuple[str, ...]]]:
    known = _matched(model, rules) if known is None else known
    found: dict[str, dict[Row, tuple[str, ...]]] = {}
    for rule in rules:
        rows = found.setdefault(rule.head.relation, {})
        name = (rule.name,)
        for row in known[rule.name]:
            rows[row] = rows.get(row, ()) + name
    return found
