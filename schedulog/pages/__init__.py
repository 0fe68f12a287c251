"""The pages of the error codes, one file each, as `schedulog explain` shows them."""

from __future__ import annotations

from importlib.resources import files

from schedulog.codes import TITLES


def page(code: str) -> str:
    """The page of an error code, as Markdown. Raises KeyError for a code that does not exist."""
    if code not in TITLES:
        raise KeyError(code)
    return files(__name__).joinpath(f"{code}.md").read_text(encoding="utf-8")
