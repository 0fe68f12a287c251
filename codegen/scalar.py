"""The C of one scalar operation: types, literals, conversions, arithmetic with numpy's meaning.

float16 and bfloat16 numbers are held as `float` and rounded after every operation; in memory they are uint16_t.
Integers wrap: they are computed unsigned, since signed overflow has no meaning in C.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from schedulog.errors import CodegenError
from schedulog.facts.dtype import DType, float16, float32
from schedulog.facts.node import ReduceOp
from schedulog.facts.ops import COMPARISON, Op

_FUNCTIONS: Final = {
    Op.EXP2: "exp2", Op.LOG2: "log2", Op.EXP: "exp", Op.LOG: "log", Op.SIN: "sin", Op.COS: "cos", Op.TANH: "tanh",
    Op.ERF: "erf", Op.FLOOR: "floor", Op.SQRT: "sqrt", Op.POW: "pow",
}  # fmt: skip
_INFIX: Final = {Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.FDIV: "/"}
_BITWISE: Final = {Op.AND: "&", Op.OR: "|", Op.XOR: "^"}
_BOOL: Final = {Op.ADD: "|", Op.MUL: "&", Op.MAX: "|", Op.SUB: "^", Op.IDIV: "&"}
_COMPARE: Final = {Op.CMPLT: "<", Op.CMPNE: "!=", Op.CMPEQ: "=="}


def plain(dtype: DType) -> DType:
    """The type itself; for an image the type of its elements."""
    if dtype.image is None:
        return dtype
    return float16 if dtype.bits == 16 else float32


def is_half(dtype: DType) -> bool:
    """Whether numbers of this type are held as float and rounded."""
    return dtype.is_float and dtype.bits == 16


def c_type(dtype: DType) -> str:
    """The C type a number of this type is held in."""
    if dtype.kind == "bool":
        return "bool"
    if dtype.is_float:
        return "double" if dtype.bits == 64 else "float"
    return f"{dtype.name}_t"


def storage_type(dtype: DType) -> str:
    """The C type of one element in memory."""
    if dtype.kind == "bool":
        return "uint8_t"
    return "uint16_t" if is_half(dtype) else c_type(dtype)


def accumulator(dtype: DType) -> DType:
    """What a reduction of this type accumulates in: float32 for the two half types."""
    return float32 if is_half(dtype) else dtype


def _half_name(dtype: DType) -> str:
    return "bfloat16" if dtype.name == "bfloat16" else "half"


def rounded(dtype: DType, text: str) -> str:
    """`text`, computed as c_type(dtype), brought to the precision of the type."""
    return f"round_{_half_name(dtype)}({bare(text)})" if is_half(dtype) else text


def from_storage(dtype: DType, text: str) -> str:
    """A number from what memory holds."""
    if dtype.kind == "bool":
        return f"({text} != 0)"
    return f"{_half_name(dtype)}_to_float({text})" if is_half(dtype) else text


def to_storage(dtype: DType, text: str) -> str:
    """What memory holds for a number."""
    return f"float_to_{_half_name(dtype)}({bare(text)})" if is_half(dtype) else bare(text)


def bare(text: str) -> str:
    """`text` without parentheses that enclose all of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text


def where(dtype: DType, condition: str, yes: str, no: str) -> str:
    """`yes` or `no`, both computed; without a branch, so that no compiler makes a load in them conditional."""
    kind = c_type(dtype)
    if no in ("false", "0", "0u", "0ll", "0ull", "0.0", "0.0f"):
        return only_if(kind, condition, yes)
    return f"where_{kind.removesuffix('_t')}({bare(condition)}, {bare(yes)}, {bare(no)})"


def only_if(kind: str, condition: str, text: str) -> str:
    """`text`, of C type `kind`, or 0 if the condition does not hold; without a branch."""
    return f"{kind.removesuffix('_t')}_if({bare(condition)}, {bare(text)})"


