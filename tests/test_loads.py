"""What a kernel loads and stores, and through which views: composed views against an element-by-element walk."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedulog.codegen.lower import lower
from schedulog.codegen.values import Constant, Index
from schedulog.codegen.values import Load as LoweredLoad
from schedulog.errors import ScheduleError
from schedulog.facts import build
from schedulog.facts.dtype import float16, float32, int32
from schedulog.facts.node import Node, node
from schedulog.facts.notation import read_notation
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Size, Variable, lower_bound, substitute, upper_bound
from schedulog.facts.view import ViewStack
from schedulog.run import Run, schedule
from schedulog.runtimes.strided import positions
from schedulog.scheduler.kernels import Kernel
from schedulog.scheduler.loads import loads_of


def run_of(text: str, **options: int) -> Run:
    return schedule(read_notation(text), options=options)


def described(kernel: Kernel) -> list[tuple[int, str, str]]:
    return [(load.argument, str(load.position), " and ".join(map(str, load.guards))) for load in kernel.loads]


def test_an_elementwise_kernel() -> None:
    (kernel,) = run_of("x=load f32[4,8]; y=load f32[4,8]; z=add x y; out z").kernels
    assert described(kernel) == [(1, "i0*8 + i1", ""), (2, "i0*8 + i1", "")]
    assert kernel.stores.contiguous


def test_movements_compose_down_to_the_buffer() -> None:
    (kernel,) = run_of(
        "x=load f32[4,8]; e=exp x; p=permute e order=1,0; s=shrink p to=(2,6),(0,4); n=neg s; out n"
    ).kernels
    assert described(kernel) == [(1, "i0 + i1*8 + 2", "")]
    assert kernel.loads[0].view.shape == (4, 4)


def test_a_mask_is_a_guard() -> None:
    (kernel,) = run_of("x=load f32[4]; p=pad x by=(2,1); n=neg p; out n").kernels
    assert described(kernel) == [(1, "i0 - 2", "(1 < i0) and (i0 < 6)")]


def test_reduced_axes_come_after_those_of_the_value() -> None:
    first, second = run_of(
        "x=load f32[4,8]; s=sum x axis=0; t=expand s to=[4,8]; y=sub x t; m=max y axis=1; out m"
    ).kernels
    assert described(first) == [(1, "i1 + r0*8", "")]
    assert [load.view.shape for load in first.loads] == [(1, 8, 4)]
    assert described(second) == [(1, "i0*8 + r0", ""), (2, "r0", "")]


def test_a_view_on_a_reduction_is_brought_below_it() -> None:
    source = build.array(np.ones((4, 8), np.float32))
    padded = build.pad(build.reduce("ADD", source, (1,)), [(1, 1), (0, 0)])
    (load,) = loads_of(build.alu(Op.SIN, padded), {source.base: (1, ViewStack.of_shape((32,)))})
    assert (load.view.shape, load.axes) == ((6, 1, 8), 2)
    assert (str(load.position), [str(guard) for guard in load.guards]) == (
        "i0*8 + r0 - 8",
        ["(0 < i0)", "(i0 < 5)"],
    )


def test_one_value_through_two_views_is_two_loads() -> None:
    (kernel,) = run_of("x=load f32[4,4]; p=permute x order=1,0; y=add x p; out y").kernels
    assert described(kernel) == [(1, "i0*4 + i1", ""), (1, "i0 + i1*4", "")]


def test_an_assign_reads_its_own_target_as_argument_0() -> None:
    (kernel,) = run_of("x=load f32[8]; s=shrink x to=(0,4); e=neg s; a=assign s e; out a").kernels
    assert described(kernel) == [(0, "i0", "")]
    assert (kernel.stores.shape, kernel.bytes_written, kernel.buffers[0].size) == ((4,), 16, 8)


def test_a_sub_buffer_is_one_load_of_what_it_shows() -> None:
    memory = build.buffer(build.array(np.arange(8, dtype=np.float32)).arg)
    window = build.shrink(memory, [(2, 6)])
    (kernel,) = schedule([node(Op.BUFFER_VIEW, (window,), (4,), float32)]).kernels
    assert (kernel.kind, described(kernel)) == ("view", [(1, "i0 + 2", "")])


@pytest.mark.parametrize(
    ("wide", "shape", "wanted"),
    [(int32, (2, 4), ["i0*8 + i1*2 + r0"]), (float16, (2, 8), ["i0*8 + i1"])],
)
def test_bits_of_another_width(wide: object, shape: tuple[int, ...], wanted: list[str]) -> None:
    source = build.buffer(build.array(np.zeros(16, np.float16)).arg, (2, 8))
    value = node(Op.BITCAST, (source,), None, wide)  # type: ignore[arg-type]
    assert value.shape == shape
    loads = loads_of(value, {source.base: (1, ViewStack.of_shape((16,)))})
    assert [str(load.position) for load in loads] == wanted


def test_narrower_bits_share_an_element() -> None:
    source = build.buffer(build.array(np.zeros(6, np.int32)).arg, (2, 3))
    value = node(Op.BITCAST, (source,), None, float16)
    (load,) = loads_of(value, {source.base: (1, ViewStack.of_shape((6,)))})
    assert (load.view.shape, str(load.position)) == ((2, 6), "i0*3 + i1//2")


def test_values_seen_through_ever_more_views_are_refused() -> None:
    chain = build.array(np.ones(64, np.float32))
    leaf = chain
    for step in range(12):
        turned = build.permute(
            build.reshape(chain, (2 ** (step % 5 + 1), -(-64 // 2 ** (step % 5 + 1)))), (1, 0)
        )
        chain = build.alu(Op.ADD, chain, build.reshape(turned, (64,)))
    places = {leaf.base: (1, ViewStack.of_shape((64,)))}
    with pytest.raises(ScheduleError, match="through more than 100 views") as caught:
        loads_of(chain, places, limit=100)
    assert caught.value.code == "SL314"


def test_a_chain_of_any_length() -> None:
    value = leaf = build.array(np.ones(3, np.float32))
    for _ in range(100_000):
        value = build.alu(Op.NEG, value)
    assert len(loads_of(value, {leaf: (1, leaf.view)}, limit=200_000)) == 1


def test_the_database_shows_loads_and_stores() -> None:
    run = run_of("x=load f32[4,8]; p=pad x by=(0,0),(1,0); s=sum p axis=1; out s")
    rows = run.sql("select kernel, load, argument, node, shape, position, guards from load")
    assert rows == [(0, 0, 1, "n0", "[4,1,9]", "i0*8 + r0 - 1", "(0 < r0)")]
    assert run.sql("select kernel, position, guards from store") == [(0, "i0", "")]


# Against the lowered kernel: which elements are touched, found by running all loops.


def _values(extents: Mapping[Variable, Size]) -> list[dict[Variable, int]]:
    names = list(extents)
    ranges = [range(upper_bound(extents[name])) for name in names]
    return [dict(zip(names, point, strict=True)) for point in itertools.product(*ranges)]


def _number(size: Size, at: Mapping[Variable, int]) -> int:
    found = substitute(size, dict(at))
    assert isinstance(found, int)
    return found


def touched_by_code(kernel: Kernel) -> set[tuple[int, int]]:
    computation = lower(kernel)
    found = set()
    for load in computation.values():
        if isinstance(load, LoweredLoad):
            used = {
                v
                for size in (load.offset, *_tests(load))
                if not isinstance(size, int)
                for v in computation.extents
            }
            for at in _values({v: computation.extents[v] for v in used}):
                if all(_number(test, at) for test in _tests(load)):
                    found.add((load.argument, _number(load.offset, at)))
    return found


def _tests(load: LoweredLoad) -> list[Size]:
    assert all(isinstance(test, Index | Constant) for test in load.tests)
    return [test.size for test in load.tests if isinstance(test, Index)]


def touched_by_views(kernel: Kernel) -> set[tuple[int, int]]:
    found = set()
    for load in kernel.loads:
        base = np.arange(kernel.buffers[load.argument].size)
        shown = positions(load.view, base, {})
        found |= {(load.argument, int(p)) for p in shown.ravel() if p >= 0}
    return found


def _moved(value: Node, choice: int, by: int) -> Node:
    rows, columns = value.shape
    assert isinstance(rows, int) and isinstance(columns, int)
    match choice:
        case 0:
            return build.permute(value, (1, 0))
        case 1:
            return build.pad(value, [(by, 0), (0, 1)])
        case 2:
            return build.shrink(value, [(min(by, rows - 1), rows), (0, columns)])
        case 3:
            return build.flip(value, [by == 1, True])
        case 4:
            return build.reshape(value, (columns, rows))
        case 5:
            return build.alu(Op.MUL, value, value)
        case 6:
            return build.expand(build.reduce("ADD", value, (by % 2,)), value.shape)
        case _:
            return build.reduce("MAX", value, (by % 2,))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 2)), max_size=5))
def test_the_views_touch_what_the_code_touches(steps: Sequence[tuple[int, int]]) -> None:
    value = build.buffer(build.array(np.arange(6, dtype=np.float32)).arg, (2, 3))
    for choice, by in steps:
        value = _moved(value, choice, by)
    run = schedule([build.contiguous(build.alu(Op.NEG, value))])
    for kernel in run.kernels:
        assert touched_by_views(kernel) == touched_by_code(kernel)
        for load in kernel.loads:
            assert lower_bound(load.position) <= upper_bound(load.position)
            shown = positions(load.view, np.arange(kernel.buffers[load.argument].size), {})
            for point in itertools.product(*map(range, shown.shape)):
                at = {i: p for i, p in zip(load.indices, point, strict=True) if isinstance(i, Variable)}
                inside = all(_number(guard, at) for guard in load.guards)
                assert shown[point] == (_number(load.position, at) if inside else -1)
