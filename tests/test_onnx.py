"""The ONNX front end: loading, binding, folding, lowering, and every refusal."""

from __future__ import annotations

import importlib.util
import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from schedulog.errors import GraphError
from schedulog.facts.graph import Graph
from schedulog.facts.onnx.reader import read_onnx
from schedulog.facts.ops import Op
from schedulog.runtimes.evaluate import reference

onnx = pytest.importorskip("onnx", reason="the onnx package is not installed: pip install schedulog[onnx]")

HERE = Path(__file__).resolve().parent
FLOAT, INT32, INT64, BOOL, FLOAT16 = 1, 6, 7, 9, 10
Array = NDArray[Any]
Declared = Mapping[str, tuple[int, Sequence[int | str | None] | None]]
RANDOM = 7


def numbers(*shape: int) -> Array:
    """Random float32 of both signs."""
    return np.random.default_rng(RANDOM).standard_normal(shape).astype(np.float32)


def node(op_type: str, inputs: str, outputs: str = "y", **attributes: Any) -> Any:
    """An ONNX node; names are separated by blanks, and `-` stands for one left out."""
    names = ["" if n == "-" else n for n in inputs.split()]
    return onnx.helper.make_node(op_type, names, outputs.split(), name=f"the_{op_type}", **attributes)


def model(
    nodes: Sequence[Any],
    inputs: Declared,
    outputs: Mapping[str, int],
    constants: Mapping[str, Array] | None = None,
    opset: int = 17,
    **fields: Any,
) -> bytes:
    """A file of these nodes, in bytes. Inputs are (element type, shape)."""
    made = onnx.helper.make_graph(
        list(nodes),
        "made",
        [onnx.helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()],
        [onnx.helper.make_tensor_value_info(n, t, None) for n, t in outputs.items()],
        [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()],
    )
    opsets = [onnx.helper.make_opsetid("", opset)]
    whole = onnx.helper.make_model(made, opset_imports=opsets, ir_version=8, **fields)
    return bytes(whole.SerializeToString())


def element_type(array: Array) -> int:
    return int(onnx.helper.np_dtype_to_tensor_dtype(array.dtype))


def graph(
    op: Any,
    given: Mapping[str, Array],
    constants: Mapping[str, Array] | None = None,
    opset: int = 17,
    result: int = FLOAT,
) -> Graph:
    """The graph of one node with an output y."""
    inputs = {n: (element_type(a), a.shape) for n, a in given.items()}
    return read_onnx(model([op], inputs, {"y": result}, constants, opset))


def run(
    op: Any,
    given: Mapping[str, Array],
    constants: Mapping[str, Array] | None = None,
    opset: int = 17,
    result: int = FLOAT,
) -> Array:
    """What one node with an output y gives."""
    return reference(graph(op, given, constants, opset, result), given)["y"]


def refusal(content: bytes | str | Path, code: str, **binding: Any) -> GraphError:
    """The error with which reading ends; it must have this code, a place and a way out."""
    with pytest.raises(GraphError) as caught:
        read_onnx(content, **binding)
    assert caught.value.code == code, str(caught.value)
    assert caught.value.where
    return caught.value


def node_ops(made: Graph) -> set[Op]:
    return {n.op for n in made.nodes}


# Inputs and outputs


def test_names_shapes_and_labels_come_from_the_file() -> None:
    content = model(
        [node("Mul", "x w", "product"), node("Relu", "product", "y")],
        {"x": (FLOAT, (2, 3))},
        {"y": FLOAT},
        {"w": np.array([1, 2, 3], np.float32)},
    )
    made = read_onnx(content)
    assert made.name == "made"
    assert made.outputs == ("y",)
    assert dict(made.input_shapes) == {"x": (2, 3)}
    assert made.inputs["x"].size == 6 and made.inputs["x"].array is None
    weights = [b for b in made.buffers if b.array is not None]
    assert [(b.name, b.array.tolist()) for b in weights if b.array is not None] == [("w", [1, 2, 3])]
    assert {n.op: n.label for n in made.nodes if n.op in (Op.MUL, Op.MAX)} == {
        Op.MUL: "the_Mul",
        Op.MAX: "the_Relu",
    }
    x = numbers(2, 3)
    np.testing.assert_array_equal(reference(made, {"x": x})["y"], np.maximum(x * [1, 2, 3], 0))


def test_an_unnamed_node_is_labelled_by_its_output() -> None:
    bare = onnx.helper.make_node("Exp", ["x"], ["risen"])
    made = read_onnx(model([bare], {"x": (FLOAT, (2,))}, {"risen": FLOAT}))
    assert [n.label for n in made.nodes if n.op is Op.EXP] == ["risen"]


def test_a_file_is_read_from_its_path(tmp_path: Path) -> None:
    path = tmp_path / "negated.onnx"
    path.write_bytes(model([node("Neg", "x")], {"x": (FLOAT, (2,))}, {"y": FLOAT}))
    given = np.array([1, -2], np.float32)
    for place in (path, str(path)):
        assert reference(read_onnx(place), {"x": given})["y"].tolist() == [-1, 2]


def test_weights_beside_the_file_are_found(tmp_path: Path) -> None:
    whole = onnx.load_model_from_string(
        model([node("Add", "x w")], {"x": (FLOAT, (300,))}, {"y": FLOAT}, {"w": numbers(300)})
    )
    path = tmp_path / "apart.onnx"
    onnx.save_model(whole, str(path), save_as_external_data=True, location="apart.bin", size_threshold=0)
    zeros = np.zeros(300, np.float32)
    np.testing.assert_array_equal(reference(read_onnx(path), {"x": zeros})["y"], numbers(300))
    (tmp_path / "apart.bin").unlink()
    assert "external data" in refusal(path, "SL241").message


def test_initializers_listed_as_inputs_are_constants() -> None:
    content = model(
        [node("Add", "x w")],
        {"x": (FLOAT, (2,)), "w": (FLOAT, (2,))},
        {"y": FLOAT},
        {"w": np.array([1, 2], np.float32)},
        opset=9,
    )
    assert list(read_onnx(content).inputs) == ["x"]


def test_an_input_that_is_an_output_passes() -> None:
    made = read_onnx(model([node("Identity", "x")], {"x": (FLOAT, (2, 2))}, {"y": FLOAT}))
    x = numbers(2, 2)
    np.testing.assert_array_equal(reference(made, {"x": x})["y"], x)


