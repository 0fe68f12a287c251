"""ONNX models that contradict themselves, and what an index that is computed may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from schedulog.errors import GraphError
from schedulog.facts.onnx.reader import read_onnx
from schedulog.run import schedule
from schedulog.runtimes import devices

onnx = pytest.importorskip("onnx", reason="the onnx package is not installed: pip install schedulog[onnx]")

FLOAT, INT64, BOOL = 1, 7, 9
Value = tuple[str, int, Sequence[int | str | None] | None]


def model(
    nodes: Sequence[Any], inputs: Sequence[Value], outputs: Sequence[Value], constants: Sequence[str] = ()
) -> bytes:
    info = onnx.helper.make_tensor_value_info
    made = onnx.helper.make_graph(
        list(nodes),
        "made",
        [info(*v) for v in inputs],
        [info(*v) for v in outputs],
        [onnx.numpy_helper.from_array(np.ones(3, np.float32), n) for n in constants],
    )
    opsets = [onnx.helper.make_opsetid("", 17)]
    return bytes(onnx.helper.make_model(made, opset_imports=opsets, ir_version=8).SerializeToString())


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return onnx.helper.make_node(op, inputs.split(), outputs.split(), name=f"{op} {outputs}", **attributes)


X: Value = ("x", FLOAT, [2, 3])
Y: Value = ("y", FLOAT, [2, 3])
RELU = node("Relu", "x", "y")


@pytest.mark.parametrize(
    ("content", "message", "where"),
    [
        (model([RELU, node("Neg", "x", "y")], [X], [Y]), "`y` names two values", "Neg `Neg y` of <bytes>"),
        (model([node("Neg", "x", "x"), RELU], [X], [Y]), "`x` names two values", "Neg `Neg x` of <bytes>"),
        (model([node("Split", "x", "a a"), RELU], [X], [Y]), "`a` names two values", "Split `Split a a` of <bytes>"),
        (model([RELU], [X, X], [Y]), "`x` names two values", "input `x` of <bytes>"),
        (model([RELU], [X], [Y], ["y"]), "`y` names two values", "Relu `Relu y` of <bytes>"),
        (model([RELU], [X], [Y], ["w", "w"]), "`w` names two values", "initializer `w` of <bytes>"),
        (model([RELU], [X], [Y, Y]), "two outputs are called `y`", "<bytes>"),
        (
            model([RELU], [X], [("y", FLOAT, [7])]),
            "output `y` is declared with the shape [7]",
            "<bytes>",
        ),
        (
            model([RELU], [X], [("y", FLOAT, ["n", 4])]),
            "output `y` is declared with the shape [n, 4]",
            "<bytes>",
        ),
    ],
)  # fmt: skip
def test_a_model_that_contradicts_itself_is_refused(content: bytes, message: str, where: str) -> None:
    with pytest.raises(GraphError) as caught:
        read_onnx(content)
    assert (caught.value.code, caught.value.message, str(caught.value.where)) == ("SL245", message, where)


@pytest.mark.parametrize("dims", [None, [2, 3], ["n", 3], [2, "m"]])
def test_open_dims_of_an_output_fit_any_size(dims: Sequence[int | str] | None) -> None:
    assert read_onnx(model([RELU], [X], [("y", FLOAT, dims)])).sink.src[0].shape == (2, 3)


def test_an_input_with_a_value_of_its_own_is_one_value() -> None:
    graph = read_onnx(model([node("Add", "x w", "y")], [X, ("w", FLOAT, [3])], [Y], ["w"]))
    assert list(graph.inputs) == ["x"]


def branch(*operations: Any, result: str) -> Any:
    info = onnx.helper.make_tensor_value_info
    return onnx.helper.make_graph(list(operations), "branch", [], [info(result, FLOAT, None)])


def test_branches_may_use_a_name_twice_but_not_one_of_outside() -> None:
    condition: Value = ("c", BOOL, [])
    for name, fits in (("a", True), ("x", False)):
        then, otherwise = branch(node("Neg", "x", name), result=name), branch(
            node("Abs", "x", name), result=name
        )  # fmt: skip
        content = model([node("If", "c", "y", then_branch=then, else_branch=otherwise)], [X, condition], [Y])
        if fits:
            assert read_onnx(content, constants={"c": np.array(True)}).outputs == ("y",)
            continue
        with pytest.raises(GraphError) as caught:
            read_onnx(content, constants={"c": np.array(True)})
        assert (caught.value.code, caught.value.message) == ("SL245", "`x` names two values")


@pytest.mark.parametrize("device", [name for name in ("c", "numpy") if devices()[name] is None])
@pytest.mark.parametrize("op", ["Gather", "GatherElements"])
@pytest.mark.parametrize(
    ("kind", "least"),
    [(np.float32, -np.inf), (np.float16, -np.inf), (np.int32, -(2**31)), (np.int8, -128), (np.uint8, 0)],
)
def test_a_computed_index_outside_gives_the_least_value(
    device: str, op: str, kind: type[np.generic], least: float
) -> None:
    """ONNX leaves it undefined and code cannot refuse it. Indices from -size to size - 1 are inside."""
    table, indices = np.array([5, 6, 7], kind), np.array([2, 3, -3, -4, 2**40])
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    content = model([node(op, "x i", "y")], [("x", number, [3]), ("i", INT64, [5])], [("y", number, [5])])
    found = schedule(read_onnx(content)).execute({"x": table, "i": indices}, device)["y"]
    assert found.tolist() == [7, least, 5, least, least]


@pytest.mark.parametrize("device", [name for name in ("c", "numpy") if devices()[name] is None])
def test_what_else_onnx_leaves_undefined(device: str) -> None:
    """As docs/onnx.md says it: a division of integers by 0, the maximum of nothing."""
    pair: Value = ("x", INT64, [2])
    given = {"x": np.array([7, -7]), "d": np.array([0, 0])}
    for op in ("Div", "Mod"):
        graph = read_onnx(model([node(op, "x d", "y")], [pair, ("d", INT64, [2])], [("y", INT64, [2])]))
        assert schedule(graph).execute(given, device)["y"].tolist() == [0, 0]
    empty = read_onnx(
        model([node("ReduceMax", "e", "y", axes=[1])], [("e", FLOAT, [2, 0])], [("y", FLOAT, [2, 1])])
    )
    found = schedule(empty).execute({"e": np.zeros((2, 0), np.float32)}, device)["y"]
    assert found.tolist() == [[-np.inf], [-np.inf]]
