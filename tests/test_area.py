"""Areas of memory: what is said to be apart is apart, and a sweep finds every pair that meets without looking at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedulog.facts.area import Area, area
from schedulog.facts.succession import successive
from schedulog.facts.symbolic import Variable
from schedulog.facts.view import View, ViewStack
from schedulog.runtimes.strided import positions

SIZE = 48  # bytes


@st.composite
def looks(draw: st.DrawFn) -> tuple[ViewStack, int]:
    """A view of SIZE bytes, counted in elements of some width: movements of a look in one of several shapes."""
    width = draw(st.sampled_from((1, 2, 4, 8)))
    count = SIZE // width
    rows = draw(st.sampled_from([n for n in (1, 2, 3, 4, 6) if count % n == 0]))
    look = ViewStack.of_shape((count,)).reshape((rows, count // rows))
    bounds = []
    for size in (rows, count // rows):
        begin = draw(st.integers(0, size - 1))
        bounds.append((begin, draw(st.integers(begin + 1, size))))
    look = look.shrink(bounds)
    if draw(st.booleans()):
        look = look.flip((draw(st.booleans()), draw(st.booleans()))).permute((1, 0))
    if draw(st.integers(0, 3)) == 0:
        look = look.pad(((1, 0), (0, 1)))
    if draw(st.integers(0, 3)) == 0:
        look = look.reshape((look.size,))
    return look, width


def touched(look: ViewStack, width: int) -> set[int]:
    """The bytes a view shows, found by looking."""
    shown = positions(look, np.arange(SIZE // width), {})
    return {int(at) * width + byte for at in shown[shown >= 0].ravel() for byte in range(width)}


@given(looks(), looks())
@settings(max_examples=120, deadline=None)
def test_areas_that_are_apart_share_no_byte(one: tuple[ViewStack, int], other: tuple[ViewStack, int]) -> None:
    a, b, common = area(*one), area(*other), touched(*one) & touched(*other)
    assert not common or a.meets(b)
    assert a.meets(b) == b.meets(a)
    assert a.first <= min(touched(*one)) and max(touched(*one)) <= a.last


@given(st.lists(looks(), max_size=8), st.lists(looks(), max_size=8))
@settings(max_examples=60, deadline=None)
def test_a_chain_of_pairs_leads_to_all_that_meets(
    writes: list[tuple[ViewStack, int]], reads: list[tuple[ViewStack, int]]
) -> None:
    first, second = [area(*w) for w in writes], [area(*r) for r in reads]
    areas = [*first, *second]
    found = list(successive(first, second))
    assert len(found) == len(set(found))
    assert all(i < j and i < len(first) for i, j in found)
    after: dict[int, set[int]] = {}
    for i in reversed(range(len(first))):
        later = {j for a, j in found if a == i and j < len(first) and areas[i].meets(areas[j])}
        after[i] = later.union(*(after[j] for j in later))
        assert {j for j in range(i + 1, len(first)) if areas[i].meets(areas[j])} <= after[i]
    for j in range(len(first), len(areas)):
        met = {i for i, read in found if read == j and areas[i].meets(areas[j])}
        assert {i for i in range(len(first)) if areas[i].meets(areas[j])} <= met.union(
            *(after[i] for i in met)
        )


@pytest.mark.parametrize("part", [lambda i: (0, 300), lambda i: (i, 300), lambda i: (0, i + 1)])
@pytest.mark.parametrize("shape", [(300,), (300, 4)])
def test_of_many_overwrites_of_the_same_bytes_only_neighbours_are_pairs(shape, part) -> None:  # type: ignore[no-untyped-def]
    whole = ViewStack.of_shape(shape)
    areas = [area(whole.shrink((part(i), *((0, size) for size in shape[1:]))), 4) for i in range(300)]
    assert set(successive(areas, [])) == {(i, i + 1) for i in range(299)}


def test_of_many_overwrites_of_one_column_only_neighbours_are_pairs() -> None:
    column, row = (
        area(ViewStack.of_shape((8, 8)).shrink(part), 4) for part in (((0, 8), (3, 4)), ((2, 3), (0, 8)))
    )
    assert set(successive([column] * 300, [column, row])) == {(i, i + 1) for i in range(299)} | {
        (0, 300),
        (0, 301),
    }
    assert set(successive([column, row, column, row, row], [])) == {
        (0, 1),
        (1, 2),
        (2, 3),
        (0, 2),
        (1, 3),
        (3, 4),
    }


@pytest.mark.parametrize(
    "shape, part",
    [
        ((300, 4), lambda i: ((i, i + 1), (0, 4))),
        ((4, 300), lambda i: ((0, 4), (i, i + 1))),
        ((300, 300), lambda i: ((i, i + 1), (3, 5))),
        ((60, 60), lambda i: ((i // 20 * 4, i // 20 * 4 + 4), (i % 20 * 3, i % 20 * 3 + 3))),
    ],
)
def test_slices_columns_and_tiles_that_are_apart_are_no_pairs(shape, part) -> None:  # type: ignore[no-untyped-def]
    areas = [area(ViewStack.of_shape(shape).shrink(part(i)), 4) for i in range(300)]
    assert list(successive(areas, areas[:1])) == [(0, 300)]


def test_rows_and_columns_cross() -> None:
    whole = ViewStack.of_shape((8, 8))
    rows = [area(whole.shrink(((i, i + 1), (0, 8))), 4) for i in range(8)]
    columns = [area(whole.shrink(((0, 4), (i, i + 1))), 4) for i in range(8)]
    assert {(i, j - 8) for i, j in successive(rows, columns)} == {(i, j) for i in range(4) for j in range(8)}


def test_an_element_of_another_width_is_apart_by_its_bytes() -> None:
    floats, numbers = ViewStack.of_shape((4,)), ViewStack.of_shape((16,))
    assert not area(floats.shrink(((1, 2),)), 4).meets(area(numbers.shrink(((8, 16),)), 1))
    assert area(floats.shrink(((1, 2),)), 4).meets(area(numbers.shrink(((7, 8),)), 1))


def test_what_is_not_known_or_empty() -> None:
    n = Variable("n", 1, 8)
    some = area(ViewStack((View.create((n,), (1,), 2),)), 4)
    assert some == Area(8, 39)
    assert some.meets(area(ViewStack.of_shape((16,)).shrink(((9, 10),)), 4))
    assert not some.meets(area(ViewStack.of_shape((16,)).shrink(((10, 11),)), 4))
    hidden = area(ViewStack((View.create((3,), (1,), 0, ((0, 0),)),)), 4)
    assert hidden.first > hidden.last and not hidden.meets(some)
    assert list(successive([hidden, hidden], [some, hidden])) == []
    assert list(successive([hidden, some, some], [some])) == [(1, 3), (1, 2)]
