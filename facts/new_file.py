"""Files that appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def new_file(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[BinaryIO]:
    """A file to be written, which takes the place of the one at `path`, with its rights, when the block ends without an
    error.

    What a link points to is replaced, not the link. A device or a pipe has no contents to be replaced: it is written to.
    Raises OSError; FileExistsError if there is something and `replace` is False.
    """
    there, target = _found(os.fspath(path))
    if there is not None and not replace:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    if there is not None and not stat.S_ISREG(there.st_mode):
        with open(path, "wb") as file:
            yield file
        return
    # What must not be written to is not replaced either, though the folder would allow it.
    if there is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    beside = os.path.join(os.path.dirname(target), f".{secrets.token_hex(6)}.part")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if there is not None:
            os.chmod(beside, stat.S_IMODE(there.st_mode))
        _put(beside, target, replace=replace)
    finally:
        with suppress(OSError):
            os.unlink(beside)


def _found(path: str) -> tuple[os.stat_result | None, str]:
    """What is at `path`, None if there is nothing, and the place that links lead to.

    Raises OSError, also where links lead in a circle and for a null byte.
    """
    try:
        return os.stat(path), os.path.realpath(path)
    except FileNotFoundError:
        return None, os.path.realpath(path)
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error)) from error


def _put(beside: str, target: str, *, replace: bool) -> None:
    if replace:
        os.replace(beside, target)
    else:
        os.link(beside, target)
