"""Composed operations equal numpy's and keep every value exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from schedulog.errors import GraphError
from schedulog.facts import build, compose, dtype
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Variable
from schedulog.runtimes.evaluate import evaluate


def value(root: Node) -> NDArray[Any]:
    return evaluate([root], {})[0]


def grid(*shape: int) -> NDArray[Any]:
    return np.arange(math.prod(shape), dtype=np.float32).reshape(shape)


shapes = st.lists(st.sampled_from([1, 2, 3]), max_size=3).map(tuple)


@given(st.lists(shapes, min_size=1, max_size=3))
@settings(max_examples=200, deadline=None)
def test_shapes_broadcast_as_in_numpy(given_shapes: list[tuple[int, ...]]) -> None:
    try:
        expected = np.broadcast_shapes(*given_shapes)
    except ValueError:
        with pytest.raises(GraphError) as caught:
            compose.broadcast_shapes(*given_shapes)
        assert caught.value.code == "SL211"
        return
    assert compose.broadcast_shapes(*given_shapes) == expected
    for shape in given_shapes:
        whole = value(compose.broadcast_to(build.array(grid(*shape)), expected))
        np.testing.assert_array_equal(whole, np.broadcast_to(grid(*shape), expected))


def test_a_broadcast_constant_is_one_node() -> None:
    one = compose.broadcast_to(build.const(1, dtype.int32, (3, 1)), (2, 3, 4))
    assert one.op is Op.CONST and one is build.const(1, dtype.int32, (2, 3, 4))


def test_symbolic_sizes_broadcast_with_themselves_and_with_one() -> None:
    n, m = Variable("n", 1, 8, 3), Variable("m", 1, 8)
    assert compose.broadcast_shapes((n, 1), (4,)) == (n, 4)
    with pytest.raises(GraphError):
        compose.broadcast_shapes((n,), (m,))
    x = build.shrink(build.array(grid(8, 2)), [(0, n), (0, 2)])
    assert value(compose.reduced("ADD", x, (0,))).tolist() == [6.0, 9.0]
    joined = compose.concat([x, build.array(grid(1, 2))], 0)
    assert value(joined).tolist() == [[0, 1], [2, 3], [4, 5], [0, 1]]


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.uint64, np.float16, np.float64])
def test_concatenation_keeps_every_value(kind: Any) -> None:
    special = [0, 1, 1] if np.dtype(kind).kind != "f" else [-0.0, math.nan, -math.inf]
    parts = [np.array([special], kind), np.array([special, special], kind)[:, ::-1], np.zeros((0, 3), kind)]
    joined = value(compose.concat([build.array(p) for p in parts], 0))
    assert joined.tobytes() == np.concatenate(parts).tobytes()


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_strided_slices_equal_numpy(data: st.DataObject) -> None:
    x = grid(*data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    bound, step = st.integers(-9, 9), st.sampled_from([-3, -2, -1, 1, 2, 4])
    triples = [data.draw(st.tuples(bound, bound, step)) for _ in x.shape]
    ranges = [range(*slice(*t).indices(size)) for t, size in zip(triples, x.shape, strict=True)]
    result = value(compose.select(build.array(x), ranges))
    np.testing.assert_array_equal(result, x[tuple(slice(*t) for t in triples)])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint8])
def test_gather_equals_take(axis: int, kind: Any) -> None:
    table = grid(3, 4, 5)
    table[0, 0, 0], table[1, 1, 1], table[2, 2, 2] = math.nan, -math.inf, -0.0
    low = 0 if kind is np.uint8 else -3
    indices = np.random.default_rng(0).integers(low, 3, (2, 6)).astype(kind)
    result = value(compose.gather(build.array(table), build.array(indices), axis))
    assert result.tobytes() == np.take(table, indices, axis).tobytes()
    one = value(compose.gather(build.array(table), build.const(1, dtype.int32), axis))
    np.testing.assert_array_equal(one, np.take(table, 1, axis))


def test_gather_out_of_range_gives_the_minimum() -> None:
    table, indices = build.array(grid(3)), build.array(np.array([3, -4, 0]))
    assert value(compose.gather(table, indices, 0)).tolist() == [-math.inf, -math.inf, 0.0]


def test_softmax_does_not_overflow() -> None:
    x = build.array(np.array([[1000.0, 1000.0], [-1000.0, 0.0]]))
    assert value(compose.softmax(x, -1)).tolist() == [[0.5, 0.5], [0.0, 1.0]]


def test_mean_and_arange() -> None:
    x = build.array(grid(2, 3))
    assert value(compose.mean(x, (1,))).tolist() == [1.0, 4.0]
    assert value(compose.mean(x, (0, -1), keepdims=True)).tolist() == [[2.5]]
    assert value(compose.arange(4, dtype.int16)).tolist() == [0, 1, 2, 3]
    assert value(compose.arange(0, dtype.float32)).shape == (0,)


X = build.array(grid(2, 3))
BAD: list[tuple[Callable[[], object], str, str]] = [
    (lambda: compose.broadcast_to(X, (3, 3)), "SL211", "shapes [2, 3] and [3, 3] do not broadcast"),
    (lambda: compose.broadcast_to(X, (3,)), "SL211", "shapes [2, 3] and [3] do not broadcast"),
    (lambda: compose.binary(Op.ADD, X, build.const(1, dtype.int8)), "SL212", "ADD of dtypes float32 and int8"),
    (lambda: compose.concat([], 0), "SL213", "nothing to concatenate"),
    (lambda: compose.concat([X, X], 2), "SL215", "axis 2 of a value with 2 axes"),
    (lambda: compose.concat([X, build.const(1, dtype.int8, (2, 3))], 0), "SL212", "cannot concatenate float32 and int8"),
    (lambda: compose.matmul(X, X), "SL211", "matrix product of shapes [2, 3] and [2, 3]"),
    (lambda: compose.matmul(X, build.const(1.0, dtype.float32)), "SL211", "matrix product of shapes [2, 3] and []"),
    (lambda: compose.gather(X, X, 0), "SL212", "indices of dtype float32"),
]  # fmt: skip


@pytest.mark.parametrize(("action", "code", "message"), BAD)
def test_mistakes_are_named(action: Callable[[], object], code: str, message: str) -> None:
    with pytest.raises(GraphError) as caught:
        action()
    assert caught.value.code == code and caught.value.message.startswith(message)
