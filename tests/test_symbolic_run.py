"""Symbolic sizes end to end: values equal numpy's for every value of a variable, from one kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import schedulog
from schedulog.combine import concatenate
from schedulog.errors import DeviceError, GraphError, ScheduleError, SchedulogError
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import float32, int32
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.size_value import size_value
from schedulog.facts.symbolic import Size, evaluate, less, substitute
from schedulog.run import Run, schedule
from schedulog.runtimes import devices
from schedulog.runtimes.c import CDevice
from schedulog.runtimes.evaluate import evaluate as values_of
from schedulog.tensor import Tensor

Array = NDArray[Any]

N = schedulog.Variable("n", 0, 5)
M = schedulog.Variable("m", 1, 6)
RUNNING = [name for name in ("numpy", "c") if devices()[name] is None]
WHOLE = np.arange(80, dtype=np.float32).reshape(8, 10) / 8
RIGHT = np.arange(80, dtype=np.float32).reshape(10, 8) / 4 - 3


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(SchedulogError) as caught:
        action()
    return caught.value.code


def check(tensor: Tensor, wanted: Array, device: str) -> None:
    found = tensor.realize(device=device).numpy()
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-5)


Case = tuple[Callable[[Any, Any, Any], Any], Callable[[Any, Any, int], Any]]


def both(function: Callable[[Any, Any, Any], Any]) -> Case:
    """One text that means the same to a Tensor and to numpy."""
    return function, function


CASES: Mapping[str, Case] = {
    "slice": both(lambda x, y, n: x[:n] + 1),
    "the rest": both(lambda x, y, n: x[n:] * 2),
    "sum over the axis": both(lambda x, y, n: x[:n].sum(axis=0)),
    "sum beside the axis": both(lambda x, y, n: x[:n].sum(axis=1)),
    "sum of all": both(lambda x, y, n: x[:n].sum()),
    "mean": both(lambda x, y, n: x[: n + 1].mean(axis=0)),
    "largest": both(lambda x, y, n: x[: n + 1].max(axis=0)),
    "matrix product, rows": both(lambda x, y, n: x[:n] @ y),
    "matrix product, inner size": both(lambda x, y, n: x[:, :n] @ y[:n]),
    "matrix product, columns": both(lambda x, y, n: x @ y[:, :n]),
    "reshape": both(lambda x, y, n: x[:n].reshape(n * 2, 5).sum(axis=1)),
    "reshape to one axis": both(lambda x, y, n: x[: n + 1].reshape(n * 10 + 10)[1:]),
    "transposed": both(lambda x, y, n: x[:n].T + y[:, :n]),
    "backwards": both(lambda x, y, n: x[:n][::-1] + 0),
    "a shorter slice of a slice": both(lambda x, y, n: x[: n + 3][:3] + 0),
    "up to two before the end": both(lambda x, y, n: x[: n + 2][:-2] + 0),
    "beyond the end": both(lambda x, y, n: x[: n + 10] + 0),
    "from the end": both(lambda x, y, n: x[: n + 1][-1] + 0),
    "the value itself": both(lambda x, y, n: (x * np.float32(n) if isinstance(n, int) else x * n) + 1),
    "a moving window": both(lambda x, y, n: x[:, n : n + 2] + 0),
    "padded": (
        lambda x, y, n: x[:n].pad([(1, 2), (0, 0)]) + 1,
        lambda x, y, n: np.pad(x[:n], [(1, 2), (0, 0)]) + 1,
    ),
    "joined again": (
        lambda x, y, n: concatenate([x[n:], x[:n]]) + 1,
        lambda x, y, n: np.concatenate([x[n:], x[:n]]) + 1,
    ),
    "softmax": (
        lambda x, y, n: x[: n + 1].softmax(0),
        lambda x, y, n: np.exp(x[: n + 1]) / np.exp(x[: n + 1]).sum(axis=0),
    ),
}


@pytest.mark.parametrize("device", RUNNING)
@pytest.mark.parametrize("name", CASES)
def test_every_value_gives_what_numpy_gives(name: str, device: str) -> None:
    lazy, eager = CASES[name]
    for value in (0, 1, 3, 5):
        x, y = Tensor(WHOLE[:8]), Tensor(RIGHT)
        check(lazy(x, y, N.bind(value)), np.asarray(eager(WHOLE[:8], RIGHT, value)), device)


STEPS: list[Callable[[Any, Any, Any], Any]] = [
    lambda x, n, m: x[:n],
    lambda x, n, m: x[n:],
    lambda x, n, m: x[:, :m],
    lambda x, n, m: x[:, m - 1 :],
    lambda x, n, m: x[::-1],
    lambda x, n, m: x * x + 1,
    lambda x, n, m: x.T,
    lambda x, n, m: x - x.sum(axis=0, keepdims=True),
    lambda x, n, m: x.sum(axis=1, keepdims=True) + x,
    lambda x, n, m: x @ x.T,
    lambda x, n, m: x.reshape(1, -1).reshape(-1, 1),
    lambda x, n, m: x.reshape(-1, 1)[:, [0] if isinstance(x, np.ndarray) else slice(None)],
]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, len(STEPS) - 1), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6)), min_size=1, max_size=3),
    st.sampled_from(RUNNING),
)
def test_random_programs_equal_numpy(steps: list[int], bindings: list[tuple[int, int]], device: str) -> None:
    for n, m in bindings:
        lazy: Any = Tensor(WHOLE)
        eager: Any = WHOLE.astype(np.float64)
        for step in steps:
            try:
                lazy = STEPS[step](lazy, N.bind(n), M.bind(m))
            except GraphError:
                continue  # sizes that only agree for some values of the variables are refused
            eager = STEPS[step](eager, n, m)
        found = lazy.realize(device=device).numpy()
        assert found.shape == eager.shape
        scale = float(np.abs(eager).max(initial=1.0))
        np.testing.assert_allclose(found, eager, rtol=1e-4, atol=1e-4 * scale)


def windowed(value: int, most: int = 40) -> Graph:
    """Sums of the first elements of an input, and those elements doubled."""
    size = schedulog.Variable("n", 1, most).bind(value)
    memory = Buffer(most, float32, "", "x")
    part = build.shrink(build.buffer(memory), [(0, size)])
    outputs = [build.reduce("ADD", part, (0,)), build.alu(Op.ADD, part, part)]
    return graph_of(outputs, inputs={"x": memory}, input_shapes={"x": (most,)})


@pytest.mark.skipif("c" not in RUNNING, reason="there is no C compiler")
def test_one_compiled_schedule_serves_all_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDULOG_CACHE", str(tmp_path))
    inputs = {"x": np.arange(40, dtype=np.float32)}
    sources = []
    for value in (2, 3, 37):
        run = schedule(windowed(value))
        program = CDevice().load(run.schedule)
        sources.append(dict(program.sources))
        found = run.execute(inputs, "c")
        assert found["out0"].item() == sum(range(value))
        assert found["out1"].tolist() == [2 * k for k in range(value)]
    assert sources[0] == sources[1] == sources[2]
    assert len([path for path in tmp_path.glob("*.so") if not path.name.startswith("flags-")]) == 1


@pytest.mark.parametrize("device", RUNNING)
def test_one_run_takes_other_values(device: str) -> None:
    run = schedule(windowed(2))
    inputs = {"x": np.arange(40, dtype=np.float32)}
    for value in (1, 5, 40):
        found = run.execute(inputs, device, variables={"n": value})
        assert found["out0"].item() == sum(range(value))
        assert found["out1"].shape == (value,)
    assert run.execute(inputs, device)["out1"].tolist() == [0.0, 2.0]


@pytest.mark.parametrize("device", RUNNING)
def test_values_that_do_not_fit_are_refused(device: str) -> None:
    run = schedule(windowed(2))
    inputs = {"x": np.zeros(40, np.float32)}
    assert code_of(lambda: run.execute(inputs, device, variables={"n": 41})) == "SL511"
    assert code_of(lambda: run.execute(inputs, device, variables={"n": 0})) == "SL511"
    assert code_of(lambda: run.execute(inputs, device, variables={"k": 1})) == "SL511"


@pytest.mark.parametrize("device", RUNNING)
def test_memory_made_for_one_value_is_not_left(device: str) -> None:
    size = schedulog.Variable("n", 1, 8).bind(3)
    small = build.reshape(build.array(np.ones(6, np.float32)), (size, 2))
    run = schedule([build.reduce("ADD", small, (0, 1))])
    assert run.execute(device=device, variables={"n": 2})["out0"].item() == 4
    with pytest.raises(
        DeviceError, match=r"with n = 4 n1 view float32\[n,2\] would show elements 0 to 7 of 6"
    ) as caught:
        run.execute(device=device, variables={"n": 4})
    assert caught.value.code == "SL512"


@pytest.mark.parametrize("device", RUNNING)
def test_a_variable_that_only_a_constant_or_the_place_of_an_assign_has(device: str) -> None:
    n, memory = N.bind(1), Buffer(8, float32, "", "x")
    filled = build.const(2.0, float32, (n + 1, 2))
    bits = build.bitcast(build.buffer(memory), int32)
    write = build.assign(build.shrink(bits, [(n, n + 2)]), build.const(7, int32, (2,)))
    run = schedule(graph_of([filled, write], inputs={"x": memory}))
    for value in (1, 0, 5):
        found = run.execute({"x": np.zeros(8, np.float32)}, device, variables={"n": value})
        assert (found["out0"].shape, found["out1"].tolist()) == ((value + 1, 2), [7, 7])
    assert code_of(lambda: run.execute({"x": np.zeros(8, np.float32)}, device, variables={"n": 6})) == "SL511"


SHORT = Buffer(8, float32, "", "x")
FLAT = build.buffer(SHORT)
BEYOND: Mapping[str, Callable[[Size], Node]] = {
    "more than there is": lambda n: build.shrink(FLAT, [(0, n)]),
    "more than was computed": lambda n: build.shrink(build.contiguous(build.alu(Op.NEG, FLAT)), [(0, n)]),
    "more than another view shows": lambda n: build.shrink(
        build.reshape(build.permute(build.reshape(FLAT, (2, 4)), (1, 0)), (8,)), [(0, n)]
    ),
    "padding below 0": lambda n: build.pad(FLAT, [(9 - n, 0)]),
    "a size below 0": lambda n: build.const(1.0, float32, (8 - n,)),
    "no longer repeated": lambda n: build.shrink(
        build.expand(build.reshape(FLAT, (8, 1)), (8, n)), [(0, 8), (2, 3)]
    ),
}


@pytest.mark.parametrize("device", RUNNING)
@pytest.mark.parametrize("name", BEYOND)
def test_values_for_which_a_graph_has_no_meaning_are_refused(name: str, device: str) -> None:
    n = schedulog.Variable("n", 0, 20)
    value = build.alu(Op.ADD, *[BEYOND[name](n.bind(5))] * 2)
    run = schedule(graph_of([value], inputs={"x": SHORT} if value.base.op is not Op.CONST else {}))
    inputs = {"x": np.zeros(8, np.float32)} if run.graph.inputs else {}
    run.execute(inputs, device)
    wrong = 1 if name == "no longer repeated" else 15
    assert code_of(lambda: run.execute(inputs, device, variables={"n": wrong})) == "SL512"
    # Made for that value it is refused too: at once, or before it runs.
    assert code_of(lambda: schedule([BEYOND[name](n.bind(wrong))]).execute({}, device)) in ("SL221", "SL512")


def test_a_value_may_be_an_integer_of_numpy() -> None:
    assert Tensor(WHOLE)[: N.bind(np.int64(2))].shape[0] == N.bind(2)  # type: ignore[arg-type]
    assert Tensor(WHOLE)[: N.bind(np.uint8(2))].numpy().shape == (2, 10)  # type: ignore[arg-type]


def test_a_value_that_is_no_integer() -> None:
    run, inputs = schedule(windowed(2)), {"x": np.zeros(40, np.float32)}
    assert code_of(lambda: run.execute(inputs, variables={"n": 2.5})) == "SL511"  # type: ignore[dict-item]
    three: Any = np.int64(3)
    assert run.execute(inputs, variables={"n": three})["out1"].shape == (3,)


def test_two_values_of_one_variable_in_one_call() -> None:
    x = Tensor(WHOLE)
    y = x[: N.bind(2)].sum() + x[: N.bind(3)].sum()
    with pytest.raises(ScheduleError, match="variable n is bound to 2 and to 3") as caught:
        y.numpy()
    assert caught.value.code == "SL312"


def test_a_variable_without_a_value() -> None:
    assert code_of(lambda: Tensor(WHOLE)[:N].sum().numpy()) in ("SL220", "SL511")


def test_what_only_some_values_allow_is_refused() -> None:
    n = N.bind(3)
    x = Tensor(WHOLE)
    assert code_of(lambda: x[:n].reshape(n * 3 + 1, 5)) == "SL221"
    assert code_of(lambda: x[:n][2]) == "SL215"
    assert code_of(lambda: x[n * 2]) == "SL215"
    assert code_of(lambda: x[n - 2 :]) == "SL218"
    assert code_of(lambda: x[: n * 3]) == "SL218"
    assert code_of(lambda: x[n : M.bind(2)]) == "SL218"
    assert code_of(lambda: x[:n:2]) == "SL218"
    assert code_of(lambda: x[:n] + x) == "SL211"
    assert code_of(lambda: x.shrink([(0, n * 3), (0, 10)])) == "SL221"
    assert code_of(lambda: x.shrink([(n - 2, 5), (0, 10)])) == "SL221"
    assert code_of(lambda: x.pad([(n - 2, 0), (0, 0)])) == "SL221"
    assert code_of(lambda: Tensor(np.zeros(3, np.uint8)) + (n + 251)) == "SL216"


def test_a_computed_value_keeps_its_symbolic_shape() -> None:
    n = N.bind(3)
    x = Tensor(WHOLE)
    kept = (x[:n] * 2).realize()
    assert kept.shape == (n, 10)
    np.testing.assert_array_equal((kept + x[:n]).numpy(), WHOLE[:3] * 3)
    assert (len(kept), kept.ndim) == (3, 2)
    assert kept.size == n * 10


@pytest.mark.parametrize(
    "size", [N, N * M + 3, (N * 5 + M) // (M + 1), (N * 5) % (M + 2), less(N, M), 7, N - 9 * M]
)
def test_a_size_as_a_value(size: Size) -> None:
    for n, m in ((0, 1), (3, 2), (5, 6)):
        bound = {N: N.bind(n), M: M.bind(m)}
        (value,) = values_of([size_value(substitute(size, bound))], {})
        assert value.dtype == np.int64
        assert value.item() == evaluate(size, {"n": n, "m": m})


def test_variables_on_the_left() -> None:
    n = N.bind(3)
    np.testing.assert_array_equal((n - Tensor(WHOLE)).numpy(), np.float32(3) - WHOLE)
    np.testing.assert_array_equal((n * Tensor(WHOLE)).numpy(), np.float32(3) * WHOLE)


def test_items_of_a_run_name_no_value() -> None:
    one, other = (schedule(windowed(value)) for value in (4, 9))

    def kernels(run: Run) -> list[Any]:
        return [(k.name, k.kind, len(k.members), k.bytes_read, k.bytes_written) for k in run.kernels]

    assert kernels(one) == kernels(other)
    assert one.schedule.variables == {"n": 4}