def test_local_functions_are_inlined() -> None:
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("mine", 1)]
    twice = onnx.helper.make_function(
        "mine", "Twice", ["a"], ["b"], [onnx.helper.make_node("Add", ["a", "a"], ["b"])], opsets[:1]
    )
    call = onnx.helper.make_node("Twice", ["x"], ["y"], domain="mine")
    made = onnx.helper.make_graph(
        [call],
        "made",
        [onnx.helper.make_tensor_value_info("x", FLOAT, (2,))],
        [onnx.helper.make_tensor_value_info("y", FLOAT, (2,))],
    )
    whole = onnx.helper.make_model(made, opset_imports=opsets, functions=[twice], ir_version=8)
    result = reference(read_onnx(whole.SerializeToString()), {"x": np.array([1, 2], np.float32)})
    assert result["y"].tolist() == [2, 4]


# Binding dims

OPEN: Declared = {"x": (FLOAT, ("batch", "length")), "z": (FLOAT, (2, "batch"))}


def open_model() -> bytes:
    return model([node("Relu", "x"), node("Neg", "z", "v")], OPEN, {"y": FLOAT, "v": FLOAT})


def test_a_leading_open_dim_is_one_and_the_same_everywhere() -> None:
    assert dict(read_onnx(open_model(), dims={"length": 5}).input_shapes) == {"x": (1, 5), "z": (2, 1)}


def test_dims_bind_by_name() -> None:
    made = read_onnx(open_model(), dims={"length": 5, "batch": 3})
    assert dict(made.input_shapes) == {"x": (3, 5), "z": (2, 3)}


def test_a_given_shape_binds_its_dims_everywhere() -> None:
    made = read_onnx(open_model(), inputs={"x": (4, 6)})
    assert dict(made.input_shapes) == {"x": (4, 6), "z": (2, 4)}


def test_an_unbound_dim_is_named_with_the_way_to_bind_it() -> None:
    error = refusal(open_model(), "SL242")
    assert error.message == "dim 1 (`length`) of input `x` has no size"
    assert error.help == (
        "bind it with --dim length=1 (dims={'length': 1}), or give the whole shape: --shape x=1,3,8 "
        "(inputs={'x': (1, 3, 8)})"
    )


def test_a_nameless_dim_needs_the_whole_shape() -> None:
    content = model([node("Relu", "x")], {"x": (FLOAT, (None, None))}, {"y": FLOAT})
    error = refusal(content, "SL242")
    assert error.message == "dim 1 of input `x` has no size"
    assert error.help == "give the whole shape: --shape x=1,3,8 (inputs={'x': (1, 3, 8)})"
    assert read_onnx(content, inputs={"x": (2, 2)}).input_shapes["x"] == (2, 2)


def test_an_input_without_shape_needs_one() -> None:
    content = model([node("Relu", "x")], {"x": (FLOAT, None)}, {"y": FLOAT})
    assert "no declared shape" in refusal(content, "SL242").message
    assert read_onnx(content, inputs={"x": (3,)}).input_shapes["x"] == (3,)


def test_a_leading_dim_that_is_taken_as_1_is_told() -> None:
    shapes = {"x": (FLOAT, ("batch", 3)), "y": (FLOAT, (None, 3)), "z": (FLOAT, (2, 3))}
    content = model([node("Sum", "x y z", "w")], shapes, {"w": FLOAT})
    assert read_onnx(content).assumed == {"batch": 1, "y[0]": 1}
    assert read_onnx(content, dims={"batch": 2}).assumed == {"y[0]": 1}
    assert read_onnx(content, dims={"batch": 2}, inputs={"y": (2, 3)}).assumed == {}
    fixed = read_onnx(content, constants={"x": np.zeros((2, 3), np.float32)})
    assert (fixed.assumed, list(fixed.inputs)) == ({"y[0]": 1}, ["y", "z"])


def test_a_fixed_input_tells_the_sizes_it_shares() -> None:
    content = model([node("Add", "x y", "z")], {"x": (FLOAT, ("n", 2)), "y": (FLOAT, ("n", 2))}, {"z": FLOAT})
    fixed = read_onnx(content, constants={"x": np.zeros((3, 2), np.float32)})
    assert fixed.input_shapes == {"y": (3, 2)}
    with pytest.raises(GraphError, match=r"`x` cannot have the shape \[3, 2\]"):
        read_onnx(content, dims={"n": 4}, constants={"x": np.zeros((3, 2), np.float32)})


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (FLOAT, 0.1, np.array([0.1], np.float32)),
        (FLOAT, 3, np.array([3], np.float32)),
        (FLOAT, [4.0], np.array([4], np.float32)),
        (FLOAT, float("inf"), np.array([np.inf], np.float32)),
        (INT64, 5.0, np.array([5], np.int64)),
        (INT64, 2.5, None),
        (INT64, "five", None),
        (FLOAT, 1e39, None),
        (FLOAT, 16_777_217, None),
        (FLOAT, [1.0, 2.0], None),
    ],
)
def test_numbers_are_converted_where_nothing_is_lost(kind: int, given: Any, expected: Any) -> None:
    content = model([node("Add", "x k", "z")], {"x": (kind, (1,)), "k": (kind, (1,))}, {"z": kind})
    if expected is None:
        with pytest.raises(GraphError, match="input `k` cannot be this") as caught:
            read_onnx(content, constants={"k": given})
        assert caught.value.code == "SL242"
        return
    x = np.zeros(1, expected.dtype)
    found = reference(read_onnx(content, constants={"k": given}), {"x": x})
    np.testing.assert_array_equal(found["z"], expected)


@pytest.mark.parametrize(
    ("binding", "words"),
    [
        ({"dims": {"width": 1}}, "no dim called `width`"),
        ({"inputs": {"w": (1,)}}, "no input called `w`"),
        ({"inputs": {"x": (1, 2, 3)}}, "cannot have the shape [1, 2, 3]"),
        ({"inputs": {"z": (3, 1)}, "dims": {"length": 1}}, "cannot have the shape [3, 1]"),
        ({"inputs": {"x": (1, 2), "z": (2, 3)}}, "cannot have the shape [2, 3]"),
        ({"dims": {"length": -1}}, "cannot be -1"),
        ({"constants": {"w": np.zeros(1)}}, "no input called `w`"),
        ({"constants": {"x": np.zeros((1, 1))}}, "cannot be this float64[1, 1]"),
        ({"constants": {"z": np.zeros((3, 1), np.float32)}}, "cannot be this float32[3, 1]"),
    ],
)
def test_bindings_that_do_not_fit_are_refused(binding: Mapping[str, Any], words: str) -> None:
    assert words in refusal(open_model(), "SL242", **binding).message


# Folding


def test_shapes_fold_away() -> None:
    content = model(
        [
            node("Shape", "x", "s"),
            node("Gather", "s first", "n"),
            node("Unsqueeze", "n zero", "n1"),
            node("Mul", "n1 two", "n2"),
            node("Concat", "n2 rest", "target", axis=0),
            node("Reshape", "x target", "y"),
        ],
        {"x": (FLOAT, (3, 4))},
        {"y": FLOAT},
        {"first": np.array(0), "zero": np.array([0]), "two": np.array([2]), "rest": np.array([-1])},
    )
    made = read_onnx(content)
    assert node_ops(made) == {Op.BUFFER, Op.VIEW, Op.SINK}
    x = numbers(3, 4)
    np.testing.assert_array_equal(reference(made, {"x": x})["y"], x.reshape(6, 2))


