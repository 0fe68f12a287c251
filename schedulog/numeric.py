"""numpy's arithmetic on graph nodes: which dtype an operation is done in, and the nodes it is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from schedulog.errors import GraphError
from schedulog.facts import compose
from schedulog.facts.build import alu, cast, const
from schedulog.facts.dtype import DType, bool_, float32, float64, from_numpy, int64, uint64
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.size_value import size_value
from schedulog.facts.symbolic import Expr

Operand = Node | bool | int | float | Expr
Lowering = Callable[[Node, Node, str], Node]


def promoted(ufunc: np.ufunc, operands: Sequence[Operand]) -> list[Node]:
    """The operands in the dtypes numpy does `ufunc` in; Python numbers take the dtype of the others.

    Raises GraphError: SL212 numpy does not do this with these dtypes, SL216 a number does not fit its dtype.
    """
    given = tuple(_type_of(x) for x in operands)
    try:
        resolved = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))
    except TypeError as error:
        kinds = ", ".join(str(getattr(t, "__name__", t)) for t in given)
        raise GraphError("SL212", f"{ufunc.__name__} of {kinds}", reason=str(error)) from None
    device = next(x.device for x in operands if isinstance(x, Node))
    kinds_in = [from_numpy(r) for r in resolved[: len(operands)]]
    return [converted(x, kind, device) for x, kind in zip(operands, kinds_in, strict=True)]


def _type_of(x: Operand) -> Any:
    if isinstance(x, Node):
        return x.dtype.to_numpy()
    if isinstance(x, Expr):
        return int
    return np.dtype(np.bool_) if isinstance(x, bool) else type(x)


def converted(x: Operand, kind: DType, device: str) -> Node:
    """The operand in a dtype. Raises GraphError (SL216): a Python number does not fit it."""
    if isinstance(x, Node):
        return cast(x, kind)
    if isinstance(x, Expr) and fits(x.min, kind) and fits(x.max, kind):
        return cast(size_value(x), kind)
    if isinstance(x, Expr) or not fits(x, kind):
        raise GraphError("SL216", f"{x} does not fit {kind}", help="cast the tensor to a wider type first")
    return const(x, kind, (), device)


def fits(x: bool | float, kind: DType) -> bool:
    """Whether a Python number can be brought to the dtype."""
    if isinstance(x, float) or kind.kind == "bool":
        return True
    if kind.is_float:
        return abs(x) < 2**1024
    low = -(1 << (kind.bits - 1)) if kind.kind == "int" else 0
    return low <= x < low + (1 << kind.bits)


def unary(name: str, x: Node, label: str) -> Node:
    """A float function of one operand, by its name in FLOAT_FUNCTIONS; integers become floats as in numpy."""
    ufunc, op = FLOAT_FUNCTIONS[name]
    (x,) = promoted(ufunc, [x])
    return alu(op, x, label=label)


def binary(name: str, a: Operand, b: Operand, label: str) -> Node:
    """An operation of two operands, broadcast, by its name in BINARY. Raises what `promoted` and broadcasting raise."""
    ufunc, lowering = BINARY[name]
    left, right = promoted(ufunc, [a, b])
    return lowering(left, right, label)


def compare(name: str, a: Operand, b: Operand, label: str) -> Node:
    """A comparison by its name in COMPARISONS, exact also between int64, uint64 and any Python integer."""
    ufunc, lowering = COMPARISONS[name]
    for x, other, before in ((a, b, True), (b, a, False)):
        if isinstance(x, int) and isinstance(other, Node) and not fits(x, _kind_beside(ufunc, x, other)):
            low = (x < 0) == before
            return const(_OUTSIDE[name][low], bool_, other.shape, other.device, label)
    left, right = promoted(ufunc, [a, b])
    return lowering(left, right, label)


def _kind_beside(ufunc: np.ufunc, x: int, other: Node) -> DType:
    pair = (_type_of(x), other.dtype.to_numpy(), None)
    return from_numpy(ufunc.resolve_dtypes(pair)[0])


def _less(a: Node, b: Node, label: str) -> Node:
    if a.dtype == b.dtype:
        return compose.binary(Op.CMPLT, a, b, label)
    if a.dtype == uint64:
        return _and(is_true_not(_negative(b)), compose.binary(Op.CMPLT, a, cast(b, uint64), label), label)
    return _or(_negative(a), compose.binary(Op.CMPLT, cast(a, uint64), b, label), label)


def _equal(a: Node, b: Node, label: str) -> Node:
    if a.dtype == b.dtype:
        return compose.binary(Op.CMPEQ, a, b, label)
    signed = b if a.dtype == uint64 else a
    same = compose.binary(Op.CMPEQ, cast(a, uint64), cast(b, uint64), label)
    return _and(is_true_not(_negative(signed)), same, label)


def _not_equal(a: Node, b: Node, label: str) -> Node:
    return (
        compose.binary(Op.CMPNE, a, b, label)
        if a.dtype == b.dtype
        else is_true_not(_equal(a, b, label), label)
    )


def _less_equal(a: Node, b: Node, label: str) -> Node:
    """Not the negation of b < a, which NaN would make true."""
    return _or(_less(a, b, label), _equal(a, b, label), label)


def _negative(x: Node) -> Node:
    return alu(Op.CMPLT, x, compose.full_like(x, 0))


def _and(a: Node, b: Node, label: str) -> Node:
    return compose.binary(Op.AND, a, b, label)


def _or(a: Node, b: Node, label: str) -> Node:
    return compose.binary(Op.OR, a, b, label)


def is_true_not(x: Node, label: str = "") -> Node:
    """The negation of a bool node."""
    return alu(Op.CMPNE, x, compose.full_like(x, True), label=label)


def negative(x: Node, label: str) -> Node:
    """-x. Raises GraphError (SL212) for bool."""
    (x,) = promoted(np.negative, [x])
    return alu(Op.NEG, x, label=label)


def absolute(x: Node, label: str) -> Node:
    """|x|; the smallest integer stays as it is, -0.0 becomes 0.0."""
    if x.dtype.kind in ("bool", "uint"):
        return x
    zero = compose.full_like(x, 0)
    return alu(Op.WHERE, alu(Op.CMPLT, zero, x), x, alu(Op.SUB, zero, x, label=label), label=label)


def invert(x: Node, label: str) -> Node:
    """Every bit the other way; on bool the negation. Raises GraphError (SL212) for floats."""
    (x,) = promoted(np.invert, [x])
    return (
        is_true_not(x, label) if x.dtype == bool_ else alu(Op.XOR, x, compose.full_like(x, -1), label=label)
    )


def floor(x: Node, label: str) -> Node:
    """The largest whole number that is not above x."""
    return alu(Op.FLOOR, x, label=label) if x.dtype.is_float else x


def sigmoid(x: Node, label: str) -> Node:
    """1 / (1 + exp(-x)), in the dtype of exp."""
    (x,) = promoted(np.exp, [x])
    power = alu(Op.EXP, alu(Op.NEG, x, label=label), label=label)
    return alu(Op.RECIP, alu(Op.ADD, compose.full_like(x, 1), power, label=label), label=label)


def power(base: Operand, exponent: Operand, label: str) -> Node:
    """base ** exponent, squares and roots by the plain operation.

    Raises GraphError (SL217): an integer to a negative integer.
    """
    a, b = promoted(np.power, [base, exponent])
    if b.op is Op.CONST and a.dtype.is_integer and b.arg.value < 0:
        raise GraphError("SL217", f"{a.dtype} to the power {b.arg.value}",
                         reason="the result is no integer", help="cast the base to a float first")  # fmt: skip
    if isinstance(exponent, (int, float)) and exponent == 2:
        return alu(Op.MUL, a, a, label=label)
    if exponent == 0.5 and isinstance(exponent, float):
        return alu(Op.SQRT, a, label=label)
    return compose.binary(Op.POW, a, b, label)


def _minimum(a: Node, b: Node, label: str) -> Node:
    if a.dtype.kind == "bool":
        return compose.binary(Op.AND, a, b, label)
    return _mirrored(compose.binary(Op.MAX, _mirrored(a, label), _mirrored(b, label), label), label)


def _mirrored(x: Node, label: str) -> Node:
    """An order-reversing map that is its own inverse: negation for floats, inverted bits for integers."""
    return (
        alu(Op.NEG, x, label=label)
        if x.dtype.is_float
        else alu(Op.XOR, x, compose.full_like(x, -1), label=label)
    )


def reduce_sum(x: Node, axes: Sequence[int], keepdims: bool, label: str) -> Node:
    """The sum; integers narrower than 64 bits and bool are summed in 64."""
    return compose.reduced("ADD", cast(x, _wide(x.dtype)), axes, keepdims, label)


def reduce_product(x: Node, axes: Sequence[int], keepdims: bool, label: str) -> Node:
    """The product; integers narrower than 64 bits and bool are multiplied in 64."""
    return compose.reduced("MUL", cast(x, _wide(x.dtype)), axes, keepdims, label)


def _wide(kind: DType) -> DType:
    if kind.is_float:
        return kind
    return uint64 if kind.kind == "uint" else int64


def reduce_mean(x: Node, axes: Sequence[int], keepdims: bool, label: str) -> Node:
    """The mean; in float64 for integers, computed in float32 for 16-bit floats."""
    inside = float64 if not x.dtype.is_float else float32 if x.dtype.bits == 16 else x.dtype
    mean = compose.mean(cast(x, inside), axes, keepdims, label)
    return cast(mean, x.dtype) if x.dtype.is_float else mean


def reduce_max(x: Node, axes: Sequence[int], keepdims: bool, label: str) -> Node:
    """The maximum, NaN if any is. Raises GraphError (SL213) over nothing."""
    _not_empty(x, axes, "max")
    return compose.reduced("MAX", x, axes, keepdims, label)


def reduce_min(x: Node, axes: Sequence[int], keepdims: bool, label: str) -> Node:
    """The minimum, NaN if any is. Raises GraphError (SL213) over nothing."""
    _not_empty(x, axes, "min")
    if x.dtype == bool_:
        return compose.reduced("MUL", x, axes, keepdims, label)
    return _mirrored(compose.reduced("MAX", _mirrored(x, label), axes, keepdims, label), label)


def _not_empty(x: Node, axes: Sequence[int], name: str) -> None:
    sizes = [x.shape[compose.axis_index(a, len(x.shape))] for a in axes]
    if 0 in sizes:
        raise GraphError("SL213", f"{name} over an axis of size 0", reason="it has no value")


def truth(x: Node) -> Node:
    """x != 0 as bool."""
    return cast(x, bool_)


def reduce_all(x: Node, axes: Sequence[int], keepdims: bool, label: str) -> Node:
    """Whether no element is 0; True over nothing."""
    return compose.reduced("MUL", truth(x), axes, keepdims, label)


def reduce_any(x: Node, axes: Sequence[int], keepdims: bool, label: str) -> Node:
    """Whether some element is not 0; False over nothing."""
    return compose.reduced("ADD", truth(x), axes, keepdims, label)


def softmax(x: Node, axis: int, label: str) -> Node:
    """exp(x) / sum(exp(x)) along `axis`, in the dtype of exp."""
    (x,) = promoted(np.exp, [x])
    return compose.softmax(x, axis, label)


def common(operands: Sequence[Operand]) -> list[Node]:
    """The operands in the one dtype numpy gives their combination. Raises GraphError (SL212, SL216)."""
    given = [x.dtype.to_numpy() if isinstance(x, Node) else 0 if isinstance(x, Expr) else x for x in operands]
    try:
        kind = from_numpy(np.result_type(*given))
    except TypeError as error:
        raise GraphError("SL212", "no common dtype", reason=str(error)) from None
    device = next((x.device for x in operands if isinstance(x, Node)), "")
    return [converted(x, kind, device) for x in operands]


def matmul(a: Operand, b: Operand, label: str) -> Node:
    """a @ b. Raises GraphError: SL211 sizes do not fit, SL212 as `promoted`."""
    left, right = promoted(np.matmul, [a, b])
    return compose.matmul(left, right, label)


def _plain(op: Op) -> Lowering:
    return lambda a, b, label: compose.binary(op, a, b, label)


FLOAT_FUNCTIONS: Final[Mapping[str, tuple[np.ufunc, Op]]] = MappingProxyType(
    {
        "exp": (np.exp, Op.EXP),
        "log": (np.log, Op.LOG),
        "exp2": (np.exp2, Op.EXP2),
        "log2": (np.log2, Op.LOG2),
        "sqrt": (np.sqrt, Op.SQRT),
        "sin": (np.sin, Op.SIN),
        "cos": (np.cos, Op.COS),
        "tanh": (np.tanh, Op.TANH),
        "erf": (np.exp, Op.ERF),
    }
)
BINARY: Final[Mapping[str, tuple[np.ufunc, Lowering]]] = MappingProxyType(
    {
        "add": (np.add, _plain(Op.ADD)),
        "subtract": (np.subtract, _plain(Op.SUB)),
        "multiply": (np.multiply, _plain(Op.MUL)),
        "divide": (np.true_divide, _plain(Op.FDIV)),
        "floor_divide": (np.floor_divide, _plain(Op.IDIV)),
        "remainder": (np.remainder, _plain(Op.MOD)),
        "and": (np.bitwise_and, _plain(Op.AND)),
        "or": (np.bitwise_or, _plain(Op.OR)),
        "xor": (np.bitwise_xor, _plain(Op.XOR)),
        "left_shift": (np.left_shift, _plain(Op.SHL)),
        "right_shift": (np.right_shift, _plain(Op.SHR)),
        "maximum": (np.maximum, _plain(Op.MAX)),
        "minimum": (np.minimum, _minimum),
    }
)
COMPARISONS: Final[Mapping[str, tuple[np.ufunc, Lowering]]] = MappingProxyType(
    {
        "less": (np.less, _less),
        "less_equal": (np.less_equal, _less_equal),
        "greater": (np.greater, lambda a, b, label: _less(b, a, label)),
        "greater_equal": (np.greater_equal, lambda a, b, label: _less_equal(b, a, label)),
        "equal": (np.equal, _equal),
        "not_equal": (np.not_equal, _not_equal),
    }
)
_OUTSIDE: Final[Mapping[str, tuple[bool, bool]]] = MappingProxyType(
    {
        "less": (False, True),
        "less_equal": (False, True),
        "greater": (True, False),
        "greater_equal": (True, False),
        "equal": (False, False),
        "not_equal": (True, True),
    }
)
