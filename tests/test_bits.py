"""Assigns to memory seen as another type: what the graph says, what each device does, and tensors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from schedulog import Tensor
from schedulog.errors import GraphError, ScheduleError
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int16,
    int32,
    uint8,
    uint16,
    uint32,
)
from schedulog.facts.graph import graph_of
from schedulog.facts.json_format import read_graph, write_graph
from schedulog.facts.node import Node, node
from schedulog.facts.notation import read_notation
from schedulog.facts.ops import Op
from schedulog.facts.view import ViewStack
from schedulog.run import schedule
from schedulog.runtimes.memory import allocate, fetch
from schedulog.verify import computing_devices

Array = NDArray[Any]
NUMBERS = (uint8, int16, uint16, float16, bfloat16, int32, float32, float64)
SIZE = 8


def memory(dtype: DType, name: str = "x") -> Node:
    return build.buffer(Buffer(SIZE, dtype, "", name))


def noise(dtype: DType, count: int, seed: int = 0) -> Array:
    """Any bits, also NaNs with something to say."""
    raw = np.random.default_rng(seed).integers(0, 256, count * dtype.itemsize)
    return raw.astype(np.uint8).view(dtype.to_numpy())


def run(
    outputs: list[Node], inputs: dict[str, Array], device: str
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Outputs and memory after a run."""
    buffers = {n.arg.name: n.arg for n in graph_of(outputs).nodes if n.op is Op.BUFFER}
    made = schedule(graph_of(outputs, inputs=buffers), options={"copy_on_hazard": 1, "verify": 1})
    held = allocate(made.schedule, {name: inputs[name].copy() for name in buffers})
    made.load(device).run(held, {})
    names = [buffer.name for buffer in made.schedule.buffers]
    return fetch(made.schedule, held), dict(zip(names, held, strict=True))


@pytest.mark.parametrize("device", computing_devices())
def test_every_type_as_every_other(device: str) -> None:
    """Whole, and backwards: of an element that is put together of others in their reverse order, no two bytes are neighbours."""
    wanted, outputs, inputs = {}, [], {}
    for held in NUMBERS:
        for shown in NUMBERS:
            name = f"{held}_{shown}"
            x = memory(held, name)
            target = build.bitcast(build.flip(x, [True]), shown)
            inputs[name], inputs[f"v{name}"] = noise(held, SIZE), noise(shown, target.size, 1)
            a = build.assign(target, build.buffer(Buffer(target.size, shown, "", f"v{name}")))
            assert (a.shape, a.dtype) == (target.shape, target.dtype)
            outputs += [a, build.bitcast(a, held)]
            wanted[name] = inputs[f"v{name}"].view(held.to_numpy())
    found, after = run(outputs, inputs, device)
    for number, (name, value) in enumerate(wanted.items()):
        assert after[name].tobytes() == value[::-1].tobytes(), name
        assert found[f"out{2 * number}"].tobytes() == value.tobytes(), name
        assert found[f"out{2 * number + 1}"].tobytes() == value.tobytes(), name


@pytest.mark.parametrize("device", computing_devices())
def test_bitcasts_of_computed_values(device: str) -> None:
    x, values = memory(float32), noise(int16, 2 * SIZE).astype(np.float32)[:SIZE]
    double = build.alu(Op.ADD, x, x)
    halves = build.bitcast(double, uint16)
    top = build.shrink(build.reshape(halves, (SIZE, 2)), [(0, SIZE), (1, 2)])
    wide = build.bitcast(build.pad(build.bitcast(double, int32), [(1, 1)]), float64)
    found, _ = run([halves, top, wide], {"x": values}, device)
    twice = values + values
    assert found["out0"].tolist() == twice.view(np.uint16).tolist()
    assert found["out1"].tolist() == twice.view(np.uint16).reshape(SIZE, 2)[:, 1:].tolist()
    padded = np.pad(twice.view(np.int32), 1).view(np.float64)
    assert found["out2"].tobytes() == padded.tobytes()


@pytest.mark.parametrize("device", computing_devices())
def test_each_expression_means_the_bytes_of_its_moment(device: str) -> None:
    x = memory(float32)
    values, bits = np.arange(SIZE, dtype=np.float32), noise(uint16, 3)
    before = build.alu(Op.NEG, x)
    a = build.assign(
        build.shrink(build.bitcast(x, uint16), [(5, 8)]), build.buffer(Buffer(3, uint16, "", "y"))
    )
    both = build.alu(Op.ADD, build.cast(a, float32), build.shrink(x, [(2, 5)]))
    for order in ([a, before, both], [both, before, a]):
        found, after = run(order, {"x": values, "y": bits}, device)
        named = {n: found[f"out{i}"] for i, n in enumerate(order)}
        wanted = values.copy()
        wanted.view(np.uint16)[5:8] = bits
        assert named[before].tolist() == (-values).tolist()
        assert named[both].tolist() == (bits.astype(np.float32) + values[2:5]).tolist()
        assert after["x"].tobytes() == wanted.tobytes()