def test_equal_weights_are_one_constant() -> None:
    content = model(
        [node("ConstantOfShape", "s", "w"), node("Unsqueeze", "w axes", "w2"), node("MatMul", "x w2", "y")],
        {"x": (FLOAT, (2, 1000))},
        {"y": FLOAT},
        {"s": np.array([1000]), "axes": np.array([1])},
    )
    made = read_onnx(content)
    assert [b.name for b in made.buffers] == ["x"]
    assert reference(made, {"x": np.ones((2, 1000), np.float32)})["y"].tolist() == [[0], [0]]


def test_negative_zero_and_nan_are_kept_in_constants() -> None:
    values = np.array([0.0, -0.0], np.float32)
    made = graph(node("Add", "x w"), {"x": np.zeros(2, np.float32)}, {"w": values})
    assert any(b.array is not None and np.signbit(b.array).tolist() == [False, True] for b in made.buffers)
    result = run(node("Add", "x w"), {"x": np.zeros(2, np.float32)}, {"w": np.full(2, np.nan, np.float32)})
    assert np.isnan(result).all()


def test_dead_nodes_are_not_looked_at() -> None:
    content = model(
        [node("Unheard", "x", "dead"), node("Exp", "x", "dead2"), node("Neg", "x", "y")],
        {"x": (FLOAT, (2,))},
        {"y": FLOAT},
    )
    assert node_ops(read_onnx(content)) == {Op.BUFFER, Op.NEG, Op.SINK}


def branching() -> bytes:
    def branch(op_type: str, name: str) -> Any:
        out = onnx.helper.make_tensor_value_info(name, FLOAT, None)
        return onnx.helper.make_graph([onnx.helper.make_node(op_type, ["x"], [name])], name, [], [out])

    return model(
        [
            node("Equal", "rate wanted", "same"),
            node("If", "same", "y", then_branch=branch("Neg", "a"), else_branch=branch("Unheard", "b")),
        ],
        {"x": (FLOAT, (2,)), "rate": (INT64, ())},
        {"y": FLOAT},
        {"wanted": np.array(16000)},
    )


def test_a_known_condition_inlines_its_branch() -> None:
    made = read_onnx(branching(), constants={"rate": np.array(16000)})
    assert list(made.inputs) == ["x"]
    assert reference(made, {"x": np.array([1, 2], np.float32)})["y"].tolist() == [-1, -2]
    assert "Unheard" in refusal(branching(), "SL243", constants={"rate": np.array(8000)}).message


def test_an_open_condition_is_refused() -> None:
    error = refusal(branching(), "SL244")
    assert error.message == "If with conditions that depend on the inputs is not supported"


def test_a_long_chain_of_nodes_passes() -> None:
    nodes = [node("Neg", f"v{i}", f"v{i + 1}") for i in range(5000)]
    made = read_onnx(model(nodes, {"v0": (FLOAT, (2,))}, {"v5000": FLOAT}))
    assert len(made.nodes) == 5002


# Elementwise

A = np.array([-7, -6, 7, 5, 0], np.int32)
B = np.array([2, -3, -2, 5, 3], np.int32)
X = np.array([-2.5, -0.5, 0.0, 0.5, 1.5, 3.0], np.float32)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (node("Div", "a b"), [-3, 2, -3, 1, 0]),
        (node("Mod", "a b"), [1, 0, -1, 0, 0]),
        (node("Mod", "a b", fmod=1), [-1, 0, 1, 0, 0]),
        (node("Min", "a b"), [-7, -6, -2, 5, 0]),
        (node("Max", "a b"), [2, -3, 7, 5, 3]),
        (node("Sum", "a b a"), [-12, -15, 12, 15, 3]),
        (node("Abs", "a"), [7, 6, 7, 5, 0]),
        (node("Sign", "a"), [-1, -1, 1, 1, 0]),
        (node("Pow", "a two"), [49, 36, 49, 25, 0]),
    ],
    ids=lambda case: case.op_type if hasattr(case, "op_type") else "",
)
def test_integer_arithmetic(op: Any, expected: Sequence[int]) -> None:
    found = run(op, {"a": A, "b": B}, {"two": np.array(2, np.int32)}, result=INT32)
    assert found.tolist() == expected and found.dtype == np.int32


def test_integer_division_by_zero_is_defined() -> None:
    zero = np.zeros(5, np.int32)
    assert run(node("Div", "a b"), {"a": A, "b": zero}, result=INT32).tolist() == [0] * 5


def test_the_least_integer_has_no_wrong_minimum() -> None:
    least = np.array([np.iinfo(np.int32).min, 5], np.int32)
    other = np.array([1, np.iinfo(np.int32).min], np.int32)
    assert run(node("Min", "a b"), {"a": least, "b": other}, result=INT32).tolist() == [-(2**31)] * 2


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (node("Relu", "x"), np.maximum(X, 0)),
        (node("LeakyRelu", "x", alpha=0.5), np.where(X < 0, X / 2, X)),
        (node("Elu", "x", alpha=2.0), np.where(X < 0, 2 * (np.exp(X) - 1), X)),
        (node("Sigmoid", "x"), 1 / (1 + np.exp(-X))),
        (node("HardSigmoid", "x", alpha=0.25, beta=0.5), np.clip(X / 4 + 0.5, 0, 1)),
        (node("Softplus", "x"), np.log1p(np.exp(X))),
        (node("Erf", "x"), [math.erf(v) for v in X]),
        (node("Tanh", "x"), np.tanh(X)),
        (node("Reciprocal", "three"), 1 / np.float32(3)),
        (node("Ceil", "x"), np.ceil(X)),
        (node("Floor", "x"), np.floor(X)),
        (node("Round", "x"), np.round(X)),
        (node("Pow", "x two"), X * X),
        (node("Pow", "x twice"), X * X),
        (node("Clip", "x low -"), np.maximum(X, 3)),
        (node("Clip", "x - low"), X),
        (node("Min", "x three x"), np.minimum(X, 3)),
        (node("Mean", "x three"), (X + 3) / 2),
    ],
    ids=lambda case: case.op_type if hasattr(case, "op_type") else "",
)
def test_float_functions(op: Any, expected: Array) -> None:
    three = np.array(3, np.float32)
    constants = {"two": np.array(2, np.float32), "three": three, "low": three, "twice": np.array(2)}
    np.testing.assert_allclose(run(op, {"x": X}, constants), expected, rtol=2e-6, atol=1e-7)


