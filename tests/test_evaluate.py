"""The numpy reference: what each operation, view, reduction and write means."""

from __future__ import annotations

import math
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from schedulog.errors import DeviceError, GraphError
from schedulog.facts import build, dtype
from schedulog.facts.buffer import Buffer
from schedulog.facts.graph import graph_of
from schedulog.facts.node import Node, bind, node
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Variable
from schedulog.facts.view import View, ViewStack
from schedulog.runtimes import numpy as numpy_device
from schedulog.runtimes import sliced
from schedulog.runtimes.evaluate import evaluate, reference, reference_memory
from schedulog.scheduler.kernels import Kernel, Read, Schedule

Array = NDArray[Any]
INT64_MIN = -(2**63)


def value(root: Node) -> Array:
    """The value of one node, with every warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return evaluate([root], {})[0]


def alu(op: Op, *arrays: Array) -> Array:
    return value(build.alu(op, *(build.array(a) for a in arrays)))


def ints(*numbers: int, kind: Any = np.int32) -> Array:
    return np.array(numbers, kind)


def floats(*numbers: float, kind: Any = np.float32) -> Array:
    return np.array(numbers, kind)


def test_integer_arithmetic_wraps() -> None:
    top, low = 2**31 - 1, -(2**31)
    assert alu(Op.ADD, ints(top, 5), ints(1, -7)).tolist() == [low, -2]
    assert alu(Op.MUL, ints(top), ints(2)).tolist() == [-2]
    assert alu(Op.NEG, ints(low)).tolist() == [low]
    assert alu(Op.SUB, ints(0, kind=np.uint8), ints(1, kind=np.uint8)).tolist() == [255]


def test_floor_division_and_remainder_round_down_and_give_zero_by_zero() -> None:
    a, b = ints(7, -7, 7, -7, 5, -(2**31)), ints(2, 2, -2, -2, 0, -1)
    assert alu(Op.IDIV, a, b).tolist() == [3, -4, -4, 3, 0, -(2**31)]
    assert alu(Op.MOD, a, b).tolist() == [1, 1, -1, -1, 0, 0]


def test_shifts_by_the_width_or_more_leave_only_the_sign() -> None:
    a, n = ints(1, -1, 5, -5), ints(32, 40, 33, 31)
    assert alu(Op.SHL, a, n).tolist() == [0, 0, 0, -(2**31)]
    assert alu(Op.SHR, a, n).tolist() == [0, -1, 0, -1]
    assert value(build.alu(Op.SHR, build.array(ints(-8)), build.array(ints(1, kind=np.uint8)))).tolist() == [
        -4
    ]


def test_maximum_and_comparisons_follow_ieee() -> None:
    nan = math.nan
    assert np.isnan(alu(Op.MAX, floats(nan, 1.0), floats(1.0, nan))).all()
    assert alu(Op.CMPLT, floats(nan, 1, 1), floats(1, nan, 2)).tolist() == [False, False, True]
    assert alu(Op.CMPNE, floats(nan, 1), floats(nan, 1)).tolist() == [True, False]
    assert alu(Op.CMPEQ, floats(nan, 1), floats(nan, 1)).tolist() == [False, True]


def test_bool_arithmetic_is_logical() -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert alu(Op.ADD, a, b).tolist() == [False, True, True, True]
    assert alu(Op.MUL, a, b).tolist() == [False, False, False, True]
    assert alu(Op.MAX, a, b).tolist() == [False, True, True, True]
    assert alu(Op.POW, a, b).tolist() == [True, False, True, True]
    total = build.reduce("ADD", build.array(a), (0,))
    assert value(total).tolist() == [True] and value(total).dtype == np.bool_
    assert value(build.reduce("MUL", build.array(a), (0,))).tolist() == [False]


def test_integer_power_matches_exact_arithmetic() -> None:
    assert alu(Op.POW, ints(2, -3, 0, 5), ints(10, 3, 0, 0)).tolist() == [1024, -27, 1, 1]
    assert alu(Op.POW, ints(1, -1, -1, 2), ints(-3, -3, -2, -1)).tolist() == [1, -1, 1, 0]


def test_floats_become_integers_through_int64() -> None:
    x = floats(1.9, -1.9, math.nan, math.inf, -math.inf, 1e30, 300.0, 2.0**63, kind=np.float64)
    source = build.array(x)
    wide = [1, -1, *[INT64_MIN] * 4, 300, INT64_MIN]
    assert value(build.cast(source, dtype.int64)).tolist() == wide
    assert value(build.cast(source, dtype.int8)).tolist() == [1, -1, 0, 0, 0, 0, 44, 0]
    unsigned = value(build.cast(source, dtype.uint64)).tolist()
    assert unsigned == [1, 2**64 - 1, *[2**63] * 4, 300, 2**63]
    top = build.array(floats(2.0**64 - 2048, kind=np.float64))
    assert value(build.cast(top, dtype.uint64)).tolist() == [2**64 - 2048]
    assert value(build.cast(source, dtype.bool_)).all()


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_half_floats_round_after_every_operation_but_accumulate_in_float32(kind: Any) -> None:
    x = np.full(4096, 1.0, np.float32).astype(kind)
    total = value(build.reduce("ADD", build.array(x), (0,)))
    assert total.dtype == kind and float(total[0]) == 4096.0
    a, b = np.array([0.1, 3.0], kind), np.array([0.7, 1e-3], kind)
    expected = (a.astype(np.float32) * b.astype(np.float32)).astype(kind)
    assert (alu(Op.MUL, a, b) == expected).all()
    assert alu(Op.EXP, a).dtype == kind


def test_integer_reductions_wrap_in_their_own_type() -> None:
    x = build.array(ints(100, 100, 100, kind=np.int8))
    assert value(build.reduce("ADD", x, (0,))).tolist() == [44]
    assert value(build.reduce("MUL", x, (0,))).tolist() == [np.array(10**6).astype(np.int8)]
    assert value(build.reduce("MAX", x, (0,))).tolist() == [100]


def test_threefry_matches_the_recorded_values() -> None:
    counter = np.array([0, 1, 2**32, 0x123456789ABCDEF0, 2**64 - 1], np.uint64)
    key = np.array([0, 7, 5 << 32, 0xDEADBEEFCAFEBABE, 2**64 - 1], np.uint64)
    expected = [
        0x99BA4EFE6B200159, 0x4F8B93D0B0B8A12F, 0xE7AC32AC0C12EEC8, 0xAA47AE3BD36235C5, 0xBB002BE71CB996FC,
    ]  # fmt: skip
    assert alu(Op.THREEFRY, counter, key).tolist() == expected


def test_bitcast_keeps_the_bits() -> None:
    x = build.array(floats(1.0, -0.0, math.inf))
    assert value(build.bitcast(x, dtype.uint32)).tolist() == [0x3F800000, 0x80000000, 0x7F800000]


def test_float_functions_of_integers_are_refused() -> None:
    with pytest.raises(DeviceError) as caught:
        alu(Op.EXP, ints(1))
    assert caught.value.code == "SL520" and caught.value.message == "EXP of int32"


def test_erf_and_the_ternary_operations() -> None:
    assert alu(Op.ERF, floats(0.0, 0.5)).tolist() == pytest.approx([0.0, 0.5204999], rel=1e-6)
    c = np.array([True, False])
    assert alu(Op.WHERE, c, ints(1, 2), ints(3, 4)).tolist() == [1, 4]
    assert alu(Op.MULACC, ints(2, 3), ints(4, 5), ints(1, 1)).tolist() == [9, 16]


def test_constants_fill_their_shape_exactly() -> None:
    assert value(build.const(2**64 - 1, dtype.uint64, (2,))).tolist() == [2**64 - 1] * 2
    zero = value(build.const(-0.0, dtype.float32, (1,)))
    assert np.signbit(zero).all()
    assert np.isnan(value(build.const(math.nan, dtype.float16, ()))).all()


def test_masked_views_show_zeros_even_over_nan() -> None:
    x = build.array(floats(math.nan, 1.0))
    assert value(build.pad(x, [(1, 1)])).tolist()[::3] == [0.0, 0.0]
    one = build.const(1, dtype.int32, (2, 2))
    assert value(build.pad(one, [(1, 0), (0, 1)])).tolist() == [[0, 0, 0], [1, 1, 0], [1, 1, 0]]


def test_a_view_out_of_bounds_is_refused() -> None:
    wrong = ViewStack((View.create((4,), (1,), Variable("n", 0, 3, 1)),))
    with pytest.raises(DeviceError) as caught:
        value(node(Op.VIEW, (build.array(ints(1, 2, 3, 4)),), wrong))
    assert caught.value.code == "SL521" and caught.value.message == "a view touches elements 1 to 4 of 4"


Move = tuple[str, Any]


@st.composite
def moved(draw: st.DrawFn) -> tuple[Node, Array]:
    """A node under random movements, and the same movements done by numpy."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    expected = np.arange(1, math.prod(shape) + 1, dtype=np.int32).reshape(shape)
    current = build.array(expected)
    for _ in range(draw(st.integers(0, 5))):
        current, expected = draw(step(current, expected))
    return current, expected


