"""Bitcasts as scalar values: one element out of a wider one, or one of several narrower ones, or the bits of a half."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from schedulog.codegen.scalar import is_half, plain
from schedulog.codegen.values import Compute, Constant, Index, Value
from schedulog.facts.dtype import DType, bool_, unsigned
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Size, quotient, remainder

Make = Callable[[Value], Value]


def takes_bits(n: Node) -> bool:
    """Whether a node is a bitcast to another width, or of a half, whose bits its number could lose (of a NaN)."""
    source = n.src[0].dtype if n.op is Op.BITCAST else n.dtype
    return n.op is Op.BITCAST and (source.itemsize != n.dtype.itemsize or is_half(plain(source)))


def sources(n: Node, indices: tuple[Size, ...]) -> tuple[tuple[Node, tuple[Size, ...]], ...]:
    """The elements of the source that hold the bytes of the element at `indices`, first byte first."""
    source, held, wanted = n.src[0], n.src[0].dtype.itemsize, n.dtype.itemsize
    if held == wanted:
        return ((source, indices),)
    *outer, last = indices
    if held > wanted:
        return ((source, (*outer, quotient(last, held // wanted))),)
    parts = wanted // held
    return tuple((source, (*outer, last * parts + part)) for part in range(parts))


def bitcast(n: Node, last: Size, bits: Sequence[Value], make: Make) -> Value:
    """The element at index `last` of the last axis, of the bits of its sources as unsigned integers; memory is little endian.

    `make` makes one value of equal ones.
    """
    held, wanted = n.src[0].dtype.itemsize, n.dtype.itemsize
    whole = _part(last, held, wanted, bits[0], make) if held > wanted else _joined(held, wanted, bits, make)
    return as_type(whole, n.dtype, make)


def _part(last: Size, held: int, wanted: int, bits: Value, make: Make) -> Value:
    wide = unsigned(held)
    shift = make(Index(wide, remainder(last, held // wanted) * (8 * wanted)))
    return make(Compute(unsigned(wanted), Op.CAST, (make(Compute(wide, Op.SHR, (bits, shift))),)))


def _joined(held: int, wanted: int, bits: Sequence[Value], make: Make) -> Value:
    wide = unsigned(wanted)
    whole = make(Compute(wide, Op.CAST, (bits[0],)))
    for part, value in enumerate(bits[1:], 1):
        moved = make(Compute(wide, Op.SHL, (make(Compute(wide, Op.CAST, (value,))),
                                            make(Constant(wide, 8 * held * part)))))  # fmt: skip
        whole = make(Compute(wide, Op.OR, (whole, moved)))
    return whole


def as_type(bits: Value, dtype: DType, make: Make) -> Value:
    """Bits as a number of a type of their width."""
    if bits.dtype == dtype:
        return bits
    return make(Compute(dtype, Op.CAST if dtype == bool_ else Op.BITCAST, (bits,)))
