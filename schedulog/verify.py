"""Does a schedule give the right numbers? Run it on random contents and compare with the unscheduled reference."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedulog.facts.buffer import Buffer
from schedulog.facts.ops import Op
from schedulog.runtimes import computes, devices
from schedulog.runtimes.evaluate import reference, reference_memory
from schedulog.runtimes.memory import allocate, fetch
from schedulog.runtimes.mixed import load_schedule
from schedulog.scheduler.kernels import Schedule

Array = NDArray[Any]

_TOLERANCE: Final[Mapping[str, float]] = MappingProxyType(
    {"float64": 1e-9, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
)
"""How far another order of a sum may move a result, relative to the largest one."""


def computing_devices() -> list[str]:
    """The devices that can run here; those that only count launches or hold values are left out."""
    return [name for name, missing in devices().items() if missing is None and computes(name)]


def differences(schedule: Schedule) -> dict[str, str]:
    """Per device that can run here, the first output or memory that differs from the reference, "" if none does.

    Raises DeviceError and CodegenError when a device cannot run the schedule.
    """
    return {name: difference(schedule, name) for name in computing_devices()}


def difference(schedule: Schedule, device: str, seed: int = 0) -> str:
    """What differs on one device, for contents drawn with `seed`; "" for nothing. The graph's own arrays stay as they are."""
    graph = schedule.graph
    generator = np.random.default_rng(seed)
    shapes = graph.input_shapes
    inputs = {
        name: contents(memory, generator).reshape(shapes.get(name, (memory.size,)))
        for name, memory in graph.inputs.items()
    }
    wanted = reference(graph, inputs)
    wanted_memory = reference_memory(graph, inputs)
    kept = {memory: memory.array.copy() for memory in graph.buffers if memory.array is not None}
    arrays = allocate(schedule, inputs)
    load_schedule(schedule, device).run(arrays, schedule.variables)
    try:
        return _first_difference(schedule, arrays, wanted, wanted_memory)
    finally:
        for memory, array in kept.items():
            assert memory.array is not None
            memory.array[:] = array


def _first_difference(
    schedule: Schedule,
    arrays: list[Array],
    wanted: Mapping[str, Array],
    wanted_memory: Mapping[Buffer, Array],
) -> str:
    found = fetch(schedule, arrays)
    for name, source in zip(schedule.graph.outputs, schedule.graph.sink.src, strict=True):
        # A requested look at memory shows what the call leaves there; it is compared as memory.
        if source.base.op is not Op.BUFFER and (problem := _compared(found[name], wanted[name])):
            return f"{name} is {problem}"
    for memory, array in zip(schedule.buffers, arrays, strict=True):
        if memory in wanted_memory and (problem := _compared(array, wanted_memory[memory])):
            return f"memory {memory.name} is {problem}"
    return ""


def contents(memory: Buffer, generator: np.random.Generator) -> Array:
    """Values on which every operation of the type is defined: floats around one, small integers."""
    dtype = memory.dtype.to_numpy()
    if memory.dtype.is_float:
        return generator.uniform(0.5, 1.5, memory.size).astype(dtype)
    return generator.integers(0, 2 if memory.dtype.kind == "bool" else 50, memory.size).astype(dtype)


def _compared(found: Array, wanted: Array) -> str:
    """What is wrong with `found`, "" for nothing: integers are equal, floats close, NaN and infinities alike."""
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return f"{found.dtype}{found.shape}, not {wanted.dtype}{wanted.shape}"
    tolerance = _TOLERANCE.get(wanted.dtype.name, 0.0)
    one, other = (array.astype(np.float64 if tolerance else array.dtype).ravel() for array in (found, wanted))
    scale = float(np.abs(other[np.isfinite(other)]).max(initial=0.0)) if tolerance else 0.0
    wrong = (
        ~np.isclose(one, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        if tolerance
        else one != other
    )
    if not wrong.any():
        return ""
    at = int(np.argmax(wrong))
    return f"{one[at]}, not {other[at]}, at element {at}"
