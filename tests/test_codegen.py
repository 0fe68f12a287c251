"""The code of kernels: golden sources, placement, limits, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from whole import whole_kernel, whole_schedule

from schedulog.codegen.index import c_text, coefficients, through
from schedulog.codegen.lower import lower
from schedulog.codegen.scalar import literal
from schedulog.codegen.source import kernel_code, program_code
from schedulog.codegen.values import Reduction
from schedulog.errors import CodegenError
from schedulog.facts import build, compose
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import DType, bfloat16, float16, float32, float64, int8, int32, int64, uint64
from schedulog.facts.graph import graph_of
from schedulog.facts.node import Node, node
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Variable
from schedulog.facts.view import ViewStack
from schedulog.runtimes.c import CDevice
from schedulog.scheduler.kernels import Kernel, Read, Schedule

GOLDEN = Path(__file__).parent / "golden" / "c"
NO_COMPILER = CDevice().missing()

Array = NDArray[Any]
Case = tuple[Schedule, Array]


def floats(*shape: int, dtype: type = np.float32, seed: int = 1) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def softmax_of(x: Node) -> Node:
    def spread(op: Any, n: Node) -> Node:
        return build.expand(build.reduce(op, n, (1,)), n.shape)

    shifted = build.alu(Op.EXP, build.alu(Op.SUB, x, spread("MAX", x)))
    return build.alu(Op.FDIV, shifted, spread("ADD", shifted))


def softmax() -> Case:
    x = floats(20, 100)
    powers = np.exp(x - x.max(1, keepdims=True))
    return whole_schedule([softmax_of(build.array(x))], "softmax"), powers / powers.sum(1, keepdims=True)


def matmul_of(a: Node, b: Node) -> Node:
    (m, k), n = a.shape, b.shape[1]
    left = build.expand(build.reshape(a, (m, 1, k)), (m, n, k))
    right = build.expand(build.reshape(build.permute(b, (1, 0)), (1, n, k)), (m, n, k))
    return build.reshape(build.reduce("ADD", build.alu(Op.MUL, left, right), (2,)), (m, n))


def matmul() -> Case:
    a, b = floats(8, 30), floats(30, 96, seed=2)
    return whole_schedule([matmul_of(build.array(a), build.array(b))], "matmul"), a @ b


def conv_relu() -> Case:
    """A 3x3 convolution with padding 1, written with windows as one view: reshape(x padded) seen nine times."""
    x, w = floats(3, 10, 12), floats(4, 3, 3, 3, seed=2)
    weights = build.array(w)
    padded = build.pad(build.array(x), ((0, 0), (1, 1), (1, 1)))
    repeated = build.expand(build.reshape(padded, (3, 1, 12, 1, 14)), (3, 4, 12, 4, 14))
    rows = build.shrink(build.reshape(repeated, (3, 48, 56)), ((0, 3), (0, 39), (0, 45)))
    windows = build.shrink(build.reshape(rows, (3, 3, 13, 3, 15)), ((0, 3), (0, 3), (0, 10), (0, 3), (0, 12)))
    arranged = build.reshape(build.permute(windows, (0, 2, 4, 1, 3)), (1, 3, 10, 12, 3, 3))
    spread = build.expand(arranged, (4, 3, 10, 12, 3, 3))
    scaled = build.alu(Op.MUL, spread, build.expand(build.reshape(weights, (4, 3, 1, 1, 3, 3)), spread.shape))
    summed = build.reshape(build.reduce("ADD", scaled, (1, 4, 5)), (4, 10, 12))
    relu = build.alu(Op.MAX, summed, build.const(0.0, float32, (4, 10, 12)))

    wide = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (1, 1), (1, 1))), (3, 3), axis=(1, 2))
    return whole_schedule([relu], "conv_relu"), np.maximum(np.einsum("cyxij,ocij->oyx", wide, w), 0)


def transpose_add() -> Case:
    a, b = floats(7, 33), floats(33, 7, seed=2)
    total = build.alu(Op.ADD, build.permute(build.array(a), (1, 0)), build.array(b))
    return whole_schedule([total], "transpose_add"), a.T + b


def half_sum() -> Case:
    x = floats(5, 40, dtype=np.float16)
    total = build.reduce("ADD", build.alu(Op.MUL, build.array(x), build.array(x)), (1,))
    return whole_schedule([total], "half_sum"), (x * x).astype(np.float32).sum(1).astype(np.float16)


def assign_kernel(
    target: Buffer, look: ViewStack, value: Node, reads: dict[Node, Read], *more: Buffer
) -> Schedule:
    flat = build.buffer(target)
    output = build.assign(build.view(flat, look), value)
    kernel = Kernel(
        0, "assign", "assign", output, value, (target, *more), look, MappingProxyType(reads), (value,), "c",
        ("classic/assign",),
    )  # fmt: skip
    return Schedule(graph_of([output]), (kernel,), (), (), kernel.buffers)


def assign_slice() -> Case:
    """x[2:6] += y, in place: the kernel reads the buffer it writes."""
    x, y = (
        Buffer(10, int32, name="x", array=np.arange(10, dtype=np.int32)),
        build.array(np.full(4, 7, np.int32)),
    )
    window = ViewStack.of_shape((10,)).shrink(((2, 6),))
    old = build.buffer(x)
    value = build.alu(Op.ADD, build.view(old, window), y)
    reads = {old: Read(0, ViewStack.of_shape((10,))), y: Read(1, ViewStack.of_shape((4,)))}
    return assign_kernel(x, window, value, reads, y.arg), np.array([0, 1, 9, 10, 11, 12, 6, 7, 8, 9])


CASES: dict[str, Callable[[], Case]] = {
    f.__name__: f for f in (softmax, matmul, conv_relu, transpose_add, half_sum, assign_slice)
}


@pytest.mark.parametrize("name", CASES)
def test_golden_source(name: str, update_golden: bool) -> None:
    schedule, _ = CASES[name]()
    [source] = program_code(schedule).sources.values()
    path = GOLDEN / f"{name}.c"
    if update_golden:
        path.write_text(source, "utf-8")
    assert source == path.read_text("utf-8"), "run with --update-golden if the change is wanted"


@pytest.mark.skipif(NO_COMPILER is not None, reason=str(NO_COMPILER))
@pytest.mark.parametrize("name", CASES)
def test_golden_values(name: str) -> None:
    schedule, expected = CASES[name]()
    memory = [
        np.zeros(b.size, b.dtype.to_numpy()) if b.array is None else b.array.copy() for b in schedule.buffers
    ]
    CDevice().load(schedule).run(memory, {})
    np.testing.assert_allclose(
        memory[0].astype(float), expected.astype(float).reshape(-1), rtol=1e-3, atol=1e-5
    )


def source_of(value: Node) -> str:
    [source] = program_code(whole_schedule([value])).sources.values()
    return source


def test_a_row_softmax_computes_each_row_once() -> None:
    """Maximum and sum stand in the row's loop, before the loop over the row's elements."""
    source = source_of(softmax_of(build.array(floats(20, 100))))
    outside, row = source.split("for (int64_t i0 = 0; i0 < 20; i0++) {")
    before, elements = row.split("for (int64_t i1 = 0; i1 < 100; i1++) {")
    assert "max" not in outside and "sum" not in outside
    assert "const float max0 =" in before and "const float sum0 =" in before
    assert elements.split("}")[0].strip() == "out[i0 * 100 + i1] = expf(in1[i0 * 100 + i1] - max0) / sum0;"


def test_a_column_reduction_is_not_repeated_for_every_row() -> None:
    """x - x.sum(0): the loop over columns goes outside, so each sum is taken once."""
    x = build.array(floats(50, 200))
    source = source_of(build.alu(Op.SUB, x, build.expand(build.reduce("ADD", x, (0,)), (50, 200))))
    assert (
        source.index("for (int64_t i1_tile")
        < source.index("for (int64_t r0")
        < source.index("for (int64_t i0 ")
    )


def test_a_matmul_shares_loads_in_tiles_of_rows_and_lanes() -> None:
    source = source_of(matmul_of(build.array(floats(64, 64)), build.array(floats(64, 128, seed=2))))
    assert "float sum0[4][64];" in source
    assert "for (int64_t i0_rows = 0; i0_rows < 64; i0_rows += 4)" in source


def test_many_padded_loads_are_not_computed_in_tiles() -> None:
    """100 pieces in tiles took a compiler 7 s, in one plain loop 0.8 s. A padded stencil of 7 x 7 is better in tiles."""
    pieces = [build.array(floats(3, seed=i)) for i in range(65)]
    assert "_tile" in source_of(compose.concat(pieces[:49], 0))
    assert source_of(compose.concat(pieces, 0)).count("for (") == 1


def test_axes_that_lie_one_after_another_are_one_loop() -> None:
    x = build.array(floats(3, 4, 5))
    assert source_of(build.alu(Op.ADD, x, x)).count("for (") == 1
    turned = build.alu(Op.ADD, build.permute(x, (2, 0, 1)), build.array(floats(5, 3, 4, seed=2)))
    assert source_of(turned).count("for (") == 2


def test_a_shared_diamond_is_linear() -> None:
    """25 doublings have 2**25 paths; each is one addition."""
    n = build.array(floats(10))
    for _ in range(25):
        n = build.alu(Op.ADD, n, n)
    assert source_of(n).count("+ ") == 25


def test_shifted_diamonds_stay_small() -> None:
    """x[i] + x[i + 1], 25 times: the index vectors are few although the paths are many."""
    n = build.array(floats(100))
    for _ in range(25):
        left = build.pad(build.shrink(n, ((1, 100),)), ((0, 1),))
        right = build.pad(build.shrink(n, ((0, 99),)), ((1, 0),))
        n = build.alu(Op.ADD, left, right)
    assert len(lower(whole_kernel(n)).values()) < 3000


def test_a_deep_kernel_does_not_recurse() -> None:
    n = build.array(floats(10))
    one = build.const(1.0, float32, (10,))
    for _ in range(5000):
        n = build.alu(Op.ADD, n, one)
    assert source_of(n).count(" + ") == 5000


def test_too_many_statements_are_refused() -> None:
    n = build.array(floats(10))
    for _ in range(50):
        n = build.alu(Op.ADD, n, n)
    with pytest.raises(CodegenError) as caught:
        kernel_code(whole_kernel(n, name="huge"), statement_limit=20)
    assert str(caught.value).splitlines()[:3] == [
        "error[SL401] kernel huge needs more than 20 statements",
        "  at kernel huge of 50 operations",
        "  why: such a kernel takes minutes to compile",
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (build.alu(Op.EXP, build.array(np.arange(3, dtype=np.int32))), "EXP of int32 has no code"),
        (build.alu(Op.SHL, build.array(floats(3)), build.array(floats(3))), "SHL of float32 has no code"),
        (node(Op.THREEFRY, (build.array(np.arange(3)),) * 2), "THREEFRY of int64 has no code"),
    ],
)
def test_an_operation_without_meaning_is_refused(value: Node, message: str) -> None:
    with pytest.raises(CodegenError) as caught:
        kernel_code(whole_kernel(value, name="odd"))
    assert (caught.value.code, caught.value.message, caught.value.where) == ("SL402", message, "kernel odd")


def test_a_node_that_is_neither_read_nor_computed_is_refused() -> None:
    x = build.array(floats(3))
    whole = whole_kernel(build.alu(Op.NEG, x))
    lost = Kernel(0, "lost", "store", whole.output, whole.value, whole.buffers, whole.stores, {}, (), "c")
    with pytest.raises(CodegenError, match="BUFFER of float32 has no code"):
        kernel_code(lost)


def test_kernels_with_the_same_code_share_a_function() -> None:
    values = [build.alu(Op.NEG, build.array(floats(5, seed=seed))) for seed in (1, 2)]
    code = program_code(whole_schedule([*values, build.alu(Op.SQRT, build.array(floats(5)))]))
    assert code.sources["whole0"] == code.sources["whole1"] != code.sources["whole2"]
    assert len(re.findall(r"^static void kernel_", code.text, re.MULTILINE)) == 2


def test_the_code_does_not_depend_on_a_variables_value() -> None:
    def total(value: int) -> str:
        size = Variable("n", 1, 64, value)
        return source_of(build.reduce("ADD", build.shrink(build.array(floats(64)), ((0, size),)), (0,)))

    assert total(3) == total(50)
    assert "const int64_t n_n = variables[0];" in total(3)


def test_a_variable_named_like_a_loop_is_kept_apart() -> None:
    size = Variable("i0", 0, 63, 5)
    x = build.reshape(build.array(floats(64)), (64, 1))
    shown = build.expand(build.shrink(x, ((size, size + 1), (0, 1))), (1, 8))
    assert "in1[n_i0]" in source_of(shown)


def test_a_masked_view_of_a_computed_value_is_zero_outside() -> None:
    """Padding exp(x) pads zeros, not exp(0)."""
    x = build.array(floats(4))
    source = source_of(build.pad(build.alu(Op.EXP, x), ((2, 2),)))
    assert re.search(r"v0 = expf\(.*\n.*out\[i0\] = float_if\(.*, v0\);", source)


def test_an_empty_value_has_no_loops() -> None:
    empty = build.shrink(build.array(floats(4)), ((2, 2),))
    assert kernel_code(whole_kernel(build.pad(empty, ((0, 3),)))).body != ()
    assert kernel_code(whole_kernel(empty)).body == ()


def test_nested_and_side_by_side_reductions_keep_their_loops() -> None:
    x = build.array(floats(6, 7, 8))
    inner = build.expand(build.reduce("MAX", x, (2,)), (6, 7, 8))
    outer = build.reduce("ADD", build.alu(Op.MUL, x, inner), (1, 2))
    beside = build.alu(Op.ADD, outer, build.reduce("MUL", x, (1, 2)))
    found = [v for v in lower(whole_kernel(beside)).values() if isinstance(v, Reduction)]
    assert sorted((v.op, len(v.loops)) for v in found) == [("ADD", 2), ("MAX", 1), ("MUL", 2)]


def test_index_text_rounds_down() -> None:
    i = Variable("i", -5, 20)
    j = Variable("j", 0, 20)
    assert c_text((i * 3 + 1) // 7) == "floor_div(i * 3 + 1, 7)"
    assert c_text((j * 3 + 1) % 7) == "((j * 3 + 1) % 7)"
    assert c_text(j * -2 + 5) == "-j * 2 + 5"


def test_coefficients_are_exact_or_none() -> None:
    i, j, n = Variable("i", 0, 9), Variable("j", 0, 9), Variable("n", 1, 9)
    assert coefficients(i * 3 + j * n + 7, (i, j)) == {i: 3, j: n}
    assert coefficients(i * j + i, (i, j)) == {i: None, j: None}
    assert coefficients((i + 3) // 2, (i, j)) == {i: None}


def test_arithmetic_behind_a_mask_uses_its_bounds() -> None:
    """A padded row of a (3, 4) base: where the mask lets through, c - 1 lies in 0..3 and needs no division."""
    r, c = Variable("r", 0, 2), Variable("c", 0, 5)
    padded = ViewStack.of_shape((3, 4)).pad(((0, 0), (1, 1)))
    offset, tests = through(padded.reshape((18,)).reshape((3, 6)), (r, c))
    assert c_text(offset) == "c + r * 4 - 1"
    assert sorted(c_text(test) for test in tests) == ["(0 < c)", "(c < 5)"]


@pytest.mark.parametrize(
    ("dtype", "number", "text"),
    [
        (float32, 0.1, "0.1f"),
        (float32, -0.0, "(-0.0f)"),
        (float32, float("nan"), "NAN"),
        (float32, 1e300, "INFINITY"),
        (float64, 0.1, "0.1"),
        (float16, 0.1, "0.099975586f"),
        (bfloat16, float("-inf"), "(-INFINITY)"),
        (int64, -(1 << 63), "INT64_MIN"),
        (int8, -1, "(-1)"),
        (uint64, (1 << 64) - 1, "18446744073709551615ull"),
    ],
)
def test_literals(dtype: DType, number: float, text: str) -> None:
    assert literal(dtype, number) == text