def test_over_devices_each_with_memory_of_its_own() -> None:
    devices = computing_devices()
    x = build.buffer(Buffer(SIZE, float32, devices[-1], "x"))
    y = build.buffer(Buffer(SIZE // 2, float64, "numpy:1", "y"))
    a = build.assign(build.bitcast(x, float64), build.copy(build.alu(Op.NEG, y), x.device))
    given = {"x": np.zeros(SIZE, np.float32), "y": np.arange(1.0, 5.0)}
    found, after = run([a], given, devices[0])
    assert found["out0"].tolist() == [-1, -2, -3, -4]
    assert after["x"].view(np.float64).tolist() == [-1, -2, -3, -4]


def test_an_assign_stands_on_memory_and_is_the_same_from_a_file() -> None:
    x = memory(float32)
    a = build.assign(build.shrink(build.bitcast(x, uint8), [(1, 9)]), build.const(7, uint8, (8,)))
    assert (a.op, a.src[0], a.arg) == (Op.ASSIGN, x, ViewStack.of_shape((32,)).shrink([(1, 9)]).simplify())
    graph = graph_of([a], inputs={"x": x.arg})
    again = read_graph(write_graph(graph))
    assert write_graph(again) == write_graph(graph)
    text = write_graph(graph_of([build.bitcast(x, float64)], inputs={"x": x.arg}))
    node_text = '{"id": "v", "op": "CONST", "dtype": "float64", "shape": [4], "arg": 1},\n {"id": "a", "op": "ASSIGN", "src": ["n1", "v"]}'
    written = read_graph(
        re.sub(r"\n\],\n\"outputs\": .*", f',\n{node_text}\n],"outputs": {{"o": "a"}}}}', text)
    )
    assert written.sink.src[0].dtype == float64
    assert [n.arg.shape for n in written.nodes if n.op is Op.ASSIGN] == [(4, 2)]


def test_a_type_of_the_same_width_is_written_without_pieces() -> None:
    a = build.assign(build.bitcast(memory(float32), int32), build.const(7, int32, (SIZE,)))
    assert (a.op, a.dtype, a.arg) == (Op.ASSIGN, int32, ViewStack.of_shape((SIZE,)))
    assert build.assign(build.bitcast(a, float32), memory(float32, "y")).dtype == float32


@pytest.mark.parametrize(
    "make, code, message, reason",
    [
        (
            lambda: build.assign(build.bitcast(memory(bool_), uint8), build.const(2, uint8, (SIZE,))),
            "SL214", "cannot assign uint8 to <BITCAST uint8[8]>",
            "the memory holds bool, that is 0 and 1, and other bytes could be written to it",
        ),
        (
            lambda: build.assign(build.bitcast(build.pad(memory(float32), [(1, 1)]), uint8),
                                 build.const(2, uint8, (4 * SIZE + 8,))),
            "SL214", "cannot assign to <BITCAST uint8[40]>",
            "the view shows padding, where there is no memory to write to",
        ),
        (
            lambda: build.assign(build.bitcast(build.expand(build.reshape(memory(float32), (SIZE, 1)), (SIZE, 2)), float64),
                                 build.const(2, float64, (SIZE, 1))),
            "SL214", "cannot assign to <BITCAST float64[8, 1]>",
            "the view shows one element of memory at several places, which would be several values for it",
        ),
        (
            lambda: build.assign(build.bitcast(build.alu(Op.NEG, memory(float32)), uint8), build.const(2, uint8, (4 * SIZE,))),
            "SL214", "cannot assign to <BITCAST uint8[32]>", "only memory can be written to",
        ),
        (
            lambda: build.assign(build.bitcast(memory(float32), uint8), build.const(2, int32, (4 * SIZE,))),
            "SL212", "ASSIGN of int32 to uint8", "",
        ),
        (
            lambda: build.assign(build.bitcast(memory(float32), uint8), build.const(2, uint8, (SIZE,))),
            "SL211", "ASSIGN of shapes [32] and [8]", "an elementwise operation takes operands of one shape",
        ),
        (
            lambda: node(Op.ASSIGN, (memory(float32), build.const(2, float64, (4,))), ViewStack.of_shape((4,))),
            "SL213", "an assign of elements of 8 bytes to memory whose elements have 4",
            "it counts memory in whole parts of its elements",
        ),
        (
            lambda: node(Op.ASSIGN, (memory(float32), build.const(2, uint8, (33,))), ViewStack.of_shape((33,))),
            "SL225", "a view touches elements 0 to 32 of 32", None,
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_written_so_is_refused_with_its_reason(
    make: Any, code: str, message: str, reason: str
) -> None:
    with pytest.raises(GraphError) as caught:
        make()
    assert (caught.value.code, caught.value.message) == (code, message)
    assert reason is None or caught.value.reason == reason


def test_classic_refuses_bytes_read_in_another_order_and_copies_if_asked() -> None:
    graph = read_notation(
        "x=load f32[8]; r=flip x axis=0; b=bitcast r u8; w=bitcast x u8; a=assign w b; out a"
    )
    with pytest.raises(ScheduleError, match="SL313"):
        schedule(graph)
    assert [k.kind for k in schedule(graph, options={"copy_on_hazard": 1}).kernels] == ["store", "assign"]


def test_the_database_counts_as_the_assign_does() -> None:
    x = memory(float32)
    a = build.assign(build.shrink(build.bitcast(x, uint16), [(5, 8)]), build.const(1, uint16, (3,)))
    made = schedule(graph_of([a], inputs={"x": x.arg}))
    assert made.sql("select position from store") == [("i0 + 5",)]
    assert made.sql("select bytes_written from kernel") == [(6,)]


class TestTensors:
    """A bitcast of a tensor in memory is that memory when it is written to."""

    def test_a_write_is_seen_by_the_tensor_and_not_by_earlier_expressions(self) -> None:
        values = np.arange(6, dtype=np.float32)
        t, wanted = Tensor(values), values.copy()
        twice, bits = t * 2, t.bitcast(np.uint8)
        assert bits.numpy().tolist() == values.view(np.uint8).tolist()
        bits[3:9] = 65
        wanted.view(np.uint8)[3:9] = 65
        assert (t.tolist(), twice.tolist()) == (wanted.tolist(), (values * 2).tolist())
        t.bitcast(np.float64).assign([1.5, 2.5, 3.5])
        wanted.view(np.float64)[:] = [1.5, 2.5, 3.5]
        assert t.tolist() == wanted.tolist()

    @pytest.mark.parametrize(
        "make",
        [lambda t: t + 0, lambda t: t * 1, lambda t: t.bitcast(np.int64) + 0],
        ids=["plus 0", "times 1", "bits plus 0"],
    )
    def test_what_simplifies_to_memory_has_the_values_of_its_moment(
        self, make: Callable[[Tensor], Tensor]
    ) -> None:
        writes: tuple[Callable[[Tensor], object], ...] = (
            lambda t: t.__setitem__(slice(0, 2), 9),
            lambda t: t.bitcast(np.uint64).__setitem__(slice(0, 2), 9),
            lambda t: t.assign([9, 9, 2, 3]).realize(),
        )
        for write in writes:
            t = Tensor(np.arange(4, dtype=np.int64))
            earlier = make(t)
            write(t)
            assert (earlier.tolist(), t.tolist()) == ([0, 1, 2, 3], [9, 9, 2, 3])

    def test_a_bitcast_to_the_same_type_is_the_memory_too(self) -> None:
        t = Tensor(np.arange(4, dtype=np.int64))
        before = t.bitcast(np.int64)
        t.bitcast(np.int64)[1:3] = 7
        assert (before.tolist(), t.tolist()) == ([0, 1, 2, 3], [0, 7, 7, 3])
        t.bitcast(np.int64).assign(5)
        assert t.tolist() == [5] * 4
        t.assign(6)
        t.bitcast(np.int64)[0] = 1
        assert t.tolist() == [1, 6, 6, 6]

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8])
    def test_the_bits_of_a_single_number(self, dtype: Any) -> None:
        t = Tensor(np.array(25, np.int8))
        t.bitcast(dtype).assign(3)
        assert t.tolist() == 3

    def test_wider_elements_from_another_device(self) -> None:
        values = np.arange(8, dtype=np.uint16)
        t, wanted = Tensor(values, device="numpy:1"), values.copy()
        t.bitcast(np.uint64)[1:] = np.array([2**40 + 5], np.uint64)
        wanted.view(np.uint64)[1] = 2**40 + 5
        assert t.tolist() == wanted.tolist()

    def test_an_assign_that_waits_is_done_first_and_its_own_bits_are_read_before(self) -> None:
        t, wanted = Tensor(np.zeros((2, 3), np.float32)), np.ones((2, 3), np.float32)
        t.assign(1)
        bits = t.bitcast(np.int32)
        bits.assign(bits[::-1] + np.array([[1, 2, 3], [4, 5, 6]]))
        wanted.view(np.int32)[:] += np.array([[1, 2, 3], [4, 5, 6]], np.int32)
        assert (t.tolist(), bits.tolist()) == (wanted.tolist(), wanted.view(np.int32).tolist())

    def test_a_bitcast_of_memory_overwritten_since_holds_the_old_bytes_and_is_not_written(self) -> None:
        t = Tensor(np.zeros(4, np.float32))
        bits = t.bitcast(np.uint32)
        t[0] = 1
        assert bits.tolist() == [0] * 4
        for write in (lambda: bits.assign(7), lambda: bits.__setitem__(1, 7)):
            with pytest.raises(GraphError) as caught:
                write()
            assert (caught.value.code, caught.value.message) == (
                "SL229", "a write through a bitcast of memory that was overwritten since it was made",
            )  # fmt: skip
        own = bits.clone()
        own[1] = 7
        assert (own.tolist(), t.tolist()) == ([0, 7, 0, 0], [1, 0, 0, 0])

    def test_the_bits_of_a_tensor_written_to_before_are_its_memory(self) -> None:
        t = Tensor(np.arange(4, dtype=np.int32))
        t[0] = 7
        t.bitcast(np.uint8)[4:] = 0
        assert t.tolist() == [7, 0, 0, 0]

    def test_the_bits_of_what_an_assign_wrote_stay_the_memory_when_it_is_done(self) -> None:
        t = Tensor(np.arange(4, dtype=np.int32))
        t.assign(t + 1)
        some, others = t.bitcast(np.uint8), t.bitcast(np.int16)
        assert t.tolist() == [1, 2, 3, 4]
        some[:4] = 9
        assert (t.tolist(), others.tolist()) == ([0x09090909, 2, 3, 4], [1, 0, 2, 0, 3, 0, 4, 0])
        with pytest.raises(GraphError, match="SL229"):
            others[0] = 1

    @pytest.mark.parametrize(
        "write",
        [lambda bits: bits.__setitem__(0, 9), lambda bits: bits.assign(bits + 1)],
        ids=["part", "all"],
    )
    def test_a_bitcast_is_not_written_after_an_assign_that_still_waits(
        self, write: Callable[[Tensor], object]
    ) -> None:
        t = Tensor(np.arange(2, dtype=np.int32))
        bits = t.bitcast(np.uint8)
        t.assign(t + 1)
        with pytest.raises(GraphError, match="SL229"):
            write(bits)
        assert (t.tolist(), bits.tolist()) == ([1, 2], [0, 0, 0, 0, 1, 0, 0, 0])

    def test_bits_of_a_movement_are_a_value_of_their_own(self) -> None:
        t = Tensor(np.arange(4, dtype=np.int32))
        part, all_of_it = (t.reshape(2, 2).bitcast(np.uint8) for _ in range(2))
        part[0] = 9
        all_of_it.assign(0)
        assert t.tolist() == [0, 1, 2, 3]
        assert part.numpy().flat[0] == 9 and not all_of_it.numpy().any()
        t[0] = 5
        part[1] = 9  # nothing stood for the memory of t, so nothing is refused
        assert part.numpy().flat[0] == 9

    def test_a_part_of_the_bits_is_refused_like_any_part(self) -> None:
        t = Tensor(np.zeros((2, 4), np.float32))
        for part in (
            t.bitcast(np.uint8)[0], t[1].bitcast(np.uint8), t.bitcast(np.int32).flip(0), t[:].bitcast(np.uint8),
            t.bitcast(np.uint8)[:],
        ):  # fmt: skip
            with pytest.raises(GraphError, match="SL228"):
                part.assign(1)
            with pytest.raises(GraphError, match="SL228"):
                part[0] = 1
        assert t.tolist() == [[0] * 4] * 2

    def test_the_bits_of_what_is_not_in_memory_yet_are_a_value_of_their_own(self) -> None:
        t = Tensor(np.zeros(2, np.float32)) + 1
        bits = t.bitcast(np.int32)
        bits[0] = 0
        assert (t.tolist(), bits.tolist()) == ([1, 1], [0, 1065353216])

    def test_halves_keep_the_bits_of_a_nan(self) -> None:
        raw = np.array([0x7F81, 0xFF81, 0x7FC1, 0x0001], np.uint16)
        t = Tensor(np.zeros(4, bfloat16.to_numpy()))
        t.bitcast(uint32).assign(raw.view(np.uint32))
        assert t.bitcast(np.uint16).tolist() == raw.tolist()
        assert t.clone().bitcast(np.uint16).tolist() == raw.tolist()
