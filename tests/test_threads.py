"""Threads that share tensors and runs."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from schedulog.combine import concatenate, where
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import float32
from schedulog.facts.graph import graph_of
from schedulog.facts.look import Looks
from schedulog.facts.ops import Op
from schedulog.facts.view import ViewStack
from schedulog.run import Run, schedule
from schedulog.runtimes.c import SPINS, CDevice, _short_spins
from schedulog.tensor import Tensor

THREADS = 8


def together(work: Callable[[int], Any]) -> list[Any]:
    """What `work` returns in each of 8 threads that begin at once; what one raises is raised here."""
    barrier, found, failed = threading.Barrier(THREADS), [None] * THREADS, []

    def thread(i: int) -> None:
        barrier.wait()
        try:
            found[i] = work(i)
        except BaseException as error:  # noqa: BLE001 (raised again below)
            failed.append(error)

    threads = [threading.Thread(target=thread, args=(i,)) for i in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    if failed:
        raise failed[0]
    return found


def example() -> Run:
    memory = Buffer(32, float32, name="x")
    x = build.buffer(memory, (4, 8))
    return schedule(graph_of([build.alu(Op.NEG, x)], inputs={"x": memory}, input_shapes={"x": (4, 8)}))


def test_one_lazy_tensor_is_computed_once_for_all() -> None:
    x = Tensor(np.arange(1000.0))
    y = x * 2 + 1
    for value in together(lambda _: y.numpy()):
        np.testing.assert_array_equal(value, np.arange(1000.0) * 2 + 1)


def test_tensors_of_one_source() -> None:
    x = Tensor(np.arange(100.0))
    found = together(lambda i: ((x * i).sum().item(), where(x > i, x, 0).numpy().sum()))
    values = np.arange(100.0)
    assert found == [((values * i).sum(), values[values > i].sum()) for i in range(THREADS)]


def test_writing_into_one_tensor_loses_no_part() -> None:
    x = Tensor(np.zeros(THREADS * 10))

    def write(i: int) -> None:
        for k in range(3):
            x[10 * i : 10 * i + 10] = float(i + k)

    together(write)
    np.testing.assert_array_equal(x.numpy(), np.repeat(np.arange(THREADS) + 2.0, 10))


def test_a_value_is_read_whole_while_others_write() -> None:
    x = Tensor(np.zeros(20_000))

    def write_and_read(i: int) -> bool:
        values = []
        for k in range(2):
            x[:] = float(THREADS * k + i)
            values += [x.numpy(), (x + 0).numpy(), concatenate([x, x]).numpy()]
        return all(len(set(value.tolist())) == 1 for value in values)

    assert all(together(write_and_read))


def test_assigns_that_read_their_own_tensor() -> None:
    x = Tensor(np.zeros(4))

    def add(_: int) -> None:
        for _ in range(3):
            x.assign(x + 1)
            x.realize()
            x[:] = x + 1

    together(add)
    (value,) = set(x.numpy().tolist())
    # The sum and the write are two operations, so a thread may write what another one's sum was.
    assert 1 <= value <= 6 * THREADS


def test_an_expression_keeps_what_it_was_made_of() -> None:
    x = Tensor(np.zeros(5000))

    def read_and_write(i: int) -> bool:
        doubled = x * 2
        x.assign(x * 0 + i)
        return len(set(doubled.numpy().tolist())) == 1

    assert all(together(read_and_write))


def test_queries_and_the_database_of_a_run() -> None:
    run = example()
    found = together(
        lambda _: (run.sql("select count(*) from kernel"), len(run.sql("kernels")), id(run.database))
    )
    assert len(set(map(str, found))) == 1
    assert found[0][:2] == ([(1,)], 1)
    count = "select count(*) from node"
    assert together(lambda _: run.database.execute(count).fetchone()) == [(len(run.graph.nodes),)] * THREADS


def test_a_run_executes_and_explains_in_any_thread() -> None:
    run = example()

    def ask(i: int) -> tuple[float, str]:
        value = run.execute({"x": np.full((4, 8), i, np.float32)})["out0"]
        return float(value[0, 0]), run.why("stored(n2)").relation

    assert together(ask) == [(-float(i), "stored") for i in range(THREADS)]


@contextmanager
def hurried() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def counter(size: int) -> tuple[Run, np.ndarray[Any, Any]]:
    """A run each execution of which adds 1 to memory of the graph's own."""
    memory = Buffer(size, float32, name="count", array=np.zeros(size, np.float32))
    x = build.buffer(memory, (size,))
    one = build.const(1, float32, (size,))
    assert memory.array is not None
    return schedule(graph_of([build.assign(x, build.alu(Op.ADD, x, one))])), memory.array


@pytest.mark.parametrize("device", ["numpy", "c"])
def test_executions_that_write_into_the_graph_lose_nothing(device: str) -> None:
    if device == "c" and CDevice().missing() is not None:
        pytest.skip("no C compiler")
    run, count = counter(5000)
    run.load(device)

    def add(_: int) -> list[float]:
        values = [run.execute(device=device)["out0"] for _ in range(20)]
        assert all(len(set(value.tolist())) == 1 for value in values)
        return [float(value[0]) for value in values]

    with hurried():
        seen = [value for values in together(add) for value in values]
    assert sorted(seen) == [float(i + 1) for i in range(THREADS * 20)]
    np.testing.assert_array_equal(count, np.full(5000, THREADS * 20.0))


def test_two_runs_of_one_graph_take_turns() -> None:
    run, count = counter(5000)
    other = schedule(run.graph)

    def add(i: int) -> None:
        for _ in range(20):
            (run, other)[i % 2].execute(device="numpy")

    with hurried():
        together(add)
    np.testing.assert_array_equal(count, np.full(5000, THREADS * 20.0))


def test_executions_that_write_nothing_shared_run_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    run, barrier = example(), threading.Barrier(THREADS)
    program = run.load("numpy")
    work = program.run

    def meet(*given: Any) -> None:
        barrier.wait(30)
        work(*given)

    monkeypatch.setattr(program, "run", meet)
    together(lambda _: run.execute({"x": np.ones((4, 8), np.float32)}, "numpy"))


def test_the_environment_is_as_before_when_libraries_were_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)

    def load(_: int) -> set[str | None]:
        seen = set()
        for _ in range(10):
            with _short_spins():
                time.sleep(0.0005)  # the others have their turn, if they can
                seen.add(os.environ.get("GOMP_SPINCOUNT"))
        return seen

    assert together(load) == [{SPINS}] * THREADS
    assert "GOMP_SPINCOUNT" not in os.environ


def test_a_view_has_one_number_in_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, hashed = Looks(), ViewStack.__hash__
    views = [ViewStack.of_shape((i + 1, 3)) for i in range(20)]

    def slowly(view: ViewStack) -> int:
        time.sleep(0.0001)  # the others have their turn in the midst of a look-up
        return hashed(view)

    monkeypatch.setattr(ViewStack, "__hash__", slowly)
    found = together(lambda _: [(n := looks.number(view), looks.view(n)) for view in views])
    assert found == [found[0]] * THREADS
    assert len(looks) == len(views) and [view for _, view in found[0]] == views