@st.composite
def step(draw: st.DrawFn, current: Node, expected: Array) -> tuple[Node, Array]:
    rank, shape = expected.ndim, expected.shape
    match draw(st.sampled_from(["pad", "shrink", "flip", "permute", "reshape", "expand"])):
        case "pad":
            widths = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in shape]
            return build.pad(current, widths), np.pad(expected, widths)
        case "shrink":
            bounds = [(b := draw(st.integers(0, s - 1)), draw(st.integers(b + 1, s))) for s in shape]
            return build.shrink(current, bounds), expected[tuple(slice(b, e) for b, e in bounds)]
        case "flip":
            axes = [draw(st.booleans()) for _ in shape]
            return build.flip(current, axes), np.flip(expected, tuple(i for i, a in enumerate(axes) if a))
        case "permute":
            order = draw(st.permutations(range(rank)))
            return build.permute(current, order), expected.transpose(order)
        case "expand":
            wide = (draw(st.integers(1, 3)), *shape)
            return build.expand(build.reshape(current, (1, *shape)), wide), np.broadcast_to(expected, wide)
        case _:
            flat = (expected.size,) if draw(st.booleans()) else (1, *reversed(shape))
            return build.reshape(current, flat), expected.reshape(flat)


@given(moved())
@settings(max_examples=200, deadline=None)
def test_movement_programs_equal_numpy(case: tuple[Node, Array]) -> None:
    current, expected = case
    np.testing.assert_array_equal(value(current), expected)


