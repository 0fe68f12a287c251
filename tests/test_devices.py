"""Schedules over several devices: where kernels run, what they may touch, and what moves between."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from schedulog import Tensor, open_file
from schedulog.errors import DeviceError, ScheduleError
from schedulog.facts import build
from schedulog.facts.build import copy
from schedulog.facts.dtype import float32
from schedulog.facts.graph import graph_of
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.simplify import simplify
from schedulog.run import Run, schedule
from schedulog.runtimes import devices
from schedulog.runtimes.executor import Executor, executor
from schedulog.runtimes.memory import allocate
from schedulog.runtimes.mixed import MixedProgram, load_schedule
from schedulog.runtimes.numpy import NumpyDevice, NumpyProgram
from schedulog.scheduler.kernels import Schedule

Array = NDArray[Any]
needs_c = pytest.mark.skipif(devices()["c"] is not None, reason=str(devices()["c"]))


def memory(values: Sequence[float], device: str, name: str = "") -> Node:
    return build.array(np.array(values, np.float32), name, device)


def ping_pong(first: str, second: str, times: int) -> Node:
    """x + y on one device and then on the other, `times` times over."""
    value = memory([1, 2, 3], first, "x")
    there = memory([10, 20, 30], second, "y")
    for _ in range(times):
        value = copy(build.alu(Op.ADD, copy(value, second), there), first)
    return build.alu(Op.ADD, value, value)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("", ("numpy", "")), ("numpy", ("numpy", "")), ("c", ("c", "")), ("c:0", ("c", "")), ("c:1", ("c", "1")),
        ("CPU", ("numpy", "cpu")), ("CPU:1", ("numpy", "cpu:1")), ("disk:/a:b", ("disk", "/a:b")),
    ],
)  # fmt: skip
def test_what_a_name_stands_for(name: str, found: tuple[str, str]) -> None:
    assert executor(name, "numpy", {"c", "numpy"}) == Executor(*found)


def test_a_device_has_one_spelling() -> None:
    one, two = memory([1, 2], "numpy:0"), memory([3, 4], "numpy")
    both = build.alu(
        Op.ADD, copy(one, "numpy:00"), build.alu(Op.ADD, two, build.const(1, float32, (2,), "numpy:0"))
    )
    run = schedule(both)
    assert [kernel.kind for kernel in run.kernels] == ["store"] and run.kernels[0].device == "numpy"
    assert run.execute({}, "numpy")["out0"].tolist() == [5, 7]
    assert Tensor([1.0], device="numpy:01").device == "numpy:1"
    assert memory([1], "numpy:one").device == "numpy:one" and memory([1], "disk:0").device == "disk:0"


@pytest.mark.parametrize("pair", [("numpy", "numpy:1"), ("cpu:0", "cpu:1"), ("", "numpy:1")])
def test_kernels_of_two_devices_take_turns(pair: tuple[str, str]) -> None:
    run = schedule(ping_pong(*pair, 5))
    times: list[float] = []
    assert run.execute({}, "numpy", times)["out0"].tolist() == [102, 204, 306]
    assert len(times) == len(run.kernels) == 16
    assert isinstance(run.load("numpy"), MixedProgram)


@needs_c
def test_compiled_kernels_of_two_devices_take_turns() -> None:
    run = schedule(ping_pong("c", "numpy:1", 3))
    times: list[float] = []
    assert run.execute({}, "c:1", times)["out0"].tolist() == [62, 124, 186]
    assert len(times) == len(run.kernels)
    on_c = [kernel.name for kernel in run.kernels if kernel.kind == "store" and kernel.device == "c"]
    sources = run.load("c:1").sources
    assert on_c and all("void" in sources[name] for name in on_c)
    assert list(sources) == [kernel.name for kernel in run.kernels]


@needs_c
def test_part_of_a_compiled_schedule() -> None:
    x = memory([1, 2], "c")
    first = build.contiguous(build.alu(Op.NEG, x))
    run = schedule([build.contiguous(build.alu(Op.ADD, first, x)), first])
    program = run.load("c")
    arrays = allocate(run.schedule, {})
    results = [arrays[run.schedule.buffers.index(kernel.buffers[0])] for kernel in run.kernels]
    for result in results:
        result[:] = 7
    times: list[float] = []
    program.run(arrays, {}, times, range(0))
    assert [r.tolist() for r in results] == [[7, 7], [7, 7]] and times == []
    program.run(arrays, {}, times, range(1))
    assert [r.tolist() for r in results] == [[-1, -2], [7, 7]] and len(times) == 1
    program.run(arrays, {}, times, range(1, 2))
    assert [r.tolist() for r in results] == [[-1, -2], [0, 0]] and len(times) == 2


class Watched(NumpyProgram):
    """Remembers which arrays it was given."""

    def __init__(self, schedule: Schedule, given: dict[str, set[int]]) -> None:
        super().__init__(schedule)
        (self._name,) = {kernel.device for kernel in schedule.kernels}
        self._given = given

    def run(
        self,
        memory: Sequence[Array],
        variables: Mapping[str, int],
        times: list[float] | None = None,
        part: range | None = None,
    ) -> None:
        self._given.setdefault(self._name, set()).update(id(array) for array in memory)
        super().run(memory, variables, times, part)


def test_a_kernel_is_given_the_memory_of_its_device_only(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, set[int]] = {}
    monkeypatch.setattr(NumpyDevice, "load", lambda self, schedule: Watched(schedule, given))
    run = schedule(ping_pong("numpy", "numpy:1", 2))
    arrays = allocate(run.schedule, {})
    run.load("numpy").run(arrays, {})
    own = {
        name: {id(a) for a, b in zip(arrays, run.schedule.buffers, strict=True) if b.device == name}
        for name in ("numpy", "numpy:1")
    }
    assert given["numpy"] and given["numpy"] <= own["numpy"]
    assert given["numpy:1"] and given["numpy:1"] <= own["numpy:1"]


def test_operands_on_two_devices_are_refused() -> None:
    x, y = memory([1, 2], "c", "x"), memory([3, 4], "c:1", "y")
    with pytest.raises(ScheduleError) as caught:
        schedule(build.alu(Op.ADD, x, y, label="sum"))
    assert caught.value.code == "SL320"
    assert "(sum) has an operand on another device, which no copy brings here" in caught.value.message
    assert caught.value.reason == (
        'it breaks core/spec-one-device; it is on "c", its operand n1 buffer float32[2] (y) is on "c:1"'
    )
    assert caught.value.help == 'bring the operands to one device first: .to("c")'


def test_the_way_out_of_two_devices_leads_out(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(np.array([5, 6], np.float32).tobytes())
    places = {
        "numpy:1": Tensor(np.array([1, 2], np.float32), device="numpy:1"),
        "default": Tensor(np.array([3, 4], np.float32)),
        "file": open_file(path, np.float32),
    }
    for one, other in permutations(places.values(), 2):
        with pytest.raises(ScheduleError) as caught:
            (one + other).numpy()
        assert isinstance(caught.value.help, str)
        there = re.fullmatch(r'bring the operands to one device first: \.to\("(.*)"\)', caught.value.help)
        assert there is not None
        brought = [place.to(there[1]) for place in (one, other)]
        assert (brought[0] + brought[1]).numpy().tolist() == (one.numpy() + other.numpy()).tolist()


def test_a_policy_without_that_rule_still_cannot_run() -> None:
    x, y = memory([1, 2], "numpy", "x"), memory([3, 4], "numpy:1", "y")
    run = schedule(build.alu(Op.ADD, x, y, label="sum"), disable=["core/spec-one-device"])
    with pytest.raises(DeviceError) as caught:
        run.load("numpy")
    assert (caught.value.code, caught.value.where) == ("SL547", "sum")
    assert caught.value.message == "kernel k0_add on numpy:0 uses memory on numpy:1"


def test_copies_of_constants_and_within_a_device_are_no_copies() -> None:
    x = memory([1, 2], "numpy", "x")
    constant = build.const(2.0, x.dtype, x.shape, "numpy")
    product = build.alu(Op.MUL, copy(x, "numpy:1"), copy(constant, "numpy:1"))
    graph = simplify(graph_of([product])).graph
    assert [n.op for n in graph.nodes if n.op is Op.COPY] == [Op.COPY]
    assert copy(x, "numpy") is x
    assert schedule(graph).execute({}, "numpy")["out0"].tolist() == [2, 4]


def test_a_copy_of_a_constant_runs_where_nothing_simplified_it() -> None:
    constant = build.const(2.0, memory([1], "numpy").dtype, (3,), "numpy")
    assert schedule(copy(constant, "numpy:1")).execute({}, "numpy")["out0"].tolist() == [2, 2, 2]


def test_a_clone_is_memory_of_its_own() -> None:
    x = memory([1, 2], "numpy", "x")
    run = schedule(copy(x, "numpy", clone=True))
    assert [kernel.kind for kernel in run.kernels] == ["copy"]
    assert run.kernels[0].buffers[0] is not x.base.arg
    found = run.execute({}, "numpy")["out0"]
    found[:] = 9
    assert x.base.arg.array.tolist() == [1, 2]


def test_memory_is_assigned_across_devices() -> None:
    x, y = memory([1, 2, 3, 4], "numpy", "x"), memory([0, 0], "numpy:1", "y")
    run = schedule(build.assign(y, build.shrink(x, [(1, 3)])))
    run.execute({}, "numpy")
    assert y.base.arg.array.tolist() == [2, 3]


def test_a_copy_moves_through_views() -> None:
    x = build.array(np.arange(12, dtype=np.int32).reshape(3, 4), "x", "numpy")
    turned = copy(build.permute(build.pad(x, [(0, 0), (1, 0)]), (1, 0)), "numpy:1")
    wanted = np.pad(np.arange(12).reshape(3, 4), [(0, 0), (1, 0)]).T
    assert schedule(turned).execute({}, "numpy")["out0"].tolist() == wanted.tolist()


def test_the_null_device_counts_its_own_launches_only() -> None:
    run = schedule(ping_pong("null", "numpy", 2))
    program = run.load("null")
    times: list[float] = []
    program.run(allocate(run.schedule, {}), {}, times)
    assert len(times) == len(run.kernels)


def test_one_device_under_another_name_needs_no_moves() -> None:
    run = schedule(build.alu(Op.NEG, memory([1, 2], "numpy:3")))
    assert isinstance(run.load("c" if devices()["c"] is None else "null"), NumpyProgram)


@pytest.mark.parametrize("device", ["numpy:1", "CPU"])
def test_a_stored_constant_lies_with_the_memory_it_is_used_with(device: str) -> None:
    x = memory([1, 2, 3], device, "x")
    two = build.alu(Op.SQRT, build.const(4.0, x.dtype, x.shape))
    run = schedule(graph_of([build.alu(Op.MUL, x, build.contiguous(two))]), simplify=False)
    assert [kernel.device for kernel in run.kernels] == [device, device]
    assert run.execute({}, "numpy")["out0"].tolist() == [2, 4, 6]


def test_a_graph_without_memory_runs_on_the_usual_device() -> None:
    run: Run = schedule(build.const(1, memory([1], "").dtype, (2,)))
    assert isinstance(load_schedule(run.schedule, "numpy"), NumpyProgram)
    assert run.execute({}, "numpy")["out0"].tolist() == [1, 1]


def test_tensors_go_from_device_to_device() -> None:
    x = Tensor([1.0, 2.0], device="numpy:1")
    assert (x.device, Tensor([1]).device, x.to("default").device) == ("numpy:1", "default", "default")
    assert x.to("numpy:1") is x
    y = (x * 2).to("numpy") + Tensor([1.0, 1.0], device="numpy")
    assert y.device == "numpy" and y.tolist() == [3, 5]
    assert y.device == "numpy", "a computed tensor stays where it was computed"
    assert Tensor(2.0).to("numpy:2").node.op is Op.CONST
    assert Tensor([1.0], device="cpu:0").to("cpu:1").device == "cpu:1"


def test_a_cloned_tensor_is_written_alone() -> None:
    x = Tensor([1.0, 2.0])
    y = x.clone()
    x[0] = 5.0
    assert (x.tolist(), y.tolist()) == ([5, 2], [1, 2])


def test_of_a_repeated_value_one_is_copied() -> None:
    x = Tensor([1.0, 2.0], device="numpy").broadcast_to(100, 2).to("numpy:1")
    assert x.node.op is Op.VIEW and x.node.base.size == 2
    assert x.sum().item() == 300


@pytest.mark.parametrize("name", ["qpu", "c:x", "numpyy:1"])
def test_unknown_devices_are_refused(name: str) -> None:
    with pytest.raises(DeviceError) as caught:
        Tensor([1.0]).to(name)
    assert caught.value.code == "SL500" and caught.value.message == f"there is no device `{name}`"
    assert "numpy" in caught.value.help and str(caught.value.where).startswith("test_devices.py:")


@pytest.mark.parametrize(
    "pair", [("numpy", "numpy:1"), ("", "numpy:1"), pytest.param(("c", "numpy"), marks=needs_c)]
)
def test_a_stored_value_of_constants_is_made_where_it_is_read(pair: tuple[str, str]) -> None:
    x, y = memory([1, 2], pair[0], "x"), memory([3, 4], pair[1], "y")
    # A constant's device counts as the device of an operation on memory that names none.
    for named in ("", *pair) if pair[0] else ("",):
        four = build.contiguous(build.alu(Op.EXP2, build.const(2.0, x.dtype, x.shape, named)))
        eight = build.contiguous(build.alu(Op.ADD, four, four))
        run = schedule([build.alu(Op.MUL, x, four), build.alu(Op.MUL, y, four), build.alu(Op.MUL, y, eight)])
        results = [found.tolist() for found in run.execute({}, "numpy").values()]
        assert results == [[4, 8], [12, 16], [24, 32]]
        alone = schedule([build.alu(Op.MUL, y, four)])
        assert {kernel.device for kernel in alone.kernels} == {pair[1]}
        assert alone.execute({}, "numpy")["out0"].tolist() == [12, 16]


@pytest.mark.parametrize("where", ["", "numpy:1"])
@pytest.mark.parametrize("exact", [True, False])
def test_what_constants_are_meant_for_does_not_move_what_is_made_of_memory(where: str, exact: bool) -> None:
    c = build.const(2.0, float32, (3,), "numpy:2")
    factor = c if exact else build.alu(Op.EXP, c)
    x = memory([1, 2, 3], where)
    for product in (build.alu(Op.MUL, factor, x), build.alu(Op.MUL, x, factor)):
        assert (product.placed, product.device, factor.placed) == (True, where, False)
        run = schedule([product])
        assert {kernel.device for kernel in run.kernels} == {where}
        assert np.allclose(
            run.execute({}, "numpy")["out0"], np.array([1, 2, 3]) * (2 if exact else np.exp(2))
        )
    assert build.copy(build.alu(Op.MUL, factor, x), "numpy:2").op is Op.COPY


def test_a_requested_constant_lies_where_it_was_meant_to() -> None:
    x = memory([1, 2], "numpy", "x")
    four = build.contiguous(build.alu(Op.EXP2, build.const(2.0, x.dtype, x.shape, "numpy:1")))
    run = schedule([build.alu(Op.MUL, x, four), four])
    assert {kernel.output.op: kernel.device for kernel in run.kernels} == {
        Op.MUL: "numpy", Op.CONTIGUOUS: "numpy:1",
    }  # fmt: skip
    assert [found.tolist() for found in run.execute({}, "numpy").values()] == [[4, 8], [4, 4]]


def test_a_schedule_over_two_devices_runs_as_a_whole() -> None:
    run = schedule(ping_pong("numpy", "numpy:1", 1))
    with pytest.raises(DeviceError) as caught:
        run.load("numpy").run(allocate(run.schedule, {}), {}, None, range(1))
    assert (caught.value.code, caught.value.message) == (
        "SL548", "a schedule over several devices runs as a whole",
    )  # fmt: skip
