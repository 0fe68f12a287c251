"""Compiled code on disk, so that a second run needs no compiler.

An entry is one file, `<key>-<checksum>.so`: it appears by a rename, whole or not at all, and its name tells whether
its content is what was written. Any number of processes may fill and read the folder at once.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import platformdirs

from schedulog.errors import DeviceError

SIZE_LIMIT: Final = 512 * 1024 * 1024  # bytes; the entries unused for longest go first
ABANDONED: Final = 24 * 3600.0  # seconds after which no compiler still works in a folder
FORGOTTEN: Final = 30 * 24 * 3600.0  # seconds for which sources that did not compile are kept
_SUFFIX: Final = ".so"
_BUILD: Final = "schedulog-build-"  # a name that no folder of the user has: old ones are removed
_KEPT: Final = ("[0-9a-f]" * 32 + ".c", "probe.c", "schedule.c")
T = TypeVar("T")


def digest(parts: Iterable[str]) -> str:
    """A key for everything an entry depends on."""
    joined = hashlib.sha256()
    for part in parts:
        data = part.encode()
        joined.update(f"{len(data)}:".encode() + data)
    return joined.hexdigest()[:32]


class Cache:
    """A folder of compiled code: $SCHEDULOG_CACHE, else the user's cache folder.

    Where that cannot be written to, a temporary folder takes its place, and `warning` says so.
    """

    def __init__(self, size_limit: int = SIZE_LIMIT) -> None:
        self.warning = ""
        self._limit = size_limit
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        wanted = Path(os.environ.get("SCHEDULOG_CACHE") or platformdirs.user_cache_dir("schedulog"))
        self.folder = self._usable(wanted)

    def _usable(self, wanted: Path) -> Path:
        try:
            wanted.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=wanted):
                return wanted
        except OSError as error:
            self.warning = (
                f"compiled code is not kept: the cache folder {wanted} cannot be used ({error.strerror})"
            )
            self._temporary = tempfile.TemporaryDirectory(prefix="schedulog-", ignore_cleanup_errors=True)
            return Path(self._temporary.name)

    def find(self, key: str) -> Path | None:
        """The entry for `key`, or None; one whose content is damaged is removed."""
        for path in sorted(self.folder.glob(f"{key}-*{_SUFFIX}")):
            with suppress(OSError):
                if path.name == _name(key, path.read_bytes()):
                    os.utime(path)
                    return path
                path.unlink()
        return None

    def get(self, key: str, make: Callable[[Path], Path]) -> Path:
        """The entry for `key`; if there is none, the file that `make` leaves in the folder it is given becomes it.

        Raises DeviceError (SL504) if the folder cannot take it: it is full, cannot be made, or something else has the
        entry's name.
        """
        found = self.find(key)
        if found is not None:
            return found
        try:
            path = self._made(key, make)
        except OSError as error:
            raise DeviceError("SL504", "compiled code cannot be put into the cache", where=error.filename2 or error.filename
                              or str(self.folder), reason=error.strerror or str(error),
                              help="remove what is in the way, or set SCHEDULOG_CACHE to another folder") from error  # fmt: skip
        self._shrink(path)
        return path

    def use(self, key: str, make: Callable[[Path], Path], read: Callable[[Path], T]) -> T:
        """What `read` makes of the entry for `key`; see `get`.

        Another process may remove the entry before it is read: then it is made again, once. Raises what `read` raises.
        """
        path = self.get(key, make)
        try:
            return read(path)
        except OSError:
            if path.exists():
                raise
        return read(self.get(key, make))

    def remove(self, key: str) -> None:
        """Forget the entry for `key`, if there is one."""
        for path in self.folder.glob(f"{key}-*{_SUFFIX}"):
            with suppress(OSError):
                path.unlink()

    def _made(self, key: str, make: Callable[[Path], Path]) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)  # it may have been removed since the last entry
        self._sweep(time.time())
        with tempfile.TemporaryDirectory(prefix=_BUILD, dir=self.folder, ignore_cleanup_errors=True) as build:
            made = make(Path(build))
            path = self.folder / _name(key, made.read_bytes())
            os.replace(made, path)
        return path

    def keep(self, name: str, text: str) -> Path:
        """A text kept for people to look at, under `failed/`, or among the temporary files if that is impossible."""
        path = self.folder / "failed" / name
        try:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        except OSError:
            path = Path(tempfile.mkdtemp(prefix="schedulog-failed-")) / name
            path.write_text(text, "utf-8")
        if self._temporary is not None:  # what a message names must still be there when the program has ended
            self._temporary._finalizer.detach()  # type: ignore[attr-defined]
        return path

    def _sweep(self, now: float) -> None:
        """Remove what a killed process left while it compiled, and sources kept for people who never came."""
        for folder in self.folder.glob(f"{_BUILD}*"):
            if _age(folder, now) > ABANDONED:
                shutil.rmtree(folder, ignore_errors=True)
        for pattern in _KEPT:
            for path in (self.folder / "failed").glob(pattern):
                if _age(path, now) > FORGOTTEN:
                    with suppress(OSError):
                        path.unlink()

    def _shrink(self, newest: Path) -> None:
        """Remove the entries unused for longest until the rest fits the limit."""
        entries = []
        for path in self.folder.glob(f"*{_SUFFIX}"):
            with suppress(OSError):
                status = path.stat()
                entries.append((path == newest, status.st_mtime_ns, path.name, status.st_size))
        total = sum(size for *_, size in entries)
        for is_newest, _, name, size in sorted(entries):
            if total <= self._limit or is_newest:
                break
            with suppress(OSError):
                (self.folder / name).unlink()
            total -= size


def _age(path: Path, now: float) -> float:
    """Seconds since the last change; 0 for what is gone already."""
    try:
        return now - path.lstat().st_mtime
    except OSError:
        return 0.0


def _name(key: str, content: bytes) -> str:
    return f"{key}-{hashlib.sha256(content).hexdigest()[:24]}{_SUFFIX}"
