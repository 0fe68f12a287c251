"""Files that appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def new_file(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[BinaryIO]:
    """A file to be written, which takes the place of the one at `path` when the block ends without an error.

    Raises OSError; FileExistsError if there is one and `replace` is False.
    """
    target = os.path.realpath(os.fspath(path))
    folder, name = os.path.split(target)
    beside = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(6)}.part")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(beside, target)
        else:
            os.link(beside, target)
    finally:
        with suppress(OSError):
            os.unlink(beside)
