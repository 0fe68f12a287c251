"""Rule packs and files to one checked program."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from schedulog.errors import RuleError
from schedulog.rules import pack_names, pack_texts
from schedulog.scheduler.language.check import check
from schedulog.scheduler.language.diagnostic import nearest, ordered, raise_all
from schedulog.scheduler.language.meaning import program_sha
from schedulog.scheduler.language.program import Program, RuleInfo
from schedulog.scheduler.language.rule_set import RuleSet, merge
from schedulog.scheduler.language.syntax import ParsedFile, parse_text


@dataclass(frozen=True, slots=True)
class Examined:
    """What there is to say about a rule set: all errors and warnings in order, and the program if there is no error.

    `rules` is what the files say together, with all their mistakes.
    """

    findings: tuple[RuleError, ...]
    program: Program | None
    rules: RuleSet


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A rule file as text; its rules belong to `pack` unless the text names another."""

    name: str
    pack: str
    text: str


def load_program(
    packs: Sequence[str | Path],
    *,
    extra: Sequence[tuple[str, str] | RuleFile] = (),
    disable: Collection[str] = (),
) -> Program:
    """Read, check and join rule packs.

    `packs` holds names of packs that come with schedulog, and paths of `.dl` files or of folders of them; the
    pack `core` is always part. `extra` holds further texts, with their file names. `disable` drops rules by id or
    alias, after all checks. The order of packs, files and rules does not matter.

    Raises RuleError with every mistake of all files: the first one itself, the rest in `others`.
    """
    errors: list[RuleError] = []
    files = _parsed(packs, extra, errors)
    return link(files, disable=disable, errors=errors)


def examine(packs: Sequence[str | Path], *, extra: Sequence[tuple[str, str] | RuleFile] = ()) -> Examined:
    """Read and check rule packs as `load_program` does, and return all findings instead of raising the errors."""
    errors: list[RuleError] = []
    return examine_files(_parsed(packs, extra, errors), errors)


def examine_files(files: Sequence[ParsedFile], errors: Sequence[RuleError] = ()) -> Examined:
    """Check parsed files together; `errors` are those already met on the way here."""
    merged, mistakes, warnings = _checked(files, errors)
    program = None if mistakes else _program(merged, frozenset(), tuple(ordered(warnings)))
    return Examined(tuple(ordered([*mistakes, *warnings])), program, merged)


def _parsed(
    packs: Sequence[str | Path], extra: Sequence[tuple[str, str] | RuleFile], errors: list[RuleError]
) -> list[ParsedFile]:
    given = [
        part if isinstance(part, RuleFile) else RuleFile(part[0], pack_of(part[0]), part[1]) for part in extra
    ]
    files = _read_all(packs, errors) + [parse_text(file.text, file.name, file.pack) for file in given]
    errors += _heads_of_core(files)
    return files


def _checked(
    files: Sequence[ParsedFile], errors: Sequence[RuleError]
) -> tuple[RuleSet, list[RuleError], list[RuleError]]:
    """The files put together, with the errors (those met on the way among them) and the warnings."""
    merged, found = merge(files)
    mistakes, warnings = check(merged)
    return merged, [*errors, *_missing_packs(files), *found, *mistakes], warnings


def link(
    files: Sequence[ParsedFile], *, disable: Collection[str] = (), errors: Sequence[RuleError] = ()
) -> Program:
    """Join and check parsed files; `errors` are those already met on the way here.

    Raises RuleError as `load_program` does.
    """
    merged, mistakes, warnings = _checked(files, errors)
    raise_all(mistakes)
    dropped = _ids_to_drop(merged.infos, disable)
    return _program(merged, dropped, tuple(ordered(warnings)))


def _heads_of_core(files: Sequence[ParsedFile]) -> Iterator[RuleError]:
    """Rules of others that derive what only core decides (SL122): a policy may be slow, but never wrong."""
    core = _built_in()["core"]
    marks = {mark.name for parsed in core for mark in parsed.marks if mark.kind == "open"}
    owned = {r.name: r for parsed in core for r in parsed.relations if r.name not in marks}
    for rule in (rule for parsed in files if parsed.pack != "core" for rule in parsed.rules):
        relation = owned.get(rule.head.relation)
        if relation is not None:
            yield RuleError(
                "SL122",
                f"a rule derives `{relation.name}`, which only core decides",
                where=rule.head.place,
                reason=f"core keeps every schedule right by it (declared at {relation.place})",
                help=f"a policy derives {', '.join(f'`{name}`' for name in sorted(marks))}, and relations of its own",
            )


def pack_of(name: str) -> str:
    """The pack name of a file that states none: its stem, in the letters of an id."""
    stem = name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".dl")
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "user"


def _program(merged: RuleSet, dropped: frozenset[str], warnings: tuple[RuleError, ...]) -> Program:
    rules = tuple(rule for rule in merged.rules if rule.id not in dropped)
    infos = {name: info for name, info in merged.infos.items() if name not in dropped}
    relations = dict(sorted(merged.relations.items()))
    functions = dict(sorted(merged.functions.items()))
    sha = program_sha(relations.values(), functions.values(), rules, infos)
    return Program(relations, functions, rules, dict(sorted(infos.items())), sha, warnings)


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


