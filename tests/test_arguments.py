"""What a node cannot be: every wrong argument is refused where the node is made, with its reason."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from schedulog.errors import GraphError
from schedulog.facts import build, dtype
from schedulog.facts.buffer import Buffer
from schedulog.facts.graph import graph_of
from schedulog.facts.node import ConstArg, Node, ReduceArg, node
from schedulog.facts.ops import Op
from schedulog.facts.record import read_record
from schedulog.facts.symbolic import Variable
from schedulog.facts.view import View, ViewStack
from schedulog.run import schedule


def memory(*shape: int) -> Node:
    return build.array(np.arange(math.prod(shape), dtype=np.float32).reshape(shape))


def refused(make: Callable[[], object]) -> GraphError:
    with pytest.raises(GraphError) as caught:
        make()
    return caught.value


def reduced(op: str, *axes: int) -> Callable[[], Node]:
    return lambda: node(Op.REDUCE_AXIS, (memory(2, 3),), ReduceArg(op, axes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message", "reason"),
    [
        (reduced("ADD", 1, 1), "axes (1, 1) of a reduction", "an axis stands twice"),
        (reduced("ADD", 1, 0), "axes (1, 0) of a reduction", "they are not ascending"),
        (reduced("ADD", 2), "axes (2,) of a reduction over 2 axes", "an axis is a number from 0 to 1"),
        (reduced("ADD", -1), "axes (-1,) of a reduction over 2 axes", "an axis is a number from 0 to 1"),
        (reduced("SUB", 0), "a reduction by SUB", ""),
        (
            lambda: node(Op.REDUCE_AXIS, (memory(),), ReduceArg("ADD", (0,))),
            "axes (0,) of a reduction over 0 axes",
            "a scalar has none",
        ),
        (lambda: build.reduce("ADD", memory(2, 3), (1, 1)), "axes (1, 1) of a reduction", "an axis stands twice"),
        (
            lambda: build.reduce("ADD", memory(2, 3), (-1,)),
            "axes (-1,) of a reduction over 2 axes",
            "an axis is a number from 0 to 1",
        ),
    ],
)  # fmt: skip
def test_axes_of_a_reduction(make: Callable[[], Node], message: str, reason: str) -> None:
    error = refused(make)
    assert (error.code, error.message, error.reason) == ("SL213", message, reason)


def test_axes_of_a_recorded_reduction() -> None:
    rows = [
        {"id": 0, "op": "BUFFER", "dtype": "float", "arg": {"num": 0, "size": 6}, "src": [], "device": "CPU"},
        {
            "id": 1,
            "op": "VIEW",
            "dtype": "float",
            "src": [0],
            "arg": {"view": [{"shape": [2, 3], "strides": [3, 1], "offset": 0, "mask": None}]},
        },
        {
            "id": 2,
            "op": "REDUCE_AXIS",
            "dtype": "float",
            "src": [1],
            "arg": {"alu": "ADD", "axes": [1, 1]},
        },
        {"id": 3, "op": "SINK", "dtype": "void", "src": [2], "arg": None},
    ]
    assert refused(lambda: read_record({"graph": rows})).code == "SL213"


def test_axes_in_another_order_are_the_same_reduction() -> None:
    x = memory(2, 3, 4)
    assert build.reduce("ADD", x, (2, 0)) is build.reduce("ADD", x, (0, 2))


def assigned(target: Node) -> Callable[[], Node]:
    value = build.const(1.0, dtype.float32, target.shape)
    return lambda: node(Op.ASSIGN, (target, value))


NOT_MEMORY = "only memory can be written to"
PADDING = "the view shows padding, where there is no memory to write to"
REPEATED = "the view shows one element of memory at several places, which would be several values for it"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (build.const(1.0, dtype.float32, (2,)), NOT_MEMORY),
        (build.alu(Op.NEG, memory(2)), NOT_MEMORY),
        (build.shrink(build.alu(Op.NEG, memory(2)), [(0, 1)]), NOT_MEMORY),
        (node(Op.CONTIGUOUS, (memory(2),)), NOT_MEMORY),
        (node(Op.BUFFER_VIEW, (build.alu(Op.NEG, memory(2)),), (1,), dtype.float32), NOT_MEMORY),
        (build.pad(memory(2), [(1, 0)]), PADDING),
        (build.expand(memory(1), (3,)), REPEATED),
        (build.expand(memory(2, 1), (2, 3)), REPEATED),
        (node(Op.VIEW, (memory(5),), ViewStack((View.create((3, 3), (1, 1)),))), REPEATED),
        (node(Op.VIEW, (memory(5),), ViewStack((View.create((2, 3), (2, 1)),))), REPEATED),
    ],
)
def test_what_cannot_be_assigned_to(target: Node, reason: str) -> None:
    error = refused(assigned(target))
    assert (error.code, error.message, error.reason) == ("SL214", f"cannot assign to {target!r}", reason)


@pytest.mark.parametrize(
    "target",
    [
        memory(2, 3),
        build.permute(memory(2, 3), (1, 0)),
        build.reshape(build.permute(memory(2, 3), (1, 0)), (6,)),
        build.flip(build.shrink(memory(4, 3), [(1, 3), (0, 2)]), (True, False)),
        build.shrink(build.expand(memory(1, 3), (4, 3)), [(2, 3), (0, 3)]),
        build.shrink(build.pad(memory(4), [(1, 1)]), [(1, 3)]),
        build.expand(memory(0, 1), (0, 3)),
        build.shrink(memory(4, 3), [(0, Variable("n", 1, 4, 2)), (0, 3)]),
        node(Op.BUFFER_VIEW, (memory(4),), (2,), dtype.float32),
        assigned(memory(2))(),
    ],
    ids=lambda target: str(target),
)
def test_what_can_be_assigned_to(target: Node) -> None:
    assert assigned(target)().op is Op.ASSIGN


def looks(base: Node, *views: View) -> Callable[[], Node]:
    return lambda: node(Op.VIEW, (base,), ViewStack(views))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (looks(memory(6), View.create((7,))), "a view touches elements 0 to 6 of 6"),
        (looks(memory(6), View.create((2, 3), (-3, -1))), "a view touches elements -5 to 0 of 6"),
        (looks(memory(6), View.create((2,), (1,), 5)), "a view touches elements 5 to 6 of 6"),
        (looks(memory(6), View.create((4,)), View.create((5,))), "a view touches elements 0 to 4 of 4"),
        (looks(memory(6), View.create((9,), (1,), -2, ((1, 8),))), "a view touches elements -1 to 5 of 6"),
        (looks(memory(6), View((2,), (1,), 0, ((0, 3),))), "a mask [[0, 3]] on a view of shape [2]"),
        (looks(memory(6), View((2,), (1,), 0, ((2, 1),))), "a mask [[2, 1]] on a view of shape [2]"),
        (lambda: node(Op.BUFFER_VIEW, (memory(6),), (7,), dtype.float32), "a window of 28 bytes into 24"),
        (lambda: node(Op.BUFFER_VIEW, (memory(6),), (25,), dtype.int8), "a window of 25 bytes into 24"),
    ],
)
def test_views_of_what_is_not_there(make: Callable[[], Node], message: str) -> None:
    error = refused(make)
    assert (error.code, error.message) == ("SL225", message)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: build.const(1, dtype.int8, (2**56 + 1,)), "a value of 72,057,594,037,927,937 x int8"),
        (lambda: build.expand(memory(1), (2**55,)), "a value of 36,028,797,018,963,968 x float32"),
        (lambda: build.pad(memory(1), [(2**62, 2**62)]), "a value of 9,223,372,036,854,775,809 x float32"),
        (lambda: build.const(1, dtype.int8, (2**40, 0, 2**40)), "a value of 1,208,925,819,614,629,174,706,176 x int8"),
        (lambda: build.buffer(Buffer(2**80, dtype.int8)), "a value of 1,208,925,819,614,629,174,706,176 x int8"),
        (
            lambda: build.shrink(build.const(0, dtype.int8, (2**56,)), [(0, Variable("n", 0, 2**60, 3))]),
            "a value of 1,152,921,504,606,846,976 x int8",
        ),
    ],
)  # fmt: skip
def test_values_larger_than_any_machine(make: Callable[[], Node], message: str) -> None:
    error = refused(make)
    assert (error.code, error.message) == ("SL226", message)
    assert build.const(1, dtype.int8, (2**56,)).size == 2**56


@pytest.mark.parametrize(
    "make",
    [
        lambda: build.const(1, dtype.int8, (1,) * 65),
        lambda: build.reshape(memory(1), (1,) * 65),
        lambda: build.reshape(build.permute(build.reshape(memory(6), (2, 3)), (1, 0)), (*(1,) * 64, 6)),
        lambda: node(Op.BUFFER_VIEW, (memory(1),), (1,) * 65, dtype.float32),
    ],
)
def test_shapes_of_more_axes_than_an_array_has(make: Callable[[], Node]) -> None:
    error = refused(make)
    assert (error.code, error.message) == ("SL227", "a shape of 65 axes")


def test_a_mask_hides_what_is_not_there() -> None:
    look = ViewStack((View.create((9,), (1,), -2, ((2, 8),)),))
    found = schedule([build.contiguous(node(Op.VIEW, (memory(6),), look))]).execute({}, "numpy")
    assert found["out0"].tolist() == [0, 0, 0, 1, 2, 3, 4, 5, 0]


@pytest.mark.parametrize(
    ("value", "kind", "kept"),
    [
        (-1, dtype.uint32, 2**32 - 1),
        (300, dtype.int8, 44),
        (3, dtype.float32, 3.0),
        (True, dtype.int32, 1),
        (2, dtype.bool_, True),
    ],
)
def test_a_constant_is_of_its_dtype(value: int, kind: dtype.DType, kept: float) -> None:
    made = node(Op.CONST, (), ConstArg(value, (), ""), kind)
    assert type(made.arg.value) is type(kept) and made.arg.value == kept
    assert made is build.const(kept, kind)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (math.nan, dtype.int8, "nan is not an int8 from -128 to 127"),
        (-math.inf, dtype.uint16, "-inf is not a uint16 from 0 to 65535"),
        (10**400, dtype.float64, "an integer of 401 digits is not a float64 of at most 1.79769e+308 in size"),
    ],
)
def test_a_constant_that_no_dtype_has(value: float, kind: dtype.DType, message: str) -> None:
    for make in (
        lambda: build.const(value, kind),
        lambda: node(Op.CONST, (), ConstArg(value, (), ""), kind),
    ):
        error = refused(make)
        assert (error.code, error.message) == ("SL216", message)


def test_names_and_shapes_of_a_graph() -> None:
    x, one = memory(2), Buffer(6, dtype.float32)
    cases = {
        "two outputs are called `a`": lambda: graph_of([x, x], outputs=["a", "a"]),
        "1 names for 2 outputs": lambda: graph_of([x, x], outputs=["a"]),
        "inputs `x` and `y` are one memory": lambda: graph_of([x], inputs={"x": one, "y": one}),
        "input `x` of shape [2, 2] in memory of 6 elements": lambda: graph_of(
            [x], inputs={"x": one}, input_shapes={"x": (2, 2)}
        ),
    }
    for message, make in cases.items():
        error = refused(make)
        assert (error.code, error.message) == ("SL213", message)