@given(moved(), st.sampled_from(["ADD", "MAX", "MUL"]), st.data())
@settings(max_examples=100, deadline=None)
def test_reductions_in_slices_equal_reductions_of_the_whole(
    case: tuple[Node, Array], op: Any, data: st.DataObject
) -> None:
    current, expected = case
    axes = tuple(i for i in range(expected.ndim) if data.draw(st.booleans()))
    doubled = build.alu(Op.ADD, current, build.contiguous(current))
    total = build.reduce(op, build.alu(Op.MUL, doubled, current), axes)
    whole = evaluate([total], {})[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sliced, "MOST_HELD", 0)
        patch.setattr(sliced, "MOST_IN_SLICE", 3)
        np.testing.assert_array_equal(evaluate([total], {})[0], whole)


def test_a_product_too_large_to_hold_is_reduced_in_slices() -> None:
    n = 400
    a = np.arange(n * n, dtype=np.int64).reshape(n, n) % 7
    left = build.expand(build.reshape(build.array(a), (n, 1, n)), (n, n, n))
    right = build.expand(build.reshape(build.array(a.T), (1, n, n)), (n, n, n))
    product = build.reduce("ADD", build.alu(Op.MUL, left, right), (2,))
    assert product.src[0].size > sliced.MOST_HELD
    np.testing.assert_array_equal(value(product)[:, :, 0], a @ a)


def test_a_chain_of_any_length_is_evaluated() -> None:
    current = build.array(ints(3))
    for _ in range(100_001):
        current = build.alu(Op.NEG, current)
    assert value(current).tolist() == [-3]


def test_given_values_are_not_computed() -> None:
    unknown = build.buffer(Buffer(2, dtype.int32))
    total = build.alu(Op.ADD, unknown, unknown)
    assert evaluate([total, total], {unknown: ints(1, 2)})[1].tolist() == [2, 4]
    with pytest.raises(DeviceError) as caught:
        evaluate([total], {})
    assert caught.value.code == "SL530"


def test_bound_variables_are_values_and_sizes() -> None:
    n = Variable("n", 1, 8, 3)
    assert value(bind(n, dtype.int32)).tolist() == 3
    part = build.shrink(build.array(np.arange(8, dtype=np.int32)), [(0, n)])
    assert value(part).tolist() == [0, 1, 2]
    assert evaluate([part], {}, {"n": 5})[0].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(GraphError) as caught:
        value(bind(n.unbound, dtype.int32))
    assert caught.value.code == "SL220"


