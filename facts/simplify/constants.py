"""Constants: making them, and the value of an operation whose operands are constants.

A constant of a float type keeps the double it was made with, as the corpus of recorded graphs has it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedulog.facts.build import const
from schedulog.facts.dtype import DType, bfloat16
from schedulog.facts.node import Node
from schedulog.facts.ops import COMPARISON, ELEMENTWISE, Op
from schedulog.facts.simplify.rule import rule

Value = bool | int | float

_INT64_MIN: Final = -(1 << 63)


def filled(like: Node, value: Value, dtype: DType | None = None) -> Node:
    """`value` in every element of a node's shape, on its device and in its dtype unless another is given."""
    return const(value, dtype or like.dtype, like.shape, like.device, like.label)


@rule(ELEMENTWISE - {Op.CAST, Op.BITCAST, Op.THREEFRY}, beside=Op.CONST)
def constant_operands(n: Node) -> Node | None:
    """An operation on constant integers or bools, a comparison of constants and a constant choice are constants."""
    if any(s.op is not Op.CONST for s in n.src):
        return None
    if n.op is Op.WHERE:
        chosen = rounded(n.src[0].arg.value, n.src[0].dtype)
        return filled(n, n.src[1 if chosen else 2].arg.value)
    dtype, values = n.src[-1].dtype, [s.arg.value for s in n.src]
    if n.op in COMPARISON:
        return filled(n, _COMPARED[n.op](*(rounded(v, dtype) for v in values)))
    # The count of a shift may have another type than what it shifts.
    if dtype.is_float or (dtype.kind == "bool") != (n.dtype.kind == "bool"):
        return None
    function = (_BOOLEAN if dtype.kind == "bool" else _INTEGER).get(n.op)
    return None if function is None else filled(n, function(*values))


@rule(frozenset(ELEMENTWISE) - COMPARISON - {Op.CAST, Op.BITCAST, Op.WHERE}, "rounding", beside=Op.CONST)
def constant_floats(n: Node) -> Node | None:
    """An operation on constant floats is the constant that it gives in double precision."""
    function = _FLOAT.get(n.op) if n.dtype.is_float else None
    if function is None or any(s.op is not Op.CONST for s in n.src):
        return None
    with np.errstate(all="ignore"):
        return filled(n, float(function(*(np.float64(s.arg.value) for s in n.src))))


@rule(Op.CAST, beside=Op.CONST)
def constant_cast(n: Node) -> Node | None:
    """A constant integer or bool cast to another type, and a constant float cast to one of these, are constants."""
    source = n.src[0]
    if source.op is not Op.CONST or (source.dtype.is_float and n.dtype.is_float):
        return None
    if n.dtype.is_float:
        return filled(n, _as_float(source.arg.value, source.dtype, n.dtype))
    return filled(n, converted(rounded(source.arg.value, source.dtype), n.dtype))


@rule(Op.CAST, "rounding", beside=Op.CONST)
def constant_float_cast(n: Node) -> Node | None:
    """A constant float cast to another float is the same constant."""
    source = n.src[0]
    floats = source.dtype.is_float and n.dtype.is_float
    return filled(n, source.arg.value) if floats and source.op is Op.CONST else None


@rule(Op.BITCAST, beside=Op.CONST)
def constant_bitcast(n: Node) -> Node | None:
    """The bits of a constant as another type of its width are a constant, unless they are a NaN or a bfloat16."""
    source = n.src[0]
    if source.op is not Op.CONST or source.dtype.itemsize != n.dtype.itemsize:
        return None
    if bfloat16 in (source.dtype, n.dtype):  # tinygrad 0.10.2 cannot, and what is stored depends on it
        return None
    bits = _stored(source.arg.value, source.dtype).reshape(1)
    if n.dtype.kind == "bool":
        return filled(n, bool(bits.view(np.uint8)[0]))
    value = bits.view(n.dtype.to_numpy())[0].item()
    # A constant does not tell one NaN from another.
    return None if math.isnan(value) else filled(n, value)


def _stored(value: Value, dtype: DType) -> NDArray[Any]:
    """A constant as memory holds it."""
    with np.errstate(all="ignore"):
        return np.asarray(value, np.float64 if dtype.is_float else None).astype(dtype.to_numpy())


