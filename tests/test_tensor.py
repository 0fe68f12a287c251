"""The lazy Tensor does what numpy does, also when memory is overwritten between reads."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import re
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import schedulog
import schedulog.combine
import schedulog.facts.compose
from schedulog import pending
from schedulog.combine import concatenate, maximum, minimum, stack, where
from schedulog.creation import arange, eye, full, linspace, ones, zeros
from schedulog.errors import GraphError
from schedulog.facts.graph import graph_of
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.runtimes.evaluate import reference, reference_memory
from schedulog.tensor import Tensor

Array = NDArray[Any]
KINDS = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64"]


def by_meaning(nodes: Sequence[Node], device: str | None) -> dict[Node, Array]:
    """Run nodes by the meaning of their graph, without a schedule."""
    graph = graph_of(nodes)
    values, memory = reference(graph, {}), reference_memory(graph, {})
    for buffer, contents in memory.items():
        assert buffer.array is not None
        buffer.array[...] = contents
    return {n: values[name] for n, name in zip(nodes, graph.outputs, strict=True)}


def by_schedule(nodes: Sequence[Node], device: str | None) -> dict[Node, Array]:
    """Run nodes as kernels of a schedule, each evaluated by numpy."""
    return SCHEDULED(nodes, "numpy")


SCHEDULED = pending.run


@pytest.fixture
def meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "run", by_meaning)


def same(actual: Any, expected: Any, rtol: float = 1e-6) -> None:
    """Equal shape, dtype and value."""
    expected = np.asarray(expected)
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    value = actual.numpy()
    assert value.dtype == expected.dtype
    rtol = 4e-3 if expected.dtype == np.float16 else rtol
    np.testing.assert_allclose(value.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=rtol)


def sample(kind: str, shape: tuple[int, ...], seed: int = 0) -> Array:
    """Small values of a dtype, with signs where it has them."""
    low = 0 if kind[0] in "bu" else -4
    return np.random.default_rng(seed).integers(low, 2 if kind == "bool" else 5, shape).astype(kind)


TWO: list[Callable[[Any, Any], Any]] = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.and_,
    operator.or_, operator.xor, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
    operator.lshift, operator.rshift,
]  # fmt: skip


@pytest.mark.usefixtures("meaning")
@given(st.sampled_from(TWO), st.sampled_from(KINDS), st.sampled_from(KINDS), st.integers(0, 3))
@settings(max_examples=300, deadline=None)
def test_binary_operations_equal_numpy(
    f: Callable[[Any, Any], Any], left: str, right: str, seed: int
) -> None:
    a, b = sample(left, (2, 3), seed), sample(right, (3,), seed + 1)
    with np.errstate(all="ignore"):
        try:
            expected = f(a, b)
        except TypeError:
            with pytest.raises(GraphError):
                f(Tensor(a), Tensor(b))
            return
        same(f(Tensor(a), Tensor(b)), expected)
        same(f(a, Tensor(b)), expected)
        same(f(Tensor(a), b), expected)


@pytest.mark.usefixtures("meaning")
@given(
    st.sampled_from(TWO),
    st.sampled_from(KINDS),
    st.sampled_from([True, 2, -3, 2.5, 300, 2**40]),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_python_numbers_take_the_dtype_of_the_tensor(
    f: Callable[[Any, Any], Any], kind: str, number: Any, reverse: bool
) -> None:
    a = sample(kind, (4,))
    x = Tensor(a)
    with np.errstate(all="ignore"):
        try:
            expected = f(number, a) if reverse else f(a, number)
        except (TypeError, OverflowError):
            with pytest.raises(GraphError):
                f(number, x) if reverse else f(x, number)
            return
        same(f(number, x) if reverse else f(x, number), expected)


@pytest.mark.usefixtures("meaning")
@pytest.mark.parametrize("kind", KINDS)
def test_unary_functions_equal_numpy(kind: str) -> None:
    a = np.abs(sample(kind, (5,)).astype(np.float32)).astype(kind)
    x = Tensor(a)
    with np.errstate(all="ignore"):
        for name in ("exp", "log", "exp2", "log2", "sqrt", "sin", "cos", "tanh", "floor"):
            same(getattr(x, name)(), getattr(np, name)(a))
    b = sample(kind, (6,))
    same(abs(Tensor(b)), np.abs(b))
    if kind != "bool":
        same(-Tensor(b), -b)
        same(Tensor(b).relu(), np.maximum(b, 0))
    if kind[0] != "f":
        same(~Tensor(b), ~b)
    same(x.erf(), np.array([math.erf(float(v)) for v in a], np.exp(a).dtype))
    wide = b.astype(np.exp(b).dtype)
    same(Tensor(b).sigmoid(), 1 / (1 + np.exp(-wide)))


@pytest.mark.usefixtures("meaning")
@given(
    st.sampled_from(KINDS),
    st.sampled_from([None, 0, 1, -1, (0, 2), (), (2, 1, 0)]),
    st.booleans(),
    st.integers(0, 9),
)
@settings(max_examples=200, deadline=None)
def test_reductions_equal_numpy(kind: str, axis: Any, keepdims: bool, seed: int) -> None:
    a = sample(kind, (2, 3, 4), seed)
    for name in ("sum", "prod", "mean", "max", "min", "any", "all"):
        same(getattr(Tensor(a), name)(axis, keepdims), getattr(a, name)(axis, keepdims=keepdims))


@pytest.mark.usefixtures("meaning")
def test_reductions_over_nothing() -> None:
    x = Tensor(np.zeros((0, 2), np.int8))
    same(x.sum(0), np.zeros(2, np.int64))
    same(x.prod(), np.int64(1))
    same(x.any(1), np.zeros(0, bool))
    assert math.isnan(x.mean().item())
    with pytest.raises(GraphError) as caught:
        x.max()
    assert caught.value.code == "SL213"


@pytest.mark.usefixtures("meaning")
def test_nan_and_signed_zero_follow_numpy() -> None:
    a, b = np.array([math.nan, 1.0, -0.0, 2.0]), np.array([1.0, math.nan, 3.0, -0.0])
    x, y = Tensor(a), Tensor(b)
    np.testing.assert_array_equal(minimum(x, y).numpy(), np.minimum(a, b))
    np.testing.assert_array_equal(maximum(a, y).numpy(), np.maximum(a, b))
    np.testing.assert_array_equal((x <= y).numpy(), a <= b)
    assert np.isnan(x.min().item()) and np.isnan(x.max().item())
    joined = concatenate([x, y]).numpy()
    assert np.signbit(joined).tolist() == np.signbit(np.concatenate([a, b])).tolist()
    assert not np.signbit(abs(x).numpy()[2])


@pytest.mark.usefixtures("meaning")
@pytest.mark.parametrize(
    ("left", "right"),
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 1, 2, 3), (5, 3, 4)),
     ((0, 3), (3, 2)), ((2, 0), (0, 3))],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["bool", "int8", "float32"])
def test_matmul_equals_numpy(left: tuple[int, ...], right: tuple[int, ...], kind: str) -> None:
    a, b = sample(kind, left), sample(kind, right, 1)
    same(Tensor(a) @ Tensor(b), a @ b)
    same(a @ Tensor(b), a @ b)


@pytest.mark.usefixtures("meaning")
def test_power_and_softmax() -> None:
    a, n = sample("int32", (6,)), np.array([0, 1, 2, 3, 4, 5], np.int32)
    same(Tensor(a) ** Tensor(n), a**n)
    same(2 ** Tensor(n), 2**n)
    x = np.abs(sample("float32", (6,))) + 1
    for exponent in (2, 0.5, -1, 3.5):
        same(Tensor(x) ** exponent, x**exponent)
    m = np.array([[1e4, 1e4 + 1], [0.0, -1.0]])
    powers = np.exp(m - m.max(1, keepdims=True))
    same(Tensor(m).softmax(1), powers / powers.sum(1, keepdims=True))
    with pytest.raises(GraphError) as caught:
        _ = Tensor(a) ** -1
    assert caught.value.code == "SL217"


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """A basic index of a value of this shape."""
    parts: list[Any] = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        bound = st.none() | st.integers(-size - 2, size + 2)
        step = st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3])
        chosen = st.builds(slice, bound, bound, step)
        parts.append(draw(chosen | st.integers(-size, size - 1) if size else chosen))
    for extra in draw(st.lists(st.sampled_from([None, ...]), max_size=2)):
        if extra is None or ... not in parts:
            parts.insert(draw(st.integers(0, len(parts))) if extra is None else len(parts), extra)
    return tuple(parts) if len(parts) != 1 or draw(st.booleans()) else parts[0]


@pytest.mark.usefixtures("meaning")
@given(st.data())
@settings(max_examples=300, deadline=None)
def test_basic_indexing_equals_numpy(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    a = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    key = data.draw(keys(shape))
    first = a[key]
    same(Tensor(a)[key], first)
    turned = data.draw(keys(first.T.shape))
    same(Tensor(a)[key].T[turned], first.T[turned])


@pytest.mark.usefixtures("meaning")
@given(st.data())
@settings(max_examples=200, deadline=None)
def test_writing_to_a_part_equals_numpy(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    a = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    x, key = Tensor(a), data.draw(keys(shape))
    before, doubled = x[...], x * 2
    value = a[key] * 3 if data.draw(st.booleans()) else 7
    expected = a.copy()
    expected[key] = value
    x[key] = value
    same(x, expected)
    same(before, a)
    same(doubled, a * 2)


@pytest.mark.usefixtures("meaning")
def test_movement_equals_numpy() -> None:
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = Tensor(a)
    same(x.reshape(4, -1), a.reshape(4, -1))
    same(x.reshape((6, 4)), a.reshape(6, 4))
    same(x.T, a.T)
    same(x.transpose(2, 0, 1), a.transpose(2, 0, 1))
    same(x.permute((1, -1, 0)), a.transpose(1, 2, 0))
    same(x.pad([(1, 0), (0, 2), (0, 0)]), np.pad(a, [(1, 0), (0, 2), (0, 0)]))
    same(x.shrink([(0, 1), (1, 3), (2, 4)]), a[0:1, 1:3, 2:4])
    same(x.flip(), np.flip(a))
    same(x.flip((0, -1)), np.flip(a, (0, -1)))
    same(x[:, :1].broadcast_to(5, 2, 3, 4), np.broadcast_to(a[:, :1], (5, 2, 3, 4)))
    same(x[:1].squeeze(0), a[0])
    same(x[:1, :, :1].squeeze(), a[0, :, 0])
    same(x.unsqueeze(-1), a[..., None])
    same(x.unsqueeze(1), a[:, None])
    same(stack([x, x + 1], -1), np.stack([a, a + 1], -1))
    same(concatenate([x, x[:, :1], [[[1, 2, 3, 4]], [[5, 6, 7, 8]]]], 1),
         np.concatenate([a, a[:, :1], np.array([[[1, 2, 3, 4]], [[5, 6, 7, 8]]])], 1))  # fmt: skip
    assert len(x) == 2 and [row.shape for row in x] == [(3, 4)] * 2
    assert (x.ndim, x.size) == (3, 24)


@pytest.mark.usefixtures("meaning")
def test_creation_equals_numpy() -> None:
    same(full((2, 3), 7), np.full((2, 3), 7))
    same(full(2, 1.5, "float32"), np.full(2, 1.5, "float32"))
    same(zeros((2,)), np.zeros(2))
    same(ones((1, 2), np.int8), np.ones((1, 2), np.int8))
    same(arange(5), np.arange(5))
    same(arange(1, 2, 0.25), np.arange(1, 2, 0.25))
    same(linspace(0, 1, 5), np.linspace(0, 1, 5))
    same(eye(2, 3), np.eye(2, 3))
    same(Tensor(3), np.int64(3))
    same(Tensor([1.5, 2]), np.array([1.5, 2]))
    same(Tensor([1, 2], "float16"), np.array([1, 2], "float16"))
    same(where(Tensor([True, False]), 1.5, Tensor([1, 2])), np.array([1.5, 2.0]))
    same(where([1, 0], Tensor([1, 2], np.int8), 7), np.array([1, 7], np.int8))


@pytest.mark.usefixtures("meaning")
def test_bfloat16_is_rounded_after_each_operation() -> None:
    a: Any = np.array([0.1, 3.0, 256.0], ml_dtypes.bfloat16)
    result = (Tensor(a) * Tensor(a) + 1).numpy()
    assert result.dtype == a.dtype and result.tolist() == (a * a + 1).tolist()
    same(Tensor(a).astype("float32"), a.astype(np.float32))
    assert Tensor([1.0]).astype("bfloat16").dtype == a.dtype


@pytest.mark.usefixtures("meaning")
def test_values_come_out_as_python_and_numpy() -> None:
    x = Tensor([1, 2]) + 1
    assert x.tolist() == [2, 3] and np.asarray(x).tolist() == [2, 3]
    out = x.numpy()
    out[0] = 99
    assert x.tolist() == [2, 3]
    assert Tensor(2.5).item() == 2.5 and float(Tensor(3)) == 3.0 and int(Tensor([4])) == 4
    assert bool(Tensor(1) == 1) and not bool(Tensor([0]))
    assert Tensor(np.array([1, 2], ">i4")).dtype == np.int32
    assert error_of(lambda: bool(Tensor([1, 2]))).message == "2 elements are no single number"
    source = np.array([1, 2])
    kept = Tensor(source)
    source[0] = 5
    assert kept.tolist() == [1, 2]


def error_of(action: Callable[[], object]) -> GraphError:
    with pytest.raises(GraphError) as caught:
        action()
    return caught.value


def test_errors_name_the_line_of_the_call() -> None:
    x = Tensor(np.zeros((2, 3), np.int8))
    cases: list[tuple[Callable[[], object], str, str]] = [
        (lambda: x + Tensor([1, 2]), "SL211", "shapes [2, 3] and [2] do not broadcast"),
        (lambda: x @ x, "SL211", "matrix product of shapes [2, 3] and [2, 3]"),
        (lambda: x + 300, "SL216", "300 does not fit int8"),
        (lambda: x.sum(2), "SL215", "axis 2 of a value with 2 axes"),
        (lambda: x.sum((0, 0)), "SL215", "one axis twice in (0, 0)"),
        (lambda: x[2], "SL215", "index 2 on axis 0 of size 2"),
        (lambda: x[0, 0, 0], "SL218", "3 indices of a value with 2 axes"),
        (lambda: x[[0, 1]], "SL218", "index of type list"),
        (lambda: x[::0], "SL218", "slice slice(None, None, 0)"),
        (lambda: x.reshape(5), "SL221", ""),
        (lambda: x.reshape(-1, 4), "SL221", "cannot reshape [2, 3] to [-1, 4]"),
        (lambda: Tensor(True) - True, "SL212", "subtract of bool, bool"),
        (lambda: Tensor([1.0]) & 1, "SL212", "bitwise_and of float64, int"),
        (lambda: Tensor([[1], [1, 2]]), "SL219", "list is no array"),
        (lambda: x.sum(0.7), "SL215", "axis 0.7"),  # type: ignore[arg-type]
        (lambda: zeros(2, np.int8).__setitem__(0, math.nan), "SL216", "nan does not fit int8"),
        (lambda: zeros(2, np.uint8).assign(-1.5), "SL216", "-1.5 does not fit uint8"),
        (lambda: zeros(2, np.int64).__setitem__(0, 1e19), "SL216", "1e+19 does not fit int64"),
        (lambda: Tensor(1j), "SL202", "unknown dtype `complex128`"),
        (lambda: x.astype("int33"), "SL202", "unknown dtype `int33`"),
        (lambda: stack([x, x[0]]), "SL211", "cannot concatenate [1, 2, 3] and [1, 3] along axis 0"),
    ]
    for action, code, message in cases:
        error = error_of(action)
        line = action.__code__.co_firstlineno
        assert (error.code, error.where) == (code, f"test_tensor.py:{line}")
        assert error.message.startswith(message)


def test_the_way_out_of_an_index_that_is_data_leads_out() -> None:
    values = np.arange(6.0).reshape(2, 3)
    x, other, axis = Tensor(values), Tensor(np.zeros((2, 3))), 0
    positions, mask = Tensor(np.array([1, 0, 1])), x > 3
    help = str(error_of(lambda: x[mask]).help)
    masked, gathered = re.findall(r"(schedulog\.combine\.\w+\(.*?\)) .*(Tensor\.of\(.*\)\))", help)[0]
    given = {"schedulog": schedulog, "Tensor": Tensor}
    assert np.array_equal(eval(masked, given, locals()).numpy(), np.where(values > 3, values, 0))
    assert np.array_equal(eval(gathered, given, locals()).numpy(), values[[1, 0, 1]])
    assert (other.shape, positions.shape, axis) == ((2, 3), (3,), 0)


def test_nodes_are_labelled_with_the_line_of_the_call() -> None:
    x = Tensor(np.array([0.25, 0.75, 0.125]))
    line = error_of(lambda: x[9]).where
    y = x.sin()
    assert str(line).startswith("test_tensor.py:") and y.node.label.endswith(" sin")
    assert y.node.label.split(":")[0] == "test_tensor.py"


def test_a_deep_chain_of_operations_is_one_graph() -> None:
    x = Tensor(np.zeros(2, np.int32))
    for i in range(20_000):
        x = x + i % 3
    assert sum(n.op is Op.ADD for n in graph_of([x.node]).nodes) == 20_000


def test_tensors_realized_together_share_one_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[Node]] = []

    def counted(nodes: Sequence[Node], device: str | None) -> dict[Node, Array]:
        asked.append(list(nodes))
        return by_meaning(nodes, device)

    monkeypatch.setattr(pending, "run", counted)
    x = Tensor(np.array([1, 2]))
    y, z, again = x + 1, x * 3, x + 1
    y.realize(z, again, x)
    assert [len(nodes) for nodes in asked] == [2]
    y[0] = 50
    assert (y.tolist(), z.tolist(), again.tolist()) == ([50, 3], [3, 6], [2, 3])


@pytest.fixture(params=["meaning", "schedule"])
def executed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "run", by_meaning if request.param == "meaning" else by_schedule)


@pytest.mark.usefixtures("executed")
def test_a_lazy_expression_keeps_the_contents_it_was_built_on() -> None:
    w = Tensor(np.array([1, 2, 3]))
    before, alias, part = w + 10, w.reshape(3), w[1:]
    w.assign(w * 2)
    between = w + 100
    w.assign(w[::-1])
    w[0] = 7
    assert between.tolist() == [102, 104, 106]
    assert w.tolist() == [7, 4, 2]
    assert (before.tolist(), alias.tolist(), part.tolist()) == ([11, 12, 13], [1, 2, 3], [2, 3])


@pytest.mark.usefixtures("executed")
def test_an_assign_happens_once_whoever_asks_first() -> None:
    w = Tensor(np.array([1, 2, 3]))
    memory = w.node.arg
    w.assign(w + 1)
    assert (w * 10).tolist() == [20, 30, 40]
    assert w.tolist() == [2, 3, 4] and w.node.arg is memory


@pytest.mark.usefixtures("executed")
def test_shifting_within_one_buffer_reads_the_old_contents() -> None:
    a = np.arange(6)
    w = Tensor(a)
    w[1:] = w[:-1]
    w[:-1] = w[1:] + w[0]
    a[1:] = a[:-1].copy()
    a[:-1] = a[1:] + a[0]
    assert w.tolist() == a.tolist()
    w[::2] += 5
    a[::2] += 5
    assert w.tolist() == a.tolist()


Step = tuple[Any, ...]
INDICES = [slice(None), slice(1, 3), slice(None, None, -1), slice(0, 4, 2), 2]


@st.composite
def programs(draw: st.DrawFn) -> list[Step]:
    """Lines that combine, slice and overwrite three vectors of four elements."""
    which = st.integers(0, 2)
    line = st.one_of(
        st.tuples(st.just("add"), which, which, which),
        st.tuples(st.just("view"), which, which, st.sampled_from([slice(None), slice(None, None, -1)])),
        st.tuples(st.just("assign"), which, which, st.integers(0, 3)),
        st.tuples(st.just("write"), which, which, st.sampled_from(INDICES), st.integers(0, 3)),
        st.tuples(st.just("read"), which),
    )
    return draw(st.lists(line, min_size=1, max_size=10))


def run_line(line: Step, xs: list[Tensor], arrays: list[Array]) -> None:
    """One line done on tensors and on numpy arrays; an array that is bound anew is a copy, as a tensor is."""
    match line:
        case ("add", int(a), int(b), int(c)):
            xs[a], arrays[a] = xs[b] + xs[c], arrays[b] + arrays[c]
        case ("view", int(a), int(b), index):
            xs[a], arrays[a] = xs[b][index], arrays[b][index].copy()
        case ("assign", int(a), int(b), int(n)):
            try:
                xs[a].assign(xs[b] * 2 + n)
            except GraphError as refused:
                assert refused.code == "SL228"
                return
            arrays[a][...] = arrays[b] * 2 + n
            alias = [i for i in range(3) if xs[i] is xs[a]]
            assert all(arrays[i] is arrays[a] for i in alias)
        case ("write", int(a), int(b), index, int(n)):
            try:
                xs[a][index] = xs[b][index] + n
            except GraphError as refused:
                assert refused.code == "SL228"
                xs[a], arrays[a] = xs[a].clone(), arrays[a].copy()
                xs[a][index] = xs[b][index] + n
            arrays[a][index] = (arrays[b][index] + n).copy()
        case ("read", int(a)):
            assert xs[a].tolist() == arrays[a].tolist()


@pytest.mark.usefixtures("meaning")
@given(programs())
@settings(max_examples=200, deadline=None)
def test_programs_of_reads_and_writes_equal_numpy_line_by_line(program: list[Step]) -> None:
    check_program(program)


@given(programs())
@settings(max_examples=60, deadline=None)
def test_programs_of_reads_and_writes_equal_numpy_when_scheduled(program: list[Step]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pending, "run", by_schedule)
        check_program(program)


def check_program(program: list[Step]) -> None:
    arrays: list[Array] = [np.arange(4) + 10 * i for i in range(3)]
    xs = [Tensor(a) for a in arrays]
    for line in program:
        run_line(line, xs, arrays)
    for i in (2, 0, 1):
        assert xs[i].tolist() == arrays[i].tolist()


def test_the_default_device_gives_the_same_values() -> None:
    a = np.linspace(-1, 1, 12).reshape(3, 4)
    x = Tensor(a)
    result = (x @ x.T).softmax(0)[::-1]
    powers = np.exp(a @ a.T - (a @ a.T).max(0))
    same(result, (powers / powers.sum(0))[::-1], 1e-12)


def test_assigning_to_a_part_of_a_tensor_is_refused() -> None:
    whole = Tensor(np.arange(8, dtype=np.float32))
    for part in (whole[2:4], whole[1:], whole.flip(0), whole.reshape(2, 4).T):
        with pytest.raises(GraphError, match="SL228"):
            part.assign(9)
    whole[2:4] = 9
    assert whole.numpy().tolist() == [0, 1, 9, 9, 4, 5, 6, 7]
    assert whole.reshape(2, 4).assign(1).numpy().tolist() == [[1] * 4] * 2


@pytest.mark.usefixtures("executed")
@pytest.mark.parametrize(
    "again", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))], ids=["copied", "pickled"]
)
def test_tensors_made_again_keep_what_was_read_before_a_write(again: Callable[[Any], Any]) -> None:
    x, z = Tensor(np.arange(3.0)), Tensor(np.zeros(3))
    y, bits = x + 1, x.bitcast(np.int64)
    z.assign(x * 2)
    w = z + 1
    originals = (x, y, z, w, bits)
    x2, y2, z2, w2, bits2 = again(originals)
    x2[0] = 100
    z2.assign(z2 + 1)
    assert (x2.tolist(), y2.tolist(), z2.tolist(), w2.tolist()) == (
        [100, 1, 2],
        [1, 2, 3],
        [1, 3, 5],
        [1, 3, 5],
    )
    assert bits2.numpy().view(np.float64).tolist() == [0, 1, 2]
    assert [t.tolist() for t in originals[:4]] == [[0, 1, 2], [1, 2, 3], [0, 2, 4], [1, 3, 5]]


@pytest.mark.usefixtures("executed")
def test_a_copy_has_memory_of_its_own() -> None:
    x = Tensor(np.arange(3))
    y = copy.copy(x)
    y[0] = 9
    x[1] = 8
    assert (x.tolist(), y.tolist()) == ([0, 8, 2], [9, 1, 2])


@pytest.mark.parametrize(
    "part",
    [lambda t: t[1], lambda t: t[-1:], lambda t: t[:, 0], lambda t: t[::-1], lambda t: t[1].reshape(3, 1), lambda t: next(iter(t))],
    ids=["row", "slice", "column", "backwards", "reshaped row", "row of a loop"],
)  # fmt: skip
@pytest.mark.parametrize("lazy", [False, True], ids=["in memory", "lazy"])
def test_a_write_to_a_part_that_would_be_lost_is_refused(
    part: Callable[[Tensor], Tensor], lazy: bool
) -> None:
    """t[1][2] += 1 does nothing to t, which numpy's views would change (tinygrad issue 6352)."""
    t = zeros((2, 3)) if lazy else Tensor(np.zeros((2, 3)))
    taken = part(t)
    for _ in range(2):
        with pytest.raises(GraphError, match=r"SL228.*a write to a part or another look of a tensor"):
            taken[0] = 1
        taken.realize()  # whether it is computed makes no difference
    copy = taken.clone()
    copy[0] = 1
    assert copy.numpy().any() and not t.numpy().any()
    with pytest.raises(GraphError, match="SL228"):
        Tensor(np.zeros((2, 3))).T[0, 1] = 1


@pytest.mark.usefixtures("executed")
@pytest.mark.parametrize(
    "made",
    [
        lambda t: t.pad([(0, 1), (0, 0)]), lambda t: t[1].pad([(1, 0)]), lambda t: t[1].astype(t.dtype),
        lambda t: concatenate([t[1:]]),
    ],
    ids=["padded", "padded row", "cast row", "joined alone"],
)  # fmt: skip
def test_what_numpy_makes_anew_can_be_written_to(made: Callable[[Tensor], Tensor]) -> None:
    t = Tensor(np.arange(6.0).reshape(2, 3))
    new = made(t)
    right = new.numpy()
    new[0] = 9
    right[0] = 9
    assert new.tolist() == right.tolist() and made(t).assign(7).numpy().min() == 7
    assert t.tolist() == [[0, 1, 2], [3, 4, 5]]
