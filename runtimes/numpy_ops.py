"""What each operation means, in numpy: one function per op, the definition the devices are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedulog.errors import DeviceError
from schedulog.facts.dtype import DType
from schedulog.facts.node import Node, ReduceArg
from schedulog.facts.ops import COMPARISON, Op

Array = NDArray[Any]

_INT64_MIN: Final = -(1 << 63)


def elementwise(node: Node, operands: list[Array]) -> Array:
    """The value of an elementwise node from its operands' values (all of one shape).

    16-bit floats are computed in float32 and rounded once per operation; numpy rounds the others itself. bool
    takes the logical meaning of the arithmetic. Raises DeviceError (SL520) where an op has none for the dtype.
    """
    kind = node.src[-1].dtype
    if node.op is Op.CAST:
        return cast(operands[0], node.src[0].dtype, node.dtype)
    if node.op is Op.BITCAST:
        return bitcast(operands[0], node.dtype)
    if node.op in FLOAT_ONLY and not kind.is_float:
        raise DeviceError("SL520", f"{node.op} of {kind}", where=node.label,
                          reason="it is defined on floats", help="cast the operand to a float")  # fmt: skip
    values = [_widened(v, source.dtype) for v, source in zip(operands, node.src, strict=True)]
    result = (BOOLEAN if kind.kind == "bool" and node.op in BOOLEAN else TABLE)[node.op](*values)
    return result if node.op in COMPARISON else np.asarray(result).astype(node.dtype.to_numpy(), copy=False)


def reduction(op: str, dtype: DType, value: Array, axes: tuple[int, ...]) -> Array:
    """`value` reduced over `axes`, which stay with size 1, in the dtype `accumulated` gives."""
    function = (REDUCE_BOOL if dtype.kind == "bool" else REDUCE)[op]
    wide = _widened(value, dtype)
    return np.asarray(
        function.reduce(wide, axis=axes, dtype=wide.dtype, keepdims=True, initial=start(op, dtype))
    )


def combine(op: str, dtype: DType, left: Array, right: Array) -> Array:
    """Two partial results of one reduction as one."""
    return np.asarray((REDUCE_BOOL if dtype.kind == "bool" else REDUCE)[op](left, right))


def start(op: str, dtype: DType) -> Any:
    """The value of a reduction over nothing, in the type it accumulates in."""
    identity = {"ADD": 0, "MUL": 1, "MAX": dtype.minimum()}[op]
    return accumulated(dtype).type(identity)


def accumulated(dtype: DType) -> np.dtype[Any]:
    """The type a reduction sums in: float32 for 16-bit floats, otherwise its own, so integers wrap."""
    return np.dtype(np.float32) if dtype.is_float and dtype.bits == 16 else dtype.to_numpy()


def reduce_axis(node: Node, value: Array) -> Array:
    """The value of a REDUCE_AXIS node from its source's value, rounded once."""
    arg: ReduceArg = node.arg
    return reduction(arg.op, node.dtype, value, arg.axes).astype(node.dtype.to_numpy(), copy=False)


def cast(value: Array, source: DType, target: DType) -> Array:
    """Converted as numpy's astype, with the cases that numpy leaves to the processor defined.

    Floats become integers by truncation through int64, then wrap; NaN, infinities and what lies beyond int64
    are INT64_MIN, except that uint64 takes its whole range.
    """
    if target.kind == "bool":
        return np.asarray(value != 0)
    if source.is_float and target.is_integer:
        return _truncated(value, target.name == "uint64").astype(target.to_numpy())
    return value.astype(target.to_numpy())


def _truncated(value: Array, to_uint64: bool) -> NDArray[np.int64]:
    whole = np.trunc(value.astype(np.float64))
    inside = (whole >= -(2.0**63)) & (whole < 2.0**63)
    result = np.where(inside, np.where(inside, whole, 0.0).astype(np.int64), np.int64(_INT64_MIN))
    if to_uint64:
        high = (whole >= 2.0**63) & (whole < 2.0**64)
        above = np.where(high, whole - 2.0**63, 0.0).astype(np.int64)
        result = np.where(high, above + np.int64(_INT64_MIN), result)
    return result


def bitcast(value: Array, target: DType) -> Array:
    """The same bits as another type; the last axis scales if the widths differ. Any bits but 0 are True."""
    packed = np.ascontiguousarray(value).reshape(value.shape)
    if target.kind == "bool":
        return np.asarray(packed.view(np.uint8) != 0)
    return packed.view(target.to_numpy())


def _widened(value: Array, dtype: DType) -> Array:
    return value.astype(np.float32) if dtype.is_float and dtype.bits == 16 else value


