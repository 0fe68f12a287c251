"""Elements in a file, read and written through views: only the bytes a view shows are touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO

import numpy as np

from schedulog.errors import DeviceError
from schedulog.facts.dtype import DType
from schedulog.facts.file_buffer import FileBuffer, FileStamp, checked_status, too_short, unopened
from schedulog.facts.view import ViewStack
from schedulog.runtimes.runs import Array, Elements, Rows, elements, rows
from schedulog.runtimes.strided import Look, Values, look


def transfer_in(file: FileIO, at: int, target: memoryview) -> None:
    """Fill `target` with the bytes of the file from `at` on. Raises DeviceError SL542 if the file ends before."""
    file.seek(at)
    done = 0
    while done < len(target):
        count = file.readinto(target[done:])
        if not count:
            raise too_short(str(file.name), at + len(target), at + done)
        done += count


def transfer_out(file: FileIO, at: int, source: memoryview) -> None:
    """Write all of `source` to the file from `at` on."""
    file.seek(at)
    done = 0
    while done < len(source):
        done += file.write(source[done:])


@dataclass(frozen=True, slots=True, eq=False)
class FileSpan:
    """`size` elements of `dtype` from byte `begin` of the file at `path`; `memory` is the buffer the file was opened as."""

    path: str
    begin: int
    size: int
    dtype: DType
    memory: FileBuffer | None = None

    @property
    def end(self) -> int:
        """The first byte behind."""
        return self.begin + self.size * self.dtype.itemsize

    def window(self, begin: int, size: int, dtype: DType) -> FileSpan:
        """`size` elements of another type from byte `begin` of this on. Raises DeviceError SL521 if it ends outside."""
        inner = FileSpan(self.path, self.begin + begin, size, dtype, self.memory)
        if begin < 0 or inner.end > self.end:
            raise DeviceError("SL521", f"a window of bytes {inner.begin} to {inner.end} in one of {self.begin} to "
                              f"{self.end}", where=self.path)  # fmt: skip
        return inner

    def typed(self, dtype: DType) -> FileSpan:
        """The same bytes as elements of another type."""
        if dtype.to_numpy() == self.dtype.to_numpy():
            return self
        return self.window(0, self.size * self.dtype.itemsize // dtype.itemsize, dtype)

    def read(self, stack: ViewStack, variables: Values) -> Array:
        """What `stack` shows of the span, an array of its own. Bytes that it does not show are not read.

        Raises DeviceError: SL521 the view leaves the span, SL541 to SL543 the file cannot be read, is too short or was
        changed, SL544 a bool is neither 0 nor 1.
        """
        with self._opened("rb") as file:
            value = self._read(file, stack, variables)
        if self.dtype.kind == "bool" and value.size and value.view(np.uint8).max() > 1:
            raise DeviceError("SL544", "a byte that is neither 0 nor 1 is no bool", where=self.path,
                              help="read the bytes as uint8")  # fmt: skip
        return value

    def _read(self, file: FileIO, stack: ViewStack, variables: Values) -> Array:
        simple = look(stack.views[0], variables) if len(stack.views) == 1 else None
        if simple is not None and simple.mask is not None:
            value = np.zeros(simple.shape, self.dtype.to_numpy())
            if all(begin < end for begin, end in simple.mask):
                inside = self._rows(simple.window(simple.mask))
                if inside is not None:
                    value[tuple(slice(b, e) for b, e in simple.mask)] = self._read_rows(file, inside)
                    return value
        elif simple is not None:
            plain = self._rows(simple)
            if plain is not None:
                return self._read_rows(file, plain)
        return self._read_elements(file, elements(stack, variables, self.size))

    def _rows(self, shown: Look) -> Rows | None:
        return rows(shown.shape, shown.strides, shown.offset, self.size)

    def _read_rows(self, file: FileIO, found: Rows) -> Array:
        value = np.empty((len(found.starts), found.length), self.dtype.to_numpy())
        for row, start in zip(value, found.starts.tolist(), strict=True):
            transfer_in(file, self._byte(start), row.view(np.uint8).data)
        return found.arranged(value)

    def _read_elements(self, file: FileIO, found: Elements) -> Array:
        kept = np.zeros(len(found.distinct) + 1, self.dtype.to_numpy())
        for begin, end in found.runs():
            first = int(found.distinct[begin])
            transfer_in(file, self._byte(first), kept[begin:end].view(np.uint8).data)
        return kept[found.where]

    def write(self, stack: ViewStack, value: Array, variables: Values) -> None:
        """Put `value` where `stack` shows the span; what a mask hides is dropped. Raises DeviceError as `read`."""
        simple = look(stack.views[0], variables) if len(stack.views) == 1 else None
        plain = None if simple is None or simple.mask is not None else self._rows(simple)
        with self._opened("r+b") as file:
            if plain is not None and not plain.repeats:
                self._write_rows(file, plain, value)
            else:
                self._write_elements(file, elements(stack, variables, self.size), value)
            if self.memory is not None:
                self.memory.stamp = FileStamp.of(os.fstat(file.fileno()))

    def _write_rows(self, file: FileIO, found: Rows, value: Array) -> None:
        whole = np.broadcast_to(np.asarray(value, self.dtype.to_numpy()), found.shape)
        for row, start in zip(found.spread(whole), found.starts.tolist(), strict=True):
            transfer_out(file, self._byte(start), row.view(np.uint8).data)

    def _write_elements(self, file: FileIO, found: Elements, value: Array) -> None:
        kept = np.empty(len(found.distinct) + 1, self.dtype.to_numpy())
        kept[found.where] = value
        for begin, end in found.runs():
            source = kept[begin:end].view(np.uint8).data
            transfer_out(file, self._byte(int(found.distinct[begin])), source)

    def _byte(self, element: int) -> int:
        return self.begin + element * self.dtype.itemsize

    @contextmanager
    def _opened(self, mode: str) -> Iterator[FileIO]:
        checked_status(self.path)
        try:
            file = FileIO(self.path, mode)
        except OSError as error:
            raise unopened(self.path, error.strerror or str(error)) from error
        with file:
            status = os.fstat(file.fileno())
            self._check(status)
            try:
                yield file
            except OSError as error:
                raise DeviceError("SL541", f"cannot read or write {self.path}", where=self.path,
                                  reason=error.strerror or str(error)) from error  # fmt: skip

    def _check(self, status: os.stat_result) -> None:
        if status.st_size < self.end:
            raise too_short(self.path, self.end, status.st_size)
        if self.memory is not None and FileStamp.of(status) != self.memory.stamp:
            raise DeviceError("SL543", f"{self.path} was changed after it was opened", where=self.path,
                              reason="its contents are not those the graph speaks of",
                              help="open it again")  # fmt: skip
