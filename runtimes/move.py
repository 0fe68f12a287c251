"""Kernels that compute nothing: a value is taken from one memory and put into another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedulog.errors import DeviceError
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import DType
from schedulog.facts.new_file import new_file
from schedulog.facts.ops import Op
from schedulog.facts.view import ViewStack
from schedulog.runtimes.evaluate import evaluate
from schedulog.runtimes.file_span import FileSpan
from schedulog.runtimes.strided import Values, flattened, show, store, typed
from schedulog.scheduler.kernels import Kernel

Array = NDArray[Any]
Memory = Array | FileSpan

_KINDS: Final = ("copy", "assign")


def only_moves(kernel: Kernel) -> bool:
    """Whether a kernel writes a stored value, or a constant, as it is."""
    value = kernel.value.base
    return kernel.kind in _KINDS and (value in kernel.reads or value.op is Op.CONST)


def move(kernel: Kernel, memory: Mapping[Buffer, Memory], variables: Values) -> None:
    """Do what a kernel that only moves says. A copy to a file makes the file.

    Raises DeviceError: SL541 to SL544 a file that cannot be read or written, SL546 a file that is there already.
    """
    value, target = _value(kernel, memory, variables), memory[kernel.buffers[0]]
    if not isinstance(target, FileSpan):
        store(kernel.stores, typed(target, kernel.output.dtype), value, variables)
    elif kernel.kind == "copy":
        _make(target, value)
    else:
        target.typed(kernel.output.dtype).write(kernel.stores, value, variables)


def _value(kernel: Kernel, memory: Mapping[Buffer, Memory], variables: Values) -> Array:
    n = kernel.value
    read = kernel.reads.get(n.base)
    if read is None:
        return evaluate([n], {}, variables)[0]
    source = memory[kernel.buffers[read.argument]]
    stack = read.view if n is n.base else read.view.then(n.view)
    return seen(source, stack, n.dtype, variables)


def seen(source: Memory, stack: ViewStack, dtype: DType, variables: Values) -> Array:
    """What `stack` shows of memory as elements of `dtype`, wherever it lies. Of a file, only what is shown is read."""
    if isinstance(source, FileSpan):
        return source.typed(dtype).read(stack, variables)
    return show(stack, typed(source, dtype), variables)


def _make(target: FileSpan, value: Array) -> None:
    try:
        # A graph may come from anywhere; what it names must not be able to replace a file.
        with new_file(target.path, replace=False) as file:
            file.write(flattened(value).view(np.uint8).data)
    except FileExistsError as error:
        raise DeviceError("SL546", f"{target.path} is there already", where=target.path,
                          reason="a copy to disk makes a file", help="give another name, or remove the file") from error  # fmt: skip
    except OSError as error:
        raise DeviceError("SL541", f"cannot write {target.path}", where=target.path,
                          reason=error.strerror or str(error)) from error  # fmt: skip