def literal(dtype: DType, number: bool | float) -> str:
    """A constant of this type; float constants are rounded to it."""
    if dtype.kind == "bool":
        return "true" if number else "false"
    if dtype.is_float:
        return _float_literal(dtype, float(number))
    return _int_literal(dtype, int(number))


def _float_literal(dtype: DType, number: float) -> str:
    with np.errstate(over="ignore"):
        value = float(number) if dtype.bits == 64 else float(dtype.to_numpy().type(number))
    if math.isnan(value):
        return "NAN" if dtype.bits != 64 else "(double)NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(value) if dtype.bits == 64 else f"{np.float32(value)!s}f"
    return f"({text})" if text.startswith("-") else text


def _int_literal(dtype: DType, number: int) -> str:
    wrapped = number & ((1 << dtype.bits) - 1)
    if dtype.kind == "uint":
        return f"{wrapped}{'ull' if dtype.bits == 64 else 'u' if dtype.bits == 32 else ''}"
    value = wrapped - (1 << dtype.bits) if wrapped >> (dtype.bits - 1) else wrapped
    if value == -(1 << (dtype.bits - 1)):
        return f"INT{dtype.bits}_MIN"
    text = f"{value}{'ll' if dtype.bits == 64 else ''}"
    return f"({text})" if value < 0 else text


def compute(op: Op, dtype: DType, operands: Sequence[DType], text: Sequence[str]) -> str:
    """The expression of `op` on operands given as text. Raises CodegenError (SL402) if it has no meaning on the type."""
    result, kinds = plain(dtype), [plain(operand) for operand in operands]
    if op is Op.CAST:
        return _cast(result, kinds[0], text[0])
    if op is Op.BITCAST:
        return _bitcast(result, kinds[0], text[0])
    if op is Op.WHERE:
        return where(result, *text)
    if op in COMPARISON:
        return f"({text[0]} {_COMPARE[op]} {text[1]})"
    if op is Op.MULACC:
        kind = accumulator(result)  # the two half types round once, after the sum
        product = compute(Op.MUL, kind, (kind, kind), text[:2])
        return rounded(result, compute(Op.ADD, kind, (kind, kind), (product, text[2])))
    if result.kind == "bool":
        return _bool(op, result, text)
    return _float(op, result, text) if result.is_float else _integer(op, result, kinds, text)


def combine(op: ReduceOp, dtype: DType, total: str, item: str) -> str:
    """The next value of an accumulator of type `accumulator(dtype)`."""
    kind = accumulator(plain(dtype))
    return compute(Op(op), kind, (kind, kind), (total, item))


def refused(op: Op, dtype: DType) -> CodegenError:
    """The error for an operation on a type it has no meaning on."""
    return CodegenError(
        "SL402",
        f"{op} of {dtype} has no code",
        reason=f"{op} has no meaning on {dtype}",
        help="cast the operands to another type first",
    )


def _bool(op: Op, dtype: DType, text: Sequence[str]) -> str:
    sign = _BOOL.get(op) or _BITWISE.get(op)
    if sign is not None:
        return f"({text[0]} {sign} {text[1]})"
    match op:
        case Op.NEG | Op.FLOOR:
            return text[0]
        case Op.MOD:
            return "false"
        case Op.POW:
            return f"({text[0]} | !{text[1]})"
        case Op.SHL | Op.SHR:
            return f"({text[0]} & ({text[1]} == 0))"
    raise refused(op, dtype)


def _float(op: Op, dtype: DType, text: Sequence[str]) -> str:
    suffix = "" if dtype.bits == 64 else "f"
    plain_text = [bare(part) for part in text]
    if op in _INFIX:
        return rounded(dtype, f"({text[0]} {_INFIX[op]} {text[1]})")
    if op in _FUNCTIONS:
        return rounded(dtype, f"{_FUNCTIONS[op]}{suffix}({', '.join(plain_text)})")
    kind = c_type(dtype)
    match op:
        case Op.NEG:
            return f"(-{text[0]})"
        case Op.RECIP:
            return rounded(dtype, f"({'1.0' + suffix} / {text[0]})")
        case Op.MAX:
            return f"max_{kind}({', '.join(plain_text)})"
        case Op.IDIV:
            return rounded(dtype, f"floor_divide_{kind}({', '.join(plain_text)})")
        case Op.MOD:
            return rounded(dtype, f"remainder_{kind}({', '.join(plain_text)})")
    raise refused(op, dtype)


