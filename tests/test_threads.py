"""Threads that share tensors and runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from schedulog.combine import concatenate, where
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import float32
from schedulog.facts.graph import graph_of
from schedulog.facts.ops import Op
from schedulog.run import Run, schedule
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
