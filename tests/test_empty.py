"""Values without elements: every movement of them, and what a reduction over nothing is, on every device alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from schedulog.errors import GraphError
from schedulog.facts import build, dtype
from schedulog.facts.build import identity
from schedulog.facts.json_format import read_graph
from schedulog.facts.node import Node, ReduceArg, ReduceOp, node
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Variable
from schedulog.run import schedule
from schedulog.runtimes import devices
from schedulog.runtimes.evaluate import evaluate
from schedulog.tensor import Tensor

Array = NDArray[Any]
Case = tuple[Node, Array]

DEVICES = [name for name in ("c", "numpy") if devices()[name] is None]
REDUCTIONS: tuple[ReduceOp, ...] = ("ADD", "MUL", "MAX")
UFUNC: dict[ReduceOp, np.ufunc] = {"ADD": np.add, "MUL": np.multiply, "MAX": np.maximum}


def reduced(op: ReduceOp, n: Node, axes: tuple[int, ...]) -> Node:
    """A reduction as a file can hold it: also over axes of which `build.reduce` knows the result."""
    return node(Op.REDUCE_AXIS, (n,), ReduceArg(op, axes))


def moved(draw: st.DrawFn, case: Case) -> Case:
    n, expected = case
    shape = expected.shape
    match draw(
        st.sampled_from(["pad", "shrink", "flip", "permute", "reshape", "expand", "neg", "store", "reduce"])
    ):
        case "pad":
            widths = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in shape]
            return build.pad(n, widths), np.pad(expected, widths) if shape else expected
        case "shrink":
            bounds = [(b := draw(st.integers(0, s)), draw(st.integers(b, s))) for s in shape]
            return build.shrink(n, bounds), expected[tuple(slice(b, e) for b, e in bounds)]
        case "flip":
            axes = [draw(st.booleans()) for _ in shape]
            return build.flip(n, axes), np.flip(expected, tuple(i for i, a in enumerate(axes) if a))
        case "permute":
            order = draw(st.permutations(range(len(shape))))
            return build.permute(n, order), expected.transpose(order)
        case "reshape":
            new = tuple(draw(st.permutations((*shape, 1))))
            if 0 in shape:
                new = (*draw(st.lists(st.integers(0, 3), max_size=3)), 0)
            return build.reshape(n, new), expected.reshape(new)
        case "expand":
            wide = tuple(draw(st.integers(0, 3)) if s == 1 else s for s in shape)
            return build.expand(n, wide), np.broadcast_to(expected, wide)
        case "neg":
            return build.alu(Op.SUB, build.const(1, n.dtype, shape), n), 1 - expected
        case "store":
            return build.contiguous(n), expected
        case _:
            axes_ = tuple(i for i in range(len(shape)) if draw(st.booleans()))
            op = draw(st.sampled_from(REDUCTIONS))
            least = identity(op, n.dtype)
            return reduced(op, n, axes_), UFUNC[op].reduce(expected, axes_, keepdims=True, initial=least)


@st.composite
def program(draw: st.DrawFn) -> Case:
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    expected = np.arange(1, math.prod(shape) + 1, dtype=np.int32).reshape(shape)
    case: Case = (build.array(expected), expected)
    for _ in range(draw(st.integers(1, 6))):
        case = moved(draw, case)
    return case


@pytest.mark.parametrize("device", DEVICES)
@given(cases=st.lists(program(), min_size=6, max_size=25))
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
def test_every_movement_of_nothing(device: str, cases: list[Case]) -> None:
    values = schedule([n for n, _ in cases]).execute({}, device)
    for found, (_, expected) in zip(values.values(), cases, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("device", DEVICES)
def test_padding_around_nothing(device: str) -> None:
    around = Tensor(np.zeros((0, 1, 4))).pad([(2, 0), (0, 0), (0, 3)]) + 1
    around.realize(device=device)
    np.testing.assert_array_equal(around.numpy(), np.ones((2, 1, 7)))


KINDS = [
    dtype.bool_, dtype.int8, dtype.uint8, dtype.int32, dtype.int64, dtype.uint64, dtype.float16, dtype.bfloat16,
    dtype.float32, dtype.float64,
]  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
def test_a_reduction_over_nothing_is_the_identity(device: str) -> None:
    wanted: dict[str, Array] = {}
    nodes: list[Node] = []
    for kind in KINDS:
        for op in REDUCTIONS:
            source = build.alu(Op.MAX, *[build.array(np.zeros((2, 0, 3), kind.to_numpy()))] * 2)
            nodes.append(reduced(op, source, (0, 1)))
            wanted[f"out{len(wanted)}"] = np.full((1, 1, 3), identity(op, kind), kind.to_numpy())
    found = schedule(nodes).execute({}, device)
    for name, expected in wanted.items():
        np.testing.assert_array_equal(found[name], expected)
        assert found[name].dtype == expected.dtype


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("most", "value"), [(0, 0), (4, 0), (4, 2)])
def test_a_reduction_over_a_symbolic_axis(device: str, most: int, value: int) -> None:
    n = Variable("n", 0, most, value)
    table = np.arange(-24, 0, dtype=np.int32).reshape(6, 4)
    part = build.shrink(build.array(table), [(0, 6), (0, n)])
    for op in REDUCTIONS:
        (whole,) = schedule([reduced(op, build.alu(Op.MAX, part, part), (0, 1))]).execute({}, device).values()
        least = identity(op, dtype.int32)
        np.testing.assert_array_equal(
            whole, UFUNC[op].reduce(table[:, :value], (0, 1), np.int32, keepdims=True, initial=least)
        )


@pytest.mark.parametrize("device", DEVICES)
def test_one_kernel_for_all_sizes_down_to_nothing(device: str) -> None:
    n = Variable("n", 0, 4, 3)
    part = build.shrink(build.array(np.array([-5, -2, -9, -1], np.int32)), [(0, n)])
    run = schedule([reduced("MAX", part, (0,))])
    found = [run.execute({}, device, variables={"n": k})["out0"].tolist() for k in range(5)]
    assert found == [[-(2**31)], [-5], [-2], [-2], [-1]]


@pytest.mark.parametrize("device", DEVICES)
def test_the_maximum_of_nothing_in_a_graph_file(device: str) -> None:
    graph = read_graph(
        '{"format": "schedulog-graph", "version": 1, "nodes": ['
        '{"id": "x", "op": "BUFFER", "dtype": "int32", "arg": {"size": 0, "data": []}},'
        '{"id": "v", "op": "VIEW", "src": ["x"], "arg": [{"shape": [2, 0]}]},'
        '{"id": "m", "op": "REDUCE_AXIS", "src": ["v"], "arg": {"op": "MAX", "axes": [1]}}], "outputs": {"m": "m"}}'
    )
    assert schedule(graph).execute({}, device)["m"].tolist() == [[-(2**31)], [-(2**31)]]


def test_the_maximum_of_no_numbers_is_refused_to_people() -> None:
    with pytest.raises(GraphError) as caught:
        Tensor(np.zeros((2, 0))).max(axis=1)
    assert caught.value.code == "SL213"
    assert (
        evaluate([build.reduce("MAX", build.array(np.zeros((2, 0))), (1,))], {})[0].tolist()
        == [[-math.inf]] * 2
    )
