"""Image dtypes: scheduled as they are, stored as plain memory of their element type, rounded where a half image rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from schedulog.errors import GraphError
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import DType, float16, float32, image, named
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.node import Node, node
from schedulog.facts.ops import Op
from schedulog.facts.simplify import simplify
from schedulog.run import schedule
from schedulog.runtimes import devices
from schedulog.runtimes.evaluate import reference
from schedulog.scheduler.verify.simplified import check_simplified

FULL = image("float", (2, 3, 4))
HALF = image("half", (2, 3, 4))
RUNNING = [name for name in ("numpy", "c") if devices()[name] is None]
VALUES: NDArray[Any] = (np.arange(24, dtype=np.float32) + 1) / 7


def stored_as(kind: DType) -> Graph:
    """Three times the input as an image, stored, and its square root in plain floats."""
    memory = Buffer(24, float32, "", "x")
    x = build.buffer(memory, (2, 3, 4))
    tripled = build.alu(Op.MUL, x, build.const(3, float32, (2, 3, 4)))
    picture = build.contiguous(build.cast(tripled, kind))
    root = build.alu(Op.SQRT, build.cast(picture, float32))
    return graph_of([root], inputs={"x": memory}, input_shapes={"x": (2, 3, 4)})


@pytest.mark.parametrize("device", RUNNING)
@pytest.mark.parametrize(("kind", "element"), [(FULL, np.float32), (HALF, np.float16)])
def test_an_image_holds_elements_of_its_base_type(kind: DType, element: Any, device: str) -> None:
    run = schedule(stored_as(kind))
    assert len(run.kernels) == 2
    assert run.kernels[0].buffers[0].dtype == (float32 if element is np.float32 else float16)
    found = run.execute({"x": VALUES.reshape(2, 3, 4)}, device)["out0"]
    wanted = np.sqrt((VALUES * 3).astype(element).astype(np.float32)).reshape(2, 3, 4)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("device", RUNNING)
@pytest.mark.parametrize("kind", [FULL, HALF])
def test_an_image_is_an_input(kind: DType, device: str) -> None:
    memory = Buffer(24, kind, "", "x")
    rows = build.buffer(memory, (6, 4))
    total = build.reduce("ADD", build.cast(rows, float32), (1,))
    graph = graph_of([total], inputs={"x": memory}, input_shapes={"x": (24,)})
    given = VALUES.astype(kind.to_numpy())
    found = schedule(graph).execute({"x": given}, device)["out0"]
    np.testing.assert_allclose(found[:, 0], given.astype(np.float32).reshape(6, 4).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(found, reference(graph, {"x": given})["out0"], rtol=1e-5)


@pytest.mark.parametrize("device", RUNNING)
def test_half_images_round_whether_fused_or_stored(device: str) -> None:
    x = build.array(VALUES.reshape(2, 3, 4))
    picture = build.cast(x, HALF)
    fused = build.alu(Op.MUL, build.cast(picture, float32), build.cast(picture, float32))
    stored = build.cast(build.contiguous(picture), float32)
    found = schedule([fused, build.alu(Op.MUL, stored, stored)]).execute(device=device)
    rounded = VALUES.astype(np.float16).astype(np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(found["out0"], rounded * rounded)
    np.testing.assert_array_equal(found["out1"], found["out0"])


def simplified(value: Node) -> Node:
    return simplify(graph_of([value])).graph.sink.src[0]


def test_what_does_not_fit_the_image_is_plain() -> None:
    x = build.array(np.zeros((2, 3, 4), np.float32))
    assert simplified(build.contiguous(build.cast(x, FULL))).dtype == FULL
    assert simplified(build.contiguous(build.cast(x, image("float", (2, 2, 4))))).dtype == float32
    odd = build.array(np.zeros((4, 6), np.float32))
    assert simplified(build.contiguous(build.cast(odd, FULL))).dtype == float32


@pytest.mark.parametrize(("base", "element"), [("float", np.float32), ("half", np.float16)])
def test_what_does_not_fit_the_image_it_is_requested_as_is_plain_elements(base: Any, element: Any) -> None:
    graph = graph_of([build.contiguous(build.cast(build.array(VALUES), image(base, (2, 2, 4))))])
    plain = simplify(graph)
    check_simplified(graph, plain)
    found = schedule(plain.graph).execute(device="numpy")["out0"]
    np.testing.assert_array_equal(found, VALUES.astype(element))


def test_an_image_operation_mixes_with_its_elements() -> None:
    x = build.cast(build.array(VALUES.reshape(2, 3, 4)), FULL)
    total = node(Op.ADD, (x, x), None, FULL)
    found = schedule([build.cast(total, float32)]).execute(device="numpy")["out0"]
    np.testing.assert_array_equal(found.ravel(), VALUES + VALUES)


@pytest.mark.parametrize(
    "name", ["imagef[1,2,3,x]", "imagef[1,2,3,]", "imagef[,1,2,3]", "imagef[1,2]", "imagef[1,2,\N{SUPERSCRIPT TWO}]",
             "imagef[-1,2,3]", "imagex[1,2,3]", "imageh[" + "9" * 5000 + ",1,4]", "imageh[1,2,3]\n"],
)  # fmt: skip
def test_what_names_no_image(name: str) -> None:
    assert named("imageh[2,3,4]") == HALF
    with pytest.raises(GraphError) as caught:
        named(name)
    assert caught.value.code == "SL202"
