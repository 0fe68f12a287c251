"""Graph files: what is written is read back as the same nodes, and every mistake is named."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from schedulog.errors import GraphError
from schedulog.facts import build, dtype
from schedulog.facts.buffer import Buffer
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.json_format import read_graph, write_graph
from schedulog.facts.node import Node, bind, node
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Variable
from schedulog.runtimes.evaluate import reference

DOC = Path(__file__).parent.parent / "docs" / "graph-format.md"


def rebuilt(graph: Graph, memory: dict[Buffer, Buffer]) -> dict[Node, Node]:
    """The nodes of `graph` made again with each buffer replaced."""
    made: dict[Node, Node] = {}
    for n in graph.nodes[:-1]:
        arg = memory[n.arg] if n.op is Op.BUFFER else n.arg
        made[n] = node(n.op, tuple(made[s] for s in n.src), arg, n.dtype)
    return made


def assert_round_trip(graph: Graph) -> Graph:
    """The graph read back, after checking that it consists of the same nodes."""
    back = read_graph(write_graph(graph), "back.json")
    assert len(back.nodes) == len(graph.nodes)
    memory = dict(zip(graph.buffers, back.buffers, strict=True))
    same = rebuilt(graph, memory)
    assert [same[n] for n in graph.nodes[:-1]] == list(back.nodes[:-1])
    assert (back.name, back.outputs) == (graph.name, graph.outputs)
    assert dict(back.input_shapes) == dict(graph.input_shapes)
    assert {k: memory.get(b, b.size) for k, b in graph.inputs.items()} == {
        k: b if b in back.buffers else b.size for k, b in back.inputs.items()
    }
    for old, new in memory.items():
        assert (old.name, old.size, old.dtype, old.device) == (new.name, new.size, new.dtype, new.device)
        if old.array is not None:
            assert new.array is not None and old.array.tobytes() == new.array.tobytes()
    assert write_graph(back) == write_graph(graph)
    return back


def test_every_kind_of_node_comes_back() -> None:
    memory = Buffer(12, dtype.float32, "c", "x")
    x = build.buffer(memory, (3, 4))
    n = Variable("n", 1, 3, 2)
    part = build.shrink(x, [(0, n), (0, 4)])
    padded = build.permute(build.pad(build.flip(x, (True, False)), [(1, 2), (0, 1)]), (1, 0))
    values = [
        build.reduce("MAX", padded, (0,), label="largest"),
        build.reshape(padded, (6, 5)),
        build.alu(Op.NEG, part),
        bind(n, dtype.int32),
        build.copy(x, "opencl"),
        build.contiguous(build.cast(x, dtype.bfloat16)),
        build.bitcast(x, dtype.int32),
        build.assign(build.shrink(x, [(0, 1), (0, 4)]), build.const(-0.0, dtype.float32, (1, 4))),
        node(Op.BUFFER_VIEW, (x,), (2, 6), dtype.float32),
        build.alu(
            Op.WHERE,
            *(build.const(v, d, ()) for v, d in [(True, dtype.bool_), (1, dtype.int8), (2, dtype.int8)]),
        ),
        *(build.const(v, dtype.float64, (2,)) for v in (math.nan, math.inf, -math.inf, 1e-320, 0.1)),
        build.const(2**64 - 1, dtype.uint64, ()),
        build.const(-(2**63), dtype.int64, (), "cuda"),
    ]
    unused = Buffer(3, dtype.int8, "c", "u")
    graph = graph_of(values, name='a "name" ü', inputs={"x": memory, "u": unused}, input_shapes={"x": (3, 4)})
    back = assert_round_trip(graph)
    assert back.sink.src[0].label == "largest"


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.uint64, np.float16, ml_dtypes.bfloat16, np.float64])
def test_contents_come_back_bit_for_bit(kind: Any) -> None:
    values = np.array([[0, 1, 1], [1, 0, 1]]).astype(kind)
    back = assert_round_trip(graph_of([build.alu(Op.ADD, *[build.array(values)] * 2)]))
    assert back.buffers[0].array.tolist() == values.ravel().tolist()  # type: ignore[union-attr]


def test_a_graph_of_100_000_nodes_comes_back() -> None:
    current = build.array(np.ones(2, np.float32))
    for _ in range(100_000):
        current = build.alu(Op.NEG, current)
    back = read_graph(write_graph(graph_of([current])))
    assert len(back.nodes) == 100_002


def test_the_documented_example_computes_row_means() -> None:
    found = re.search(r"```json\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    graph = read_graph(found[1], "graph-format.md")
    x = np.array([[1, 2, 3], [4, 5, 9]], np.float32)
    assert reference(graph, {"x": x})["means"].tolist() == [[2.0], [6.0]]
    assert graph.name == "row-means" and graph.sink.src[0].label == "the mean of each row"


def text(nodes: list[dict[str, Any]], **more: Any) -> str:
    return json.dumps({"format": "schedulog-graph", "version": 1, "nodes": nodes, "outputs": {}} | more)


X: dict[str, Any] = {"id": "x", "op": "BUFFER", "dtype": "int32", "arg": {"data": [1, 2]}}
ONE: dict[str, Any] = {"id": "one", "op": "CONST", "dtype": "int32", "shape": [2], "arg": 1}


def test_what_follows_from_the_rest_may_be_left_out() -> None:
    graph = read_graph(text([X, ONE, {"id": "y", "op": "ADD", "src": ["x", "one"]}], outputs={"y": "y"}))
    assert reference(graph, {})["y"].tolist() == [2, 3]
    scalar = read_graph(
        text([{"id": "c", "op": "CONST", "dtype": "float32", "arg": {"float": "-inf"}}], outputs={"c": "c"})
    )
    assert reference(scalar, {})["c"].tolist() == -math.inf


N: dict[str, Any] = {"var": "n", "min": 1, "max": 3, "val": 3}


def number(kind: str, value: object) -> str:
    return text([{"id": "c", "op": "CONST", "dtype": kind, "arg": value}])


def test_a_pair_of_halves_is_a_character() -> None:
    graph = read_graph(text([X | {"label": "\U0001f600"}], outputs={"x": "x"}))
    assert graph.sink.src[0].label == "\U0001f600"


BAD: list[tuple[str, str, str, str]] = [
    ('{"format": "schedulog-graph",\n "version": 1, nodes', "SL230", "g.json:2:16", "not JSON: Expecting property"),
    ('{"format": "schedulog-graph", "version": 1, "nodes": [{"id"', "SL230", "g.json:1:60", "not JSON: Expecting ':'"),
    ("[1, 2]", "SL230", "g.json", 'not a graph: no "format"'),
    ("[" * 100_000, "SL230", "g.json", "not a graph: nested too deeply"),
    ('{"version": NaN}', "SL230", "g.json", "not JSON: NaN is no number"),
    ('{"format": "schedulog-graph", "version": 2}', "SL233", "g.json", "version 2 of the graph format"),
    ('{"format": "schedulog-graph"}', "SL232", "g.json", "`version` is missing"),
    ('{"version": 1, "version": 1}', "SL232", "g.json", "`version` stands twice in one object"),
    ('{"format": "schedulog-graph", "version": 1}', "SL232", "g.json", "`nodes` is missing"),
    (text([], node=[]), "SL232", "g.json", "unknown field `node`"),
    (text([7]), "SL232", "g.json: node 0", "a node is an object"),  # type: ignore[list-item]
    (text([X, {"id": "y", "op": "NEG", "src": ["xx"]}]), "SL231", "g.json: y", "no node `xx`"),
    (text([{"id": "y", "op": "NEG", "src": ["y"]}]), "SL231", "g.json: y", "`y` is used before it is defined"),
    (text([X], outputs={"o": "q"}), "SL231", "g.json: output `o`", "no node `q`"),
    (text([X, X]), "SL232", "g.json: x", "`x` is defined twice"),
    (text([X | {"shap": [2]}]), "SL232", "g.json: x", "unknown field `shap`"),
    (text([X | {"op": "BUFER"}]), "SL232", "g.json: x", "`op` is 'BUFER', which is none"),
    (text([X | {"op": "SINK"}]), "SL232", "g.json: x", "`op` is 'SINK', which is none"),
    (text([X | {"dtype": 3}]), "SL232", "g.json: x", "`dtype` is 3, not a text"),
    (text([X | {"dtype": "int33"}]), "SL202", "g.json: x", "unknown dtype `int33`"),
    (text([X | {"shape": [3]}]), "SL232", "g.json: x", "`shape` is [3], but this op gives [2]"),
    (text([X | {"arg": {"data": "?"}}]), "SL232", "g.json: x", "`data` is not base64 of int32 numbers"),
    (text([X | {"arg": {"data": [1], "size": 2}}]), "SL203", "g.json: x", "contents of 1 x int32 for a buffer of 2"),
    (text([X | {"arg": {"data": ["a"]}}]), "SL232", "g.json: x", '`data`[0] is "a", not a number'),
    (text([{"id": "c", "op": "CONST", "dtype": "int8", "arg": 1.5}]), "SL232", "g.json: c", "`arg` is 1.5, not an int8 from"),
    (text([{"id": "c", "op": "CONST", "arg": 1}]), "SL232", "g.json: c", "`dtype` is missing"),
    (text([X, {"id": "y", "op": "CAST", "src": ["x"]}]), "SL232", "g.json: y", "`dtype` is missing"),
    (text([X, {"id": "y", "op": "ADD", "src": ["x"]}]), "SL210", "g.json: y", "ADD takes 2 sources, not 1"),
    (text([X, ONE | {"shape": [3]}, {"id": "y", "op": "ADD", "src": ["x", "one"]}]), "SL211", "g.json: y", "ADD of shapes"),
    (text([X, ONE | {"dtype": "int8"}, {"id": "y", "op": "ADD", "src": ["x", "one"]}]), "SL212", "g.json: y", "ADD of dtypes"),
    (text([X, {"id": "y", "op": "NEG", "src": ["x"], "dtype": "int8"}]), "SL212", "g.json: y", "NEG gives int32, not int8"),
    (text([X, {"id": "y", "op": "CMPLT", "src": ["x", "x"], "dtype": "int32"}]), "SL212", "g.json: y", "CMPLT gives bool, not int32"),
    (text([X, {"id": "y", "op": "REDUCE_AXIS", "src": ["x"], "arg": {"op": "ADD", "axes": [1]}}]), "SL213", "g.json: y",
     "axes (1,) of a reduction over 1 axes"),
    (text([X, {"id": "y", "op": "REDUCE_AXIS", "src": ["x"], "arg": {"op": "MIN", "axes": [0]}}]), "SL232", "g.json: y",
     '`op` is "MIN", not ADD, MUL or MAX'),
    (text([X, {"id": "v", "op": "VIEW", "src": ["x"], "arg": [{"shape": [3]}]}]), "SL225", "g.json: v",
     "a view touches elements 0 to 2 of 2"),
    (text([X, {"id": "v", "op": "VIEW", "src": ["x"], "arg": [{"shape": [2], "mask": [[0, 3]]}]}]), "SL225", "g.json: v",
     "a mask [[0, 3]] on a view of shape [2]"),
    (text([X, {"id": "v", "op": "VIEW", "src": ["x"], "arg": [{"shape": [2], "strides": []}]}]), "SL232", "g.json: v",
     "`strides` is [], not a list of 1"),
    (text([X, {"id": "v", "op": "VIEW", "src": ["x"], "arg": [{"shape": [{"v": 1}]}]}]), "SL222", "g.json: v", "{'v': 1} is"),
    (text([X, {"id": "y", "op": "NEG", "src": ["x"], "arg": 1}]), "SL232", "g.json: y", "NEG takes no `arg`"),
    (text([X, ONE], inputs={"x": {"node": "one"}}), "SL232", "g.json: input `x`", "`node` is a CONST, not a BUFFER"),
    (text([X], inputs={"x": {"node": "x", "shape": [-1]}}), "SL232", "g.json: input `x`", "`shape` is [-1], not a list"),
    (text([X], inputs={"x": {"node": "x", "shape": [3]}}), "SL232", "g.json: input `x`",
     "`shape` is [3], of 3 elements, but the memory has 2"),
    (text([X], inputs={"x": {"node": "x"}, "y": {"node": "x"}}), "SL232", "g.json: input `y`",
     "`node` is the memory of input `x` too"),
    (number("int8", 300), "SL232", "g.json: c", "`arg` is 300, not an int8 from -128 to 127"),
    (number("uint16", -1), "SL232", "g.json: c", "`arg` is -1, not a uint16 from 0 to 65535"),
    (number("int8", {"value": 128}), "SL232", "g.json: c", "`value` is 128, not an int8 from -128 to 127"),
    (number("int32", True), "SL232", "g.json: c", "`arg` is true, not an int32 from"),
    (number("bool", 1), "SL232", "g.json: c", "`arg` is 1, not a bool, true or false"),
    (number("float16", 1e5), "SL232", "g.json: c", "`arg` is 100000.0, not a float16 of at most 65504 in size"),
    (number("float64", 10**400), "SL232", "g.json: c", "`arg` is an integer of 401 digits, not a float64 of at most"),
    (number("float64", 1).replace(": 1}", ": 1e999}"), "SL232", "g.json: c", "`arg` is beyond all floats"),
    (number("int8", {"float": "nan"}), "SL232", "g.json: c", "`arg` is nan, not an int8 from -128 to 127"),
    (text([X | {"dtype": "int8", "arg": {"data": [1, 300]}}]), "SL232", "g.json: x",
     "`data`[1] is 300, not an int8 from -128 to 127"),
    (text([X | {"arg": {"data": [1.5, 1]}}]), "SL232", "g.json: x", "`data`[0] is 1.5, not an int32 from"),
    (text([X | {"arg": {"data": [1, True]}}]), "SL232", "g.json: x", "`data`[1] is true, not an int32 from"),
    (text([X | {"dtype": "bool", "arg": {"data": "AAI="}}]), "SL232", "g.json: x", "`data` is not base64 of bool numbers"),
    (text([]).replace('"version": 1', '"version": ' + "9" * 5000), "SL232", "g.json", "an integer of more than 4300 digits"),
    (text([X | {"label": "\ud800"}]), "SL232", "g.json", "a text with \\ud800, which is half of a character"),
    (text([X]).replace("int32", "\udfff"), "SL232", "g.json", "a text with \\udfff, which is half of a character"),
    (text([X, {"id": "v", "op": "VIEW", "src": ["x"], "arg": [{"shape": [{"expr": ["IDIV", 2, 0]}]}]}]), "SL224", "g.json: v",
     "division by 0 in ['IDIV', 2, 0]"),
    (text([X, {"id": "v", "op": "VIEW", "src": ["x"], "arg": [{"shape": [{"expr": ["MOD", N, 0]}]}]}]), "SL224", "g.json: v",
     "division by 0 in ['MOD', {'var': 'n'"),
    (text([X, {"id": "v", "op": "VIEW", "src": ["x"], "arg": [{"shape": [1], "strides": [1], "offset": N}]}]), "SL225",
     "g.json: v", "a view touches elements 3 to 3 of 2"),
    (text([X, {"id": "v", "op": "VIEW", "src": ["x"], "arg": [{"shape": [2]}, {"shape": [3]}]}]), "SL225", "g.json: v",
     "a view touches elements 0 to 2 of 2"),
    (text([X, {"id": "w", "op": "BUFFER_VIEW", "dtype": "int8", "src": ["x"], "arg": [9]}]), "SL225", "g.json: w",
     "a window of 9 bytes into 8"),
    (text([X, {"id": "y", "op": "REDUCE_AXIS", "src": ["x"], "arg": {"op": "ADD", "axes": [0, 0]}}]), "SL213", "g.json: y",
     "axes (0, 0) of a reduction"),
    (text([X, ONE, {"id": "y", "op": "ASSIGN", "src": ["one", "x"]}]), "SL214", "g.json: y", "cannot assign to <CONST int32[2]>"),
    (text([X, ONE, {"id": "v", "op": "VIEW", "src": ["x"], "arg": [{"shape": [2], "strides": [0]}]},
           {"id": "y", "op": "ASSIGN", "src": ["v", "one"]}]), "SL214", "g.json: y", "cannot assign to <VIEW int32[2]>"),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "code", "where", "message"), BAD)
def test_mistakes_are_named(bad: str, code: str, where: str, message: str) -> None:
    with pytest.raises(GraphError) as caught:
        read_graph(bad, "g.json")
    assert (caught.value.code, str(caught.value.where)) == (code, where)
    assert caught.value.message.startswith(message)


def test_a_truncated_file_never_gives_a_graph() -> None:
    whole = write_graph(graph_of([build.alu(Op.NEG, build.array(np.ones(2, np.float32)))]))
    for end in range(len(whole) - 2):
        with pytest.raises(GraphError) as caught:
            read_graph(whole[:end], "g.json")
        assert caught.value.code == "SL230"


def test_two_outputs_of_one_name_are_not_written() -> None:
    x = build.array(np.ones(2, np.float32))
    with pytest.raises(GraphError) as caught:
        write_graph(graph_of([x, x], outputs=["a", "a"]))
    assert caught.value.code == "SL213"
