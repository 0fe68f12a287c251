"""Rules of arithmetic and logic on single elements, in the order they are tried.

An operand that is a constant is the same in every element. Rules of commutative operations look at both orders.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from schedulog.facts.build import alu
from schedulog.facts.node import Node, node
from schedulog.facts.ops import Op
from schedulog.facts.simplify.constants import filled
from schedulog.facts.simplify.rule import rule


def either(n: Node) -> Iterator[tuple[Node, Node]]:
    """The two operands, and the two exchanged."""
    left, right = n.src
    yield left, right
    yield right, left


def holds(n: Node, value: bool | int) -> bool:
    """Whether a node is the constant `value`, in whatever type."""
    return n.op is Op.CONST and n.arg.value == value


def beside(n: Node, value: bool | int) -> Node | None:
    """The other operand where one is the constant `value`."""
    left, right = n.src
    return left if holds(right, value) else right if holds(left, value) else None


@rule(Op.ADD, beside=Op.CONST)
def add_zero(n: Node) -> Node | None:
    """x + 0 is x, for integers and bool; so is x + -0.0, for floats."""
    return next((x for x, zero in either(n) if holds(zero, 0) and _changes_nothing(zero)), None)


def _changes_nothing(zero: Node) -> bool:
    """Whether adding this zero keeps every value: -0.0 + 0.0 is 0.0."""
    return not zero.dtype.is_float or math.copysign(1.0, zero.arg.value) < 0


@rule(Op.ADD, "finite", beside=Op.CONST)
def add_positive_zero(n: Node) -> Node | None:
    """x + 0.0 is x for floats, except that -0.0 + 0.0 is 0.0."""
    return beside(n, 0) if n.dtype.is_float else None


@rule(Op.MUL, beside=Op.CONST)
def times_one(n: Node) -> Node | None:
    """x * 1 is x."""
    return beside(n, 1)


@rule(Op.IDIV, "finite")
def divided_by_itself(n: Node) -> Node | None:
    """x // x is 1, if x is not 0: for numbers that are not constants."""
    x, divisor = n.src
    unknown = x.op is not Op.CONST and n.dtype.kind != "bool"
    return filled(n, 1) if x is divisor and unknown else None


@rule(Op.IDIV, beside=Op.CONST)
def divided_by_one(n: Node) -> Node | None:
    """x // 1 is x, for integers."""
    return n.src[0] if holds(n.src[1], 1) and not n.dtype.is_float else None


@rule(Op.IDIV, beside=Op.CONST)
def divided_by_minus_one(n: Node) -> Node | None:
    """x // -1 is -x, for integers."""
    negated = holds(n.src[1], -1) and not n.dtype.is_float
    return alu(Op.MUL, *n.src, label=n.label) if negated else None


@rule(Op.MUL, "finite", beside=Op.RECIP)
def times_own_reciprocal(n: Node) -> Node | None:
    """x * (1/x) is 1, if x is neither 0 nor infinite."""
    return next((filled(n, 1) for x, r in either(n) if r.op is Op.RECIP and r.src[0] is x), None)


@rule(Op.MUL, "finite", beside=Op.RECIP)
def times_and_divided(n: Node) -> Node | None:
    """(x * y) * (1/y) is x, if y is neither 0 nor infinite."""
    for product, reciprocal in either(n):
        if product.op is Op.MUL and reciprocal.op is Op.RECIP:
            divisor = reciprocal.src[0]
            for x, y in either(product):
                if y is divisor:
                    return x
    return None


@rule(Op.MOD, beside=Op.MOD)
def remainder_twice(n: Node) -> Node | None:
    """(x % y) % y is x % y, for integers and bool."""
    # A tiny negative float has the divisor itself, rounded, as its remainder.
    inner, divisor = n.src
    repeated = inner.op is Op.MOD and inner.src[1] is divisor and not n.dtype.is_float
    return inner if repeated else None


@rule(Op.ADD, beside=Op.MOD)
def quotient_and_remainder(n: Node) -> Node | None:
    """x % c + (x // c) * c is x, for integers and a constant c that is not 0."""
    for rest, scaled in either(n):
        split = _split(rest, scaled)
        if split is not None and split[1] is split[2]:
            return split[0]
    return None


