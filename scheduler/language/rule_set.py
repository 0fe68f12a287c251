"""All files of a rule set put together: one table of names, and the mistakes of putting them together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from schedulog.errors import RuleError
from schedulog.scheduler.language.diagnostic import nearest
from schedulog.scheduler.language.program import Column, Function, Relation, Rule, RuleInfo
from schedulog.scheduler.language.syntax import Mark, ParsedFile

ENTITY_TYPES = ("node", "view", "buffer", "kernel", "shape")
STRING_TYPES = ("op", "dtype", "device", "str")
BUILT_IN_TYPES = (*ENTITY_TYPES, *STRING_TYPES, "int")


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The declarations and rules of all files. `broken` names are those about which nothing more is said."""

    relations: dict[str, Relation]
    functions: dict[str, Function]
    types: frozenset[str]
    rules: tuple[Rule, ...]
    infos: dict[str, RuleInfo]
    broken: frozenset[str]


def merge(files: Sequence[ParsedFile]) -> tuple[RuleSet, list[RuleError]]:
    """Put the files together. Their order does not matter: they are taken by pack and name."""
    files = sorted(files, key=lambda parsed: (parsed.pack, parsed.file))
    errors = [error for parsed in files for error in parsed.errors]
    relations, functions = _relations(files, errors), _functions(files, errors)
    marks = [mark for parsed in files for mark in parsed.marks]
    types = frozenset(BUILT_IN_TYPES) | {mark.name for mark in marks if mark.kind == "type"}
    broken = frozenset().union(*(parsed.broken for parsed in files))
    _check_columns(relations.values(), functions.values(), types, errors)
    _apply_marks(relations, marks, broken, errors)
    rules = _numbered([rule for parsed in files for rule in parsed.rules])
    return RuleSet(relations, functions, types, rules, _infos(files, errors), broken), errors


def _relations(files: Sequence[ParsedFile], errors: list[RuleError]) -> dict[str, Relation]:
    found: dict[str, Relation] = {}
    for relation in (r for parsed in files for r in parsed.relations):
        first = found.setdefault(relation.name, relation)
        if (first.columns, first.key) != (relation.columns, relation.key):
            errors.append(_declared_twice("relation", relation, first))
        elif relation.doc and not first.doc:
            found[relation.name] = relation
    return found


def _functions(files: Sequence[ParsedFile], errors: list[RuleError]) -> dict[str, Function]:
    found: dict[str, Function] = {}
    for function in (f for parsed in files for f in parsed.functions):
        first = found.setdefault(function.name, function)
        types = [column.type for column in function.arguments], function.result
        if types != ([column.type for column in first.arguments], first.result):
            errors.append(_declared_twice("function", function, first))
    return found


def _declared_twice(what: str, second: Relation | Function, first: Relation | Function) -> RuleError:
    return RuleError(
        "SL105",
        f"{what} `{second.name}` is declared twice, differently",
        where=second.place,
        reason=f"the first declaration is at {first.place}",
        help="declare it once, or say the same",
    )


def _check_columns(
    relations: Iterable[Relation],
    functions: Iterable[Function],
    types: frozenset[str],
    errors: list[RuleError],
) -> None:
    """Every column has a known type and a name of its own."""
    for relation in relations:
        _check_types(relation, relation.columns, types, errors)
    for function in functions:
        _check_types(function, (*function.arguments, Column("", function.result)), types, errors)


def _check_types(
    owner: Relation | Function, columns: tuple[Column, ...], types: frozenset[str], errors: list[RuleError]
) -> None:
    names = [column.name for column in columns]
    for name in sorted({name for name in names if names.count(name) > 1}):
        errors.append(
            RuleError("SL105", f"`{owner.name}` has two columns of the name `{name}`", where=owner.place)
        )
    for unknown in dict.fromkeys(column.type for column in columns if column.type not in types):
        help = nearest(unknown, types) or f"declare it: .type {unknown}"
        errors.append(
            RuleError("SL103", f"unknown type `{unknown}` in `{owner.name}`", where=owner.place, help=help)
        )


def _apply_marks(
    relations: dict[str, Relation], marks: Sequence[Mark], broken: frozenset[str], errors: list[RuleError]
) -> None:
    """Give `.input` and `.open` to the relations that they name."""
    for mark in marks:
        if mark.kind == "type" or mark.name in broken:
            continue
        relation = relations.get(mark.name)
        if relation is None:
            help = nearest(mark.name, relations) or f"declare it: .decl {mark.name}(...)"
            errors.append(RuleError("SL101", f"unknown relation `{mark.name}`", where=mark.place, help=help))
        elif mark.kind == "input":
            relations[mark.name] = replace(relation, is_input=True)
        else:
            relations[mark.name] = replace(relation, is_open=True)


def _numbered(rules: list[Rule]) -> tuple[Rule, ...]:
    """Clauses numbered anew, for ids whose clauses stand in several files."""
    counts: dict[str, int] = {}
    result: list[Rule] = []
    for rule in rules:
        number = counts[rule.id] = counts.get(rule.id, 0) + 1
        result.append(rule if rule.clause == number else replace(rule, clause=number))
    return tuple(result)


def _infos(files: Sequence[ParsedFile], errors: list[RuleError]) -> dict[str, RuleInfo]:
    """What is told about each rule. An id belongs to one header, or to the clauses without one (SL109)."""
    infos: dict[str, RuleInfo] = {}
    for info in (info for parsed in files for info in parsed.headers):
        if info.id in infos:
            errors.append(_same_id(info, infos[info.id]))
        infos.setdefault(info.id, info)
    with_header = set(infos)
    for info in (info for parsed in files for info in parsed.plain):
        if info.id in with_header:
            errors.append(_same_id(info, infos[info.id]))
        elif info.id in infos:
            infos[info.id] = replace(infos[info.id], tests=infos[info.id].tests + info.tests)
        else:
            infos[info.id] = info
    return infos


def _same_id(second: RuleInfo, first: RuleInfo) -> RuleError:
    return RuleError(
        "SL109",
        f"two rules have the id `{second.id}`",
        where=second.place,
        reason=f"the first is at {first.place}; an id is never shadowed",
        help="give this rule an id of its own, or move its clauses below the header of the first",
    )


def rule_names(infos: Mapping[str, RuleInfo]) -> dict[str, str]:
    """The id that each id or alias means."""
    names = {alias: info.id for info in infos.values() for alias in info.alias}
    return names | {name: name for name in infos}
