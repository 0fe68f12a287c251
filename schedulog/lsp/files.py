"""Which files a rule file is checked together with, with the text that stands in the editor."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from schedulog.rules import USER_RULES, pack_names, pack_texts
from schedulog.scheduler.language.rule_file import RuleFile, pack_of
from schedulog.scheduler.language.syntax import ParsedFile, parse_text


def together(path: Path, text: str) -> list[ParsedFile]:
    """The file at `path` with the text `text`, and all it is checked with: core, the packs it asks for, its folder.

    A file of a pack that comes with schedulog stands in its place in that pack.
    """
    pack = shipped_pack(path)
    if pack is not None:
        own = [parsed(RuleFile(f"{pack}/{path.name}", pack, text))]
    else:
        own = [parsed(RuleFile(path.as_posix(), pack_of(_pack_folder(path).name), text)), *_neighbours(path)]
    wanted = {name for file in own for name in asked_for(file)} | {"core", *([pack] if pack else [])}
    names = {file.file for file in own}
    rest = [
        file
        for name in sorted(wanted & set(pack_names()))
        for file in shipped(name)
        if file.file not in names
    ]
    return [*rest, *own]


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


def asked_for(file: ParsedFile) -> list[str]:
    """The packs that a file asks for (`%! requires:`)."""
    return [wanted.split(">")[0].split("=")[0].split("<")[0].strip() for wanted, _ in file.requires]


def shipped(pack: str) -> list[ParsedFile]:
    """The files of a pack that comes with schedulog."""
    return [parsed(RuleFile(f"{pack}/{name}", pack, text)) for name, text in pack_texts(pack)]


@lru_cache(maxsize=128)
def parsed(file: RuleFile) -> ParsedFile:
    """A file as it is parsed; while one file is edited, the others are parsed once."""
    return parse_text(file.text, file.name, file.pack)


def _pack_folder(path: Path) -> Path:
    """The folder of rules that a file is in, or the file itself."""
    return next((folder for folder in path.parents if folder.name == USER_RULES), path)


def _neighbours(path: Path) -> list[ParsedFile]:
    """The other files of the folder of rules that a file is in, as they are saved."""
    folder = _pack_folder(path)
    if folder == path:
        return []
    found = sorted(
        p for p in folder.rglob("*.dl") if not p.name.endswith("_test.dl") and p.resolve() != path.resolve()
    )
    return [file for p in found if (file := _read(p, pack_of(folder.name))) is not None]


def _read(path: Path, pack: str) -> ParsedFile | None:
    try:
        return parsed(RuleFile(path.as_posix(), pack, path.read_text(encoding="utf-8-sig")))
    except (OSError, UnicodeDecodeError):
        # `schedulog check` tells about it; the file being edited is another one.
        return None