def _as_float(value: Value, source: DType, target: DType) -> float:
    """An integer or bool as a cast to a float gives it: its double, if rounding twice does no harm."""
    with np.errstate(all="ignore"):
        once = float(_stored(value, source).astype(target.to_numpy()))
    return float(value) if rounded(float(value), target) == once else once


def rounded(value: Value, dtype: DType) -> Value:
    """The value of the dtype nearest to `value`: a constant of a float type is rounded where it is used."""
    return float(_stored(value, dtype)) if dtype.is_float else value


def converted(value: Value, dtype: DType) -> Value:
    """`value` as a cast to bool or an integer gives it: truncated, with INT64_MIN for what no int64 (or uint64) holds."""
    if dtype.kind == "bool":
        return value != 0
    if isinstance(value, int):
        return value
    highest = 2.0**64 if dtype.name == "uint64" else 2.0**63
    return int(value) if -(2.0**63) <= value < highest else _INT64_MIN


def _shifted_left(value: int, count: int) -> int:
    return value << count if 0 <= count < 64 else 0


def _shifted_right(value: int, count: int) -> int:
    return value >> (count if 0 <= count < 64 else 64)


def _integer_power(base: int, exponent: int) -> int:
    if exponent >= 0:
        return pow(base, exponent, 1 << 64)
    return 1 if base == 1 or (base == -1 and exponent % 2 == 0) else -1 if base == -1 else 0


_COMPARED: Final[Mapping[Op, Callable[..., Any]]] = MappingProxyType(
    {Op.CMPLT: operator.lt, Op.CMPNE: operator.ne, Op.CMPEQ: operator.eq}
)
_BITS: Final[Mapping[Op, Callable[..., Any]]] = MappingProxyType(
    {Op.XOR: operator.xor, Op.OR: operator.or_, Op.AND: operator.and_}
)
_BOOLEAN: Final[Mapping[Op, Callable[..., Any]]] = MappingProxyType(
    {
        **_BITS,
        Op.ADD: operator.or_,
        Op.MUL: operator.and_,
        Op.MAX: operator.or_,
        Op.SUB: operator.xor,
        Op.NEG: bool,
        Op.IDIV: operator.and_,
        Op.MOD: lambda a, b: False,
        Op.MULACC: lambda a, b, c: (a and b) or c,
        Op.SHL: lambda a, b: a and not b,
        Op.SHR: lambda a, b: a and not b,
        Op.POW: lambda a, b: a or not b,
    }
)
_INTEGER: Final[Mapping[Op, Callable[..., Any]]] = MappingProxyType(
    {
        **_BITS,
        Op.FLOOR: int,
        Op.NEG: operator.neg,
        Op.ADD: operator.add,
        Op.SUB: operator.sub,
        Op.MUL: operator.mul,
        Op.IDIV: lambda a, b: a // b if b else 0,
        Op.MOD: lambda a, b: a % b if b else 0,
        Op.MAX: max,
        Op.POW: _integer_power,
        Op.MULACC: lambda a, b, c: a * b + c,
        Op.SHL: _shifted_left,
        Op.SHR: _shifted_right,
    }
)
_FLOAT: Final[Mapping[Op, Callable[..., Any]]] = MappingProxyType(
    {
        Op.EXP2: np.exp2,
        Op.LOG2: np.log2,
        Op.EXP: np.exp,
        Op.LOG: np.log,
        Op.SIN: np.sin,
        Op.COS: np.cos,
        Op.TANH: np.tanh,
        Op.ERF: math.erf,
        Op.FLOOR: np.floor,
        Op.SQRT: np.sqrt,
        Op.RECIP: lambda a: np.float64(1) / a,
        Op.NEG: np.negative,
        Op.ADD: np.add,
        Op.SUB: np.subtract,
        Op.MUL: np.multiply,
        Op.FDIV: np.divide,
        Op.IDIV: np.floor_divide,
        Op.MOD: np.remainder,
        Op.MAX: np.maximum,
        Op.POW: np.power,
        Op.MULACC: lambda a, b, c: a * b + c,
    }
)
