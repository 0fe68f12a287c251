"""Arithmetic, comparison, logic and casts, element by element."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce as folded
from types import MappingProxyType
from typing import Final

from schedulog.facts.dtype import bool_, float64
from schedulog.facts.onnx.call import Call, Lowering
from schedulog.facts.onnx.values import Value, alu, cast, constant, like, reshape, shape_of
from schedulog.facts.ops import Op


def _one(op: Op) -> Lowering:
    return lambda call: alu(op, call.value())


def _float_only(op: Op) -> Lowering:
    def lower(call: Call) -> Value:
        call.require_float(call.value())
        return alu(op, call.value())

    return lower


def _two(op: Op) -> Lowering:
    return lambda call: alu(op, *operand_pair(call))


def operand_pair(call: Call) -> tuple[Value, Value]:
    """The two operands. Before operator set 7 the second was aligned by attributes, and only where they said so."""
    left, right = call.value(0), call.value(1)
    if call.opset >= 7:
        return left, right
    shape, part = shape_of(left), shape_of(right)
    if not call.flag("broadcast"):
        if shape != part:
            raise call.mismatch(f"shapes {list(shape)} and {list(part)} without broadcast=1")
        return left, right
    axis = call.integer("axis", len(shape) - len(part))
    return left, reshape(right, part + (1,) * (len(shape) - axis - len(part)))


def logical_not(value: Value) -> Value:
    """True where the bool `value` is False."""
    return alu(Op.XOR, value, constant(True, bool_))


def is_nan(value: Value) -> Value:
    return alu(Op.CMPNE, value, value)


def minimum(left: Value, right: Value) -> Value:
    """The smaller of two, NaN if either is. Negation reverses floats, complement reverses integers without overflow."""
    return reversed_order(alu(Op.MAX, reversed_order(left), reversed_order(right)))


def reversed_order(value: Value) -> Value:
    """A value that is smaller where the given one is larger; applied twice it gives the value back."""
    if value.dtype.is_float:
        return alu(Op.NEG, value)
    return alu(Op.XOR, value, like(value, True if value.dtype.kind == "bool" else -1))


def absolute(value: Value) -> Value:
    if value.dtype.kind in ("uint", "bool"):
        return value
    if value.dtype.is_float:
        return alu(Op.MAX, value, alu(Op.NEG, value))
    return alu(Op.WHERE, alu(Op.CMPLT, value, like(value, 0)), alu(Op.NEG, value), value)


def divide(left: Value, right: Value) -> Value:
    """The quotient; of integers the one rounded toward zero, as ONNX has it."""
    if left.dtype.is_float:
        return alu(Op.FDIV, left, right)
    quotient = alu(Op.IDIV, left, right)
    if left.dtype.kind != "int":
        return quotient
    inexact = alu(Op.CMPNE, alu(Op.MUL, quotient, right), left)
    negative = alu(Op.CMPLT, quotient, like(quotient, 0))
    divisible = alu(Op.CMPNE, right, like(right, 0))
    up = alu(Op.AND, alu(Op.AND, inexact, negative), divisible)
    return alu(Op.ADD, quotient, cast(up, quotient.dtype))


def _div(call: Call) -> Value:
    return divide(*operand_pair(call))


def _mod(call: Call) -> Value:
    left, right = call.value(0), call.value(1)
    truncated = call.flag("fmod")
    if not truncated:
        if left.dtype.is_float and call.opset < 28:
            raise call.mismatch("floats need fmod=1 before operator set 28")
        return alu(Op.MOD, left, right)
    # The remainder of the magnitudes is exact, and takes the dividend's sign.
    size = alu(Op.MOD, absolute(left), absolute(right))
    return alu(Op.WHERE, alu(Op.CMPLT, left, like(left, 0)), alu(Op.NEG, size), size)


def power(base: Value, exponent: Value) -> Value:
    """`base` to the `exponent`, in the base's type; mixed operands are computed as the wider float."""
    if base.dtype == exponent.dtype:
        return alu(Op.POW, base, exponent)
    if base.dtype.is_float:
        return alu(Op.POW, base, cast(exponent, base.dtype))
    if not exponent.dtype.is_float:
        return alu(Op.POW, base, cast(exponent, base.dtype))
    return cast(alu(Op.POW, cast(base, float64), cast(exponent, float64)), base.dtype)


def _greater(call: Call) -> Value:
    left, right = operand_pair(call)
    return alu(Op.CMPLT, right, left)


def _less_or_equal(left: Value, right: Value) -> Value:
    return alu(Op.OR, alu(Op.CMPLT, left, right), alu(Op.CMPEQ, left, right))


def _variadic(op: Op) -> Lowering:
    return lambda call: folded(lambda a, b: alu(op, a, b), call.values())


def _mean(call: Call) -> Value:
    values = call.values()
    total = folded(lambda a, b: alu(Op.ADD, a, b), values)
    call.require_float(total)
    return alu(Op.FDIV, total, like(total, len(values)))


def clipped(value: Value, low: Value | None, high: Value | None) -> Value:
    """No smaller than `low`, then no larger than `high`."""
    above = value if low is None else alu(Op.MAX, value, low)
    return above if high is None else minimum(above, high)


