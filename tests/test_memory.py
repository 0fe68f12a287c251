"""Memory of a run: what cannot be had is named, and what nobody computed is shown as nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from schedulog.cli.app import app
from schedulog.cli.inputs import random_inputs
from schedulog.errors import DeviceError
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import float32
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.run import schedule
from schedulog.runtimes import computes, device_names, devices

DEVICES = [name for name in ("c", "numpy") if devices()[name] is None]
HUGE = 10**14


def graph(value: Node, **inputs: Buffer) -> Graph:
    return graph_of([value], name="g", outputs=["y"], inputs=inputs)


def refused(act: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(DeviceError) as caught:
        act()
    return caught.value.code, caught.value.message


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [HUGE, 2**54])
def test_an_output_that_does_not_fit_into_memory(device: str, size: int) -> None:
    one = build.array(np.ones(1, np.float32), "one")
    wide = build.alu(Op.NEG, build.expand(one, (size,)))
    run = schedule(graph(wide))
    assert refused(lambda: run.execute({}, device)) == (
        "SL534",
        f"no memory for buffer n2 of kernel {run.kernels[0].name}: {size:,} x float32, {size * 4:,} bytes",
    )


def test_an_input_that_does_not_fit_into_memory() -> None:
    wanted = graph(build.alu(Op.NEG, build.buffer(memory := Buffer(HUGE, float32, name="x"))), x=memory)
    assert refused(lambda: random_inputs(wanted, 0, {})) == (
        "SL534",
        "no memory for input x: 100,000,000,000,000 x float32, 400,000,000,000,000 bytes",
    )


@pytest.mark.parametrize("device", DEVICES)
def test_a_constant_that_does_not_fit_into_memory(device: str) -> None:
    wide = build.const(1.0, float32, (HUGE,))
    assert refused(lambda: schedule(graph(wide)).execute({}, device)) == (
        "SL534",
        "no memory for output y: 100,000,000,000,000 x float32, 400,000,000,000,000 bytes",
    )


def test_a_value_inside_a_kernel_that_does_not_fit_into_memory() -> None:
    """numpy makes every value of a kernel. A stored one of another size shows that the largest is named."""
    one = build.array(np.ones(1, np.float32))
    wide = build.pad(build.alu(Op.NEG, one), [(0, HUGE)])
    kernel = schedule(graph(build.shrink(build.alu(Op.NEG, build.contiguous(wide)), [(0, 2)])))
    assert refused(lambda: kernel.execute({}, "numpy"))[0] == "SL534"


def test_what_computes() -> None:
    assert {name for name in device_names() if not computes(name)} == {"disk", "null"}
    assert computes("") and computes("cpu") and computes("../null") and computes("base")


def test_what_null_leaves_are_zeros() -> None:
    x = build.array(np.full(1000, 7, np.float32))
    for _ in range(3):
        np.full(1000, 9, np.float32)  # memory that is used again
        found = schedule(graph(build.alu(Op.NEG, x))).execute({}, "null")["y"]
        assert not found.any()
    moved = build.alu(Op.NEG, build.copy(x, "null:1"))
    assert not schedule(graph(moved)).execute({}, "numpy")["y"].any()


def test_what_null_leaves_is_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "g.json"
    file.write_text(
        '{"format": "schedulog-graph", "version": 1, "inputs": {"x": {"node": "x"}}, "nodes": ['
        '{"id": "x", "op": "BUFFER", "dtype": "float32", "arg": {"name": "x", "size": 6}},'
        '{"id": "y", "op": "NEG", "src": ["x"]}], "outputs": {"y": "y"}}'
    )
    command = ["run", str(file), "--random", "0", "--device", "null"]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0
    assert "null computes nothing, so there are no outputs to show" in shown.output
    assert "mean" not in shown.output and " on null" in shown.output
    record = json.loads(CliRunner().invoke(app, [*command, "--json"]).output)
    assert (record["device"], record["outputs"]) == ("null", {})
    assert "mean" in CliRunner().invoke(app, [*command[:-1], "numpy"]).output
