"""Random programs of reads and overwrites of a few buffers, also as other types: whatever the order of outputs, values are
those of numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from schedulog.errors import ScheduleError
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import (
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.run import schedule
from schedulog.runtimes import devices
from schedulog.runtimes.memory import allocate, fetch

SIZE = 6
TYPES = (uint8, float64, int16, float16, int64, uint32, float32, uint16, int8, uint64, int32)
Array = NDArray[Any]


class Program:
    """A graph under construction beside its numpy execution, line by line.

    `known` are values that may be read: (node, value). Expressions hold the bytes of the moment they are built; `contents`
    is what each buffer holds after the lines so far.
    """

    def __init__(self, buffers: int) -> None:
        self.memory = [Buffer(SIZE, float32, "", f"b{i}") for i in range(buffers)]
        self.contents: list[Array] = [np.arange(SIZE, dtype=np.float32) + 10 * i for i in range(buffers)]
        self.start = [array.copy() for array in self.contents]
        self.place = [build.buffer(memory) for memory in self.memory]
        self.known: list[tuple[Node, Array]] = list(zip(self.place, self.start, strict=True))
        self.written: list[Node] = []
        self.slices: list[set[int]] = [set() for _ in range(buffers)]  # the bytes that slices wrote

    def read(self, first: int, second: int, movement: int) -> None:
        """A new expression over two known values, one of them moved."""
        (a, x), (b, y) = self.known[first % len(self.known)], self.known[second % len(self.known)]
        moved, z = self.moved(b, y, movement)
        with np.errstate(all="ignore"):
            total = x + z if z.shape == x.shape else np.array(np.inf)
        if np.isfinite(total).all():
            self.known.append((build.alu(Op.ADD, a, moved), total))

    def moved(self, n: Node, value: Array, movement: int) -> tuple[Node, Array]:
        if movement % 4 == 3 and value.size > 1:
            begin = movement // 4 % (value.size - 1)
            window = np.zeros_like(value)
            window[begin : begin + 2] = value[begin : begin + 2]
            part = build.shrink(n, [(begin, begin + 2)])
            return build.pad(part, [(begin, value.size - begin - 2)]), window
        if movement % 4 == 1:
            return build.flip(n, [True]), value[::-1].copy()
        if movement % 4 == 2 and value.size > 1:
            rolled = build.pad(build.shrink(n, [(1, value.size)]), [(0, 1)])
            return rolled, np.append(value[1:], np.float32(0))
        return n, value

    def total(self, which: int) -> None:
        """A reduction, repeated to the shape of its source."""
        n, x = self.known[which % len(self.known)]
        if not (np.isfinite(x).all() and (x == np.rint(x)).all() and np.abs(x).max() < 1e5):
            return  # only sums of small integers are the same in every order
        summed = build.expand(build.reduce("ADD", n, [0]), n.shape)
        self.known.append((summed, np.full_like(x, x.sum() + np.float32(0))))

    def assign(self, buffer: int, which: int) -> None:
        """The whole buffer is overwritten; the next assign to it builds on this one.

        A graph orders two overwrites of the same elements only where one builds on the other, so nothing more is
        written over what a slice wrote.
        """
        i = buffer % len(self.memory)
        n, x = self.known[which % len(self.known)]
        if x.size != SIZE or n is self.place[i] or self.slices[i]:
            return
        a = build.assign(build.bitcast(self.place[i], float32), n)
        self.place[i], self.contents[i] = a, x.copy()
        self.known.append((a, x.copy()))
        self.written.append(a)

    def write_slice(self, buffer: int, which: int, begin: int) -> None:
        """Half of a buffer's newest content is overwritten."""
        half = SIZE // 2
        i, start = buffer % len(self.memory), begin % (SIZE - half + 1)
        window = set(range(4 * start, 4 * (start + half)))
        if window & self.slices[i]:
            return
        n, x = self.known[which % len(self.known)]
        value = build.shrink(n, [(0, half)]) if x.size == SIZE else n
        whole = build.bitcast(self.place[i], float32)
        a = build.assign(build.shrink(whole, [(start, start + half)]), value)
        self.contents[i] = self.contents[i].copy()
        self.contents[i][start : start + half] = x[:half]
        self.slices[i] |= window
        self.known.append((a, x[:half].copy()))
        self.written.append(a)

    def read_bits(self, which: int, kind: int) -> None:
        """A known value, its elements backwards as those of another type."""
        n, x = self.known[which % len(self.known)]
        dtype = TYPES[kind % len(TYPES)]
        if x.nbytes % dtype.itemsize == 0:
            back = build.bitcast(build.flip(build.bitcast(n, dtype), [True]), float32)
            self.known.append((back, x.view(dtype.to_numpy())[::-1].copy().view(np.float32)))

    def write_bits(self, buffer: int, which: int, kind: int) -> None:
        """A buffer is overwritten as memory of another type: all of it, or backwards, or a window of it, or pieces of it
        put together out of order."""
        i, dtype, way = buffer % len(self.memory), TYPES[kind % len(TYPES)], kind // len(TYPES) % 4
        n, x = self.known[which % len(self.known)]
        if x.size != SIZE or n is self.place[i]:
            return
        whole, value = build.bitcast(self.place[i], dtype), build.bitcast(n, dtype)
        content = self.contents[i].copy()
        there, bits = content.view(dtype.to_numpy()), x.view(dtype.to_numpy())
        begin, end = (1, len(bits) - 1) if way == 2 else (0, len(bits))
        touched = set(range(begin * dtype.itemsize, end * dtype.itemsize))
        if touched & self.slices[i]:
            return
        if way == 2:
            whole, value = (build.shrink(part, [(begin, end)]) for part in (whole, value))
            there[begin:end] = bits[begin:end]
        elif way == 0:
            there[:] = bits
        else:
            whole = build.flip(whole, [True])
            there[::-1] = bits
        if way == 3:
            other = TYPES[(kind + which) % len(TYPES)]
            whole, value = build.bitcast(whole, other), build.bitcast(value, other)
        a = build.assign(whole, value)
        if way == 2:
            self.slices[i] |= touched
        else:
            self.known.append((build.bitcast(a, float32), x.copy()))
            self.place[i] = build.flip(build.bitcast(a, dtype), [True]) if way else a
        self.contents[i] = content
        self.written.append(a)

    def graph(self, order: list[int]) -> tuple[Graph, dict[str, Array]]:
        """All overwrites and some expressions, requested in the given order."""
        wanted = [*((w, None) for w in self.written), *((n, x) for n, x in self.known if n.op is Op.ADD)]
        ranked = [wanted[i % len(wanted)] for i in order] + wanted if wanted else []
        unique = list({id(n): (n, x) for n, x in ranked}.values())
        names = [f"v{i}" for i in range(len(unique))]
        values = {name: x for name, (_, x) in zip(names, unique, strict=True) if x is not None}
        inputs = {memory.name: memory for memory in self.memory}
        return graph_of([n for n, _ in unique], outputs=names, inputs=inputs), values


