"""Views: what they mean (against numpy), what they merge to (against tinygrad 0.10.2's), what they refuse."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from schedulog.errors import GraphError
from schedulog.facts.symbolic import Size, Variable, equal, evaluate, render, upper_bound
from schedulog.facts.view import View, ViewStack

Operation = tuple[str, Any]
Array = NDArray[np.int64]

CASES = json.loads((Path(__file__).parent / "data" / "view_cases.json").read_text())
X = Variable("x", 1, 6)


def moved(stack: ViewStack, operations: Sequence[Sequence[Any]]) -> ViewStack:
    for name, argument in operations:
        stack = getattr(stack, name)(tuple(tuple(a) if isinstance(a, list) else a for a in argument))
    return stack


def numpy_moved(array: Array, operations: Sequence[Operation]) -> Array:
    for name, argument in operations:
        match name:
            case "reshape":
                array = array.reshape(argument)
            case "permute":
                array = array.transpose(argument)
            case "expand":
                array = np.broadcast_to(array, argument)
            case "pad":
                array = np.pad(array, argument) if argument else array
            case "shrink":
                array = array[tuple(slice(b, e) for b, e in argument)]
            case _:
                array = array[tuple(slice(None, None, -1 if f else 1) for f in argument)]
    return array


def read(stack: ViewStack, base: Array, shape: Sequence[int], values: dict[str, int] | None = None) -> Array:
    """What `stack` shows of the flat `base`, by evaluating its index everywhere; checks that it stays inside."""
    axes: list[Size] = [Variable(f"i{k}", 0, s - 1) if s > 1 else 0 for k, s in enumerate(shape)]
    position, guards = stack.index(axes)
    names: dict[str, Any] = {f"i{k}": index for k, index in enumerate(np.indices(shape))}
    names |= values or {}
    visible = np.ones(shape, dtype=bool)
    for guard in guards:
        visible &= np.broadcast_to(eval(render(guard), dict(names)), shape).astype(bool)
    places = np.broadcast_to(eval(render(position), dict(names)), shape)
    assert ((places >= 0) & (places < base.size))[visible].all()
    return np.where(visible, base[np.where(visible, places, 0)], 0)


def numbered(shape: Sequence[int]) -> Array:
    return np.arange(1, math.prod(shape) + 1, dtype=np.int64).reshape(shape)


@st.composite
def factorisations(draw: st.DrawFn, size: int) -> tuple[int, ...]:
    """A shape of `size` elements."""
    axes = []
    while size > 1:
        axis = draw(st.sampled_from([d for d in range(2, size + 1) if size % d == 0]))
        axes.append(axis)
        size //= axis
    for _ in range(draw(st.integers(0, 1))):
        axes.insert(draw(st.integers(0, len(axes))), 1)
    return tuple(axes) if size else (0,)


@st.composite
def operations(draw: st.DrawFn, shape: tuple[int, ...], count: int) -> list[Operation]:
    """Movement operations that may follow each other from `shape` on, arrays staying small."""
    found: list[Operation] = []
    for _ in range(count):
        small = math.prod(shape) <= 60
        names = ["reshape", "reshape", "permute", "shrink", "flip", *(["pad", "expand"] if small else [])]
        name = draw(st.sampled_from(names))
        argument: Any
        match name:
            case "reshape":
                argument = draw(factorisations(math.prod(shape)))
            case "permute":
                argument = tuple(draw(st.permutations(range(len(shape)))))
            case "expand":
                argument = tuple(draw(st.integers(1, 3)) if s == 1 else s for s in shape)
            case "pad":
                argument = tuple((draw(st.integers(0, 2)), draw(st.integers(0, 1))) for _ in shape)
            case "shrink":
                begins = [draw(st.integers(0, max(0, s - 1))) for s in shape]
                argument = tuple(
                    (b, draw(st.integers(min(b + 1, s), s))) for b, s in zip(begins, shape, strict=True)
                )
            case _:
                argument = tuple(draw(st.booleans()) for _ in shape)
        found.append((name, argument))
        shape = numpy_moved(numbered(shape), [found[-1]]).shape
    return found


@st.composite
def programs(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Operation]]:
    shape = tuple(draw(st.lists(st.integers(1, 6), max_size=3)))
    return shape, draw(operations(shape, draw(st.integers(1, 8))))


@given(programs(), st.integers(0, 8))
@settings(max_examples=250, deadline=None)
def test_shows_what_numpy_shows(program: tuple[tuple[int, ...], list[Operation]], split: int) -> None:
    shape, steps = program
    base = numbered(shape)
    expected = numpy_moved(base, steps)
    whole = moved(ViewStack.of_shape(shape), steps)
    inner = moved(ViewStack.of_shape(shape), steps[:split])
    outer = moved(ViewStack.of_shape(inner.shape), steps[split:])
    for stack in (whole, whole.simplify(), inner.then(outer), ViewStack.from_json(whole.to_json())):
        assert stack.shape == expected.shape
        assert stack.size == expected.size
        np.testing.assert_array_equal(read(stack, base.reshape(-1), expected.shape), expected)
    if whole.contiguous:
        np.testing.assert_array_equal(expected.reshape(-1), base.reshape(-1)[: expected.size])
    if not whole.masked:
        assert (expected > 0).all()


@given(programs())
@settings(max_examples=250, deadline=None)
def test_an_inverse_gives_the_base_back(program: tuple[tuple[int, ...], list[Operation]]) -> None:
    shape, steps = program
    base = numbered(shape)
    shown = numpy_moved(base, steps)
    back = moved(ViewStack.of_shape(shape), steps).invert(shape)
    if back is not None:
        np.testing.assert_array_equal(read(back, shown.reshape(-1), shape), base)
    elif all(name in ("permute", "flip") for name, _ in steps):
        pytest.fail("permutations and flips have an inverse")


@given(programs())
@settings(max_examples=150, deadline=None)
def test_real_strides_are_steps_in_the_base(program: tuple[tuple[int, ...], list[Operation]]) -> None:
    shape, steps = program
    stack = moved(ViewStack.of_shape(shape), steps)
    seen = numpy_moved(numbered(shape), steps)
    for axis, stride in enumerate(stack.real_strides()):
        both = (np.delete(seen, 0, axis) > 0) & (np.delete(seen, -1, axis) > 0)
        if stride is not None:
            assert (np.diff(seen, axis=axis)[both] == stride).all()


def stack_of(views: list[dict[str, Any]]) -> ViewStack:
    return ViewStack.from_json(views)


@pytest.mark.parametrize("case", CASES["programs"])
def test_merges_as_tinygrad_does(case: dict[str, Any]) -> None:
    stack = moved(ViewStack.of_shape(tuple(case["shape"])), case["ops"])
    assert stack == stack_of(case["views"])
    assert stack.contiguous == case["contiguous"]
    assert stack.simplify() == stack_of(case["simplified"])
    outer = moved(ViewStack.of_shape(stack.shape), case["then"])
    assert stack.then(outer) == stack_of(case["composed"])


@pytest.mark.parametrize("pair", CASES["pairs"], ids=lambda pair: pair["case"].rpartition("::")[2])
def test_merges_the_views_of_recorded_graphs(pair: dict[str, Any]) -> None:
    assert stack_of(pair["inner"]).then(stack_of(pair["outer"])) == stack_of(pair["composed"])


def indices_of(stack: ViewStack) -> list[Size]:
    return [Variable(f"i{k}", 0, upper_bound(s) - 1) for k, s in enumerate(stack.shape)]


def index_text(stack: ViewStack) -> tuple[str, list[str]]:
    position, guards = stack.index(indices_of(stack))
    return render(position), [render(guard) for guard in guards]


def test_index_of_a_transposed_matrix_read_flat() -> None:
    stack = ViewStack.of_shape((4, 6)).permute((1, 0)).reshape((24,))
    assert len(stack.views) == 2
    assert index_text(stack) == ("(i0%4)*6 + i0//4", [])


def test_reshapes_that_cancel_leave_a_plain_index() -> None:
    stack = ViewStack.of_shape((4, 6)).permute((1, 0)).reshape((24,)).reshape((6, 4)).permute((1, 0))
    assert index_text(stack) == ("i0*6 + i1", [])


def test_windows_of_a_padded_image_need_no_division() -> None:
    image = ViewStack.of_shape((2, 3, 8, 8)).pad(((0, 0), (0, 0), (1, 1), (1, 1)))
    tiled = image.reshape((2, 3, 1, 10, 1, 10)).expand((2, 3, 4, 10, 4, 10)).reshape((2, 3, 40, 40))
    cut = tiled.shrink(((0, 2), (0, 3), (0, 33), (0, 33))).reshape((2, 3, 3, 11, 3, 11))
    windows = cut.shrink(((0, 2), (0, 3), (0, 3), (0, 8), (0, 3), (0, 8)))
    assert index_text(windows) == (
        "i0*192 + i1*64 + i2*8 + i3*8 + i4 + i5 - 9",
        ["(0 < i2 + i3)", "(i2 + i3 < 9)", "(0 < i4 + i5)", "(i4 + i5 < 9)"],
    )
    assert windows.real_strides() == (192, 64, 8, 8, 1, 1)


def test_what_a_mask_leaves_visible_decides_the_divisions_behind_it() -> None:
    stack = ViewStack.of_shape((3, 4)).pad(((1, 0), (0, 0))).reshape((16,)).shrink(((4, 16),))
    assert index_text(stack) == ("i0", [])


def test_a_guard_that_never_holds() -> None:
    stack = ViewStack.of_shape((4,)).pad(((2, 0),)).shrink(((0, 2),))
    assert stack.views[0].mask == ((0, 0),)
    assert stack.index([Variable("i", 0, 1)])[1] == (0,)


def test_contiguous() -> None:
    plain = ViewStack.of_shape((4, 1, 6))
    assert plain.contiguous
    assert plain.views[0].strides == (6, 0, 1)
    assert plain.permute((1, 0, 2)).contiguous
    assert plain.reshape((2, 12)).contiguous
    assert plain.shrink(((0, 2), (0, 1), (0, 6))).contiguous
    assert not plain.shrink(((1, 2), (0, 1), (0, 6))).contiguous
    assert not plain.permute((2, 1, 0)).contiguous
    assert not plain.pad(((0, 1), (0, 0), (0, 0))).contiguous
    assert not plain.expand((4, 2, 6)).contiguous
    assert ViewStack.of_shape((0, 3)).contiguous


def test_covers_asks_for_the_whole_base_in_order() -> None:
    plain = ViewStack.of_shape((4, 6))
    assert plain.covers(24)
    assert not plain.covers(30)
    assert not plain.flip((True, False)).covers(24)


def test_canonical_form() -> None:
    assert View.create((1, 4), (9, 1)) == View.create((1, 4), (0, 1))
    assert View.create((4,), (1,), 0, ((0, 4),)).mask is None
    assert View.create((4, 3), (3, 1), 0, ((2, 3), (0, 3))) == View((4, 3), (0, 1), 6, ((2, 3), (0, 3)))
    assert View.create((4, 3), (3, 1), 5, ((2, 2), (0, 3))) == View((4, 3), (0, 0), 0, ((0, 0), (0, 0)))
    assert View.create((0, 3), (1, 1), 7, ((0, 0), (1, 2))) == View((0, 3), (0, 0), 0, None)


def test_equal_stacks_hash_equal() -> None:
    one = ViewStack.of_shape((4, 6)).pad(((1, 1), (0, 0)))
    other = ViewStack.of_shape((24,)).reshape((4, 6)).pad(((1, 1), (0, 0)))
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other, one.flip((True, False))}) == 2


def test_no_inverse_where_an_element_is_missing_or_shown_twice() -> None:
    plain = ViewStack.of_shape((2, 3))
    assert plain.permute((1, 0)).flip((True, False)).invert((2, 3)) is not None
    assert plain.shrink(((0, 1), (0, 3))).invert((2, 3)) is None
    assert plain.shrink(((0, 1), (0, 3))).expand((2, 3)).invert((2, 3)) is None
    assert plain.reshape((2, 3, 1)).expand((2, 3, 2)).invert((2, 3)) is None


def test_padding_is_cut_off_by_the_inverse() -> None:
    padded = ViewStack.of_shape((2, 3)).pad(((1, 1), (0, 0)))
    assert padded.invert((2, 3)) == ViewStack.of_shape((4, 3)).shrink(((1, 3), (0, 3)))


SYMBOLIC: list[Callable[[Size], ViewStack]] = [
    lambda x: ViewStack.of_shape((x, 4)).permute((1, 0)),
    lambda x: ViewStack.of_shape((x, 4)).reshape((x * 4,)),
    lambda x: ViewStack.of_shape((3, x)).permute((1, 0)).reshape((x * 3,)),
    lambda x: ViewStack.of_shape((6, 4)).shrink(((0, x), (1, 3))),
    lambda x: ViewStack.of_shape((6, 4)).shrink(((x - 1, x), (0, 4))),
    lambda x: ViewStack.of_shape((x, 4)).pad(((1, 2), (0, 0))).flip((True, False)),
    lambda x: ViewStack.of_shape((x,)).pad(((0, 7 - x),)),
    lambda x: ViewStack.of_shape((1, 4)).expand((x, 4)).reshape((x * 4,)),
    lambda x: ViewStack.of_shape((x, 4)).pad(((0, 0), (1, 1))).reshape((x * 6,)),
    lambda x: ViewStack.of_shape((5, x)).permute((1, 0)).then(ViewStack.of_shape((x, 5)).flip((True, False))),
    lambda x: ViewStack.of_shape((5, x)).then(ViewStack.of_shape((5, x)).shrink(((1, 4), (0, x)))),
    lambda x: (
        ViewStack.of_shape((2, 8, 4)).shrink(((0, 2), (0, x), (0, 4))).permute((1, 0, 2)).reshape((x, 8))
    ),
]


@pytest.mark.parametrize("make", SYMBOLIC)
@pytest.mark.parametrize("value", range(1, 7))
def test_symbolic_sizes_mean_what_their_values_mean(make: Callable[[Size], ViewStack], value: int) -> None:
    symbolic, plain = make(X), make(value)
    shape = [evaluate(s, {"x": value}) for s in symbolic.shape]
    assert tuple(shape) == plain.shape
    base = np.arange(1, 100, dtype=np.int64)
    expected = read(plain, base, shape)
    np.testing.assert_array_equal(read(symbolic, base, shape, {"x": value}), expected)
    bound = make(X.bind(value))
    np.testing.assert_array_equal(read(bound.bound(), base, shape), expected)
    assert bound.bound().variables() == frozenset()
    assert bound.variables() == {X.bind(value)}


def test_a_symbolic_reshape_needs_equal_products() -> None:
    stack = ViewStack.of_shape((X, 4)).reshape((2, X, 2))
    assert stack.contiguous
    assert stack.size == 24
    assert equal(stack.shape[1], X) is True
    with pytest.raises(GraphError):
        stack.reshape((X, 5))


def test_a_strided_view_takes_variables_bound_to_its_sizes() -> None:
    turned = ViewStack.of_shape((3, 4)).permute((1, 0))
    assert turned.reshape((X.bind(4), 3)).shape == (X.bind(4), 3)
    with pytest.raises(GraphError, match="reshape of shape"):
        turned.reshape((X.bind(5), 3))


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: ViewStack.of_shape((2, 3)).reshape((5,)),
     "error[SL221] reshape of shape (2, 3) by (5,)\n  why: the number of elements differs"),
    (lambda: ViewStack.of_shape((2, 3)).reshape((-2, -3)),
     "error[SL221] reshape of shape (2, 3) by (-2, -3)\n  why: a size cannot be negative"),
    (lambda: ViewStack.of_shape((X, 3)).reshape((X * 3 + 1,)),
     "error[SL221] reshape of shape (x, 3) by (x*3 + 1,)\n  why: the number of elements differs"),
    (lambda: ViewStack.of_shape((2, 3)).expand((2, 6)),
     "error[SL221] expand of shape (2, 3) by (2, 6)\n  why: only axes of 1 grow, not one of 3"),
    (lambda: ViewStack.of_shape((2, 1)).expand((2, 1, 1)),
     "error[SL221] expand of shape (2, 1) by (2, 1, 1)\n  why: the number of axes differs"),
    (lambda: ViewStack.of_shape((2, 3)).permute((0, 0)),
     "error[SL221] permute of shape (2, 3) by (0, 0)\n  why: each axis has to occur once"),
    (lambda: ViewStack.of_shape((2,)).pad(((-1, 0),)),
     "error[SL221] pad of shape (2,) by ((-1, 0))\n  why: padding cannot be negative"),
    (lambda: ViewStack.of_shape((2,)).pad(()),
     "error[SL221] pad of shape (2,) by ()\n  why: one (begin, end) for each axis is needed"),
    (lambda: ViewStack.of_shape((4,)).shrink(((1, 5),)),
     "error[SL221] shrink of shape (4,) by ((1, 5))\n  why: needs 0 <= begin <= end <= size"),
    (lambda: ViewStack.of_shape((X,)).shrink(((0, X + 1),)),
     "error[SL221] shrink of shape (x,) by ((0, x + 1))\n  why: needs 0 <= begin <= end <= size"),
    (lambda: ViewStack.of_shape((4,)).flip((True, False)),
     "error[SL221] flip of shape (4,) by (True, False)\n  why: one bool for each axis is needed"),
    (lambda: ViewStack.of_shape((4,)).index([]),
     "error[SL221] index of shape (4,) by []\n  why: one index for each axis is needed"),
    (lambda: ViewStack.of_shape((4, -1)),
     "error[SL221] a view of shape [4, -1]\n  why: a size cannot be negative"),
    (lambda: ViewStack.from_json([]),
     "error[SL222] [] is not a row of views\n  why: expected a list of views"),
    (lambda: ViewStack.from_json([{"shape": [4]}]),
     "error[SL222] {'shape': [4]} is not a view\n  why: a view has shape, strides, offset and mask"),
    (lambda: ViewStack.from_json([{"shape": [4], "strides": [], "offset": 0, "mask": None}]),
     ("error[SL222] {'shape': [4], 'strides': [], 'offset': 0, 'mask': None} is not a view\n"
      "  why: shape, strides and mask need one entry for each axis")),
    (lambda: ViewStack.from_json([{"shape": [4], "strides": [1], "offset": 0, "mask": [[0]]}]),
     "error[SL222] [[0]] is not a view\n  why: a mask is null or a list of [begin, end]"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "text"), REFUSED, ids=[text.partition("\n")[0] for _, text in REFUSED])
def test_refuses(call: Callable[[], object], text: str) -> None:
    with pytest.raises(GraphError) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.parametrize("value", [0, 1, 5])
def test_one_place_of_a_padded_axis_is_hidden_only_where_the_variable_says_so(value: int) -> None:
    n = Variable("n", 0, 5)
    padded = ViewStack.of_shape((6, 9)).pad(((0, 0), (1, n)))
    place = padded.then(ViewStack.of_shape(padded.shape).shrink(((0, 6), (n, n + 1))))
    found = [place.substitute({n: value}).index([row, 0]) for row in range(6)]
    shown = [at if all(guard == 1 for guard in guards) else None for at, guards in found]
    assert shown == [9 * row + value - 1 if value else None for row in range(6)]


def test_views_of_sizes_that_may_be_below_0_for_some_values_are_merged_in_time() -> None:
    n = Variable("n", 2, 7)
    padded = ViewStack.of_shape((6, 9)).pad(((2, 0), (2, 0)))
    rest = padded.then(ViewStack.of_shape((8, 11)).shrink(((n * 2, 8), (0, 11))))
    again = rest.then(ViewStack.of_shape(rest.shape).pad(((1, 0), (0, 3))))
    assert again.substitute({n: 2}).shape == (5, 14)
