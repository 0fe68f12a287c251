"""Values of an ONNX file while it is read: arrays known now, or nodes computed later.

Each operation here works on both. Where all operands are known it is done with numpy at once, with the meaning the node
would have; so shapes, indices and constant expressions fold without a second set of rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedulog.errors import GraphError
from schedulog.facts import build, compose
from schedulog.facts.dtype import DType, bool_, from_numpy
from schedulog.facts.node import Node, ReduceOp
from schedulog.facts.ops import COMPARISON, Op
from schedulog.facts.symbolic import Size

FOLD_LIMIT: Final = 1 << 24
"""A constant result with more elements than this, not all equal, is left to a kernel: it would fill the memory."""

Array = NDArray[Any]


class Known:
    """An array whose contents are known while the file is read. Many equal elements may be one (strides of 0)."""

    def __init__(self, array: Array, name: str = "") -> None:
        self.array = array
        self.name = name

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> DType:
        return from_numpy(self.array.dtype)

    @cached_property
    def node(self) -> Node:
        """A CONST where all elements are the same bits, else a buffer with the contents, repeated axes stored once."""
        if self.array.size == 0:
            return build.const(0, self.dtype, self.shape)
        once = self.array[tuple(slice(0, 1 if s == 0 else None) for s in self.array.strides)]
        if _same_bits(once):
            return build.const(self.array[(0,) * self.array.ndim].item(), self.dtype, self.shape)
        return build.expand(build.array(once, self.name), self.shape)


Value = Known | Node


def is_uniform(array: Array) -> bool:
    """Whether the array is one element repeated."""
    return array.size > 0 and all(s == 0 or n == 1 for s, n in zip(array.strides, array.shape, strict=True))


def _same_bits(array: Array) -> bool:
    flat = np.ascontiguousarray(array).reshape(-1)
    bits = flat.view(f"u{flat.itemsize}")
    return bool(bits[0] == bits[-1]) and bool((bits == bits[0]).all())


def node_of(value: Value) -> Node:
    """The value as a node."""
    return value.node if isinstance(value, Known) else value


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape, in numbers: nothing read from a file has symbolic sizes once its dims are bound."""
    return _numbers(value.shape)


def _numbers(shape: Sequence[Size]) -> tuple[int, ...]:
    return tuple(n for n in shape if isinstance(n, int))


def constant(value: bool | float, dtype: DType, shape: Sequence[int] = ()) -> Known:
    """`value` in every element, wrapped or rounded as the dtype does."""
    rounded = build.const(value, dtype).arg.value
    return Known(np.broadcast_to(np.array(rounded, dtype.to_numpy()), tuple(shape)))


def like(value: Value, number: bool | float) -> Known:
    """`number` as a scalar of the dtype of `value`."""
    return constant(number, value.dtype)


def alu(op: Op, *operands: Value) -> Value:
    """An elementwise operation, operands broadcast. Raises GraphError: SL211 shapes, SL212 dtypes differ."""
    shape = _numbers(compose.broadcast_shapes(*(v.shape for v in operands)))
    arrays = [v.array for v in operands if isinstance(v, Known)]
    uniform = all(is_uniform(a) for a in arrays)
    if len(arrays) < len(operands) or (not uniform and math.prod(shape) > FOLD_LIMIT):
        return compose.elementwise(op, *(node_of(v) for v in operands))
    _check_dtypes(op, operands[1:] if op is Op.WHERE else operands)
    if uniform:
        return Known(np.broadcast_to(_computed(op, [a[(0,) * a.ndim] for a in arrays]), shape))
    return Known(_computed(op, arrays))


def _check_dtypes(op: Op, operands: Sequence[Value]) -> None:
    names = [v.dtype.name for v in operands]
    if len(set(names)) > 1:
        raise GraphError("SL212", f"{op} of dtypes {' and '.join(names)}")


def _computed(op: Op, arrays: Sequence[Array]) -> Array:
    with np.errstate(all="ignore"):
        result = _NUMPY[op](*arrays)
    return np.asarray(result, bool_.to_numpy() if op in COMPARISON else arrays[-1].dtype)


def _divided(function: Callable[..., Any]) -> Callable[[Array, Array], Array]:
    """An integer division that gives 0 where the divisor is 0."""
    return lambda a, b: np.where(b == 0, np.zeros_like(a), function(a, np.where(b == 0, np.ones_like(b), b)))


def _modulo(a: Array, b: Array) -> Array:
    result: Array = np.remainder(a, b) if from_numpy(a.dtype).is_float else _divided(np.remainder)(a, b)
    return result


def _erf(a: Array) -> Array:
    result: Array = np.vectorize(math.erf, otypes=[np.float64])(a.astype(np.float64))
    return result


_NUMPY: Final[Mapping[Op, Callable[..., Any]]] = MappingProxyType(
    {
        Op.EXP: np.exp, Op.LOG: np.log, Op.SIN: np.sin, Op.COS: np.cos, Op.TANH: np.tanh, Op.ERF: _erf,
        Op.FLOOR: np.floor, Op.SQRT: np.sqrt, Op.RECIP: lambda a: np.ones_like(a) / a, Op.NEG: np.negative,
        Op.ADD: np.add, Op.MUL: np.multiply, Op.SUB: np.subtract, Op.FDIV: np.divide,
        Op.IDIV: _divided(np.floor_divide), Op.MOD: _modulo, Op.MAX: np.maximum, Op.POW: np.power,
        Op.CMPLT: np.less, Op.CMPNE: np.not_equal, Op.CMPEQ: np.equal, Op.XOR: np.bitwise_xor,
        Op.OR: np.bitwise_or, Op.AND: np.bitwise_and, Op.WHERE: np.where,
        Op.SHL: lambda a, b: np.where(b >= a.dtype.itemsize * 8, 0, np.left_shift(a, b)),
        Op.SHR: lambda a, b: np.where(b >= a.dtype.itemsize * 8, 0, np.right_shift(a, b)),
    }
)  # fmt: skip