def test_an_overflowing_exponential_gives_the_limit() -> None:
    extreme = np.array([-1000, 1000], np.float32)
    assert run(node("Sigmoid", "x"), {"x": extreme}).tolist() == [0, 1]
    assert run(node("Softplus", "x"), {"x": extreme}).tolist() == [0, 1000]
    assert run(node("Softmax", "x"), {"x": extreme}).tolist() == [0, 1]


def test_comparisons_with_nan_are_false() -> None:
    x = np.array([np.nan, 1, 2], np.float32)
    for op_type, expected in [("Less", [0, 0, 1]), ("LessOrEqual", [0, 1, 1]), ("Greater", [0, 0, 0]),
                              ("GreaterOrEqual", [0, 1, 0]), ("Equal", [0, 1, 0])]:  # fmt: skip
        w = np.array([2, 1, 3], np.float32)
        found = run(node(op_type, "x w"), {"x": x}, {"w": w}, result=BOOL)
        assert found.tolist() == [bool(e) for e in expected], op_type


def test_casts() -> None:
    x = np.array([-1.9, 0.0, 2.9, 300.0], np.float32)
    assert run(node("Cast", "x", to=INT64), {"x": x}, result=INT64).tolist() == [-1, 0, 2, 300]
    assert run(node("Cast", "x", to=2), {"x": x}, result=2).tolist() == [255, 0, 2, 44]
    assert run(node("Cast", "x", to=BOOL), {"x": x}, result=BOOL).tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    "op_type", ["Exp", "Log", "Sqrt", "Sin", "Cos", "Tanh", "Erf", "Neg", "Abs", "Floor", "Sign"]
)
def test_constants_fold_to_what_the_graph_computes(op_type: str) -> None:
    """The same node on a constant and on an input: one numpy table folds, another evaluates."""
    x = np.abs(numbers(4, 3)) + np.float32(0.25)
    folded = read_onnx(model([node(op_type, "w")], {}, {"y": FLOAT}, {"w": x}))
    assert not node_ops(folded) - {Op.BUFFER, Op.VIEW, Op.CONST, Op.SINK}
    np.testing.assert_allclose(reference(folded, {})["y"], run(node(op_type, "x"), {"x": x}), rtol=1e-6)


# Reductions


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize(
    ("op_type", "function"),
    [("ReduceSum", np.sum), ("ReduceMean", np.mean), ("ReduceMax", np.max), ("ReduceMin", np.min),
     ("ReduceProd", np.prod), ("ReduceL2", lambda a, **kw: np.sqrt(np.sum(a * a, **kw)))],
)  # fmt: skip
def test_axes_come_by_attribute_or_by_operand(op_type: str, function: Any, opset: int) -> None:
    x = numbers(2, 3, 4)
    by_operand = opset >= (13 if op_type == "ReduceSum" else 18)
    op = node(op_type, "x axes", keepdims=0) if by_operand else node(op_type, "x", axes=[0, -1], keepdims=0)
    found = run(op, {"x": x}, {"axes": np.array([0, -1])} if by_operand else None, opset)
    np.testing.assert_allclose(found, function(x, axis=(0, 2)), rtol=1e-5, atol=1e-6)


def test_no_axes_means_all_or_none() -> None:
    x = numbers(2, 3)
    np.testing.assert_allclose(run(node("ReduceSum", "x"), {"x": x}), x.sum(keepdims=True), rtol=1e-5)
    np.testing.assert_array_equal(run(node("ReduceSum", "x", noop_with_empty_axes=1), {"x": x}), x)


def test_positions_of_extremes() -> None:
    x = np.array([[1, 5, 5, 2], [3, 3, -1, -1]], np.float32)
    cases: list[tuple[dict[str, Any], str, list[Any]]] = [
        ({"axis": 1}, "ArgMax", [[1], [0]]),
        ({"axis": 1, "keepdims": 0, "select_last_index": 1}, "ArgMax", [2, 1]),
        ({"axis": 0, "keepdims": 0}, "ArgMin", [0, 1, 1, 1]),
    ]
    for attributes, op_type, expected in cases:
        found = run(node(op_type, "x", **attributes), {"x": x}, result=INT64)
        assert found.tolist() == expected and found.dtype == np.int64
    holed = np.array([1, np.nan, 3], np.float32)
    assert run(node("ArgMax", "x", keepdims=0), {"x": holed}, result=INT64) == np.argmax(holed)


# Movement


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (node("Transpose", "x"), lambda x: x.T),
        (node("Transpose", "x", perm=[1, 0, 2]), lambda x: x.transpose(1, 0, 2)),
        (node("Flatten", "x", axis=2), lambda x: x.reshape(6, 4)),
        (node("Flatten", "x", axis=0), lambda x: x.reshape(1, 24)),
        (node("Reshape", "x zero_rest"), lambda x: x.reshape(2, 12)),
        (node("Expand", "x five"), lambda x: np.broadcast_to(x, (5, 2, 3, 4))),
        (node("Tile", "x repeats"), lambda x: np.tile(x, (1, 2, 3))),
        (node("Concat", "x w x", axis=-1), lambda x: np.concatenate([x, np.ones((2, 3, 1)), x], 2)),
        (node("Slice", "x starts ends axes steps"), lambda x: x[:, ::-2, 1:3]),
        (node("Gather", "x picks", axis=1), lambda x: x[:, [[2, 0], [-1, 1]]]),
        (node("Trilu", "x"), np.triu),
    ],
    ids=lambda case: case.op_type if hasattr(case, "op_type") else "",
)
def test_movement(op: Any, expected: Any) -> None:
    x = numbers(2, 3, 4)
    constants = {
        "zero_rest": np.array([0, -1]), "five": np.array([5, 1, 1, 1]), "repeats": np.array([1, 2, 3]),
        "w": np.ones((2, 3, 1), np.float32), "starts": np.array([-1, 1]), "ends": np.array([-(2**62), -1]),
        "axes": np.array([1, 2]), "steps": np.array([-2, 1]), "picks": np.array([[2, 0], [-1, 1]]),
    }  # fmt: skip
    np.testing.assert_array_equal(run(op, {"x": x}, constants), expected(x))


@pytest.mark.parametrize(
    ("opset", "attributes", "constants"),
    [(11, {"axes": [0, 3]}, {}), (13, {}, {"axes": np.array([0, 3])})],
)
def test_squeeze_and_unsqueeze_in_both_forms(
    opset: int, attributes: Mapping[str, Any], constants: Mapping[str, Array]
) -> None:
    operands = " axes" if constants else ""
    x = numbers(2, 3)
    grown = run(node("Unsqueeze", "x" + operands, **attributes), {"x": x}, constants, opset)
    assert grown.shape == (1, 2, 3, 1)
    np.testing.assert_array_equal(
        run(node("Squeeze", "x" + operands, **attributes), {"x": grown}, constants, opset), x
    )


