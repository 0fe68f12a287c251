"""Whether a file is a picture that was drawn here, so that a new one may take its place."""

from __future__ import annotations

import os
from typing import Final

from schedulog.pictures.document import page_head
from schedulog.pictures.dot import SETTINGS

_HEAD: Final = 1 << 20
"""Bytes that are looked at. A DOT file starts with the name of its graph, which may be long."""


def drawn_here(path: str | os.PathLike[str]) -> bool:
    """Whether the file starts as `html_text` and `dot_text` start. Raises OSError."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    if head.startswith(b"digraph "):
        return f"\n{SETTINGS}\n".encode() in head
    return head.startswith(page_head().encode())
