"""Numbers as elements of a dtype."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedulog.errors import GraphError
from schedulog.facts.dtype import SCALARS, DType, bfloat16, bool_, float16, float32, int8, void
from schedulog.facts.number import element, range_text, wrapped

INTEGERS = [d for d in SCALARS if d.is_integer]
FLOATS = [d for d in SCALARS if d.is_float]


@given(st.sampled_from(INTEGERS), st.integers(-(2**70), 2**70))
def test_integers_fit_where_numpy_takes_them(kind: DType, value: int) -> None:
    limits = np.iinfo(kind.to_numpy())
    if limits.min <= value <= limits.max:
        assert element(value, kind) == value == wrapped(value, kind)
    else:
        with pytest.raises(GraphError) as caught:
            element(value, kind)
        assert caught.value.message == f"{value} is not {range_text(kind)}"
        assert wrapped(value, kind) == np.array(value % 2**64, np.uint64).astype(kind.to_numpy())


@given(st.sampled_from(FLOATS), st.floats(allow_nan=False))
def test_floats_fit_where_rounding_keeps_them_finite(kind: DType, value: float) -> None:
    with np.errstate(over="ignore"):
        finite = bool(np.isfinite(np.float64(value).astype(kind.to_numpy())))
    if finite or math.isinf(value):
        assert element(value, kind) == value
    else:
        with pytest.raises(GraphError):
            element(value, kind)


@pytest.mark.parametrize(
    ("kind", "last"), [(float16, 65520), (bfloat16, 2**128 - 2**119), (float32, 2**128 - 2**103)]
)
def test_the_first_integer_that_rounds_to_infinity(kind: DType, last: int) -> None:
    below = last - 1 if last < 2**53 else last - last // 2**53
    assert element(below, kind) == float(below)
    with pytest.raises(GraphError, match=r" is not a (b?float)"):
        element(last, kind)
    info: Any = ml_dtypes.finfo
    assert float(info(kind.to_numpy()).max) < last


@pytest.mark.parametrize(
    ("value", "kind"),
    [(True, int8), (1, bool_), (0.0, bool_), (True, float32), (0.5, int8), (math.nan, int8), (1, void)],
)
def test_a_number_of_another_kind_is_no_element(value: float, kind: DType) -> None:
    with pytest.raises(GraphError) as caught:
        element(value, kind)
    assert caught.value.code == "SL216"


def test_whole_floats_are_integers_and_integers_are_floats() -> None:
    assert type(element(3.0, int8)) is int and type(element(3, float32)) is float
    assert math.isnan(element(math.nan, float16)) and element(-math.inf, float16) == -math.inf
    assert element(True, bool_) is True


def test_ranges_in_words() -> None:
    assert range_text(int8) == "an int8 from -128 to 127"
    assert range_text(float16) == "a float16 of at most 65504 in size"
    assert range_text(bool_) == "a bool, true or false"


def test_void_is_no_number() -> None:
    with pytest.raises(GraphError) as caught:
        void.to_numpy()
    assert (caught.value.code, caught.value.message) == ("SL201", "void has no values")
