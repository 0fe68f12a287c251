"""The meaning of a graph: every node on its own, with numpy. All devices are compared with this."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedulog.errors import DeviceError
from schedulog.facts.buffer import Buffer
from schedulog.facts.device_name import is_file
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.facts.ops import ELEMENTWISE, Op
from schedulog.facts.view import ViewStack
from schedulog.runtimes.files import whole_file
from schedulog.runtimes.numpy_ops import bitcast, elementwise, reduce_axis
from schedulog.runtimes.places import Places
from schedulog.runtimes.sliced import boundary, deferred, reduce_in_slices
from schedulog.runtimes.strided import Values, flattened, number, numbers, show

Array = NDArray[Any]

NO_VALUES: Final[Values] = MappingProxyType({})


def evaluate(
    roots: Sequence[Node], given: Mapping[Node, Array], variables: Values = NO_VALUES
) -> list[Array]:
    """The values of `roots`, in their shapes, one node at a time; what is no longer needed is let go.

    `given` holds the values, in the node's shape, of nodes that are not to be computed. `variables` gives symbolic
    sizes by name; others have the value they are bound to. BUFFER is the memory's contents, ASSIGN its second
    source, CONTIGUOUS, COPY and marks for gradients their source. A reduction over values too large to hold is
    done slice by slice.

    Raises DeviceError: SL530 a buffer without contents, SL520 an op undefined for its dtype, SL521 a view out
    of bounds; GraphError (SL220) for a variable without a value.
    """
    with np.errstate(all="ignore"):
        return _evaluate(roots, given, variables)


def _evaluate(roots: Sequence[Node], given: Mapping[Node, Array], variables: Values) -> list[Array]:
    order = _sources_first(roots, given)
    late = deferred(order, roots, given)
    steps = [
        (n, boundary(n.src[0], late) if n.op is Op.REDUCE_AXIS else n.src) for n in order if n not in late
    ]
    uses = Counter(source for n, needs in steps if n not in given for source in needs) + Counter(roots)
    values: dict[Node, Array] = {}
    for n, needs in steps:
        values[n] = given[n] if n in given else _value(n, values, late, variables)
        for source in needs if n not in given else ():
            uses[source] -= 1
            if not uses[source]:
                del values[source]
    return [values[root] for root in roots]


def _sources_first(roots: Sequence[Node], given: Collection[Node]) -> list[Node]:
    """What has to be known to know `roots`, sources before users; the sources of what is given are not."""
    done: dict[Node, None] = {}
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        n, ready = stack.pop()
        if ready:
            done[n] = None
        elif n not in done:
            stack.append((n, True))
            stack.extend(
                (source, False) for source in reversed(n.src) if n not in given and source not in done
            )
    return list(done)


def _value(n: Node, values: Mapping[Node, Array], late: Collection[Node], variables: Values) -> Array:
    match n.op:
        case Op.REDUCE_AXIS if n.src[0] in late:
            return reduce_in_slices(n, values, late, variables)
        case Op.REDUCE_AXIS:
            return reduce_axis(n, values[n.src[0]])
        case Op.VIEW:
            return show(n.arg, values[n.src[0]], variables)
        case _ if n.op in ELEMENTWISE:
            return elementwise(n, [values[source] for source in n.src])
        case Op.CONTIGUOUS | Op.COPY | Op.DETACH | Op.CONTIGUOUS_BACKWARD:
            return values[n.src[0]]
        case Op.ASSIGN:
            return values[n.src[1]]
        case Op.BUFFER_VIEW:
            return _window(n, values[n.src[0]], variables)
        case _:
            return _leaf(n, variables)


def _leaf(n: Node, variables: Values) -> Array:
    match n.op:
        case Op.CONST:
            value = np.asarray(n.arg.value, np.float64 if n.dtype.is_float else None)
            return np.broadcast_to(value.astype(n.dtype.to_numpy()), numbers(n.shape, variables))
        case Op.BIND:
            return np.asarray(number(n.arg, variables), n.dtype.to_numpy())
        case Op.BUFFER if n.arg.array is not None:
            return n.arg.array  # type: ignore[no-any-return]
        case Op.BUFFER if is_file(n.arg.device):
            return whole_file(n.arg).read(ViewStack.of_shape((n.arg.size,)), NO_VALUES)
        case Op.BUFFER:
            raise DeviceError("SL530", f"no contents for {n.arg!r}", help="give its contents as an input")
        case _:
            raise DeviceError("SL520", f"{n.op} has no value", where=n.label)


def _window(n: Node, source: Array, variables: Values) -> Array:
    """The first bytes of what the source shows, read as the node's type: a window has no gaps."""
    shape = numbers(n.shape, variables)
    needed = int(np.prod(shape, dtype=np.int64)) * n.dtype.itemsize
    raw = flattened(source).view(np.uint8)
    if raw.size < needed:
        raise DeviceError("SL521", f"a window of {needed} bytes into {raw.size}", where=n.label)
    return bitcast(raw[:needed], n.dtype).reshape(shape)