def _clip(call: Call) -> Value:
    value = call.value()
    if call.opset >= 11:
        low, high = call.optional(1), call.optional(2)
        if any(b is not None and shape_of(b) not in ((), (1,)) for b in (low, high)):
            raise call.mismatch("bounds that are no single numbers")
        return reshape(clipped(value, low, high), shape_of(value))
    low = like(value, call.number("min", 0)) if call.has("min") else None
    high = like(value, call.number("max", 0)) if call.has("max") else None
    return clipped(value, low, high)


def _ceil(call: Call) -> Value:
    value = call.value()
    call.require_float(value)
    return alu(Op.NEG, alu(Op.FLOOR, alu(Op.NEG, value)))


def _round(call: Call) -> Value:
    """To the nearest integer, halves to the even one."""
    value = call.value()
    call.require_float(value)
    down = alu(Op.FLOOR, value)
    rest = alu(Op.SUB, value, down)
    up = alu(Op.ADD, down, like(value, 1))
    odd = alu(Op.CMPNE, alu(Op.MOD, down, like(value, 2)), like(value, 0))
    half = alu(Op.CMPEQ, rest, like(value, 0.5))
    beyond = alu(Op.CMPLT, like(value, 0.5), rest)
    # Infinities have no rest: inf - inf is NaN, which compares false and leaves them as they are.
    return alu(Op.WHERE, alu(Op.OR, beyond, alu(Op.AND, half, odd)), up, down)


def sign(value: Value) -> Value:
    """-1, 0 or 1; NaN stays NaN."""
    zero, one = like(value, 0), like(value, 1)
    positive = alu(Op.WHERE, alu(Op.CMPLT, zero, value), one, zero)
    if value.dtype.kind == "uint":
        return positive
    signed = alu(Op.WHERE, alu(Op.CMPLT, value, zero), like(value, -1), positive)
    return alu(Op.WHERE, is_nan(value), value, signed) if value.dtype.is_float else signed


def _cast(call: Call) -> Value:
    # Both are about types of 8 bits and less, which have no counterpart here.
    call.ignore("saturate", "round_mode")
    return cast(call.value(), call.element_type("to", 0))


def _cast_like(call: Call) -> Value:
    call.ignore("saturate", "round_mode")
    return cast(call.value(0), call.value(1).dtype)


def _bit_shift(call: Call) -> Value:
    left = call.choice("direction", "", ("LEFT", "RIGHT")) == "LEFT"
    return alu(Op.SHL if left else Op.SHR, call.value(0), call.value(1))


def _bitwise_not(call: Call) -> Value:
    return alu(Op.XOR, call.value(), like(call.value(), -1))


def _where(call: Call) -> Value:
    return alu(Op.WHERE, call.value(0), call.value(1), call.value(2))


def _is_inf(call: Call) -> Value:
    value = call.value()
    call.require_float(value)
    positive, negative = call.flag("detect_positive", True), call.flag("detect_negative", True)
    hits = [alu(Op.CMPEQ, value, like(value, float(infinity)))
            for infinity, wanted in (("inf", positive), ("-inf", negative)) if wanted]  # fmt: skip
    if not hits:
        return constant(False, bool_, shape_of(value))
    return folded(lambda a, b: alu(Op.OR, a, b), hits)


def _tan(call: Call) -> Value:
    return alu(Op.FDIV, alu(Op.SIN, call.value()), alu(Op.COS, call.value()))


LOWERINGS: Final[Mapping[str, Lowering]] = MappingProxyType(
    {
        "Abs": lambda call: absolute(call.value()),
        "Add": _two(Op.ADD),
        "And": _two(Op.AND),
        "BitShift": _bit_shift,
        "BitwiseAnd": _two(Op.AND),
        "BitwiseNot": _bitwise_not,
        "BitwiseOr": _two(Op.OR),
        "BitwiseXor": _two(Op.XOR),
        "Cast": _cast,
        "CastLike": _cast_like,
        "Ceil": _ceil,
        "Clip": _clip,
        "Cos": _float_only(Op.COS),
        "Div": _div,
        "Equal": _two(Op.CMPEQ),
        "Erf": _float_only(Op.ERF),
        "Exp": _float_only(Op.EXP),
        "Floor": _float_only(Op.FLOOR),
        "Greater": _greater,
        "GreaterOrEqual": lambda call: _less_or_equal(call.value(1), call.value(0)),
        "IsInf": _is_inf,
        "IsNaN": lambda call: is_nan(call.value()),
        "Less": _two(Op.CMPLT),
        "LessOrEqual": lambda call: _less_or_equal(call.value(0), call.value(1)),
        "Log": _float_only(Op.LOG),
        "Max": _variadic(Op.MAX),
        "Mean": _mean,
        "Min": lambda call: folded(minimum, call.values()),
        "Mod": _mod,
        "Mul": _two(Op.MUL),
        "Neg": _one(Op.NEG),
        "Not": lambda call: logical_not(call.value()),
        "Or": _two(Op.OR),
        "Pow": lambda call: power(*operand_pair(call)),
        "Reciprocal": _float_only(Op.RECIP),
        "Round": _round,
        "Sign": lambda call: sign(call.value()),
        "Sin": _float_only(Op.SIN),
        "Sqrt": _float_only(Op.SQRT),
        "Sub": _two(Op.SUB),
        "Sum": _variadic(Op.ADD),
        "Tan": _tan,
        "Tanh": _float_only(Op.TANH),
        "Where": _where,
        "Xor": _two(Op.XOR),
    }
)
