"""The rule packs that come with schedulog, as text.

A pack is a folder here with a `pack.toml`; its rules are its `.dl` files.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

USER_RULES: Final = "schedulog_rules"
"""The folder of a project's own rules: one pack, which commands about rules look at when no path is given."""


def pack_names() -> tuple[str, ...]:
    """The names of the packs, sorted."""
    folders = (entry.name for entry in files(__name__).iterdir() if entry.is_dir())
    return tuple(sorted(name for name in folders if not name.startswith(("_", "."))))


def pack_folder(pack: str) -> Traversable:
    """The folder of a pack. Raises KeyError when there is no such pack."""
    if pack not in pack_names():
        raise KeyError(pack)
    return files(__name__).joinpath(pack)
