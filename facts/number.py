"""Which numbers are elements of a dtype, and what becomes of those that are not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from schedulog.errors import GraphError
from schedulog.facts.dtype import DType

_DIGITS: Final[Mapping[tuple[int, bool], tuple[int, int]]] = MappingProxyType(
    {(16, False): (11, 15), (16, True): (8, 127), (32, False): (24, 127)}
)
"""Binary digits and largest exponent of the floats narrower than Python's own, by width and whether it is a bfloat."""


def integer_range(dtype: DType) -> tuple[int, int]:
    """The least and the greatest value of an integer dtype."""
    if dtype.kind == "uint":
        return 0, (1 << dtype.bits) - 1
    return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1


def range_text(dtype: DType) -> str:
    """The elements of a dtype in words: "an int8 from -128 to 127"."""
    if dtype.kind not in _KINDS:
        return f"{dtype}, which has no values"
    if dtype.kind == "bool":
        return "a bool, true or false"
    article = "an" if dtype.name[0] in "ai" else "a"
    if dtype.is_float:
        return f"{article} {dtype} of at most {_greatest(dtype):.6g} in size"
    least, greatest = integer_range(dtype)
    return f"{article} {dtype} from {least} to {greatest}"


def _greatest(dtype: DType) -> float:
    digits, exponent = _DIGITS.get((dtype.bits, dtype.name == "bfloat16"), (53, 1023))
    return math.ldexp(2 - math.ldexp(1.0, 1 - digits), exponent)


def element(value: bool | float, dtype: DType) -> bool | int | float:
    """`value` as an element of `dtype`: nothing wraps, loses a fraction, becomes infinite or changes its kind.

    Floats are rounded to the dtype where they are used; an integer is a float too, and 3.0 an integer. Raises
    GraphError (SL216) for what is no element.
    """
    fits = _KINDS[dtype.kind](value, dtype) if dtype.kind in _KINDS else False
    if not fits:
        raise GraphError("SL216", f"{_shown(value)} is not {range_text(dtype)}")
    return wrapped(value, dtype)


def _is_bool(value: bool | float, _: DType) -> bool:
    return isinstance(value, bool)


def _is_integer(value: bool | float, dtype: DType) -> bool:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        return False
    least, greatest = integer_range(dtype)
    return least <= value <= greatest


def _is_float(value: bool | float, dtype: DType) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, float) and not math.isfinite(value):
        return True
    digits, exponent = _DIGITS.get((dtype.bits, dtype.name == "bfloat16"), (53, 1023))
    # What is nearer to the next power of two than to the greatest element rounds to infinity.
    beyond = ((2 << digits) - 1) << (exponent - digits)
    return -beyond < value < beyond


_KINDS: Final = MappingProxyType(
    {"bool": _is_bool, "int": _is_integer, "uint": _is_integer, "float": _is_float}
)


def _shown(value: bool | float) -> str:
    """A number as a message can show it, however many digits it has."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) >= 10**24:
        return f"{'-' if value < 0 else ''}an integer of {_digits(abs(value))} digits"
    return str(value)


def _digits(value: int) -> int:
    """The number of decimal digits, without writing them."""
    count = int(value.bit_length() * math.log10(2))
    return count + int(value >= 10**count)


def wrapped(value: bool | float, dtype: DType) -> bool | int | float:
    """`value` brought to the dtype's own kind: integers wrap as the dtype's arithmetic does, fractions are cut off.

    Raises GraphError (SL216) for an infinity or NaN as an integer, and an integer beyond all floats.
    """
    if dtype.kind == "bool":
        return bool(value)
    try:
        if dtype.is_float:
            return float(value)
        low = int(value) & ((1 << dtype.bits) - 1)
    except (OverflowError, ValueError):
        raise GraphError("SL216", f"{_shown(value)} is not {range_text(dtype)}") from None
    return low - (1 << dtype.bits) if dtype.kind == "int" and low >> (dtype.bits - 1) else low
