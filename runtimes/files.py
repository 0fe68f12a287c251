"""Where a schedule's buffers lie in files."""

from __future__ import annotations

import os
from collections.abc import Mapping

from schedulog.errors import DeviceError
from schedulog.facts.buffer import Buffer
from schedulog.facts.device_name import file_path, is_file
from schedulog.facts.file_buffer import FileBuffer, unopened
from schedulog.runtimes.disk import no_computer
from schedulog.runtimes.file_span import FileSpan
from schedulog.runtimes.windows import window_source
from schedulog.scheduler.kernels import Kernel, Schedule


def file_spans(schedule: Schedule) -> dict[Buffer, FileSpan]:
    """The place in a file of each buffer that has one. No file is opened.

    Raises DeviceError: SL540 a kernel that would compute in a file, SL541 a file without a path, SL545 one file that is two
    buffers' own and made or written by the schedule, SL522 a window that is not in one piece.
    """
    found = {b: whole_file(b) for b in schedule.graph.buffers if is_file(b.device)}
    for kernel in schedule.kernels:
        made = kernel.buffers[0]
        if not is_file(made.device) or made in found:
            continue
        if kernel.kind == "view":
            found[made] = _window(kernel, found)
        elif kernel.kind == "copy":
            found[made] = whole_file(made)
        else:
            raise no_computer(kernel)
    _check_apart(schedule, found)
    return found


def whole_file(memory: Buffer) -> FileSpan:
    """The part of a file that a buffer is: from its first byte on. Raises DeviceError SL541."""
    path = file_path(memory.device)
    if not path:
        raise unopened(path, f"`{memory.device}` names no file")
    own = memory if isinstance(memory, FileBuffer) else None
    return FileSpan(path, 0, memory.size, memory.dtype, own)


def _window(kernel: Kernel, found: Mapping[Buffer, FileSpan]) -> FileSpan:
    argument, begin = window_source(kernel)
    below, shown = found[kernel.buffers[argument]], kernel.buffers[0]
    return below.window(begin, shown.size, shown.dtype)


def _check_apart(schedule: Schedule, found: Mapping[Buffer, FileSpan]) -> None:
    """The order of kernels is kept per buffer, so a file that is changed may be one buffer only, by whatever name."""
    written = {k.buffers[0] for k in schedule.kernels if k.kind in ("copy", "assign")} & found.keys()
    windows = {k.buffers[0] for k in schedule.kernels if k.kind == "view"}
    owner: dict[object, Buffer] = {}
    for memory in sorted(found.keys() - windows, key=lambda b: b not in written):
        first = owner.setdefault(_identity(found[memory].path), memory)
        if first is not memory and first in written:
            raise DeviceError("SL545", f"{found[first].path} is changed, and used as other memory too",
                              where=schedule.graph.name, help="use another file, or one buffer",
                              reason=f"no order of the kernels is kept between it and {found[memory].path}")  # fmt: skip


def _identity(path: str) -> object:
    """What two names of one file have in common; of a file that is not there yet, where links lead."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return os.path.realpath(path)
    return status.st_dev, status.st_ino
