"""What a caller names as rules (packs, paths, texts) to rule files and the packs they belong to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from schedulog.errors import RuleError
from schedulog.scheduler.language.diagnostic import raise_all
from schedulog.scheduler.language.pack import Pack, capitals, is_pack, read_file, read_rules
from schedulog.scheduler.language.pack_finder import built_in_packs, find_pack
from schedulog.scheduler.language.pack_manifest import read_manifest
from schedulog.scheduler.language.requirement import Requirement, read_requirement
from schedulog.scheduler.language.rule_file import (
    SUFFIXES,
    Part,
    RuleFile,
    ends_alike,
    files_below,
    is_path,
    is_rule_file,
    is_text,
    pack_of,
    parsed,
)


@dataclass(frozen=True, slots=True)
class Sources:
    """Rule files, and the packs with a `pack.toml` to which some of them belong: those given by name, and the caller's own,
    given by path or as text."""

    named_packs: tuple[Pack, ...]
    named_files: tuple[RuleFile, ...]
    own_packs: tuple[Pack, ...]
    own_files: tuple[RuleFile, ...]

    @property
    def files(self) -> tuple[RuleFile, ...]:
        """All files."""
        return (*self.named_files, *self.own_files)

    @property
    def packs(self) -> tuple[Pack, ...]:
        """All packs."""
        return (*self.named_packs, *self.own_packs)


def read_sources(parts: Sequence[Part], errors: list[RuleError], *, core: bool = True) -> Sources:
    """Everything that `parts` name, each file once, and the pack `core` unless told otherwise.

    Added to `errors`: SL107 what cannot be read, SL108 an unknown pack, SL123 a pack that is not well formed, SL125 two packs of
    one name, SL128 a text that is given twice.
    """
    names = {"core", *pack_names_of(parts)} if core else set(pack_names_of(parts))
    named = [pack for name in sorted(names) if (pack := find_pack(name, errors)) is not None]
    named_files = [file for pack in named for file in _rules_of(pack, errors)]
    found = _read_paths(paths_of(parts), errors)
    loose = [*found.loose.values(), *texts_of(parts, errors)]
    packs = [*named, *found.packs.values()]
    errors += [*_same_names(packs), *claims(found.inside.values(), loose, packs)]
    own = (*found.inside.values(), *loose)
    return Sources(tuple(named), tuple(named_files), tuple(found.packs.values()), own)


def claims(
    inside: Iterable[RuleFile], loose: Iterable[RuleFile], packs: Sequence[Pack]
) -> Iterator[RuleError]:
    """Files that would belong to a pack that they do not lie in (SL125); `loose` ones lie in no pack."""
    manifests = {pack.name: pack.manifest for pack in packs}
    others = [file for file in inside if parsed(file).pack != file.pack]
    for file in (*others, *loose):
        claimed = parsed(file).pack
        if claimed in manifests:
            yield RuleError("SL125", f"a file would be part of the pack `{claimed}`", where=file.name,
                            reason=f"that pack is what lies beside {manifests[claimed]}; the name of a file or folder without "
                                   "pack.toml, or `%! pack:`, is that of its pack",
                            help="give it a name of its own")  # fmt: skip


def _rules_of(pack: Pack, errors: list[RuleError]) -> Sequence[RuleFile]:
    if pack is built_in_packs().get(pack.name):
        return _built_in(pack.name)
    return read_rules(pack, errors)


@cache
def _built_in(name: str) -> tuple[RuleFile, ...]:
    """The files of a pack that comes with schedulog, read once: they do not change while a process runs."""
    return tuple(read_rules(built_in_packs()[name], []))


def rule_files(parts: Sequence[Part]) -> tuple[RuleFile, ...]:
    """The files at the paths among `parts`, and the texts; names of packs are passed over. Raises what `own_sources` raises."""
    return own_sources(parts).files


def own_sources(parts: Sequence[Part]) -> Sources:
    """What is given by paths and as texts among `parts`. Raises RuleError SL107, SL123, SL125 and SL128."""
    errors: list[RuleError] = []
    named = set(pack_names_of(parts))
    found = read_sources([part for part in parts if part not in named], errors, core=False)
    raise_all(errors)
    return found


def with_required(parts: Sequence[Part]) -> tuple[Part, ...]:
    """`parts`, and the packs that these ask for (see `required_by`)."""
    return (*parts, *required_by(parts))


def required_by(parts: Sequence[Part]) -> tuple[str, ...]:
    """The packs that `parts` ask for, directly or not, besides those among them, as far as they can be found by name."""
    given = set(pack_names_of(parts)) | {"core"}
    found: list[str] = []
    left: list[Part] = list(parts)
    while left:
        sources = read_sources(left, [], core=False)
        present = given | {pack.name for pack in sources.packs}
        wanted = {requirement.pack for requirement in requirements(sources)} - present - set(found)
        known = [name for name in sorted(wanted) if find_pack(name, []) is not None]
        found += known
        left = list(known)
    return tuple(sorted(found))


def requirements(sources: Sources) -> Iterator[Requirement]:
    """What the packs and files of some sources ask for; what is no requirement is passed over."""
    for pack in sources.packs:
        yield from pack.requires
    for file in sources.files:
        for text, _ in parsed(file).requires:
            found = read_requirement(text)
            if found is not None:
                yield found


def pack_names_of(parts: Sequence[Part]) -> tuple[str, ...]:
    """The names of packs among `parts`; paths and texts are passed over."""
    return tuple(part for part in parts if isinstance(part, str) and not is_path(part) and not is_text(part))


def texts_of(parts: Iterable[Part], errors: list[RuleError]) -> list[RuleFile]:
    """The rule texts among `parts`. Strings are called `<text 1>`, `<text 2>`, ...; one that is given twice is an SL128."""
    found: dict[str, RuleFile] = {}
    number = 0
    for part in parts:
        if isinstance(part, str) and is_text(part):
            number += 1
            part = RuleFile(f"<text {number}>", f"text-{number}", part)
        if isinstance(part, RuleFile):
            if part.text.strip() in found:
                errors.append(_given_twice(part, found[part.text.strip()]))
            else:
                found[part.text.strip()] = part
    return list(found.values())


def _given_twice(file: RuleFile, first: RuleFile) -> RuleError:
    return RuleError(
        "SL128", "the same rules are given twice", where=file.name,
        reason=f"they are those of {first.name}", help="give them once",
    )  # fmt: skip


def paths_of(parts: Sequence[Part]) -> list[Path]:
    """The paths among `parts`."""
    return [
        Path(part)
        for part in parts
        if isinstance(part, os.PathLike) or (isinstance(part, str) and is_path(part))
    ]


@dataclass(slots=True)
class _Read:
    """What was found at some paths, by where it lies: packs, the files inside these, and files that are in no pack."""

    packs: dict[Path, Pack]
    inside: dict[Path, RuleFile]
    loose: dict[Path, RuleFile]


def _read_paths(paths: Sequence[Path], errors: list[RuleError]) -> _Read:
    """The rule files at `paths` and in folders there, each once; folders with a `pack.toml` are packs."""
    found = _Read({}, {}, {})
    # Folders first, packs before others, so that a file that is named on its own too keeps the pack of its folder.
    usable = [path for path in paths if _is_usable(path, errors)]
    for path in sorted(usable, key=lambda path: (not is_pack(path), not path.is_dir(), path)):
        if not is_pack(path):
            files = _inside(path, errors) if path.is_dir() else [path]
            _add(found, files, pack_of(path.resolve().name), errors)
        elif path.resolve() not in found.packs:
            pack = read_manifest(path, path.as_posix(), errors)
            if pack is not None:
                found.packs[path.resolve()] = pack
                read = read_rules(pack, errors)
                found.inside.update({Path(file.name).resolve(): file for file in read})
    return found


def _is_usable(path: Path, errors: list[RuleError]) -> bool:
    """Whether a path is one that the file system can be asked for, present or not; else it is an SL107."""
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError) as problem:
        reason = problem.strerror or str(problem) if isinstance(problem, OSError) else str(problem)
        errors.append(RuleError("SL107", "a rule file cannot be read", where=path.as_posix(), reason=reason))
        return False
    return True


def _add(found: _Read, files: Sequence[Path], pack: str, errors: list[RuleError]) -> None:
    for file in files:
        if file.resolve() not in found.inside.keys() | found.loose.keys():
            read = read_file(file, file.as_posix(), pack, errors)
            if read is not None:
                found.loose[file.resolve()] = read


def _inside(folder: Path, errors: list[RuleError]) -> list[Path]:
    """The rule files of a folder that is no pack. A pack below it has to be named itself: its code may run."""
    found = files_below(folder, *SUFFIXES)
    below = {pack.as_posix() for file in found if (pack := _pack_below(file, folder)) is not None}
    for name in sorted(below):
        errors.append(RuleError("SL123", "a folder with a pack in it", where=folder.as_posix(),
                                reason=f"{name} has a pack.toml", help=f"name the pack: {name}"))  # fmt: skip
    alike = [file for file in files_below(folder, "") if ends_alike(file.name)]
    errors += [capitals(file.as_posix()) for file in alike]
    if not found and not alike:
        errors.append(RuleError("SL107", "a folder without rule files", where=folder.as_posix(),
                                help=f"rule files end in {' or '.join(SUFFIXES)}"))  # fmt: skip
    return [file for file in found if is_rule_file(file.name)]


def _pack_below(file: Path, folder: Path) -> Path | None:
    between = (parent for parent in file.parents if parent != folder and folder in parent.parents)
    return next((parent for parent in between if is_pack(parent)), None)


def _same_names(packs: Sequence[Pack]) -> Iterator[RuleError]:
    first: dict[str, Pack] = {}
    for pack in packs:
        other = first.setdefault(pack.name, pack)
        if other is not pack:
            built_in = other is built_in_packs().get(other.name)
            yield RuleError(
                "SL125",
                f"two packs are called `{pack.name}`",
                where=pack.place("name"),
                reason=f"the other one {'comes with schedulog' if built_in else f'is {other.manifest}'}; nothing is shadowed",
                help="load one of them, or give this one a name of its own",
            )