def rule_names(infos: Mapping[str, RuleInfo]) -> dict[str, str]:
    """The id that each id or alias means."""
    names = {alias: info.id for info in infos.values() for alias in info.alias}
    return names | {name: name for name in infos}


def _missing_packs(files: Sequence[ParsedFile]) -> Iterator[RuleError]:
    """A pack may ask for another, which must then be among those loaded (SL108)."""
    present = {parsed.pack for parsed in files} | {"core"}
    for parsed in files:
        for wanted, place in parsed.requires:
            name = _pack_wanted(wanted)
            if name not in present:
                known = name in pack_names()
                help = f"load it too: --rules {name}" if known else nearest(name, pack_names())
                yield RuleError("SL108", f"the pack `{name}` is not loaded", where=place, help=help)


def _pack_wanted(requirement: str) -> str:
    """The pack in `requires: core>=0.3`."""
    return re.split(r"[\s<>=!~]", requirement, maxsplit=1)[0]


@cache
def _built_in() -> dict[str, tuple[ParsedFile, ...]]:
    """The packs that come with schedulog, read once: their text does not change while a process runs."""
    return {
        pack: tuple(parse_text(text, f"{pack}/{name}", pack) for name, text in pack_texts(pack))
        for pack in pack_names()
    }


def _read_all(packs: Sequence[str | Path], errors: list[RuleError]) -> list[ParsedFile]:
    names = {"core", *pack_names_of(packs)}
    files: list[ParsedFile] = []
    for name in sorted(names):
        if name in _built_in():
            files += _built_in()[name]
        elif name != "core":
            errors.append(_unknown_pack(name))
    texts = _read_paths(_paths(packs), errors)
    return files + [parse_text(file.text, file.name, file.pack) for file in texts]


def rule_files(packs: Sequence[str | Path]) -> tuple[RuleFile, ...]:
    """The texts of the rule files at the paths among `packs`; names of packs are passed over.

    Raises RuleError SL107 for files that cannot be read.
    """
    errors: list[RuleError] = []
    found = _read_paths(_paths(packs), errors)
    raise_all(errors)
    return tuple(found)


def with_required(packs: Sequence[str | Path]) -> tuple[str | Path, ...]:
    """`packs`, and the packs coming with schedulog that the files at paths among them ask for (`%! requires:`)."""
    read = _read_paths(_paths(packs), [])
    asked = [_pack_wanted(wanted) for f in read for wanted, _ in parse_text(f.text, f.name, f.pack).requires]
    return (*packs, *sorted((set(asked) & set(pack_names())) - {"core", *pack_names_of(packs)}))


def pack_names_of(packs: Sequence[str | Path]) -> tuple[str, ...]:
    """The names of packs among `packs`; paths are passed over."""
    return tuple(pack for pack in packs if isinstance(pack, str) and not _looks_like_path(pack))


def _paths(packs: Sequence[str | Path]) -> list[Path]:
    return [Path(pack) for pack in packs if isinstance(pack, Path) or _looks_like_path(pack)]


def _looks_like_path(pack: str) -> bool:
    return pack.endswith(".dl") or "/" in pack or "\\" in pack


def _unknown_pack(name: str) -> RuleError:
    known = ", ".join(pack_names())
    help = (
        nearest(name, pack_names()) or f"packs: {known}; a file or folder is written with its path: ./{name}"
    )
    return RuleError("SL108", f"unknown rule pack `{name}`", where="packs", help=help)


def _read_paths(paths: Sequence[Path], errors: list[RuleError]) -> list[RuleFile]:
    """The rule files at `paths` and in folders there, each once; one that cannot be read is an SL107."""
    packs: dict[Path, tuple[Path, str]] = {}
    # Folders first, so that a file that is named on its own too keeps the pack of its folder.
    for path in sorted(paths, key=lambda path: (not path.is_dir(), path)):
        pack = pack_of(path.resolve().name)
        if path.is_dir() and next(path.rglob("*.dl"), None) is None:
            errors.append(RuleError("SL107", "a folder without rule files", where=path.as_posix(),
                                    help="rule files end in .dl"))  # fmt: skip
        for file in _rule_files(path):
            packs.setdefault(file.resolve(), (file, pack))
    read = (_read_file(file, pack, errors) for file, pack in packs.values())
    return [found for found in read if found is not None]


def _read_file(file: Path, pack: str, errors: list[RuleError]) -> RuleFile | None:
    where = file.as_posix()
    try:
        return RuleFile(where, pack, file.read_text(encoding="utf-8-sig"))
    except OSError as problem:
        reason = problem.strerror or str(problem)
        errors.append(RuleError("SL107", "a rule file cannot be read", where=where, reason=reason))
    except UnicodeDecodeError as problem:
        reason = f"byte {problem.start} is not UTF-8"
        errors.append(RuleError("SL107", "a rule file is not UTF-8 text", where=where, reason=reason))
    return None


def _rule_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*.dl") if not file.name.endswith("_test.dl"))
