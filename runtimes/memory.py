"""Host memory of one execution: inputs put in, outputs taken out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedulog.errors import DeviceError
from schedulog.facts.buffer import Buffer
from schedulog.facts.device_name import is_file, parts
from schedulog.facts.dtype import DType
from schedulog.runtimes import computes
from schedulog.runtimes.evaluate import contents, evaluate
from schedulog.runtimes.files import file_spans
from schedulog.runtimes.move import seen
from schedulog.runtimes.windows import window_source
from schedulog.scheduler.kernels import Kernel, Schedule

Array = NDArray[Any]

_ADDRESSES: Final = 1 << 47
"""Bytes that a process can have at most; numpy refuses arrays near the end of 64 bits by a ValueError."""


def allocate(schedule: Schedule, inputs: Mapping[str, Array], device: str = "") -> list[Array]:
    """The flat array of each of `schedule.buffers`, in order, for a run on `device`.

    A buffer with contents is used in place, so that assigns last; given inputs are copied if a kernel overwrites them.
    A buffer that lies in a file has no array, its entry is empty. What a device that computes nothing leaves as it is are
    zeros.
    Raises DeviceError: what `contents` raises, SL534 a buffer for which there is not enough memory.
    """
    written = {kernel.buffers[0] for kernel in schedule.kernels if kernel.kind == "assign"}
    found: dict[Buffer, Array] = {}
    for n, array in contents(schedule.graph, inputs, files=False).items():
        flat = np.ascontiguousarray(array).reshape(-1)
        own = n.arg.array is not None
        found[n.arg] = flat.copy() if n.arg in written and not own else flat
    for kernel in schedule.kernels:
        for buffer in kernel.buffers:
            if is_file(buffer.device):
                continue
            if buffer not in found and kernel.kind == "view" and buffer is kernel.buffers[0]:
                found[buffer] = _window(kernel, found)
            elif buffer not in found:
                found[buffer] = _fresh(buffer, kernel, device)
    nothing = np.empty(0, np.uint8)
    return [nothing if is_file(buffer.device) else found[buffer] for buffer in schedule.buffers]


def _fresh(buffer: Buffer, kernel: Kernel, device: str) -> Array:
    make = np.empty if computes(parts(buffer.device or device)[0]) else np.zeros
    name = f"buffer {buffer.name} of" if buffer.name else "a buffer of"
    with room_for(f"{name} kernel {kernel.name}", buffer.size, buffer.dtype):
        return make(buffer.size, buffer.dtype.to_numpy())


@contextmanager
def room_for(what: str, size: int, dtype: DType) -> Iterator[None]:
    """Says which memory there is no room for. Raises DeviceError SL534 where numpy cannot have `size` elements."""
    try:
        yield
    except (MemoryError, ValueError, OverflowError) as error:
        if isinstance(error, ValueError) and size * dtype.itemsize < _ADDRESSES:
            raise
        raise DeviceError("SL534", f"no memory for {what}: {size:,} x {dtype}, {size * dtype.itemsize:,} bytes",
                          help="make the graph for smaller sizes") from error  # fmt: skip


def _window(kernel: Kernel, found: Mapping[Buffer, Array]) -> Array:
    """The bytes a BUFFER_VIEW shows: from the first byte its source sees."""
    argument, begin = window_source(kernel)
    memory, wanted = found[kernel.buffers[argument]], kernel.buffers[0]
    return memory.view(np.uint8)[begin : begin + wanted.nbytes].view(wanted.dtype.to_numpy())


def fetch(schedule: Schedule, memory: list[Array]) -> dict[str, np.ndarray[Any, Any]]:
    """The requested values by name, each an array of its own. Raises DeviceError for files that cannot be read."""
    spans = file_spans(schedule)
    slot = {buffer: i for i, buffer in enumerate(schedule.buffers)}
    values: dict[str, np.ndarray[Any, Any]] = {}
    for result in schedule.results:
        if result.buffer is None:
            (value,) = evaluate([result.node], {}, schedule.variables)
        else:
            held = spans.get(result.buffer, memory[slot[result.buffer]])
            value = seen(held, result.view, result.node.dtype, schedule.variables)
        with room_for(f"output {result.name}", value.size, result.node.dtype):
            values[result.name] = np.array(value)
    return values
