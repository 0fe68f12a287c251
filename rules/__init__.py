"""The rule packs that come with schedulog, as text.

A pack is a folder here with a `pack.toml`; its rules are its `.dl` files.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

USER_RULES: Final = "schedulog_rules"
"""The folder of a project's own rules: one pack, which commands about rules look at when no path is given."""

_SIDE_TESTS: Final = "_test.dl"


def pack_names() -> tuple[str, ...]:
    """The names of the packs, sorted."""
    folders = (entry.name for entry in files(__name__).iterdir() if entry.is_dir())
    return tuple(sorted(name for name in folders if not name.startswith(("_", "."))))


def pack_folder(pack: str) -> Traversable:
    """The folder of a pack. Raises KeyError when there is no such pack."""
    if pack not in pack_names():
        raise KeyError(pack)
    return files(__name__).joinpath(pack)


def pack_texts(pack: str) -> tuple[tuple[str, str], ...]:
    """The (file name, text) pairs of a pack, sorted by name; files of tests (`*_test.dl`) are left out.

    Raises KeyError when there is no such pack.
    """
    found = [entry for entry in pack_folder(pack).iterdir() if entry.name.endswith(".dl")]
    rules = sorted((entry for entry in found if not entry.name.endswith(_SIDE_TESTS)), key=lambda e: e.name)
    return tuple((entry.name, entry.read_text(encoding="utf-8")) for entry in rules)


def pack_test_texts(pack: str) -> tuple[tuple[str, str], ...]:
    """The (file name, text) pairs of a pack's files of tests (`*_test.dl`), sorted by name.

    Raises KeyError when there is no such pack.
    """
    found = (entry for entry in pack_folder(pack).iterdir() if entry.name.endswith(_SIDE_TESTS))
    return tuple(
        (entry.name, entry.read_text(encoding="utf-8")) for entry in sorted(found, key=lambda e: e.name)
    )
