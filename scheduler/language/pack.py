"""A rule pack: a folder with `pack.toml`, its rule files at the top or in `rules/`, its tests in `tests/`."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from shutil import rmtree
from tempfile import mkdtemp
from typing import Final

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.requirement import Requirement
from schedulog.scheduler.language.rule_file import SIDE_TESTS, SUFFIXES, RuleFile, ends_alike, is_rule_file

MANIFEST: Final = "pack.toml"
GRAPHS: Final = "graphs"
"""The folder of a pack's graph files."""

_RULES: Final = ("", "rules")
_TESTS: Final = ("", "rules", "tests")
_SKIPPED: Final = frozenset({"__pycache__", GRAPHS})


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack as its `pack.toml` describes it.

    `functions` names the Python code behind the pack's `.function`s: a file of the pack, or a module; "" for none.
    `disable` holds ids of rules of other packs that are left out where this pack is loaded. `shown` is how messages call
    its folder, `places` where its fields stand.
    """

    name: str
    version: str
    shown: str
    folder: Traversable = field(compare=False)
    license: str = ""
    description: str = ""
    requires: tuple[Requirement, ...] = ()
    disable: tuple[str, ...] = ()
    functions: str = ""
    places: Mapping[str, Place] = field(compare=False, default_factory=dict)

    @property
    def manifest(self) -> str:
        """How messages call its `pack.toml`."""
        return f"{self.shown}/{MANIFEST}"

    def place(self, key: str) -> Place | str:
        """Where a field stands in `pack.toml`."""
        return self.places.get(key, self.manifest)


def is_pack(folder: Traversable) -> bool:
    """Whether a folder is a pack."""
    return folder.is_dir() and folder.joinpath(MANIFEST).is_file()


def pack_around(file: Path) -> Path | None:
    """The folder of the pack that a file is part of."""
    return next((folder for folder in file.absolute().parents if is_pack(folder)), None)


def read_rules(pack: Pack, errors: list[RuleError]) -> list[RuleFile]:
    """The rule files of a pack, by name; one that cannot be read, or lies where none is looked for, is an error."""
    kept: list[RuleFile] = []
    for path, entry in _listed(pack, errors):
        if ends_alike(path):
            errors.append(capitals(f"{pack.shown}/{path}"))
            continue
        where = PurePosixPath(path).parent.as_posix().removeprefix(".")
        if where in _RULES and is_rule_file(path):
            file = read_file(entry, f"{pack.shown}/{path}", pack.name, errors)
            kept += [] if file is None else [file]
        elif where not in _TESTS or is_rule_file(path):
            errors.append(_misplaced(f"{pack.shown}/{path}"))
    if not kept and not errors:
        errors.append(RuleError("SL107", "a pack without rule files", where=pack.shown,
                                help=f"its rule files end in {' or '.join(SUFFIXES)} and lie beside pack.toml or in rules/"))  # fmt: skip
    return kept


def read_tests(pack: Pack) -> tuple[tuple[str, str], ...]:
    """The names and texts of a pack's files of tests (`*_test.dl`), by name. Raises RuleError SL107."""
    errors: list[RuleError] = []
    found = [
        read_file(entry, f"{pack.shown}/{path}", pack.name, errors)
        for path, entry in _listed(pack, errors)
        if path.endswith(SIDE_TESTS)
    ]
    if errors:
        raise errors[0]
    return tuple((file.name, file.text) for file in found if file is not None)


def read_file(entry: Traversable, shown: str, pack: str, errors: list[RuleError]) -> RuleFile | None:
    """The text of a rule file; one that cannot be read is an SL107."""
    try:
        return RuleFile(shown, pack, entry.read_bytes().decode("utf-8-sig"))
    except OSError as problem:
        reason = problem.strerror or str(problem)
        errors.append(RuleError("SL107", "a rule file cannot be read", where=shown, reason=reason))
    except UnicodeDecodeError as problem:
        reason = f"byte {problem.start} is not UTF-8"
        errors.append(RuleError("SL107", "a rule file is not UTF-8 text", where=shown, reason=reason))
    return None


def on_disk(folder: Traversable) -> Path:
    """A folder of resources as one of the file system: itself, or a copy for the time of the process if it is packed."""
    if isinstance(folder, Path):
        return folder
    copy = Path(mkdtemp(prefix="schedulog-pack-"))
    atexit.register(rmtree, copy, ignore_errors=True)
    _copy(folder, copy)
    return copy


def _copy(folder: Traversable, target: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            (target / entry.name).mkdir()
            _copy(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())


def _listed(pack: Pack, errors: list[RuleError]) -> list[tuple[str, Traversable]]:
    """The files of rules and tests of a pack, by their paths inside it, sorted."""
    try:
        return sorted(_files(pack.folder), key=lambda found: found[0])
    except OSError as problem:
        reason = problem.strerror or str(problem)
        errors.append(RuleError("SL107", "a pack cannot be read", where=pack.shown, reason=reason))
        return []


def _files(folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    """Three levels deep: a link may lead around in a circle. What is hidden is left out."""
    level = [("", folder)]
    for _ in range(3):
        below: list[tuple[str, Traversable]] = []
        for path, where in level:
            for entry in (entry for entry in where.iterdir() if not entry.name.startswith(".")):
                inner = f"{path}{entry.name}"
                if entry.is_dir():
                    below += [] if entry.name in _SKIPPED else [(f"{inner}/", entry)]
                elif entry.name.lower().endswith(SUFFIXES) and (entry.is_file() or _leads_nowhere(entry)):
                    yield inner, entry
        level = below


def _leads_nowhere(entry: Traversable) -> bool:
    """Whether a link's target is gone: its rules would be missed, so that reading it has to fail."""
    return isinstance(entry, Path) and entry.is_symlink()


def capitals(shown: str) -> RuleError:
    """What is said of a file that only capitals keep from being a rule file (SL107)."""
    end = shown[shown.rindex(".") :]
    return RuleError("SL107", f"a rule file whose name ends in {end}", where=shown,
                     reason="it would be passed over", help=f"call it {PurePosixPath(shown).stem}{end.lower()}")  # fmt: skip


def _misplaced(shown: str) -> RuleError:
    return RuleError(
        "SL123",
        "a rule file where none is read",
        where=shown,
        reason="a pack has rule files beside pack.toml and in rules/, files of tests (*_test.dl) also in tests/",
        help="move it there",
    )