LINES = st.lists(st.tuples(st.integers(0, 5), *[st.integers(0, 43)] * 3), min_size=1, max_size=9)


@settings(max_examples=150, deadline=None)
@given(buffers=st.integers(1, 3), lines=LINES, order=st.lists(st.integers(0, 40), max_size=4))
def test_programs_equal_numpy_line_by_line(
    buffers: int, lines: list[tuple[int, int, int, int]], order: list[int]
) -> None:
    check("numpy", buffers, lines, order)


@settings(max_examples=12, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(buffers=st.integers(1, 3), lines=LINES, order=st.lists(st.integers(0, 40), max_size=4))
def test_compiled_programs_equal_numpy_line_by_line(
    buffers: int, lines: list[tuple[int, int, int, int]], order: list[int]
) -> None:
    reason = devices()["c"]
    if reason is not None:
        pytest.skip(reason)
    check("c", buffers, lines, order)


def check(device: str, buffers: int, lines: list[tuple[int, int, int, int]], order: list[int]) -> None:
    program = Program(buffers)
    for kind, x, y, z in lines:
        if kind == 0:
            program.read(x, y, z)
        elif kind == 1:
            program.total(x)
        elif kind == 2:
            program.assign(x, y)
        elif kind == 3:
            program.write_slice(x, y, z)
        elif kind == 4:
            program.read_bits(x, y)
        else:
            program.write_bits(x, y, z)
    graph, values = program.graph(order)
    if not graph.outputs:
        return
    inputs = {
        m.name: a.copy() for m, a in zip(program.memory, program.start, strict=True) if m in graph.buffers
    }
    used = graph_of(graph.sink.src, outputs=graph.outputs, inputs={m.name: m for m in graph.buffers})
    run = schedule(used, options={"copy_on_hazard": 1})
    memory = allocate(run.schedule, inputs)
    run.load(device).run(memory, {})
    found = fetch(run.schedule, memory)
    for name, value in values.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    held = dict(zip(run.schedule.buffers, memory, strict=True))
    for buffer, content in zip(program.memory, program.contents, strict=True):
        if buffer in held:
            np.testing.assert_array_equal(held[buffer], content, err_msg=buffer.name)


MERE_LOOKS: dict[str, Callable[[Node], Node]] = {
    "contiguous": lambda n: build.contiguous(n),
    "largest of itself": lambda n: build.alu(Op.MAX, n, n),
    "bits there and back": lambda n: build.bitcast(build.bitcast(n, int32), float32),
    "times one, seen backwards": lambda n: build.flip(
        build.alu(Op.MUL, n, build.const(1, float32, n.shape)), [True, False]
    ),
}


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("name", MERE_LOOKS)
def test_an_expression_that_simplifies_to_overwritten_memory_keeps_its_value(name: str, again: bool) -> None:
    memory, first, second = (Buffer(SIZE, float32, "", name) for name in ("m", "first", "second"))
    held: dict[str, Array] = {
        b.name: np.arange(SIZE, dtype=np.float32) + 10 * i for i, b in enumerate((memory, first, second))
    }
    place = build.reshape(build.buffer(memory), (2, 3))
    a = build.assign(place, build.reshape(build.buffer(first), (2, 3)))
    wanted = build.assign(a, build.reshape(build.buffer(second), (2, 3))) if again else a
    value = MERE_LOOKS[name](a if again else place)
    inputs = {b.name: b for b in (memory, first, *([second] if again else []))}
    graph = graph_of([value, wanted], outputs=["value", "memory"], inputs=inputs)
    found = schedule(graph).execute({name: held[name] for name in inputs})
    old, new = ("first", "second") if again else ("m", "first")
    shown = held[old].reshape(2, 3)
    np.testing.assert_array_equal(found["value"], shown[::-1] if name.endswith("backwards") else shown)
    np.testing.assert_array_equal(found["memory"], held[new].reshape(2, 3))


def test_what_simplifies_to_memory_that_stays_is_not_stored() -> None:
    memory, other = Buffer(SIZE, float32, "", "m"), Buffer(SIZE, float32, "", "other")
    value = build.contiguous(build.reshape(build.buffer(memory), (2, 3)))
    write = build.assign(build.buffer(other), build.buffer(memory))
    graph = graph_of([value, write], inputs={"m": memory, "other": other})
    assert [kernel.kind for kernel in schedule(graph).kernels] == ["assign"]


def test_the_rewrite_that_stores_a_value_stands_among_the_rewrites() -> None:
    memory = Buffer(SIZE, float32, "", "m")
    value = build.contiguous(build.reshape(build.buffer(memory), (2, 3)))
    write = build.assign(build.buffer(memory), build.const(0, float32, (SIZE,)))
    run = schedule(graph_of([value, write], inputs={"m": memory}))
    assert run.sql("select rule from rewrite") == [("stored-memory",), ("value-of-overwritten",)]


def test_the_way_out_of_a_self_assign_is_one() -> None:
    place = build.buffer(Buffer(4, float32, "", "m"), (2, 2))
    turned = build.permute(place, (1, 0))

    def assign(moved: Node) -> Graph:
        return graph_of([build.assign(place, build.alu(Op.ADD, place, moved))], inputs={"m": place.base.arg})

    with pytest.raises(
        ScheduleError, match=r"\(m\), which it overwrites.*\n.*\n.*\n  help: .*x\.T\.contiguous\(\)"
    ):
        schedule(assign(turned), rules=["classic"])
    run = schedule(assign(build.contiguous(turned)), rules=["classic"])
    found = run.execute({"m": np.arange(4, dtype=np.float32)})
    assert found["out0"].tolist() == [[0, 3], [3, 6]]