def cast(value: Value, dtype: DType) -> Value:
    """Converted as numpy's astype does; floats become integers by way of int64."""
    if value.dtype == dtype:
        return value
    beyond_int64 = value.dtype.is_float and dtype.name == "uint64"
    if not isinstance(value, Known) or beyond_int64:
        return build.cast(node_of(value), dtype)
    uniform, array = is_uniform(value.array), value.array
    array = array[(0,) * array.ndim] if uniform else array
    with np.errstate(all="ignore"):
        whole = array.astype(np.int64) if value.dtype.is_float and dtype.is_integer else array
        result = np.asarray(whole.astype(dtype.to_numpy()))
    return Known(np.broadcast_to(result, value.shape) if uniform else result)


def reshape(value: Value, shape: Sequence[int]) -> Value:
    """The same elements in another shape. Raises GraphError (SL221) if the sizes differ."""
    target = tuple(shape)
    if not isinstance(value, Known):
        return build.reshape(value, target)
    if math.prod(target) != value.array.size:
        raise GraphError("SL221", f"cannot reshape {list(value.shape)} to {list(target)}")
    if is_uniform(value.array):
        return Known(np.broadcast_to(value.array[(0,) * value.array.ndim], target), value.name)
    return Known(value.array.reshape(target), value.name)


def permute(value: Value, order: Sequence[int]) -> Value:
    """Axes in another order. Raises GraphError (SL221) if `order` is no permutation."""
    if not isinstance(value, Known):
        return build.permute(value, order)
    if sorted(order) != list(range(value.array.ndim)):
        raise GraphError("SL221", f"{list(order)} is no order of {value.array.ndim} axes")
    return Known(value.array.transpose(tuple(order)), value.name)


def broadcast_to(value: Value, shape: Sequence[int]) -> Value:
    """Repeated to `shape` as numpy does. Raises GraphError (SL211)."""
    if not isinstance(value, Known):
        return compose.broadcast_to(value, shape)
    if compose.broadcast_shapes(value.shape, tuple(shape)) != tuple(shape):
        raise GraphError("SL211", f"shape {list(value.shape)} does not broadcast to {list(shape)}")
    return Known(np.broadcast_to(value.array, tuple(shape)), value.name)


def pad(value: Value, widths: Sequence[tuple[int, int]]) -> Value:
    """Zeros before and after each axis."""
    if not any(begin or end for begin, end in widths):
        return value
    if isinstance(value, Known):
        return Known(np.pad(value.array, tuple(widths)))
    return build.pad(value, widths)


def select(value: Value, ranges: Sequence[range]) -> Value:
    """The elements at the positions of `ranges`, one range per axis, each inside its axis."""
    if not isinstance(value, Known):
        return compose.select(value, ranges)
    return Known(value.array[tuple(slice(r.start, None if r.stop < 0 else r.stop, r.step) for r in ranges)])


def select_along(value: Value, axis: int, positions: range) -> Value:
    """The elements at `positions` of one axis, all of the others."""
    sizes = shape_of(value)
    return select(value, [positions if i == axis else range(n) for i, n in enumerate(sizes)])


def concat(values: Sequence[Value], axis: int) -> Value:
    """One after the other along `axis`. Raises GraphError: SL211 sizes, SL212 dtypes differ."""
    if len(values) == 1:
        return values[0]
    known = [v.array for v in values if isinstance(v, Known)]
    if len(known) < len(values) or len({a.dtype for a in known}) > 1 or len({a.ndim for a in known}) > 1:
        return compose.concat([node_of(v) for v in values], axis)
    return Known(np.concatenate(known, axis))


def reduce(op: ReduceOp, value: Value, axes: Sequence[int]) -> Value:
    """Reduced over `axes` (counted from the left), which stay with size 1."""
    if not isinstance(value, Known) or (value.array.size > FOLD_LIMIT and is_uniform(value.array)):
        return build.reduce(op, node_of(value), axes)
    function = {"ADD": np.add, "MUL": np.multiply, "MAX": np.maximum}[op]
    given: Any = {} if value.dtype.kind == "bool" else {"dtype": value.array.dtype}
    initial: Any = {"initial": build.identity(op, value.dtype)} if value.array.size == 0 else {}
    return Known(function.reduce(value.array, axis=tuple(axes), keepdims=True, **given, **initial))


def insert_axes(value: Value, axes: Sequence[int]) -> Value:
    """Axes of size 1 put in, at these places of the result. Raises GraphError (SL215) for places beyond its end."""
    rest = iter(shape_of(value))
    rank = len(shape_of(value)) + len(axes)
    if any(not 0 <= axis < rank for axis in axes) or len(set(axes)) < len(axes):
        raise GraphError("SL215", f"axes {list(axes)} put into {list(value.shape)}")
    return reshape(value, [1 if i in axes else next(rest) for i in range(rank)])


def drop_axes(value: Value, axes: Sequence[int]) -> Value:
    """Without these axes. Raises GraphError (SL221) if one is not of size 1."""
    return reshape(value, [n for i, n in enumerate(shape_of(value)) if i not in axes])