def _integer(op: Op, dtype: DType, kinds: Sequence[DType], text: Sequence[str]) -> str:
    kind, wide = c_type(dtype), f"uint{max(32, dtype.bits)}_t"
    signed = "int64" if dtype.kind == "int" else "uint64"
    first = text[0]
    second = text[1] if len(text) > 1 else ""
    match op:
        case Op.ADD | Op.SUB | Op.MUL:
            return f"(({kind})(({wide}){first} {_INFIX[op]} ({wide}){second}))"
        case Op.NEG:
            return f"(({kind})(-({wide}){first}))"
        case Op.AND | Op.OR | Op.XOR:
            return f"(({kind})({first} {_BITWISE[op]} {second}))"
        case Op.MAX:
            return f"max_{dtype.name}({bare(first)}, {bare(second)})"
        case Op.IDIV:
            return f"(({kind})divide_{signed}({bare(first)}, {bare(second)}))"
        case Op.MOD:
            return f"(({kind})modulo_{signed}({bare(first)}, {bare(second)}))"
        case Op.POW:
            return f"(({kind})power_{signed}({bare(first)}, {bare(second)}))"
        case Op.SHL:
            return f"(({kind})shift_left({bare(first)}, {_count(kinds[1], second)}, {dtype.bits}))"
        case Op.SHR:
            return f"(({kind})shift_right_{signed}({bare(first)}, {_count(kinds[1], second)}, {dtype.bits}))"
        case Op.THREEFRY if dtype.name == "uint64":
            return f"threefry({bare(first)}, {bare(second)})"
        case Op.FLOOR:
            return first
    raise refused(op, dtype)


def _count(kind: DType, text: str) -> str:
    """A shift count as uint64_t; a negative one becomes huge."""
    return bare(text) if kind.kind == "uint" else f"(uint64_t)(int64_t){text}"


def _cast(to: DType, source: DType, text: str) -> str:
    if to == source:
        return text
    if to.kind == "bool":
        return f"({text} != 0)"
    if to.is_float:
        if source.name == "float64" and to.name == "float16":
            return f"half_to_float(double_to_half({bare(text)}))"
        held = text if source.is_float and c_type(source) == c_type(to) else f"(({c_type(to)}){text})"
        exact = is_half(to) and source.kind == "bool"
        return held if exact else rounded(to, held)
    if source.is_float:
        return (
            f"float_to_uint64({bare(text)})"
            if to.name == "uint64"
            else f"(({c_type(to)})float_to_int64({bare(text)}))"
        )
    return f"(({c_type(to)}){text})"


def _bitcast(to: DType, source: DType, text: str) -> str:
    if to.bits != source.bits:
        raise CodegenError(
            "SL402",
            f"bitcast of {source} to {to} has no code",
            reason="the two types differ in width",
            help="store the value and look at its memory through another buffer",
        )
    bits = _to_bits(source, text)
    if to.kind == "bool":
        return f"({bits} != 0)"
    if is_half(to):
        return f"{_half_name(to)}_to_float({bare(bits)})"
    if to.is_float:
        return f"bits_to_{c_type(to)}({bare(bits)})"
    return f"(({c_type(to)}){bits})"


def _to_bits(source: DType, text: str) -> str:
    """The bits of a number as an unsigned integer."""
    if is_half(source):
        return f"float_to_{_half_name(source)}({bare(text)})"
    if source.is_float:
        return f"{c_type(source)}_to_bits({bare(text)})"
    return f"((uint{source.bits}_t){text})"
