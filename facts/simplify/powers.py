"""Powers with a constant base or exponent, in terms of products, roots and powers of two."""

from __future__ import annotations

import math

from schedulog.facts.build import alu
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.simplify.constants import filled
from schedulog.facts.simplify.rule import rule


def _exponent(n: Node) -> int | float | None:
    """The constant finite exponent of a power."""
    exponent = n.src[1]
    if exponent.op is not Op.CONST or (n.dtype.is_float and not math.isfinite(exponent.arg.value)):
        return None
    return exponent.arg.value  # type: ignore[no-any-return]


@rule(Op.POW, "finite", beside=Op.CONST)
def negative_power(n: Node) -> Node | None:
    """x ** -c is (1/x) ** c."""
    c = _exponent(n)
    if c is None or c >= 0 or not n.dtype.is_float:
        return None
    return alu(Op.POW, alu(Op.RECIP, n.src[0]), filled(n, -c), label=n.label)


@rule(Op.POW, beside=Op.CONST)
def zeroth_power(n: Node) -> Node | None:
    """x ** 0 is 1."""
    return filled(n, 1) if _exponent(n) == 0 else None


@rule(Op.POW, "finite", beside=Op.CONST)
def half_integer_power(n: Node) -> Node | None:
    """x ** (k + 1/2) is x ** k times the square root of x."""
    c = _exponent(n)
    if c is None or c < 0 or c % 1 != 0.5:
        return None
    x = n.src[0]
    return alu(Op.MUL, alu(Op.POW, x, filled(n, c - 0.5)), alu(Op.SQRT, x), label=n.label)


@rule(Op.POW, "rounding", beside=Op.CONST)
def integer_power(n: Node) -> Node | None:
    """x ** k is the square of x ** (k // 2), times x for odd k."""
    c = _exponent(n)
    if c is None or c <= 0 or c % 1:
        return None
    x = n.src[0]
    half = alu(Op.POW, x, filled(n, c // 2))
    return alu(Op.MUL, alu(Op.MUL, half, half), x if c % 2 else filled(n, 1), label=n.label)


@rule(Op.POW, beside=Op.CONST)
def power_of_one(n: Node) -> Node | None:
    """1 ** x is 1."""
    base = n.src[0]
    return filled(n, 1) if base.op is Op.CONST and base.arg.value == 1 else None


@rule(Op.POW, "rounding", beside=Op.CONST)
def constant_to_a_power(n: Node) -> Node | None:
    """c ** x is 2 ** (x * log2 c), for a constant c above 0."""
    base, x = n.src
    if base.op is not Op.CONST or not n.dtype.is_float or not 0 < base.arg.value < math.inf:
        return None
    return alu(Op.EXP2, alu(Op.MUL, x, filled(n, math.log2(base.arg.value))), label=n.label)
