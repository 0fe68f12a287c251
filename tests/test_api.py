"""The public functions: what they take, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import schedulog
from schedulog import Tensor, schedule
from schedulog.errors import DeviceError, GraphError, RuleError, ScheduleError, SchedulogError, UsageError
from schedulog.facts import build
from schedulog.facts.graph import graph_of
from schedulog.facts.json_format import write_graph
from schedulog.facts.ops import Op


def graph() -> Any:
    return graph_of([build.alu(Op.SQRT, build.array(np.arange(4.0)))])


def test_a_tensor_can_be_scheduled_and_stays_lazy() -> None:
    t = Tensor(np.arange(4.0)) * 2
    run = schedule(t)
    np.testing.assert_array_equal(run.execute({})["out0"], [0, 2, 4, 6])
    assert t.node.op is Op.MUL
    np.testing.assert_array_equal(t.numpy(), [0, 2, 4, 6])


def test_tensors_and_nodes_can_be_scheduled_together() -> None:
    t = Tensor(np.arange(4.0))
    found = schedule([t + 1, (t * t).node]).execute({})
    np.testing.assert_array_equal(found["out0"], [1, 2, 3, 4])
    np.testing.assert_array_equal(found["out1"], [0, 1, 4, 9])


def test_a_constant_tensor_can_be_scheduled() -> None:
    assert schedule(Tensor(3)).execute({})["out0"] == 3


NODES = "give a Graph (schedulog.load reads one), a Tensor or a Node, or a list of Tensors and Nodes"
PACKS = "give names, paths or rule texts, one or a list of them"
DEVICE = "give the name of a device: `schedulog devices` lists them"
PATH = "give the path of a file"
PAIRS = "give a pair of integers for each axis: [(0, 1), (2, 2)]"


def captured(path: Any) -> None:
    with schedulog.capture(path):
        schedule(graph())


def matrix() -> Any:
    return Tensor(np.arange(6.0).reshape(2, 3))


def run() -> Any:
    return schedule(graph())


KINDS: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: run().execute("x"), "`inputs` cannot be a str", "give a mapping: inputs={'x': array}"),
    (lambda: run().execute({}, variables=[1]), "`variables` cannot be a list", "give a mapping: variables={'n': 5}"),
    (lambda: run().execute({}, device=5), "`device` cannot be an int", DEVICE),
    (lambda: run().execute({}, times=()), "`times` cannot be a tuple", "give a list: times=[]"),
    (lambda: run().load(0), "`device` cannot be an int", DEVICE),
    (lambda: run().sql(5), "`query` cannot be an int", "give a SELECT or the name of a query, as kernels"),
    (lambda: run().save(5), "`path` cannot be an int", PATH),
    (lambda: run().save("run.db", label=5), "`label` cannot be an int", "give a name"),
    (lambda: schedule(graph(), capture=5), "`capture` cannot be an int", PATH),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: captured(5), "`path` cannot be an int", PATH),
    (lambda: schedulog.load_rules("classic").test(select=5), "`select` cannot be an int", "give a text"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedulog.open_file(5), "`path` cannot be an int", PATH),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedulog.load_safetensors(5), "`path` cannot be an int", PATH),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedulog.save_safetensors(5, {}), "`path` cannot be an int", PATH),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedulog.save_safetensors("z", [1]), "`tensors` cannot be a list", "give a mapping: tensors={'weight': t}"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedulog.save_safetensors("z", {}, [1]), "`metadata` cannot be a list", "give a mapping: metadata={'made by': 'me'}"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: Tensor([1.0], device=5), "`device` cannot be an int", DEVICE),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: matrix().to(None), "`device` cannot be None", DEVICE),
    (lambda: matrix().realize(device=5), "`device` cannot be an int", DEVICE),
    (lambda: matrix().realize(5), "`others` cannot be an int", "give tensors"),
    (lambda: matrix().reshape("x"), "a shape or an order of axes cannot be 'x'", "give integers: (2, 3)"),
    (lambda: matrix().reshape(1.5, 4), "a shape or an order of axes cannot be (1.5, 4)", "give integers: (2, 3)"),
    (lambda: matrix().broadcast_to(None), "a shape or an order of axes cannot be None", "give integers: (2, 3)"),
    (lambda: matrix().pad(5), "`widths` cannot be 5", PAIRS),
    (lambda: matrix().pad([("a", 1), (0, 0)]), "`widths` cannot be [('a', 1), (0, 0)]", PAIRS),
    (lambda: matrix().shrink([5, (0, 1)]), "`bounds` cannot be [5, (0, 1)]", PAIRS),
    (lambda: np.sum(matrix(), out=np.zeros(())), "`out` cannot be a ndarray", "assign the result: t.assign(...)"),
    (lambda: np.mean(matrix(), dtype=np.float32), "`dtype` cannot be a type", "convert first: t.astype(...)"),
]  # fmt: skip
WRONG: list[tuple[Callable[[], Any], str, str, str]] = [
    (lambda: schedule(None), "SL704", "cannot schedule None", NODES),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedule(3), "SL704", "cannot schedule an int", NODES),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedule("model.onnx"), "SL704", "cannot schedule a str", NODES),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedule([]), "SL704", "cannot schedule an empty list", NODES),
    (lambda: schedule([Tensor(1.0), 2]), "SL704", "cannot schedule an int", NODES),  # type: ignore[list-item]  # wrong on purpose
    (lambda: schedule(np.zeros(3)), "SL704", "cannot schedule a ndarray", NODES),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedule(graph(), rules=None), "SL730", "`rules` cannot be None", PACKS),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedule(graph(), rules=["classic", 3]), "SL730", "`rules` cannot be an int", PACKS),  # type: ignore[list-item]  # wrong on purpose
    (lambda: schedule(graph(), disable=None), "SL730", "`disable` cannot be None", "give names, one or a list of them"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedule(graph(), engine=["sqlite"]), "SL730", "`engine` cannot be a list", "give a name"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedule(graph(), engine="prolog"), "SL703", "unknown engine `prolog`", "engines: sqlite, pydatalog, clingo"),
    (lambda: schedule(graph(), options=["a"]), "SL730", "`options` cannot be a list", "give a mapping: options={'N': 1}"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedule(graph(), options={"FUSE_ARANGE": "1"}), "SL730", "`options['FUSE_ARANGE']` cannot be a str", "give an integer"),  # type: ignore[dict-item]  # wrong on purpose
    (lambda: schedulog.load(None), "SL730", "`path` cannot be None", "give the path of a file"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedulog.load(3), "SL730", "`path` cannot be an int", "give the path of a file"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: schedulog.load("m.onnx", dims={"N": 1.5}), "SL730", "`dims['N']` cannot be a float", "give an integer"),  # type: ignore[dict-item]  # wrong on purpose
    (lambda: schedulog.load("m.onnx", inputs={"x": 3}), "SL730", "`inputs['x']` cannot be an int", "give the sizes: (1, 3, 224, 224)"),  # type: ignore[dict-item]  # wrong on purpose
    (lambda: schedulog.load("m.onnx", inputs={"x": (1, -3)}), "SL730", "`inputs['x']` cannot be (1, -3)", "give sizes of 0 or more"),
    *((call, "SL730", message, help) for call, message, help in KINDS),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "code", "message", "help"), WRONG, ids=[f"{i}-{w[2]}" for i, w in enumerate(WRONG)]
)
def test_wrong_arguments_are_usage_errors(
    call: Callable[[], Any], code: str, message: str, help: str
) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert (caught.value.code, caught.value.message, caught.value.help) == (code, message, help)


def test_numpy_integers_and_single_names_are_taken() -> None:
    run = schedule(graph(), "classic", options={"kernel_nodes": np.int64(5)}, disable="classic/forced")  # type: ignore[dict-item]  # numpy's integers index
    assert run.options == {"kernel_nodes": 5}
    assert not any(rule.id == "classic/forced" for rule in run.program.rules)


KNOWN = (
    "switches: DONT_REALIZE_EXPAND, FUSE_ARANGE, FUSE_CONV_BW, SPLIT_REDUCEOP, copy_on_hazard, kernel_nodes, split_least, "
    "split_parts, split_ratio, split_results, verify"
)
UNKNOWN: list[tuple[Callable[[], Any], str, str, str]] = [
    (lambda: schedule(graph(), options={"FUSE_ARANG": 1}), "options", "FUSE_ARANG", "did you mean FUSE_ARANGE?"),
    (lambda: schedule(graph(), options={"copy_on_hazard": 1, "zzz": 0}), "options", "zzz", KNOWN),
    (lambda: schedule(graph(), rules=(), options={"copy_on_hazard": 1}), "options", "copy_on_hazard", "switches: kernel_nodes, verify"),
    (lambda: schedulog.load_rules("classic").schedule(graph(), options={"zzz": 1}), "options", "zzz", KNOWN),
    (lambda: schedulog.diff(graph(), (), "classic", options={"zzz": 1}), "options", "zzz", KNOWN),
    (lambda: schedulog.diff(graph(), "classic", (), options_after={"FUSE_ARANGE": 1}), "options_after", "FUSE_ARANGE", "switches: kernel_nodes, verify"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "where", "name", "help"), UNKNOWN)
def test_a_switch_that_no_rule_asks_about_is_refused(
    call: Callable[[], Any], where: str, name: str, help: str
) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert (caught.value.code, caught.value.message) == ("SL706", f"no rule asks about `{name}`")
    assert (caught.value.where, caught.value.help) == (where, help)


def test_a_switch_is_known_where_one_of_the_rules_asks_about_it() -> None:
    own = 'realize(N) :- option("all_stored", 1), computed(N).\n'
    assert schedule(graph(), rules=["classic", own], options={"all_stored": 1}).options == {"all_stored": 1}
    assert schedulog.diff(graph(), (), "classic", options={"FUSE_ARANGE": 1}).changes is not None


@pytest.mark.parametrize("value", [0, -1, 2**63])
def test_a_limit_has_a_range(value: int) -> None:
    with pytest.raises(UsageError) as caught:
        schedule(graph(), options={"kernel_nodes": value})
    assert str(caught.value) == (
        f"error[SL731] `kernel_nodes` cannot be {value}\n"
        "  at options\n"
        "  why: it goes from 1 to 9223372036854775807\n"
        "  help: give a number in this range"
    )


def test_a_pack_states_the_range_of_a_limit_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.dl"
    path.write_text(
        'default_limit("deep", 9).\nleast_limit("deep", 4).\n.decl deep(n: int)\ndeep(N) :- limit("deep", N).\n'
        "realize(N) :- computed(N), position(N, P), deep(Most), P > Most.\n",
        encoding="utf-8",
    )
    assert schedule(graph(), rules=["classic", path], options={"deep": 4}).decisions.model.rows("deep") == [
        (4,)
    ]
    with pytest.raises(UsageError, match="`deep` cannot be 3"):
        schedule(graph(), rules=["classic", path], options={"deep": 3})


COSTS = ".decl cost(n: node, c: int)\n.input cost\n{more}realize(N) :- cost(N, C), C > 5.\n"


def test_an_input_that_no_graph_supplies_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "costs.dl"
    path.write_text(COSTS.format(more=""), encoding="utf-8")
    with pytest.raises(ScheduleError) as caught:
        schedule(graph(), rules=["classic", path])
    assert caught.value.code == "SL315"
    assert caught.value.message == "nothing supplies the input relation `cost`"
    assert str(caught.value.where) == f"{path}:1:7"
    assert (
        caught.value.help
        == "state facts of it and drop `.input cost`, or write `.open cost` if it may be empty"
    )
    path.write_text(COSTS.format(more=".open cost\n"), encoding="utf-8")
    assert len(schedule(graph(), rules=["classic", path]).kernels) == 1


def test_a_folder_without_rules_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no rules", encoding="utf-8")
    with pytest.raises(RuleError) as caught:
        schedule(graph(), rules=[tmp_path])
    assert (caught.value.code, caught.value.message) == ("SL107", "a folder without rule files")
    assert caught.value.where == tmp_path.as_posix()


def test_inputs_are_for_onnx_models_only(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text(write_graph(graph()), encoding="utf-8")
    with pytest.raises(SchedulogError) as caught:
        schedulog.load(path, inputs={"x": (3,)})
    assert caught.value.code == "SL264"
    assert schedulog.load(bytes(path)).outputs == ("out0",)  # type: ignore[arg-type]  # the system's own spelling


@pytest.mark.parametrize("function", [np.sum, np.prod, np.mean, np.max, np.min, np.all, np.any])
def test_reductions_of_numpy_are_those_of_a_tensor(function: Callable[..., Any]) -> None:
    t = matrix()
    for arguments in ({}, {"axis": 0}, {"axis": 1, "keepdims": True}):
        found = function(t, **arguments)
        assert isinstance(found, Tensor)
        wanted = np.asarray(function(t.numpy(), **arguments))
        assert found.numpy().dtype == wanted.dtype
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_numpy_transposes_a_tensor() -> None:
    t = matrix()
    np.testing.assert_array_equal(np.transpose(t), t.numpy().T)
    np.testing.assert_array_equal(t.transpose(np.array([1, 0])).numpy(), t.numpy().T)


@pytest.mark.parametrize("axis", ["x", None, 1.5])
def test_an_axis_of_the_wrong_kind_is_refused(axis: Any) -> None:
    for call in (matrix().unsqueeze, matrix().softmax):
        with pytest.raises(GraphError) as caught:
            call(axis)
        assert caught.value.code == "SL215"


@pytest.mark.parametrize("t", [matrix(), Tensor(3), matrix() * 2], ids=["stored", "number", "lazy"])
def test_a_tensor_is_not_realized_on_a_device_that_there_is_not(t: Tensor) -> None:
    with pytest.raises(DeviceError) as caught:
        t.realize(device="foo")
    assert (caught.value.code, caught.value.message) == ("SL500", "there is no device `foo`")