def _error_function(value: Array) -> Array:
    flat = map(math.erf, value.astype(np.float64).ravel().tolist())
    return np.fromiter(flat, np.float64, value.size).reshape(value.shape).astype(value.dtype)


def _power(base: Array, exponent: Array) -> Array:
    """numpy's power; an integer to a negative integer, which numpy refuses, is the exact value truncated."""
    if base.dtype.kind == "f":
        return np.asarray(np.power(base, exponent))
    if base.dtype.kind == "b":
        return base | ~exponent
    ones = np.where(base == 1, 1, np.where(base == -1, np.where(exponent % 2 == 0, 1, -1), 0))
    positive = np.power(base, np.where(exponent < 0, 0, exponent).astype(base.dtype))
    # One type on both sides: numpy would meet int64 and uint64 in float64 and lose bits.
    return np.where(exponent < 0, ones.astype(base.dtype), positive)


def _shifted(shift: np.ufunc) -> Callable[[Array, Array], Array]:
    def apply(value: Array, count: Array) -> Array:
        width = value.dtype.itemsize * 8
        capped = np.where((count < 0) | (count >= width), width, count).astype(value.dtype)
        return np.asarray(shift(value, capped))

    return apply


def threefry(counter: Array, key: Array) -> Array:
    """Threefry-2x32 with 20 rounds; the low halves of counter and key are the first words.

    Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
    """
    low, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    keys = [(key & low).astype(np.uint32), (key >> high).astype(np.uint32)]
    keys.append(keys[0] ^ keys[1] ^ np.uint32(0x1BD11BDA))
    x = (counter & low).astype(np.uint32) + keys[0]
    y = (counter >> high).astype(np.uint32) + keys[1]
    for group in range(5):
        for turn in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x = x + y
            y = ((y << np.uint32(turn)) | (y >> np.uint32(32 - turn))) ^ x
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return (y.astype(np.uint64) << high) | x.astype(np.uint64)


REDUCE: Final[Mapping[str, np.ufunc]] = MappingProxyType(
    {"ADD": np.add, "MUL": np.multiply, "MAX": np.maximum}
)
REDUCE_BOOL: Final[Mapping[str, np.ufunc]] = MappingProxyType(
    {"ADD": np.logical_or, "MUL": np.logical_and, "MAX": np.logical_or}
)
FLOAT_ONLY: Final = frozenset(
    {Op.EXP2, Op.LOG2, Op.EXP, Op.LOG, Op.SIN, Op.COS, Op.TANH, Op.ERF, Op.SQRT, Op.RECIP, Op.FDIV}
)
BOOLEAN: Final[Mapping[Op, Callable[..., Any]]] = MappingProxyType(
    {
        Op.ADD: np.logical_or,
        Op.MUL: np.logical_and,
        Op.MAX: np.logical_or,
        Op.SUB: np.logical_xor,
        Op.NEG: lambda a: a,
        Op.IDIV: np.logical_and,
        Op.MOD: lambda a, b: np.zeros_like(a & b),
        Op.MULACC: lambda a, b, c: (a & b) | c,
        Op.SHL: lambda a, b: a & (b == 0),
        Op.SHR: lambda a, b: a & (b == 0),
    }
)
TABLE: Final[Mapping[Op, Callable[..., Any]]] = MappingProxyType(
    {
        Op.EXP2: np.exp2,
        Op.LOG2: np.log2,
        Op.EXP: np.exp,
        Op.LOG: np.log,
        Op.SIN: np.sin,
        Op.COS: np.cos,
        Op.TANH: np.tanh,
        Op.ERF: _error_function,
        Op.FLOOR: np.floor,
        Op.SQRT: np.sqrt,
        Op.RECIP: lambda a: 1 / a,
        Op.NEG: np.negative,
        Op.ADD: np.add,
        Op.SUB: np.subtract,
        Op.MUL: np.multiply,
        Op.FDIV: np.divide,
        Op.IDIV: np.floor_divide,
        Op.MOD: np.remainder,
        Op.MAX: np.maximum,
        Op.POW: _power,
        Op.CMPLT: np.less,
        Op.CMPNE: np.not_equal,
        Op.CMPEQ: np.equal,
        Op.XOR: np.bitwise_xor,
        Op.OR: np.bitwise_or,
        Op.AND: np.bitwise_and,
        Op.SHL: _shifted(np.left_shift),
        Op.SHR: _shifted(np.right_shift),
        Op.THREEFRY: threefry,
        Op.WHERE: np.where,
        Op.MULACC: lambda a, b, c: a * b + c,
    }
)