def test_inputs_are_checked() -> None:
    memory = Buffer(4, dtype.float32)
    x = build.buffer(memory, (2, 2))
    graph = graph_of([build.alu(Op.NEG, x)], inputs={"x": memory}, input_shapes={"x": (2, 2)})
    assert reference(graph, {"x": np.ones((2, 2), np.float32)})["out0"].tolist() == [[-1, -1], [-1, -1]]
    other, cast = (
        "give an array of that shape and dtype",
        'nothing is cast in silence: give array.astype("float32")',
    )
    cases: list[tuple[dict[str, Array], str, str]] = [
        ({}, "SL530", ""),
        ({"x": np.ones((4,), np.float32)}, "SL531", other),
        ({"x": np.ones((4,))}, "SL531", other),
        ({"x": np.ones((2, 2))}, "SL531", cast),
        ({"x": np.ones((2, 2), np.float32), "y": np.ones(1)}, "SL532", "inputs are: x"),
    ]
    for inputs, code, help in cases:
        with pytest.raises(DeviceError) as caught:
            reference(graph, inputs)
        assert (caught.value.code, caught.value.help) == (code, help)


def test_assigns_write_through_their_targets_and_read_old_contents() -> None:
    x = build.array(np.arange(6, dtype=np.int32))
    middle = build.shrink(x, [(1, 4)])
    first = build.assign(middle, build.shrink(x, [(0, 3)]))
    second = build.assign(
        build.shrink(build.flip(first, [True]), [(0, 1)]), build.const(9, dtype.int32, (1,))
    )
    graph = graph_of([first, second, build.alu(Op.NEG, x)])
    assert {k: v.tolist() for k, v in reference(graph, {}).items()} == {
        "out0": [0, 1, 2], "out1": [9], "out2": [0, -1, -2, -3, -4, -5],
    }  # fmt: skip
    assert reference_memory(graph, {})[x.arg].tolist() == [0, 0, 1, 9, 4, 5]
    assert x.arg.array.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_window_reads_and_writes_the_bytes_of_its_source() -> None:
    raw = build.array(np.arange(16, dtype=np.uint8))
    window = node(Op.BUFFER_VIEW, (build.shrink(raw, [(4, 12)]),), (2,), dtype.uint32)
    assert value(window).tolist() == [0x07060504, 0x0B0A0908]
    written = build.assign(window, build.const(0, dtype.uint32, (2,)))
    memory = reference_memory(graph_of([written]), {})[raw.arg]
    assert memory.tolist() == [0, 1, 2, 3, *[0] * 8, 12, 13, 14, 15]


def test_the_device_runs_kernels_in_order_through_their_views() -> None:
    source, made = Buffer(6, dtype.int32), Buffer(6, dtype.int32)
    x = build.buffer(source, (2, 3))
    turned = build.permute(build.alu(Op.NEG, x), (1, 0))
    whole = ViewStack.of_shape((2, 3))
    negate = Kernel(
        0, "k0", "store", turned.base, turned.base, (made, source), whole, {x: Read(1, whole)}, (), "numpy"
    )
    target = build.shrink(build.buffer(source), [(0, 2)])
    row = build.shrink(build.reshape(turned, (6,)), [(4, 6)])
    assign = build.assign(target, row)
    reads = {turned.base: Read(1, whole)}
    write = Kernel(1, "k1", "assign", assign, row, (source, made), target.arg, reads, (), "numpy")
    schedule = Schedule(graph_of([assign]), (negate, write), (), (), (source, made))
    memory = [np.arange(1, 7, dtype=np.int32), np.zeros(6, np.int32)]
    program, times = numpy_device.NumpyDevice().load(schedule), list[float]()
    program.run(memory, {}, times)
    assert memory[1].tolist() == [-1, -2, -3, -4, -5, -6]
    assert memory[0].tolist() == [-3, -6, 3, 4, 5, 6]
    assert len(times) == 2 and dict(program.sources) == {"k0": "", "k1": ""}


def test_powers_of_uint64_keep_every_bit() -> None:
    base = np.array([3, 2**63 + 1, 10], dtype=np.uint64)
    exponent = np.array([40, 1, 19], dtype=np.uint64)
    (found,) = evaluate([build.alu(Op.POW, build.array(base), build.array(exponent))], {})
    assert found.tolist() == [3**40 % 2**64, 2**63 + 1, 10**19]
