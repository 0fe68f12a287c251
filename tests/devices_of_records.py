"""A place here for the devices that records name, so that parity.py can execute graphs over several devices and files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedulog.facts.buffer import Buffer
from schedulog.facts.device_name import file_device, file_path, is_file, parts
from schedulog.facts.graph import Graph
from schedulog.facts.node import ConstArg, CopyArg, Node, node
from schedulog.facts.ops import Op

_HOSTS: Final = {"NPY": "numpy", "PYTHON": "numpy:1"}
_ON_DISK: Final = frozenset({Op.BUFFER, Op.VIEW, Op.BUFFER_VIEW, Op.COPY, Op.ASSIGN, Op.CONST, Op.SINK})


class Hosts:
    """Gives every device of a record one here: CPU is the device a case runs on, CPU:1 the second of its kind, host memory
    numpy, and a disk file one in `folder`. Graphs over the same buffers stay so."""

    def __init__(self, folder: Path, device: str) -> None:
        self._folder = folder
        self._device = device
        self._memory: dict[Buffer, Buffer] = {}

    def place(self, name: str) -> str:
        """The device that stands for a recorded one."""
        if is_file(name):
            return file_device(str(self._folder / file_path(name)))
        instance = parts(name)[1]
        return _HOSTS.get(name, f"{self._device}:{instance}" if instance else "")

    def graph(self, recorded: Graph) -> Graph:
        """The graph on devices here; what lies in a file is no input."""
        made: dict[Node, Node] = {}
        for n in recorded.nodes:
            src = tuple(made[s] for s in n.src)
            dtype = None if n.op is Op.VIEW else n.dtype
            made[n] = node(n.op, src, self._argument(n.arg), dtype, n.label)
        inputs = {k: self._buffer(b) for k, b in recorded.inputs.items() if not is_file(b.device)}
        return replace(recorded, sink=made[recorded.sink], inputs=inputs)

    def _argument(self, arg: Any) -> Any:
        if isinstance(arg, Buffer):
            return self._buffer(arg)
        if isinstance(arg, (ConstArg, CopyArg)):
            return replace(arg, device=self.place(arg.device))
        return arg

    def _buffer(self, memory: Buffer) -> Buffer:
        found = self._memory.get(memory)
        if found is None:
            found = Buffer(memory.size, memory.dtype, self.place(memory.device), memory.name)
            self._memory[memory] = found
        return found

    def write_files(self, contents: Callable[[Buffer], NDArray[Any]]) -> None:
        """Make the files that buffers lie in, each with the contents of its largest buffer."""
        largest: dict[str, Buffer] = {}
        for memory in self._memory.values():
            if is_file(memory.device) and memory.nbytes >= largest.get(memory.device, memory).nbytes:
                largest[memory.device] = memory
        for device, memory in largest.items():
            Path(file_path(device)).write_bytes(np.ascontiguousarray(contents(memory)).tobytes())


def runs_on_devices(graph: Graph) -> bool:
    """Whether nothing is computed on disk, and no value lies on several devices at once."""
    return all(n.op in _ON_DISK or not is_file(n.device) for n in graph.nodes) and not any(
        "," in n.device for n in graph.nodes
    )


def device_count(graph: Graph) -> int:
    """How many devices the graph has memory or values on."""
    return len({n.device for n in graph.nodes if n.op not in (Op.CONST, Op.BIND, Op.SINK)})
