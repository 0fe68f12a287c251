"""A whole checked program as one rule file, and back with every rule's own place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.load import link
from schedulog.scheduler.language.program import Column, Function, Program, Relation
from schedulog.scheduler.language.rule_set import BUILT_IN_TYPES
from schedulog.scheduler.language.syntax import parse_text


def write_program(program: Program) -> str:
    """The declarations and rules of a program as the text of one file. `read_program` gives an equal program."""
    lines = [f".type {name}" for name in _own_types(program)]
    lines += [_function(function) for function in program.functions.values()]
    derived = {rule.head.relation for rule in program.rules}
    for relation in program.relations.values():
        lines += _declaration(relation, derived=relation.name in derived)
    ids = dict.fromkeys(rule.id for rule in program.rules)
    for rule_id in ids:
        info = program.infos[rule_id]
        lines.append(f"\n%! id: {rule_id}    %! kind: {info.kind}    %! priority: {info.priority}")
        lines += [rule.text for rule in program.rules if rule.id == rule_id]
    return "\n".join(lines) + "\n"


def read_program(text: str, sha: str, places: Mapping[str, Place]) -> Program:
    """The program in `text`; rules stand at `places`, by rule name.

    Raises RuleError: SL121 if its meaning is not the one that `sha` identifies, and those of rule files.
    """
    program = link([parse_text(text, "rules", "core")])
    if program.sha != sha:
        raise RuleError("SL121", "the saved rules are not those of the run", where="rules",
                        reason="their SHA-256 differs", help="save the run again")  # fmt: skip
    rules = tuple(replace(rule, place=places.get(rule.name, rule.place)) for rule in program.rules)
    return replace(program, rules=rules)


def _own_types(program: Program) -> list[str]:
    columns = [c for relation in program.relations.values() for c in relation.columns]
    for function in program.functions.values():
        columns += [*function.arguments, Column("", function.result)]
    return sorted({column.type for column in columns} - set(BUILT_IN_TYPES))


def _declaration(relation: Relation, *, derived: bool) -> Iterator[str]:
    """A rule set may have lost the rules of a relation (`disable`): then the relation is open."""
    key = relation.key or 0
    parts = [_columns(relation.columns[:key])] if key else []
    yield f".decl {relation.name}({' -> '.join([*parts, _columns(relation.columns[key:])])})"
    if relation.is_input:
        yield f".input {relation.name}"
    elif not derived:
        yield f".open {relation.name}"


def _function(function: Function) -> str:
    return f".function {function.name}({_columns(function.arguments)}) -> {function.result}"


def _columns(columns: tuple[Column, ...]) -> str:
    return ", ".join(f"{column.name}: {column.type}" for column in columns)
