"""The short graph notation: what it builds, and what it says of mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedulog.errors import GraphError, Place
from schedulog.facts import dtype as dtypes
from schedulog.facts.node import ConstArg, CopyArg, Node, ReduceArg
from schedulog.facts.notation import DTYPES, read_names, read_notation
from schedulog.facts.ops import ARITY, ELEMENTWISE, Op
from schedulog.facts.symbolic import Variable
from schedulog.runtimes.evaluate import reference


def node_of(text: str, name: str = "y") -> Node:
    return read_names(f"{text}; out {name}").names[name]


def test_a_graph_of_one_line() -> None:
    graph = read_notation("x=load f32[8,8]; e=exp x; s=sum e axis=1; out s")
    assert [n.op for n in graph.nodes] == [Op.BUFFER, Op.VIEW, Op.EXP, Op.REDUCE_AXIS, Op.SINK]
    assert graph.outputs == ("s",)
    assert graph.nodes[3].arg == ReduceArg("ADD", (1,))
    assert [n.label for n in graph.nodes] == ["x", "x", "e", "s", ""]
    assert graph.inputs["x"].size == 64
    assert graph.input_shapes == {"x": (8, 8)}


def test_lines_and_semicolons_mean_the_same() -> None:
    one = read_notation("x=load f32[4];y=exp x;out y")
    many = read_notation("\n  x = load f32[4]\n\n  y = exp  x ;\n out y\n")
    assert [n.op for n in one.nodes] == [n.op for n in many.nodes]


def test_the_numbers_are_those_of_numpy() -> None:
    graph = read_notation(
        "x=load f64[3,4]; y=mul x 2; z=add y -0.5; m=max z axis=1; w=expand m to=[3,4]; out z, w"
    )
    values = np.arange(12.0).reshape(3, 4)
    found = reference(graph, {"x": values})
    expected = values * 2 - 0.5
    np.testing.assert_array_equal(found["z"], expected)
    np.testing.assert_array_equal(found["w"], np.broadcast_to(expected.max(1, keepdims=True), (3, 4)))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("reshape x to=[24]", np.arange(24)),
        ("permute x order=1,0", np.arange(24).reshape(4, 6).T),
        ("pad x by=(1,0),(0,2)", np.pad(np.arange(24).reshape(4, 6), ((1, 0), (0, 2)))),
        ("shrink x to=(1,3),(0,4)", np.arange(24).reshape(4, 6)[1:3, :4]),
        ("flip x axis=0", np.arange(24).reshape(4, 6)[::-1]),
        ("flip x axis=0,1", np.arange(24).reshape(4, 6)[::-1, ::-1]),
    ],
)
def test_movements(text: str, wanted: np.ndarray) -> None:
    graph = read_notation(f"x=load i64[4,6]; y={text}; out y")
    np.testing.assert_array_equal(reference(graph, {"x": np.arange(24).reshape(4, 6)})["y"], wanted)


@pytest.mark.parametrize("op", sorted(ELEMENTWISE - {Op.CAST, Op.BITCAST, Op.WHERE}))
def test_every_elementwise_operation_has_its_name(op: Op) -> None:
    names = " ".join("x" for _ in range(ARITY[op]))
    assert node_of(f"x=load u64[4]; y={op.lower()} {names}").op is op


@pytest.mark.parametrize(("name", "dtype"), DTYPES.items())
def test_every_type_has_its_short_name(name: str, dtype: dtypes.DType) -> None:
    assert node_of(f"y=load {name}[2]").dtype == dtype


def test_max_is_two_operations() -> None:
    assert node_of("x=load f32[4]; y=max x x").op is Op.MAX
    assert node_of("x=load f32[4]; y=max x axis=0").arg == ReduceArg("MAX", (0,))
    assert node_of("x=load f32[4,2]; y=prod x axis=0,1").arg == ReduceArg("MUL", (0, 1))


@pytest.mark.parametrize(
    ("literal", "dtype", "value"),
    [("2", "f32", 2.0), ("-1.5e1", "f32", -15.0), ("inf", "f64", float("inf")), ("-inf", "f16", float("-inf")),
     ("3", "i32", 3), ("true", "bool", True), ("-1", "u8", 255)],
)  # fmt: skip
def test_a_number_is_a_constant_of_the_operands_type(literal: str, dtype: str, value: bool | float) -> None:
    found = node_of(f"x=load {dtype}[2,3]; y=max x {literal}").src[1]
    assert found.arg == ConstArg(value, (2, 3), "")
    assert type(found.arg.value) is type(value)


def test_a_choice_takes_its_type_from_what_it_chooses() -> None:
    found = node_of("x=load i32[4]; c=cmplt x 3; y=where c -1 x")
    assert [s.dtype.name for s in found.src] == ["bool", "int32", "int32"]


def test_storage_operations() -> None:
    assert node_of("x=load f32[4]; e=exp x; y=contiguous e").op is Op.CONTIGUOUS
    assert node_of("x=load f32[4]; y=copy x device=B").arg == CopyArg("B")
    assert node_of("x=load f32[4] device=B; y=copy x device=B").arg == CopyArg("B", clone=True)
    assert node_of("x=load f32[4] device=B; y=exp x").device == "B"
    assert [s.label for s in node_of("x=load f32[4]; e=exp x; y=assign x e").src] == ["x", "e"]
    assert node_of("x=load u8[16]; y=buffer_view x i32[4]").shape == (4,)
    assert node_of("x=load f32[4]; y=bitcast x i32").op is Op.BITCAST
    assert node_of("y=const 1.5 f32[2,2] device=B").arg == ConstArg(1.5, (2, 2), "B")


def test_a_bound_variable_is_a_value_and_a_size() -> None:
    found = read_names("n=bind min=1 max=8 value=3; x=load f32[8]; y=shrink x to=(0,n); out y, n")
    variable = Variable("n", 1, 8, 3)
    assert found.names["n"].op is Op.BIND
    assert found.names["y"].shape == (variable,)
    values = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(reference(found.graph, {"x": values})["y"], [0, 1, 2])


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "words"),
    [
        ("x=load f32[4]; y=expp x; out y", "SL251", 1, 18, "did you mean `exp`?"),
        ("x=load f32[4]\ny=exp xx\nout y", "SL252", 2, 7, "did you mean `x`?"),
        ("x=load f32[4]; x=exp x; out x", "SL253", 1, 16, "`x` is defined already"),
        ("f32=load f32[4]; out f32", "SL253", 1, 1, "is a word of the notation"),
        ("x=load f32[4]; out x, x", "SL253", 1, 23, "requested twice"),
        ("x=load f32[4]; y=sum x; out y", "SL254", 1, 18, "needs `axis`"),
        ("x=load f32[4]; y=exp x x; out y", "SL254", 1, 18, "takes 1 operand, not 2"),
        ("x=load f32[4]; y=exp x axis=0; out y", "SL254", 1, 24, "takes no `axis`"),
        ("x=load f33[4]; out x", "SL254", 1, 8, "did you mean `f32`?"),
        ("x=load f32; out x", "SL254", 1, 8, "has no shape"),
        ("x=load f32[n]; out x", "SL254", 1, 8, "is no size"),
        ("y=add 1 2; out y", "SL254", 1, 3, "takes its type from an operand that is a name"),
        ("x=load f32[4]; y=exp 1; out y", "SL254", 1, 18, "takes its type from an operand that is a name"),
        ("x=load f32[4]; y=pad x by=1,1; out y", "SL254", 1, 24, "one pair for each axis"),
        ("x=load f32[4]; y=flip x axis=1; out y", "SL254", 1, 25, "axes (1,) of 1"),
        ("x=load f32[4]; y=expand x to=[8]; out y", "SL221", 1, 18, "only axes of 1 grow"),
        ("x=load f32[4]; y=load f32[2]; z=add x y; out z", "SL211", 1, 33, "shapes [4] and [2]"),
        ("x=load f32[4]; y=exp x; z=assign y x; out z", "SL214", 1, 27, "only memory can be written to"),
        ("x=load f32[4", "SL250", 1, 12, "is missing after `4`"),
        ("x=load f32[4]; y=exp x &; out y", "SL250", 1, 24, "`&` cannot stand here"),
        ("x=load f32[4]; y=sum x axis=0.5; out y", "SL250", 1, 29, "0.5 is no whole number"),
        ("x=load f32[4]; y=sum x axis=0 axis=0; out y", "SL250", 1, 31, "given twice"),
        ("3=load f32[4]", "SL250", 1, 1, "a name is expected"),
        ("x=load f32[4]; out x; y=exp x", "SL255", 1, 23, "`out` stands last"),
    ],
)  # fmt: skip
def test_mistakes_name_place_and_cure(text: str, code: str, line: int, column: int, words: str) -> None:
    with pytest.raises(GraphError) as caught:
        read_notation(text, "g.txt")
    error = caught.value
    assert isinstance(error.where, Place)
    assert (error.code, error.where.file, error.where.line, error.where.column) == (
        code,
        "g.txt",
        line,
        column,
    )
    assert words in str(error)


def test_a_graph_wants_something() -> None:
    with pytest.raises(GraphError, match="no `out`") as caught:
        read_notation("x=load f32[4]", "g.txt")
    assert (caught.value.code, caught.value.where) == ("SL255", "g.txt")


def test_a_long_chain() -> None:
    lines = ["x0=load f32[2]", *(f"x{i}=neg x{i - 1}" for i in range(1, 20_001)), "out x20000"]
    assert len(read_notation("\n".join(lines)).nodes) == 20_002


@given(st.text(alphabet="xyz=;,()[] \n01.ef32loadutsmi_-", max_size=60))
def test_any_text_is_a_graph_or_a_graph_error(text: str) -> None:
    try:
        read_notation(text)
    except GraphError as error:
        assert error.code.startswith("SL2")
