"""Does a schedule give the right numbers? Run it on random contents and compare with the unscheduled reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from schedulog.facts.buffer import Buffer
from schedulog.facts.device_name import is_file
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.runtimes import computes, devices
from schedulog.runtimes.evaluate import reference, reference_memory
from schedulog.runtimes.memory import allocate, fetch
from schedulog.runtimes.mixed import load_schedule
from schedulog.runtimes.variables import variable_values
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
    inputs = drawn(schedule.graph, seed)
    wanted = reference_values(schedule.graph, inputs)
    return first_difference(schedule.graph, executed(schedule, device, inputs), wanted)


@dataclass(frozen=True, eq=False)
class Values:
    """What an execution left: the outputs by name, and the contents of the graph's own memory. Files are not looked at."""

    outputs: Mapping[str, Array]
    memory: Mapping[Buffer, Array]


@dataclass(frozen=True, slots=True)
class Distance:
    """How far two arrays are apart: in units in the last place and relative to the largest element, for floats.

    `wrong` says what is further apart than rounding explains, "" for nothing: integers are equal, NaN and infinities alike.
    """

    ulp: int = 0
    relative: float = 0.0
    wrong: str = ""


def drawn(graph: Graph, seed: int) -> dict[str, Array]:
    """Contents for the inputs of a graph."""
    generator = np.random.default_rng(seed)
    shapes = graph.input_shapes
    return {
        name: contents(memory, generator).reshape(shapes.get(name, (memory.size,)))
        for name, memory in graph.inputs.items()
    }


def reference_values(graph: Graph, inputs: Mapping[str, Array]) -> Values:
    """What the graph means, without any schedule. Raises what `reference` raises."""
    memory = reference_memory(graph, inputs)
    return Values(reference(graph, inputs), {b: a for b, a in memory.items() if not is_file(b.device)})


def executed(schedule: Schedule, device: str, inputs: Mapping[str, Array]) -> Values:
    """What a schedule gives on a device; the graph's own arrays are as before then. Raises DeviceError, CodegenError."""
    graph = schedule.graph
    program = load_schedule(schedule, device)
    kept = {memory: memory.array.copy() for memory in graph.buffers if memory.array is not None}
    try:
        arrays = allocate(schedule, inputs, device)
        program.run(arrays, variable_values(schedule, {}))
        held = dict(zip(schedule.buffers, arrays, strict=True))
        memory = {b: held[b].copy() for b in graph.buffers if not is_file(b.device)}
        return Values(fetch(schedule, arrays), memory)
    finally:
        for buffer, array in kept.items():
            assert buffer.array is not None
            buffer.array[:] = array


def first_difference(graph: Graph, found: Values, wanted: Values) -> str:
    """The first output or memory that is wrong, "" if none is."""
    return next((f"{name} is {d.wrong}" for name, d in distances(graph, found, wanted) if d.wrong), "")


def distances(graph: Graph, found: Values, wanted: Values) -> Iterator[tuple[str, Distance]]:
    """How far outputs and memory of two executions are apart, by their names.

    A requested name for memory shows what the call leaves there; it is compared as memory.
    """
    for name, source in zip(graph.outputs, graph.sink.src, strict=True):
        if not _shows_memory(source):
            pair = (bits_as_numbers(source.base, values.outputs[name]) for values in (found, wanted))
            yield name, distance(*pair)
    for memory, array in wanted.memory.items():
        yield f"memory {memory.name}", distance(found.memory[memory], array)


def _shows_memory(n: Node) -> bool:
    """Whether a value is a name for memory of the graph: a look at it, a window into it, or what an assign wrote."""
    while n.base.op is Op.BUFFER_VIEW:
        (n,) = n.base.src
    return n.base.op in (Op.BUFFER, Op.ASSIGN)


def bits_as_numbers(base: Node, array: Array) -> Array:
    """Bits of a float are compared as the float they are: one rounding is many integers apart."""
    while base.op in (Op.CONTIGUOUS, Op.COPY, Op.VIEW):
        base = base.src[0]
    if base.op is not Op.BITCAST or not base.src[0].dtype.is_float or base.dtype.is_float:
        return array
    return np.ascontiguousarray(array).view(base.src[0].dtype.to_numpy())


def contents(memory: Buffer, generator: np.random.Generator) -> Array:
    """Values on which every operation of the type is defined: floats around one, small integers."""
    dtype = memory.dtype.to_numpy()
    if memory.dtype.is_float:
        return generator.uniform(0.5, 1.5, memory.size).astype(dtype)
    return generator.integers(0, 2 if memory.dtype.kind == "bool" else 50, memory.size).astype(dtype)


def distance(found: Array, wanted: Array) -> Distance:
    """How far an array is from what it should be; floats may differ as another order of a sum may move them."""
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return Distance(wrong=f"{found.dtype}{found.shape}, not {wanted.dtype}{wanted.shape}")
    tolerance = _TOLERANCE.get(wanted.dtype.name, 0.0)
    one, other = (array.astype(np.float64 if tolerance else array.dtype).ravel() for array in (found, wanted))
    if not tolerance:
        return Distance(wrong=_first(one != other, one, other))
    finite = np.isfinite(one) & np.isfinite(other)
    gap = np.abs(one[finite] - other[finite])
    scale = float(np.abs(other[np.isfinite(other)]).max(initial=0.0))
    wrong = ~np.isclose(one, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    steps = gap / _steps(np.maximum(np.abs(one[finite]), np.abs(other[finite])), wanted.dtype)
    widest = float(gap.max(initial=0.0))
    relative = widest / scale if scale else float(bool(widest))
    return Distance(int(min(steps.max(initial=0.0), 1e18)), relative, _first(wrong, one, other))


def _steps(values: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """The distance from each value to the next one that a type of floats has."""
    # Untyped there; numpy's own does not know bfloat16.
    info: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    exponents = np.maximum(np.frexp(values)[1] - 1, info.minexp)
    steps: NDArray[np.float64] = np.ldexp(1.0, exponents - info.nmant)
    return steps


def _first(wrong: NDArray[np.bool_], one: Array, other: Array) -> str:
    if not wrong.any():
        return ""
    at = int(np.argmax(wrong))
    return f"{one[at]}, not {other[at]}, at element {at}"