@pytest.mark.parametrize(
    ("opset", "attributes", "constants"),
    [
        (9, {"starts": [1], "ends": [99], "axes": [1]}, {}),
        (10, {}, {"starts": np.array([1]), "ends": np.array([99]), "axes": np.array([1])}),
    ],
)
def test_slice_in_both_forms(
    opset: int, attributes: Mapping[str, Any], constants: Mapping[str, Array]
) -> None:
    x = numbers(2, 3)
    op = node("Slice", "x" + "".join(f" {n}" for n in constants), **attributes)
    np.testing.assert_array_equal(run(op, {"x": x}, constants, opset), x[:, 1:])


@pytest.mark.parametrize(
    ("opset", "attributes", "constants", "sizes"),
    [
        (11, {"split": [1, 4]}, {}, [1, 4]),
        (13, {}, {"split": np.array([1, 4])}, [1, 4]),
        (18, {"num_outputs": 2}, {}, [3, 2]),
    ],
)
def test_split_in_its_forms(
    opset: int, attributes: Mapping[str, Any], constants: Mapping[str, Array], sizes: Sequence[int]
) -> None:
    op = node("Split", "x" + (" split" if constants else ""), "y z", axis=0, **attributes)
    content = model([op], {"x": (FLOAT, (5, 2))}, {"y": FLOAT, "z": FLOAT}, constants, opset)
    x = numbers(5, 2)
    found = reference(read_onnx(content), {"x": x})
    np.testing.assert_array_equal(found["y"], x[: sizes[0]])
    np.testing.assert_array_equal(found["z"], x[sizes[0] :])


@pytest.mark.parametrize(
    ("op", "opset", "expected"),
    [
        (node("Pad", "x", pads=[0, 1, 1, 2], value=3.0), 10, {"constant_values": 3}),
        (node("Pad", "x widths three"), 11, {"constant_values": 3}),
        (node("Pad", "x widths"), 13, {}),
        (node("Pad", "x widths", mode="reflect"), 13, {"mode": "reflect"}),
        (node("Pad", "x widths", mode="edge"), 13, {"mode": "edge"}),
        (node("Pad", "x widths", mode="wrap"), 19, {"mode": "wrap"}),
    ],
)
def test_padding(op: Any, opset: int, expected: Mapping[str, Any]) -> None:
    x = numbers(2, 4)
    constants = {"widths": np.array([0, 1, 1, 2]), "three": np.array(3, np.float32)}
    wanted = np.pad(x, ((0, 1), (1, 2)), **expected)
    np.testing.assert_array_equal(run(op, {"x": x}, constants, opset), wanted)


def test_negative_padding_crops() -> None:
    x = numbers(2, 4)
    found = run(node("Pad", "x widths"), {"x": x}, {"widths": np.array([0, -1, 1, 1])})
    np.testing.assert_array_equal(found, np.pad(x[:, 1:], ((0, 1), (0, 1))))


def test_known_indices_become_views_and_computed_ones_comparisons() -> None:
    table = numbers(5, 3)
    steady = graph(node("Gather", "x i"), {"x": table}, {"i": np.array([4, 2, 0])})
    assert node_ops(steady) == {Op.BUFFER, Op.VIEW, Op.SINK}
    found = run(node("Gather", "x i"), {"x": table, "i": np.array([[1, -1]])})
    np.testing.assert_array_equal(found, table[[[1, -1]]])
    places = np.array([[0, -1, 2]])
    expected = np.take_along_axis(table, places % 5, 0)
    np.testing.assert_array_equal(
        run(node("GatherElements", "x i", axis=0), {"x": table, "i": places}), expected
    )


@pytest.mark.parametrize("axis", [0, 1])
def test_known_indices_may_be_none(axis: int) -> None:
    """As in a model that gathers what a constant filter left (onnx gives an empty axis)."""
    x = numbers(2, 3)
    none = np.zeros((0, 2), np.int64)
    found = run(node("Gather", "x i", axis=axis), {"x": x}, {"i": none})
    np.testing.assert_array_equal(found, np.take(x, none, axis))


def test_scattered_known_indices_pass_infinities_by() -> None:
    table = numbers(40)
    table[3] = np.inf
    picks = np.random.default_rng(RANDOM).integers(0, 40, 60)
    np.testing.assert_array_equal(run(node("Gather", "x i"), {"x": table}, {"i": picks}), table[picks])


def test_one_hot_wraps_negative_classes_and_leaves_others_off() -> None:
    found = run(
        node("OneHot", "i depth values"),
        {"i": np.array([1, -1, 7])},
        {"depth": np.array(3), "values": np.array([0.5, 2], np.float32)},
    )
    assert found.tolist() == [[0.5, 2, 0.5], [0.5, 0.5, 2], [0.5, 0.5, 0.5]]


# Products, convolution and pooling


