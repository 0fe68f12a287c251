"""A file as memory: found, measured and recognised again, but not read."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from schedulog.errors import DeviceError
from schedulog.facts.buffer import Buffer
from schedulog.facts.device_name import file_device
from schedulog.facts.dtype import DType, uint8


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Tells a file from another one, or from itself with other contents, as far as the system says."""

    device: int
    inode: int
    size: int
    changed_ns: int

    @staticmethod
    def of(status: os.stat_result) -> FileStamp:
        """The stamp of a file with this status."""
        return FileStamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


class FileBuffer(Buffer):
    """The first `size` elements of a file. `stamp` is what the file was when this was made, or last written through it."""

    __slots__ = ("stamp",)

    def __init__(self, size: int, dtype: DType, path: str, stamp: FileStamp) -> None:
        super().__init__(size, dtype, file_device(path), os.path.basename(path))
        self.stamp = stamp

    def __deepcopy__(self, memo: dict[int, object]) -> FileBuffer:
        """A copy would be the same file."""
        return self


def open_file_buffer(
    path: str | os.PathLike[str], dtype: DType = uint8, size: int | None = None
) -> FileBuffer:
    """The file at `path` as memory of `size` elements, all that it holds if None. Nothing of it is read.

    Raises DeviceError: SL541 it cannot be opened, SL542 it is too short, or holds no whole number of elements.
    """
    name = os.path.abspath(os.fspath(path))
    stamp = FileStamp.of(checked_status(name))
    whole, rest = divmod(stamp.size, dtype.itemsize)
    if size is None and rest:
        raise DeviceError("SL542", f"{stamp.size} bytes are no whole number of {dtype}", where=name)
    if size is not None and size > whole:
        raise too_short(name, size * dtype.itemsize, stamp.size)
    return FileBuffer(whole if size is None else size, dtype, name, stamp)


def checked_status(path: str) -> os.stat_result:
    """The status of a readable regular file. Raises DeviceError SL541."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        raise unopened(path, getattr(error, "strerror", None) or str(error)) from error
    if stat.S_ISDIR(status.st_mode):
        raise unopened(path, "it is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise unopened(path, "it is no regular file")
    if not os.access(path, os.R_OK):
        raise unopened(path, "permission denied")
    return status


def unopened(path: str, reason: str) -> DeviceError:
    """The error for a file that cannot be opened."""
    return DeviceError("SL541", f"cannot open {path or 'a file without a path'}", where=path, reason=reason)


def too_short(path: str, wanted: int, found: int) -> DeviceError:
    """The error for a file with fewer bytes than a buffer over it."""
    return DeviceError(
        "SL542",
        f"{path} has {found} bytes, not {wanted}",
        where=path,
        reason="it is shorter than the memory it stands for",
    )
