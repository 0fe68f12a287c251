"""Rules about what is empty, reduced, copied or stored."""

from __future__ import annotations

import math
from typing import Final

from schedulog.facts.build import alu, identity
from schedulog.facts.device_name import is_file
from schedulog.facts.dtype import float16, float32
from schedulog.facts.node import ConstArg, Node, node
from schedulog.facts.number import wrapped
from schedulog.facts.ops import Op
from schedulog.facts.simplify.constants import filled, rounded
from schedulog.facts.simplify.rule import rule
from schedulog.facts.view import ViewStack


@rule(frozenset(Op) - {Op.SINK, Op.BIND}, early=True)
def nothing(n: Node) -> Node | None:
    """A value without elements is the constant 0 of its shape. A copy to a file makes the file all the same."""
    if n.size or _makes_file(n):
        return None
    if n.op is Op.ASSIGN:
        return n.src[1]  # it writes nothing, but what it is made of may be an assign
    base = n.base
    return None if base.op is Op.CONST and base.arg.value == 0 else filled(n, 0)


@rule((Op.DETACH, Op.CONTIGUOUS_BACKWARD))
def gradient_mark(n: Node) -> Node | None:
    """What only concerns gradients is its source."""
    return n.src[0]


@rule(Op.REDUCE_AXIS)
def reduction_of_nothing(n: Node) -> Node | None:
    """A reduction over no elements gives the identity of its operation."""
    empty = n.src[0].size == 0 and n.size != 0
    return filled(n, identity(n.arg.op, n.dtype)) if empty else None


@rule(Op.REDUCE_AXIS, "finite", beside=(Op.CONST, Op.VIEW))
def reduction_of_one_value(n: Node) -> Node | None:
    """n equal values have the sum n * x, the product x ** n and the maximum x."""
    source = n.src[0]
    count = _equal_values(source, n.arg.axes)
    if count is None:
        return None
    one = _shrunk(source, n)
    if n.arg.op == "MAX":
        return one
    if not _holds_count(n, count):
        return None
    return alu(Op.MUL if n.arg.op == "ADD" else Op.POW, one, filled(n, count, one.dtype), label=n.label)


def _holds_count(n: Node, count: int) -> bool:
    """Whether the count is of use in the reduction's type: a factor may wrap, not an exponent, and no float overflow."""
    if n.dtype.is_float:
        return math.isfinite(rounded(count, n.dtype))
    return n.arg.op == "ADD" or n.dtype.kind == "bool" or wrapped(count, n.dtype) == count


def _equal_values(source: Node, axes: tuple[int, ...]) -> int | None:
    """How many elements lie along `axes`, if there are some and they are surely equal; None if not."""
    if any(not isinstance(s, int) for s in source.shape):
        return None
    if source.op is not Op.CONST:
        if source.op is not Op.VIEW or source.arg.masked:
            return None
        strides = source.arg.views[-1].strides
        if any(strides[axis] != 0 for axis in axes):
            return None
    count = 1
    for axis in axes:
        count *= int(source.shape[axis])  # type: ignore[arg-type]
    return count or None


def _shrunk(source: Node, n: Node) -> Node:
    """The first element along each reduced axis."""
    if source.op is Op.CONST:
        return filled(n, source.arg.value, source.dtype)
    look = source.arg.shrink(tuple((0, s) for s in n.shape))
    return node(Op.VIEW, (source.base,), look, None, n.label)


@rule(Op.COPY, beside=Op.CONST)
def copy_of_constant(n: Node) -> Node | None:
    """A copy of a constant is the constant on the other device, unless that is a file, which has to be made."""
    source = n.src[0]
    if source.op is not Op.CONST or _makes_file(n):
        return None
    return node(Op.CONST, (), ConstArg(source.arg.value, n.shape, n.arg.device), n.dtype, n.label)


def _makes_file(n: Node) -> bool:
    return n.op is Op.COPY and is_file(n.arg.device)


@rule(Op.COPY)
def copy_in_place(n: Node) -> Node | None:
    """A copy to the device a value is on is the value, unless it is a clone."""
    return n.src[0] if n.src[0].device == n.arg.device and not n.arg.clone else None


@rule(Op.CAST, beside=Op.VIEW)
def cast_of_stored_image(n: Node) -> Node | None:
    """A cast between image types of one element type of a view of a stored image is a view of it."""
    look = n.src[0]
    if n.dtype.image is None or look.op is not Op.VIEW:
        return None
    stored = look.src[0]
    if stored.op is not Op.CONTIGUOUS or stored.dtype.image is None or stored.dtype.bits != n.dtype.bits:
        return None
    return node(Op.VIEW, (stored,), look.arg, None, n.label)


@rule(frozenset(Op) - {Op.SINK, Op.BUFFER, Op.VIEW, Op.CONST, Op.BIND})
def not_an_image(n: Node) -> Node | None:
    """What does not fit its image type, or has no axis of groups of four, has the type of its elements."""
    if n.dtype.image is None or _is_image(n, n.dtype.image):
        return None
    return node(n.op, n.src, n.arg, float16 if n.dtype.bits == 16 else float32, n.label)


def _is_image(n: Node, image: tuple[int, ...]) -> bool:
    pixels = image[0] * image[1] * image[2]
    strides = n.view.real_strides()
    grouped = any(s % 4 == 0 for s, stride in zip(n.shape, strides, strict=True) if stride == 1)
    return n.size == pixels and grouped


@rule(Op.CONTIGUOUS, beside=Op.VIEW)
def stored_memory(n: Node) -> Node | None:
    """Storing a contiguous view of all of a buffer is that view."""
    look = n.src[0]
    if look.op is not Op.VIEW or look.src[0].op is not Op.BUFFER:
        return None
    return look if look.arg.covers(look.src[0].size) else None


_STORED: Final = frozenset({Op.CONTIGUOUS, Op.BUFFER, Op.COPY})


@rule(Op.CONTIGUOUS, beside=_STORED)
def stored_twice(n: Node) -> Node | None:
    """Storing what is stored already is that."""
    return n.src[0] if n.src[0].op in _STORED else None


@rule((Op.BITCAST, Op.CONTIGUOUS))
def window_of_file(n: Node) -> Node | None:
    """A part of a file, or its bits as another type, is a window into the file."""
    return node(Op.BUFFER_VIEW, n.src, n.shape, n.dtype, n.label) if n.made_in_file else None


def stored_order(n: Node) -> tuple[Node, Node] | None:
    """For a CONTIGUOUS of a permuted or flipped base: the base, and the base as a view of what is stored."""
    if n.op is not Op.CONTIGUOUS or n.src[0].op is not Op.VIEW:
        return None
    look = n.src[0]
    base = look.src[0]
    back: ViewStack | None = look.arg.invert(base.shape)
    return None if back is None else (base, node(Op.VIEW, (n,), back))
