"""Rule packs and files to one checked program."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from schedulog.errors import RuleError
from schedulog.scheduler.language.check import check
from schedulog.scheduler.language.check_packs import (
    check_requirements,
    heads_of_core,
    ids_of_packs,
    rules_left_out,
)
from schedulog.scheduler.language.diagnostic import nearest, ordered, raise_all
from schedulog.scheduler.language.function_code import code_of
from schedulog.scheduler.language.meaning import program_sha
from schedulog.scheduler.language.pack import Pack
from schedulog.scheduler.language.pack_finder import built_in_packs
from schedulog.scheduler.language.program import Function, FunctionCode, Program, RuleInfo
from schedulog.scheduler.language.respell import respelled
from schedulog.scheduler.language.rule_file import Part, RuleFile, pack_of, parsed
from schedulog.scheduler.language.rule_set import RuleSet, merge, rule_names
from schedulog.scheduler.language.sources import Sources, claims, read_sources
from schedulog.scheduler.language.syntax import ParsedFile


@dataclass(frozen=True, slots=True)
class Examined:
    """What there is to say about a rule set: all errors and warnings in order, and the program if there is no error.

    `rules` is what the files say together, with all their mistakes.
    """

    findings: tuple[RuleError, ...]
    program: Program | None
    rules: RuleSet


def load_program(
    packs: Sequence[Part],
    *,
    extra: Sequence[tuple[str, str] | RuleFile] = (),
    disable: Collection[str] = (),
) -> Program:
    """Read, check and join rule packs.

    `packs` holds names of packs, paths of rule files or of folders of them, and rules as text (a string with a line
    break or `:-`); the pack `core` is always part. `extra` holds further texts, with their file names. `disable` drops
    rules by id or alias, after all checks. The order of packs, files and rules does not matter.

    Raises RuleError with every mistake of all files: the first one itself, the rest in `others`.
    """
    errors: list[RuleError] = []
    sources = _all_sources(packs, extra, errors)
    return link([parsed(file) for file in sources.files], disable=disable, errors=errors, packs=sources.packs)


def examine(packs: Sequence[Part], *, extra: Sequence[tuple[str, str] | RuleFile] = ()) -> Examined:
    """Read and check rule packs as `load_program` does, and return all findings instead of raising the errors."""
    errors: list[RuleError] = []
    sources = _all_sources(packs, extra, errors)
    return examine_files([parsed(file) for file in sources.files], errors, sources.packs)


def examine_files(
    files: Sequence[ParsedFile], errors: Sequence[RuleError] = (), packs: Sequence[Pack] = ()
) -> Examined:
    """Check parsed files together; `errors` are those already met on the way here, `packs` those the files belong to."""
    checked = _checked(files, errors, packs)
    program = None if checked.mistakes else _program(checked, files, packs, checked.left_out)
    return Examined(tuple(ordered([*checked.mistakes, *checked.warnings])), program, checked.rules)


def _all_sources(
    packs: Sequence[Part], extra: Sequence[tuple[str, str] | RuleFile], errors: list[RuleError]
) -> Sources:
    found = read_sources(packs, errors)
    if "core" not in {pack.name for pack in found.named_packs}:
        raise_all(errors)  # without core nothing further is to be said about any rule
    given = [
        part if isinstance(part, RuleFile) else RuleFile(part[0], pack_of(part[0]), part[1]) for part in extra
    ]
    errors += claims((), given, found.packs)
    return replace(found, own_files=(*found.own_files, *given))


@dataclass(frozen=True, slots=True)
class _Checked:
    """Files put together: the mistakes (those met on the way among them), the warnings, what packs supply and leave out."""

    rules: RuleSet
    mistakes: Sequence[RuleError]
    warnings: Sequence[RuleError]
    code: tuple[FunctionCode, ...]
    left_out: frozenset[str]


def _checked(files: Sequence[ParsedFile], errors: Sequence[RuleError], packs: Sequence[Pack]) -> _Checked:
    merged, found = merge(files)
    mistakes, warnings = check(merged)
    mistakes = [
        *errors,
        *heads_of_core(files, packs),
        *check_requirements(files, packs),
        *ids_of_packs(files, packs),
        *found,
        *mistakes,
    ]
    left_out = rules_left_out(packs, merged.infos, mistakes)
    declared: dict[str, list[Function]] = {}
    for file in files:
        declared.setdefault(file.pack, []).extend(file.functions)
    own = {function.name for name in built_in_packs() for function in declared.get(name, ())}
    code = code_of(packs, declared, own, mistakes)
    return _Checked(merged, respelled(mistakes), respelled(warnings), code, left_out)


def link(
    files: Sequence[ParsedFile],
    *,
    disable: Collection[str] = (),
    errors: Sequence[RuleError] = (),
    packs: Sequence[Pack] = (),
) -> Program:
    """Join and check parsed files; `errors` are those already met on the way here, `packs` those the files belong to.

    Raises RuleError as `load_program` does.
    """
    checked = _checked(files, errors, packs)
    raise_all(checked.mistakes)
    dropped = _ids_to_drop(checked.rules.infos, disable) | checked.left_out
    return _program(checked, files, packs, dropped)


def _program(
    checked: _Checked, files: Sequence[ParsedFile], packs: Sequence[Pack], dropped: frozenset[str]
) -> Program:
    merged = checked.rules
    rules = tuple(rule for rule in merged.rules if rule.id not in dropped)
    infos = {name: info for name, info in merged.infos.items() if name not in dropped}
    relations = dict(sorted(merged.relations.items()))
    functions = dict(sorted(merged.functions.items()))
    sha = program_sha(relations.values(), functions.values(), rules, infos)
    warnings = tuple(ordered(checked.warnings))
    versions = {pack.name: pack.version for pack in packs}
    return Program(
        relations, functions, rules, dict(sorted(infos.items())), sha, warnings, versions, checked.code
    )


def _ids_to_drop(infos: dict[str, RuleInfo], disable: Collection[str]) -> frozenset[str]:
    """The ids that `disable` means. Raises RuleError SL119 when one is unknown."""
    names = rule_names(infos)
    unknown = [
        RuleError("SL119", f"no rule has the id `{name}`", where="disable", help=nearest(name, names))
        for name in sorted(disable)
        if name not in names
    ]
    raise_all(unknown)
    return frozenset(names[name] for name in disable)
