"""What copy.deepcopy and pickle make: whatever the depth, on memory of its own, shared as the originals share theirs."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import schedulog
from schedulog import Tensor, Variable
from schedulog.facts import build
from schedulog.facts import dtype as dt
from schedulog.facts.buffer import Buffer
from schedulog.facts.graph import graph_of
from schedulog.facts.ops import Op
from schedulog.runtimes.memory import allocate, fetch
from schedulog.runtimes.mixed import load_schedule
from schedulog.scheduler.kernels import Schedule

DEPTH = 1500


def pickled(made: Any) -> Any:
    return pickle.loads(pickle.dumps(made))


def pickled_slowly(made: Any) -> Any:
    return pickle.loads(pickle._dumps(made, protocol=2))  # type: ignore[attr-defined]


again = pytest.mark.parametrize("again", [copy.deepcopy, pickled, pickled_slowly])
Again = Callable[[Any], Any]


def deep(x: Tensor) -> Tensor:
    for i in range(DEPTH):
        x = x * (-1) if i % 2 else x + 1
    return x


@again
def test_any_depth(again: Again) -> None:
    made = deep(Tensor(np.arange(4)))
    found = again({"tensor": made, "node": made.node, "graph": graph_of([made.node])})
    assert found["tensor"].node is found["node"] is found["graph"].sink.src[0]
    assert len(found["graph"].nodes) == len(graph_of([made.node]).nodes) > DEPTH
    assert found["tensor"].tolist() == made.tolist()


@again
def test_a_schedule_of_any_depth_runs_as_the_original(again: Again) -> None:
    made = schedulog.schedule(deep(Tensor(np.arange(4)))).schedule
    found = again(made)
    assert run(found) == run(made)
    assert found.graph.buffers == found.buffers[: len(found.graph.buffers)]
    assert not set(found.buffers) & set(made.buffers)
    known = set(found.graph.nodes)
    assert all(known.issuperset(kernel.members) for kernel in found.kernels)
    kernel = again(made.kernels[-1])
    assert (kernel.name, len(kernel.members)) == (made.kernels[-1].name, len(made.kernels[-1].members))


def run(made: Schedule) -> dict[str, list[int]]:
    memory = allocate(made, {}, "numpy")
    load_schedule(made, "numpy").run(memory, {}, None)
    return {name: value.tolist() for name, value in fetch(made, memory).items()}


@again
def test_memory_is_shared_as_the_originals_share_it_and_with_them_no_more(again: Again) -> None:
    x = Tensor(np.arange(4.0))
    bits, part, lazy = x.bitcast(np.int64), x[1:3], x * 10
    x2, bits2, part2, lazy2, same = again([x, bits, part, lazy, x])
    assert same is x2
    bits2[0] = int(np.array([7.0]).view(np.int64)[0])
    x2[1] = 50
    assert x2.tolist() == [7, 50, 2, 3]
    assert (part2.tolist(), lazy2.tolist()) == ([1, 2], [0, 10, 20, 30])
    assert bits2.numpy().view(np.float64).tolist() == [7, 1, 2, 3]  # as of before the write to x2
    assert [t.tolist() for t in (x, part, lazy)] == [[0, 1, 2, 3], [1, 2], [0, 10, 20, 30]]
    x[0] = -1
    assert (x2.tolist(), x.tolist()) == ([7, 50, 2, 3], [-1, 1, 2, 3])


@again
def test_what_waits_to_be_written_waits_in_the_copy_too(again: Again) -> None:
    x = Tensor(np.arange(3))
    before = x + 100
    x.assign(x * 2)
    after = x + 1000
    x2, before2, after2 = again((x, before, after))
    x2.assign(x2 + 1)
    assert [t.tolist() for t in (after2, before2, x2)] == [[1000, 1002, 1004], [100, 101, 102], [1, 3, 5]]
    assert [t.tolist() for t in (after, before, x)] == [[1000, 1002, 1004], [100, 101, 102], [0, 2, 4]]


@again
def test_nodes_without_memory_are_the_ones_that_live(again: Again) -> None:
    size = Variable("n", 1, 8).bind(3)
    for n in (
        build.const(-0.0, dt.float32, (2, size)),
        build.alu(Op.EXP, build.pad(build.const(2, dt.float16, (3,)), [(1, size)])),
        build.reduce("MAX", build.cast(build.const(2, dt.bfloat16, (3,)), dt.image("float", (1, 1, 4))), [0]),
    ):
        assert again(n) is n and copy.copy(n) is n


@again
def test_memory_of_two_copies_is_two(again: Again) -> None:
    """Also where it has no contents, or equal ones."""
    memory = Buffer(4, dt.float32, "c:1", "given")
    n = build.view(
        build.buffer(memory, (2, 2), "mine"),
        build.source_look(build.const(0, dt.int8, (2, 2))).permute((1, 0)),
    )
    one, two = again(n), again(n)
    assert len({n.base.arg, one.base.arg, two.base.arg}) == 3
    made = one.base.arg
    assert (made.size, made.dtype, made.device, made.name, made.array) == (
        4,
        dt.float32,
        "c:1",
        "given",
        None,
    )
    assert made.dtype is dt.float32
    assert (one.label, one.base.label, one.view, one.shape, one.placed, one.device) == (n.label, n.base.label, n.view, n.shape, True, "c:1")  # fmt: skip
    graph = again(graph_of([n], inputs={"given": memory}))
    assert graph.inputs["given"] is graph.sink.src[0].base.arg is graph.buffers[0]


@again
def test_tensors_of_symbolic_size(again: Again) -> None:
    x = Tensor(np.arange(8.0))
    n = Variable("n", 1, 8).bind(3)
    x2, part2, total2 = again((x, x[:n], x[:n].sum()))
    x2[0] = 100
    assert (part2.tolist(), total2.item(), x2[:n].tolist()) == ([0, 1, 2], 3, [100, 1, 2])


@again
def test_a_tensor_in_a_file_stays_there(again: Again, tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    schedulog.save_safetensors(path, {"a": Tensor(np.arange(4, dtype=np.int32))})
    x = schedulog.load_safetensors(path)["a"]
    x2, more = again((x, x[1:].to("default") + 1))
    assert x2.device == x.device == f"disk:{path}"
    assert (x2.tolist(), more.tolist()) == ([0, 1, 2, 3], [2, 3, 4])


def test_a_copy_of_a_tensor_in_a_file_is_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    schedulog.save_safetensors(path, {"a": Tensor(np.arange(4, dtype=np.int32))})
    x = schedulog.load_safetensors(path)["a"]
    assert copy.deepcopy(x).node is x.node


def test_sharing_costs_nothing() -> None:
    """A graph in which each node is used twice, and tensors of which each goes on from the one before."""
    x = made = Tensor(np.ones(2, np.int64))
    row = []
    for _ in range(200):
        x = x + x * 3
        row.append(x)
    alone, all_of_them = len(pickle.dumps(x)), len(pickle.dumps(row))
    assert alone < 200 * 200 and all_of_them < 12 * alone
    assert copy.deepcopy(row)[9].tolist() == pickled(row)[9].tolist() == [4**10] * 2
    assert made.tolist() == [1, 1]


def test_a_run_is_no_value() -> None:
    with pytest.raises(TypeError, match="a run holds locks and loaded code"):
        copy.deepcopy(schedulog.schedule(Tensor(1.0) + 1))


@again
@pytest.mark.parametrize("seed", range(3))
def test_programs_go_on_alike_in_both(again: Again, seed: int) -> None:
    chance = random.Random(seed)
    arrays = [np.arange(4) * 10**i for i in range(3)]
    tensors = [Tensor(a) for a in arrays]
    line_by_line(chance, tensors, arrays)
    tensors2, arrays2 = again(tensors), [a.copy() for a in arrays]
    for some, values in ((tensors, arrays), (tensors2, arrays2)) * 2:
        line_by_line(chance, some, values)
    pairs = [*zip(tensors, arrays, strict=True), *zip(tensors2, arrays2, strict=True)]
    chance.shuffle(pairs)
    for tensor, array in pairs:
        assert tensor.tolist() == array.tolist()


def line_by_line(chance: random.Random, tensors: list[Tensor], arrays: list[Any]) -> None:
    """The same operations on tensors, and on arrays of which each is a value of its own."""
    for _ in range(6):
        a, b, k = chance.randrange(len(arrays)), chance.randrange(len(arrays)), chance.randrange(1, 4)
        match chance.randrange(4):
            case 0:
                tensors.append(tensors[a] + tensors[b])
                arrays.append(arrays[a] + arrays[b])
            case 1:
                tensors.append(tensors[a][::-1] * 2)
                arrays.append(arrays[a][::-1] * 2)
            case 2:
                tensors[a][:k] = tensors[b][-k:] + 1
                arrays[a][:k] = arrays[b][-k:] + 1
            case _:
                tensors[a].assign(tensors[b] - k)
                arrays[a][:] = arrays[b] - k
