"""One rule file as text, and the one place where such a text becomes rules."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from schedulog.scheduler.language.syntax import ParsedFile, parse_text

DATALOG: Final = ".dl"
PYDATALOG: Final = ".pydl"
"""The end of the name of a rule file in pyDatalog's spelling."""
SUFFIXES: Final = (DATALOG, PYDATALOG)
"""How the names of rule files end."""
SIDE_TESTS: Final = "_test.dl"
"""How the names of files end that hold only tests."""

_NO_LETTER: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A rule file as text; its rules belong to `pack` unless the text names another."""

    name: str
    pack: str
    text: str


Part = str | Path | RuleFile
"""What a caller names as rules: a pack by its name, the path of a file or a folder, or a text that was read already."""


@lru_cache(maxsize=256)
def parsed(file: RuleFile) -> ParsedFile:
    """What a rule file says, with its mistakes; nothing is raised. A text that comes again is read once."""
    if not is_pydatalog(file.name):
        return parse_text(file.text, file.name, file.pack)
    # Imported here: most rule sets have no such file, and every command reads rules.
    from schedulog.scheduler.language.pydatalog.read import parse_pydatalog

    return parse_pydatalog(file.text, file.name, file.pack)


def is_pydatalog(name: str) -> bool:
    """Whether a rule file of this name has pyDatalog's spelling; a file of Python does where its functions are rules."""
    return name.endswith((PYDATALOG, ".py"))


def stem(name: str) -> str:
    """The name of a rule file, or of a file with tests of one, without its end."""
    for suffix in (SIDE_TESTS, *SUFFIXES):
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name


def rules_beside(path: Path) -> Path:
    """The rule file that a file of tests stands beside; any other file is its own."""
    if not path.name.endswith(SIDE_TESTS):
        return path
    beside = [path.with_name(stem(path.name) + suffix) for suffix in SUFFIXES]
    return next((file for file in beside if file.exists()), beside[0])


def pack_of(name: str) -> str:
    """The pack name of a file that states none: its stem, in the letters of an id."""
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    for suffix in SUFFIXES:
        base = base.removesuffix(suffix)
    return _NO_LETTER.sub("-", base.lower()).strip("-") or "user"


def is_rule_file(name: str) -> bool:
    """Whether a file of this name holds rules, with or without tests among them."""
    return name.endswith(SUFFIXES) and not name.endswith(SIDE_TESTS)


def ends_alike(name: str) -> bool:
    """Whether a file's name ends as those of rule files do, but for capitals: it would be passed over."""
    return name.lower().endswith(SUFFIXES) and not name.endswith(SUFFIXES)


def files_below(folder: Path, *ends: str) -> list[Path]:
    """The files in a folder and below it whose names end so, sorted; a link that leads nowhere is one of them.

    What is hidden is left out: editors keep locks and copies there, and `.venv` may hold packs.
    """
    found: list[Path] = []
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += (Path(where, name) for name in names if name.endswith(ends) and not name.startswith("."))
    # A pipe, for one, is no file: whoever opened it would wait.
    return sorted(path for path in found if path.is_file() or path.is_symlink())


def is_text(part: str) -> bool:
    """Whether a string is rules itself: a text of several lines, or with `:-`. Anything else is a name or a path."""
    return "\n" in part or ":-" in part


def is_path(part: str) -> bool:
    """Whether a string names a file or a folder: it ends as rule files do, or has a slash."""
    return not is_text(part) and (part.endswith(SUFFIXES) or "/" in part or "\\" in part)
