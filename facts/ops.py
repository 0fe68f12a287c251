"""The operations a node can be. One line each; names are the field's (tinygrad's)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Op(StrEnum):
    """What a node computes. Elementwise ops take operands of one shape; views do the broadcasting."""

    # leaves
    BUFFER = "BUFFER"  # memory that exists before the call; arg: Buffer
    CONST = "CONST"  # one value in every element; arg: ConstArg
    BIND = "BIND"  # a bound variable as a scalar; arg: symbolic Variable with a value
    # structure
    SINK = "SINK"  # the requested values
    VIEW = "VIEW"  # another look at the source's elements; arg: ViewStack
    DETACH = "DETACH"  # the source, where no gradient passes
    # elementwise, one operand
    CAST = "CAST"  # to the node's dtype, as numpy's astype
    BITCAST = "BITCAST"  # the same bits as another type (of the same width, or the last axis scaled)
    EXP2 = "EXP2"
    LOG2 = "LOG2"
    EXP = "EXP"
    LOG = "LOG"
    SIN = "SIN"
    COS = "COS"
    TANH = "TANH"
    ERF = "ERF"
    FLOOR = "FLOOR"
    SQRT = "SQRT"
    RECIP = "RECIP"
    NEG = "NEG"
    # elementwise, two operands
    ADD = "ADD"  # on bool: or
    MUL = "MUL"  # on bool: and
    SUB = "SUB"
    FDIV = "FDIV"
    IDIV = "IDIV"  # floor division; by zero: 0
    MOD = "MOD"  # remainder with the divisor's sign; by zero: 0
    MAX = "MAX"  # NaN if either is NaN
    POW = "POW"
    CMPLT = "CMPLT"
    CMPNE = "CMPNE"
    CMPEQ = "CMPEQ"
    XOR = "XOR"
    OR = "OR"
    AND = "AND"
    SHL = "SHL"
    SHR = "SHR"
    THREEFRY = "THREEFRY"  # counter-based random bits: uint64 (counter, key)
    # elementwise, three operands
    WHERE = "WHERE"  # condition, if true, if false
    MULACC = "MULACC"  # a * b + c
    # reductions
    REDUCE_AXIS = "REDUCE_AXIS"  # arg: ReduceArg; the reduced axes stay with size 1
    # storage
    CONTIGUOUS = "CONTIGUOUS"  # the source, stored
    CONTIGUOUS_BACKWARD = "CONTIGUOUS_BACKWARD"  # the source; its gradient is stored
    ASSIGN = "ASSIGN"  # (target, value): the value, written into the target's buffer; arg: a ViewStack if it is bitcast
    COPY = "COPY"  # the source on another device; arg: CopyArg
    BUFFER_VIEW = "BUFFER_VIEW"  # a window into the source's buffer, no copy (disk)


UNARY: Final = frozenset(
    {
        Op.CAST, Op.BITCAST, Op.EXP2, Op.LOG2, Op.EXP, Op.LOG, Op.SIN, Op.COS, Op.TANH, Op.ERF, Op.FLOOR,
        Op.SQRT, Op.RECIP, Op.NEG,
    }
)  # fmt: skip
BINARY: Final = frozenset(
    {
        Op.ADD, Op.MUL, Op.SUB, Op.FDIV, Op.IDIV, Op.MOD, Op.MAX, Op.POW, Op.CMPLT, Op.CMPNE, Op.CMPEQ,
        Op.XOR, Op.OR, Op.AND, Op.SHL, Op.SHR, Op.THREEFRY,
    }
)  # fmt: skip
TERNARY: Final = frozenset({Op.WHERE, Op.MULACC})
ELEMENTWISE: Final = UNARY | BINARY | TERNARY
COMPARISON: Final = frozenset({Op.CMPLT, Op.CMPNE, Op.CMPEQ})
LEAVES: Final = frozenset({Op.BUFFER, Op.CONST, Op.BIND})
ARITY: Final = (
    dict.fromkeys(UNARY, 1)
    | dict.fromkeys(BINARY, 2)
    | dict.fromkeys(TERNARY, 3)
    | dict.fromkeys(LEAVES, 0)
    | {Op.VIEW: 1, Op.REDUCE_AXIS: 1, Op.CONTIGUOUS: 1, Op.ASSIGN: 2, Op.COPY: 1, Op.BUFFER_VIEW: 1}
    | {Op.DETACH: 1, Op.CONTIGUOUS_BACKWARD: 1}
)
