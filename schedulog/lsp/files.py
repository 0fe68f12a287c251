"""Which files a rule file is checked together with, with the text that stands in the editor."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from schedulog.rules import USER_RULES, pack_names
from schedulog.scheduler.language.pack import Pack, pack_around
from schedulog.scheduler.language.pack_manifest import read_manifest
from schedulog.scheduler.language.rule_file import Part, RuleFile, pack_of, parsed
from schedulog.scheduler.language.sources import read_sources, with_required
from schedulog.scheduler.language.syntax import ParsedFile


def together(path: Path, text: str) -> tuple[list[ParsedFile], tuple[Pack, ...]]:
    """The file at `path` with the text `text`, all it is checked with (core, the packs it asks for, its pack or its folder
    of rules, as they are saved), and the packs among that.

    A file of a pack that comes with schedulog stands in its place in that pack. What cannot be read is left out:
    `schedulog check` tells about it; the file being edited is another one.
    """
    around, pack = _home(path)
    own = RuleFile(shown_name(path), pack, text)
    parts: list[Part] = [own] if around is None else [own, around]
    found = read_sources([part for part in with_required(parts) if part is not own], [])
    others = [file for file in found.files if not _is(file, own, path)]
    return [parsed(file) for file in (*others, own)], found.packs


def shown_name(path: Path) -> str:
    """How findings name the file at `path`."""
    pack = shipped_pack(path)
    return path.as_posix() if pack is None else f"{pack}/{path.name}"


def place_of(file: str) -> Path:
    """The path of a file that a finding or a declaration names."""
    pack, _, name = file.partition("/")
    if pack in pack_names() and "/" not in name:
        return Path(str(files("schedulog.rules").joinpath(pack, name))).resolve()
    return Path(file)


def shipped_pack(path: Path) -> str | None:
    """The pack that comes with schedulog of which a file is part."""
    pack = path.parent.name
    if pack in pack_names() and path.resolve() == place_of(f"{pack}/{path.name}"):
        return pack
    return None


def _home(path: Path) -> tuple[str | Path | None, str]:
    """What a file is part of (a pack, a folder of rules, or nothing), and the name of the pack its rules belong to."""
    shipped = shipped_pack(path)
    if shipped is not None:
        return shipped, shipped
    folder = pack_around(path)
    if folder is not None:
        pack = read_manifest(folder, folder.as_posix(), [])
        return folder, pack_of(folder.name) if pack is None else pack.name
    folder = next((folder for folder in path.parents if folder.name == USER_RULES), None)
    return folder, pack_of((folder or path).name)


def _is(file: RuleFile, own: RuleFile, path: Path) -> bool:
    return file.name == own.name or Path(file.name).resolve() == path.resolve()