@pytest.mark.parametrize(
    "shapes", [((2, 3), (3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((3,), (3, 2)), ((2, 3), (3,))]
)
def test_matrix_products(shapes: Sequence[tuple[int, ...]]) -> None:
    a, b = numbers(*shapes[0]), numbers(*shapes[1])
    np.testing.assert_allclose(run(node("MatMul", "a b"), {"a": a, "b": b}), a @ b, rtol=1e-5, atol=1e-6)


def test_gemm() -> None:
    a, b, c = numbers(3, 2), numbers(4, 3), numbers(4)
    op = node("Gemm", "a b c", transA=1, transB=1, alpha=0.5, beta=2.0)
    np.testing.assert_allclose(run(op, {"a": a, "b": b, "c": c}), 0.5 * (a.T @ b.T) + 2 * c, rtol=1e-5)


def convolved(x: Array, w: Array, *, group: int = 1, pads: Sequence[int] = (0,) * 4,
              strides: Sequence[int] = (1, 1), dilations: Sequence[int] = (1, 1)) -> Array:  # fmt: skip
    """A convolution over two axes, term by term."""
    padded = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3]))).astype(np.float64)
    outputs, each, *kernel = w.shape
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    height, width = ((n - span) // s + 1 for n, span, s in zip(padded.shape[2:], spans, strides, strict=True))
    result = np.zeros((x.shape[0], outputs, height, width))
    for o, i, j in np.ndindex(outputs, height, width):
        first = o // (outputs // group) * each
        top, left = i * strides[0], j * strides[1]
        window = padded[:, first : first + each, top : top + spans[0] : dilations[0],
                        left : left + spans[1] : dilations[1]]  # fmt: skip
        result[:, o, i, j] = (window * w[o]).sum((1, 2, 3))
    return result


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"pads": [1, 0, 2, 1]},
        {"strides": [2, 3]},
        {"strides": [2, 3], "pads": [1, 1, 1, 1]},
        {"dilations": [2, 1], "pads": [0, 2, 0, 2]},
        {"group": 2, "pads": [1, 1, 1, 1]},
        {"group": 4},
    ],
    ids=str,
)
def test_convolution(attributes: Mapping[str, Any]) -> None:
    x, w = numbers(2, 4, 6, 7), numbers(4, 4 // attributes.get("group", 1), 3, 2)
    found = run(node("Conv", "x w", **attributes), {"x": x}, {"w": w})
    np.testing.assert_allclose(found, convolved(x, w, **attributes), rtol=1e-4, atol=1e-5)


def test_a_convolution_is_one_product_and_one_reduction() -> None:
    made = graph(node("Conv", "x w b", pads=[1, 1, 1, 1]), {"x": numbers(1, 2, 5, 5)},
                 {"w": numbers(3, 2, 3, 3), "b": np.arange(3, dtype=np.float32)})  # fmt: skip
    arithmetic = sorted(n.op for n in made.nodes if n.op not in (Op.VIEW, Op.BUFFER, Op.SINK))
    assert arithmetic == [Op.ADD, Op.MUL, Op.REDUCE_AXIS]
    (product,) = (n for n in made.nodes if n.op is Op.MUL)
    assert product.shape == (1, 1, 3, 5, 5, 2, 3, 3)


@pytest.mark.parametrize(
    ("auto", "pads"), [("SAME_UPPER", [0, 0, 1, 1]), ("SAME_LOWER", [1, 1, 0, 0]), ("VALID", [0] * 4)]
)
def test_automatic_padding(auto: str, pads: Sequence[int]) -> None:
    x, w = numbers(1, 1, 4, 4), numbers(1, 1, 3, 3)
    op = node("Conv", "x w", auto_pad=auto, strides=[2, 2])
    np.testing.assert_allclose(
        run(op, {"x": x}, {"w": w}), convolved(x, w, pads=pads, strides=[2, 2]), rtol=1e-4
    )


def test_convolution_over_one_and_three_axes() -> None:
    line, taps = numbers(1, 1, 9), numbers(1, 1, 3)
    expected = np.convolve(line[0, 0], taps[0, 0, ::-1], "valid")
    np.testing.assert_allclose(
        run(node("Conv", "x w"), {"x": line}, {"w": taps})[0, 0], expected, rtol=1e-4, atol=1e-6
    )
    box, ones = numbers(1, 1, 2, 2, 2), np.ones((1, 1, 2, 2, 2), np.float32)
    np.testing.assert_allclose(run(node("Conv", "x w"), {"x": box}, {"w": ones}).item(), box.sum(), rtol=1e-5)


def scattered(x: Array, w: Array, strides: Sequence[int], dilations: Sequence[int], group: int) -> Array:
    """A whole transposed convolution over one axis: every input element adds its scaled kernel."""
    n, channels, length = x.shape
    each, taps = w.shape[1:]
    result = np.zeros((n, each * group, (length - 1) * strides[0] + (taps - 1) * dilations[0] + 1))
    for c, o, i, k in np.ndindex(channels, each, length, taps):
        target = c // (channels // group) * each + o
        result[:, target, i * strides[0] + k * dilations[0]] += x[:, c, i].astype(np.float64) * w[c, o, k]
    return result


@pytest.mark.parametrize(
    ("attributes", "begin", "length"),
    [
        ({}, 0, None),
        ({"strides": [3]}, 0, None),
        ({"strides": [2]}, 0, None),
        ({"strides": [2], "pads": [1, 2]}, 1, 8),
        ({"strides": [2], "dilations": [2]}, 0, None),
        ({"strides": [3], "group": 2}, 0, None),
        ({"strides": [2], "group": 2}, 0, None),
        ({"strides": [4], "output_padding": [2]}, 0, 21),
        ({"strides": [2], "output_shape": [10]}, 1, 10),
    ],
    ids=str,
)
def test_transposed_convolution(attributes: Mapping[str, Any], begin: int, length: int | None) -> None:
    x, w = numbers(2, 4, 5), numbers(4, 3, 3)
    strides, dilations = attributes.get("strides", [1]), attributes.get("dilations", [1])
    whole = scattered(x, w, strides, dilations, attributes.get("group", 1))
    end = whole.shape[2] if length is None else begin + length
    wanted = np.pad(whole, ((0, 0), (0, 0), (0, max(0, end - whole.shape[2]))))[:, :, begin:end]
    found = run(node("ConvTranspose", "x w", **attributes), {"x": x}, {"w": w})
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_max_pool_pads_with_the_smallest_value() -> None:
    x = -np.abs(numbers(1, 1, 4, 4)) - 1
    found = run(node("MaxPool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[3, 3]), {"x": x})
    expected = [
        [x[0, 0, :2, :2].max(), x[0, 0, :2, 2:].max()],
        [x[0, 0, 2:, :2].max(), x[0, 0, 2:, 2:].max()],
    ]
    np.testing.assert_array_equal(found[0, 0], expected)


def test_pooling_that_hangs_over_the_end() -> None:
    x = np.arange(1, 6, dtype=np.float32).reshape(1, 1, 5)
    for op_type, ceiling, expected in [("MaxPool", 0, [2, 4]), ("MaxPool", 1, [2, 4, 5]),
                                       ("AveragePool", 0, [1.5, 3.5]), ("AveragePool", 1, [1.5, 3.5, 5])]:  # fmt: skip
        op = node(op_type, "x", kernel_shape=[2], strides=[2], ceil_mode=ceiling)
        assert run(op, {"x": x})[0, 0].tolist() == expected


def test_average_pool_counts_padding_only_if_told() -> None:
    x = np.full((1, 1, 3), 6, np.float32)
    for include, expected in [(0, [6, 6, 6]), (1, [4, 6, 4])]:
        op = node("AveragePool", "x", kernel_shape=[3], pads=[1, 1], count_include_pad=include)
        assert run(op, {"x": x})[0, 0].tolist() == expected


def test_global_pools() -> None:
    x = numbers(2, 3, 4, 5)
    np.testing.assert_allclose(
        run(node("GlobalAveragePool", "x"), {"x": x}), x.mean((2, 3), keepdims=True), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_array_equal(run(node("GlobalMaxPool", "x"), {"x": x}), x.max((2, 3), keepdims=True))


# Normalization and resizing


def exponential_share(x: Array, axis: Any) -> Array:
    powers = np.exp(x - x.max(axis, keepdims=True))
    shares: Array = powers / powers.sum(axis, keepdims=True)
    return shares


def test_softmax_flattens_before_operator_set_13() -> None:
    x = numbers(2, 3, 4)
    old, new = (run(node("Softmax", "x", axis=1), {"x": x}, opset=opset) for opset in (11, 13))
    np.testing.assert_allclose(old, exponential_share(x, (1, 2)), rtol=1e-5)
    np.testing.assert_allclose(new, exponential_share(x, 1), rtol=1e-5)
    default = run(node("Softmax", "x"), {"x": x}, opset=11)
    np.testing.assert_allclose(default, old, rtol=1e-6)


def test_batch_normalization_folds_its_statistics() -> None:
    x, scale, bias, mean = numbers(2, 3, 4), numbers(3), numbers(3) + 1, numbers(3) * 2
    variance = np.abs(numbers(3)) + np.float32(0.5)
    constants = {"s": scale, "b": bias, "m": mean, "v": variance}
    made = graph(node("BatchNormalization", "x s b m v", epsilon=0.01, momentum=0.5), {"x": x}, constants, 9)
    assert node_ops(made) == {Op.BUFFER, Op.VIEW, Op.MUL, Op.ADD, Op.SINK}
    lay = (None, slice(None), None)
    expected = (x - mean[lay]) / np.sqrt(variance[lay] + 0.01) * scale[lay] + bias[lay]
    np.testing.assert_allclose(reference(made, {"x": x})["y"], expected, rtol=1e-4, atol=1e-5)


def test_layer_normalization() -> None:
    x, scale, bias = numbers(2, 3, 4), numbers(3, 4), numbers(3, 4) - 1
    found = run(node("LayerNormalization", "x s b", axis=1, epsilon=0.1), {"x": x}, {"s": scale, "b": bias})
    deviation = np.sqrt(x.var((1, 2), keepdims=True) + 0.1)
    np.testing.assert_allclose(
        found, (x - x.mean((1, 2), keepdims=True)) / deviation * scale + bias, rtol=1e-4, atol=1e-5
    )


def test_local_response_normalization() -> None:
    x = numbers(1, 4, 2, 2)
    found = run(node("LRN", "x", size=3, alpha=0.5, beta=0.75, bias=2.0), {"x": x})
    squares = np.pad(x * x, ((0, 0), (1, 1), (0, 0), (0, 0)))
    around = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    np.testing.assert_allclose(found, x / (2 + 0.5 / 3 * around) ** 0.75, rtol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (
            {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
            [1, 1, 2, 2, 4, 4],
        ),
        ({"mode": "linear"}, [1, 1.25, 1.75, 2.5, 3.5, 4]),
        ({"mode": "linear", "coordinate_transformation_mode": "align_corners"}, [1, 1.4, 1.8, 2.4, 3.2, 4]),
        ({"mode": "linear", "coordinate_transformation_mode": "asymmetric"}, [1, 1.5, 2, 3, 4, 4]),
    ],
    ids=str,
)
def test_resize(attributes: Mapping[str, Any], expected: Sequence[float]) -> None:
    x = np.array([[[1, 2, 4]]], np.float32)
    by_scale = run(
        node("Resize", "x - scales", **attributes), {"x": x}, {"scales": np.array([1, 1, 2], np.float32)}
    )
    np.testing.assert_allclose(by_scale[0, 0], expected, rtol=1e-6)
    by_size = run(node("Resize", "x - - sizes", **attributes), {"x": x}, {"sizes": np.array([1, 1, 6])})
    np.testing.assert_array_equal(by_size, by_scale)


def test_dropout_does_nothing() -> None:
    x = numbers(2, 3)
    np.testing.assert_array_equal(run(node("Dropout", "x", ratio=0.5), {"x": x}, opset=9), x)
    np.testing.assert_array_equal(
        run(node("Dropout", "x ratio"), {"x": x}, {"ratio": np.array(0.5, np.float32)}), x
    )


def test_operands_aligned_by_attribute_in_operator_set_6() -> None:
    x, w = numbers(2, 3, 4), numbers(3)
    found = run(node("Add", "x w", broadcast=1, axis=1), {"x": x}, {"w": w}, opset=6)
    np.testing.assert_array_equal(found, x + w[:, None])
    refusal(model([node("Add", "x w")], {"x": (FLOAT, (2, 3))}, {"y": FLOAT}, {"w": w}, 6), "SL245")


# Refusals


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(GraphError) as caught:
        read_onnx(b"anything")
    assert (caught.value.code, caught.value.help) == ("SL240", "install schedulog[onnx]")


def test_the_front_end_imports_without_the_package() -> None:
    for path in (HERE.parent / "facts").rglob("onnx_*.py"):
        for line in path.read_text().splitlines():
            assert not line.startswith(("import onnx", "from onnx")), path


RELU = {"x": (FLOAT, (2, 2))}


def test_a_truncated_file_is_refused_at_every_length(tmp_path: Path) -> None:
    whole = model([node("MatMul", "x w", "z"), node("Relu", "z")], RELU, {"y": FLOAT}, {"w": numbers(2, 2)})
    path = tmp_path / "cut.onnx"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert str(path) in refusal(path, "SL241").message


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 64, b"no model, but a text of some length\n" * 9, b"\x08\x08"]
)
def test_what_is_no_model_is_refused(content: bytes) -> None:
    assert "is not an ONNX model" in refusal(content, "SL241").message


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    error = refusal(tmp_path / "none.onnx", "SL241")
    assert "none.onnx" in error.message and error.reason == "No such file or directory"


def test_a_directory_is_refused(tmp_path: Path) -> None:
    refusal(tmp_path, "SL241")


def test_weights_with_too_few_bytes_are_refused() -> None:
    whole = onnx.load_model_from_string(model([node("Add", "x w")], RELU, {"y": FLOAT}, {"w": numbers(2, 2)}))
    whole.graph.initializer[0].dims[0] = 9
    assert "initializer `w`" in refusal(whole.SerializeToString(), "SL241").message


def test_names_that_nothing_makes_are_refused() -> None:
    assert "reads `ghost`" in refusal(model([node("Add", "x ghost")], RELU, {"y": FLOAT}), "SL241").message
    assert "output `z`" in refusal(model([node("Relu", "x")], RELU, {"z": FLOAT}), "SL241").message


def test_an_unsupported_operation_is_named_with_all_of_its_kind() -> None:
    foreign = onnx.helper.make_node("FusedGelu", ["z"], ["y"], domain="com.example")
    content = model([node("TopK", "x k", "z i"), foreign], RELU, {"y": FLOAT}, {"k": np.array([1])})
    error = refusal(content, "SL243")
    assert error.message == "operation TopK is not supported"
    assert error.where == "TopK `the_TopK` of <bytes>"
    assert error.reason == (
        "domain ai.onnx, operator set 17; not supported in this file: TopK, com.example::FusedGelu"
    )
    assert "Conv, " in error.help


@pytest.mark.parametrize("opset", [1, 5, 99])
def test_unknown_operator_sets_are_refused(opset: int) -> None:
    content = model([node("Relu", "x")], RELU, {"y": FLOAT}, opset=opset)
    assert f"operator set {opset}" in refusal(content, "SL243").message


@pytest.mark.parametrize(
    ("op", "words"),
    [
        (node("Relu", "x", slope=1), "Relu with attribute `slope`"),
        (node("Relu", "x x"), "Relu with operand 1"),
        (node("Relu", "x", "z y"), "Relu with output 1"),
        (node("Resize", "x - two two", mode="cubic"), 'Resize with mode="cubic"'),
        (node("Resize", "x - two", antialias=1), "Resize with antialias=1"),
        (node("Pad", "x pads", mode="mirror"), 'Pad with mode="mirror"'),
        (node("Cast", "x", to=8), "Cast with element type number 8"),
        (node("BatchNormalization", "x r r r r", training_mode=1), "BatchNormalization with training_mode=1"),
        (node("Dropout", "x - yes"), "Dropout with training_mode true"),
        (node("Reshape", "x s"), "Reshape with shapes that depend on the inputs"),
        (node("Exp", "s"), "Exp with operands of int64"),
    ],
    ids=lambda case: case.op_type if hasattr(case, "op_type") else "",
)
def test_unsupported_forms_are_named(op: Any, words: str) -> None:
    constants = {"two": np.array([2, 2], np.float32), "yes": np.array(True), "pads": np.array([0, 0, 1, 1]),
                 "r": np.ones(2, np.float32)}  # fmt: skip
    content = model([op], {**RELU, "s": (INT64, (2,))}, {"y": FLOAT}, constants)
    error = refusal(content, "SL244")
    assert error.message == f"{words} is not supported"
    assert error.where == f"{op.op_type} `the_{op.op_type}` of <bytes>"


def test_element_types_without_counterpart_are_refused() -> None:
    content = model([node("Identity", "x")], {"x": (8, (2,))}, {"y": 8})
    assert "element type number 8" in refusal(content, "SL244").message


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (node("Add", "x w"), "shapes [2, 2] and [3] do not broadcast"),
        (node("Add", "x i"), "ADD of dtypes"),
        (node("Reshape", "x three"), "(3,)"),
        (node("Reshape", "x rest"), "4 elements do not fill [3, -1]"),
        (node("Transpose", "x", perm=[0, 0]), "(0, 0)"),
        (node("Concat", "x w", axis=0), "cannot concatenate"),
        (node("Gather", "x far"), "an index outside of 2 elements"),
        (node("Softmax", "x", axis=5), "axis 5 of a value with 2 axes"),
        (node("Conv", "x w"), "shape [2, 2] has no axes after batch and channel"),
        (node("MatMul", "x w"), "matrix product of shapes [2, 2] and [3]"),
        (node("Split", "x three", "y z"), "sizes [3] of an axis of 2"),
        (node("Add", "x -"), "operand 1 is missing"),
        (node("ReduceSum", "x zeros"), "axes [0, 0] name one axis twice"),
        (node("Softmax", "x", axis="last"), "attribute `axis` is 'last'"),
        (node("Split", "x", "y z a"), "3 parts of 2 elements"),
        (node("Slice", "x zeros three_twice zeros"), "axes [0, 0] name one axis twice"),
        (node("Resize", "x - scale"), "scales or sizes for 2 axes of [2, 2] are needed"),
        (node("Unsqueeze", "x square"), "axes of type int64 and shape [1, 1]"),
        (
            node("MaxPool", "cube", kernel_shape=[1], pads=[1, 1]),
            "windows of [1] that lie wholly in the padding",
        ),
        (node("ConvTranspose", "cube cube", output_shape=[9]), "an output of [9] where [3] are made"),
        (node("OneHot", "i three w"), "values of shape [3] and depth 3"),
        (node("Range", "i0 i0 i0"), "a step that is not 0"),
        (node("ReduceMax", "x", keepdims=2), "attribute `keepdims` is 2, neither 0 nor 1"),
        (node("Concat", "w w2", axis=0), "cannot concatenate"),
        (node("InstanceNormalization", "w w w"), "numbers per channel of shapes [3], [3]"),
        (node("LayerNormalization", "x three_rows"), "makes [3, 2, 2] of [2, 2]"),
        (node("Clip", "x w"), "bounds that are no single numbers"),
    ],
    ids=lambda case: case.op_type if hasattr(case, "op_type") else "",
)
def test_operands_that_do_not_fit_are_refused(op: Any, reason: str) -> None:
    constants = {"w": np.array([1, 2, 3], np.float32), "w2": np.ones((2, 2), np.float32),
                 "cube": np.ones((1, 1, 2), np.float32),
                 "three_twice": np.array([3, 3]), "scale": np.ones(3, np.float32), "square": np.array([[0]]),
                 "i0": np.array(0), "three_rows": np.ones((3, 2, 2), np.float32), "i": np.array([1, 2]), "three": np.array([3]),
                 "rest": np.array([3, -1]), "far": np.array([2]), "zeros": np.array([0, 0])}  # fmt: skip
    error = refusal(model([op], RELU, {"y": FLOAT}, constants), "SL245")
    assert reason in error.reason
    assert error.where == f"{op.op_type} `the_{op.op_type}` of <bytes>"