def contents(graph: Graph, inputs: Mapping[str, Array], *, files: bool = True) -> dict[Node, Array]:
    """The flat value of each BUFFER node before the call: an input's by its name, else the buffer's own.

    Files are read whole, or left out. Raises DeviceError: SL530 an input is missing, SL531 its shape or dtype is wrong,
    or it lies in a file, SL532 unknown name; and what reading files raises.
    """
    unknown = [name for name in inputs if name not in graph.inputs]
    if unknown:
        known = ", ".join(graph.inputs) or "none"
        raise DeviceError("SL532", f"no input `{unknown[0]}`", where=graph.name, help=f"inputs are: {known}")
    by_buffer = {
        b: _input(name, b, graph, inputs) for name, b in graph.inputs.items() if not is_file(b.device)
    }
    in_file = [name for name in inputs if is_file(graph.inputs[name].device)]
    if in_file:
        raise DeviceError(
            "SL531", f"input `{in_file[0]}` lies in a file and cannot be given", where=graph.name
        )
    found: dict[Node, Array] = {}
    for n in graph.nodes:
        if n.op is Op.BUFFER and n.arg in by_buffer:
            found[n] = by_buffer[n.arg]
        elif n.op is Op.BUFFER and (files or not is_file(n.arg.device)):
            found[n] = _leaf(n, NO_VALUES)
    return found


def _input(name: str, memory: Buffer, graph: Graph, inputs: Mapping[str, Array]) -> Array:
    if name not in inputs:
        if memory.array is not None:
            return memory.array
        raise DeviceError("SL530", f"input `{name}` is missing", where=graph.name)
    value, shape = np.asarray(inputs[name]), graph.input_shapes.get(name)
    fits = value.size == memory.size if shape is None else value.shape == tuple(shape)
    if not fits or value.dtype != memory.dtype.to_numpy():
        expected = f"{memory.dtype}{list(shape) if shape is not None else [memory.size]}"
        raise DeviceError("SL531", f"input `{name}` is {value.dtype}{list(value.shape)}, not {expected}",
                          where=graph.name, help=_other_input(value, memory, fits=fits))  # fmt: skip
    return flattened(value)


def _other_input(value: Array, memory: Buffer, *, fits: bool) -> str:
    if not fits:
        return "give an array of that shape and dtype"
    return f'nothing is cast in silence: give array.astype("{memory.dtype.to_numpy()}")'


def reference(graph: Graph, inputs: Mapping[str, Array], variables: Values = NO_VALUES) -> dict[str, Array]:
    """The graph's outputs by name, without any schedule.

    A BUFFER is its contents before the call, an ASSIGN its new value. Raises what `contents` and `evaluate` raise.
    """
    values = evaluate(graph.sink.src, contents(graph, inputs), variables)
    return {name: np.array(value) for name, value in zip(graph.outputs, values, strict=True)}


def reference_memory(
    graph: Graph, inputs: Mapping[str, Array], variables: Values = NO_VALUES
) -> dict[Buffer, Array]:
    """The contents of every buffer after the call, flat.

    Each ASSIGN, in topological order, writes its value where its target lies; values are those before any
    writing, as nothing reads what an ASSIGN wrote except through that ASSIGN. Raises what `reference` raises.
    """
    before = contents(graph, inputs)
    assigns = [n for n in graph.nodes if n.op is Op.ASSIGN]
    written = evaluate([n.src[1] for n in assigns], before, variables)
    memory = {n.arg: np.array(value) for n, value in before.items()}
    places = Places(memory, variables)
    for n, value in zip(assigns, written, strict=True):
        places.write(n, value)
    return memory