@rule(Op.ADD, beside=Op.MUL)
def scaled_quotient_and_remainder(n: Node) -> Node | None:
    """(x // a) * c + (x % a) * b is x * b, for integers and constants with a * b = c and a not 0."""
    for weighted, scaled in either(n):
        if weighted.op is not Op.MUL:
            continue
        for rest, weight in either(weighted):
            split = _split(rest, scaled) if weight.op is Op.CONST else None
            if split is not None and split[1].arg.value * weight.arg.value == split[2].arg.value:
                return alu(Op.MUL, split[0], weight, label=n.label)
    return None


def _split(rest: Node, scaled: Node) -> tuple[Node, Node, Node] | None:
    """(x, a, c) for x % a and (x // a) * c with constants a and c; None for anything else."""
    if rest.op is not Op.MOD or scaled.op is not Op.MUL:
        return None
    x, divisor = rest.src
    if divisor.op is not Op.CONST or divisor.arg.value == 0 or x.dtype.is_float:
        return None
    for quotient, factor in either(scaled):
        if factor.op is Op.CONST and quotient.op is Op.IDIV and quotient.src == (x, divisor):
            return x, divisor, factor
    return None


@rule(Op.AND, beside=Op.CONST)
def and_with_constant(n: Node) -> Node | None:
    """x & True is x and x & False is False, for bool x."""
    if n.dtype.kind != "bool":
        return None
    return next((x if c.arg.value else c for x, c in either(n) if c.op is Op.CONST), None)


@rule(Op.OR, beside=Op.CONST)
def or_with_constant(n: Node) -> Node | None:
    """x | False is x and x | True is True, for bool x."""
    if n.dtype.kind != "bool":
        return None
    return next((c if c.arg.value else x for x, c in either(n) if c.op is Op.CONST), None)


@rule((Op.AND, Op.OR, Op.MAX))
def with_itself(n: Node) -> Node | None:
    """x & x, x | x and max(x, x) are x."""
    return n.src[0] if n.src[0] is n.src[1] else None


@rule(Op.CMPNE, beside=Op.CONST)
def not_twice(n: Node) -> Node | None:
    """(x != True) != True is x, for bool x."""
    inner = beside(n, 1)
    if inner is None or inner.op is not Op.CMPNE or inner.src[0].dtype.kind != "bool":
        return None
    return beside(inner, 1)


@rule(Op.WHERE, beside=Op.CONST)
def choice_of_truth(n: Node) -> Node | None:
    """Where x choose True, else False: is x, for bool x."""
    truths = n.dtype.kind == "bool" and n.src[0].dtype.kind == "bool"
    return n.src[0] if truths and holds(n.src[1], 1) and holds(n.src[2], 0) else None


@rule(Op.CMPLT)
def less_than_itself(n: Node) -> Node | None:
    """x < x is False."""
    return filled(n, False) if n.src[0] is n.src[1] else None


@rule(Op.CMPNE)
def differs_from_itself(n: Node) -> Node | None:
    """x != x is False, for integers (a NaN differs from itself)."""
    left, right = n.src
    return filled(n, False) if left is right and left.dtype.is_integer else None


@rule(Op.MUL, "finite", beside=Op.CONST)
def times_zero(n: Node) -> Node | None:
    """x * 0 is 0, if x is finite."""
    other = beside(n, 0)
    if other is None or (other.op is Op.CONST and other.arg.value - other.arg.value != 0):
        return None
    return filled(n, 0)


_LOGICAL: Final = {Op.MUL: Op.AND, Op.ADD: Op.OR, Op.MAX: Op.OR}


@rule(tuple(_LOGICAL))
def arithmetic_on_bool(n: Node) -> Node | None:
    """On bool, x * y is x & y; x + y and max(x, y) are x | y."""
    return node(_LOGICAL[n.op], n.src, None, None, n.label) if n.dtype.kind == "bool" else None


@rule((Op.CAST, Op.BITCAST))
def same_type(n: Node) -> Node | None:
    """A cast or bitcast to the type a value has is the value."""
    return n.src[0] if n.dtype == n.src[0].dtype else None