def test_an_output_of_another_type_than_declared_is_refused() -> None:
    error = refusal(model([node("Relu", "x")], RELU, {"y": INT64}), "SL245")
    assert error.reason == "its operations give float32"


def test_a_computed_index_outside_gives_minus_infinity() -> None:
    """No kernel can raise; a value that no table holds shows the mistake where 0 would hide it."""
    table = numbers(3)
    for op_type in ("Gather", "GatherElements"):
        found = run(node(op_type, "x i"), {"x": table, "i": np.array([1, 3])})
        assert found.tolist() == [table[1], -np.inf]


def test_a_huge_computed_lookup_is_refused() -> None:
    content = model(
        [node("Gather", "x i")], {"x": (FLOAT, (50000, 512)), "i": (INT64, (1, 4096))}, {"y": FLOAT}
    )
    assert "a table this large" in refusal(content, "SL244").message


# The suite of the onnx package


def backend() -> ModuleType:
    spec = importlib.util.spec_from_file_location("onnx_backend", HERE / "onnx_backend.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_listed_node_cases_of_the_onnx_package_pass() -> None:
    """Every listed case ran, and every one passed. Cases may be added to the list, not taken away."""
    listed = (HERE / "data" / "onnx_node_cases.txt").read_text().split()
    suite = backend()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        cases = {case.name: case for case in suite.node_cases()}
    verdicts = {name: suite.verdict(cases[name]) if name in cases else "missing" for name in listed}
    assert {n: v for n, v in verdicts.items() if v != "passed"} == {}
    assert len(verdicts) == len(listed) == 703
