"""The dtype of what an operation gives: it follows from its operands, or has to be given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from schedulog.errors import GraphError
from schedulog.facts.dtype import DType, bool_, void
from schedulog.facts.ops import COMPARISON, ELEMENTWISE, Op

if TYPE_CHECKING:
    from schedulog.facts.node import Node

_TYPED: Final = frozenset({Op.CONST, Op.CAST, Op.BITCAST, Op.BIND, Op.BUFFER_VIEW})
"""Operations whose dtype does not follow from their operands."""

_ALIKE: Final = ELEMENTWISE - _TYPED - {Op.WHERE, Op.SHL, Op.SHR}
"""Operations on operands of one dtype."""


def result_dtype(op: Op, src: tuple[Node, ...], arg: Any, dtype: DType | None) -> DType:
    """The dtype of an operation on `src`; the given one where it does not follow. Raises GraphError SL212."""
    if op in _TYPED:
        if dtype is None:
            raise GraphError("SL212", f"{op} needs a dtype")
        return dtype
    derived = _derived_dtype(op, src, arg)
    if dtype is None or dtype is derived or dtype == derived:
        return derived
    # An image is another place for the same floats, which its users may not know of.
    if dtype.image is None and derived.image is None:
        raise GraphError("SL212", f"{op} gives {derived}, not {dtype}", reason="its dtype follows from its operands",
                         help="cast it")  # fmt: skip
    return dtype


def _derived_dtype(op: Op, src: tuple[Node, ...], arg: Any) -> DType:
    if op in _ALIKE:
        _same_dtype(op, src)
        return bool_ if op in COMPARISON else src[0].dtype
    match op:
        case Op.SINK:
            return void
        case Op.BUFFER:
            kind: DType = arg.dtype
            return kind
        case Op.ASSIGN if arg is not None:
            return src[1].dtype
        case Op.WHERE:
            _same_dtype(op, src[1:])
            return src[1].dtype
    return src[0].dtype


def _same_dtype(op: Op, src: tuple[Node, ...]) -> None:
    first = src[0].dtype
    for s in src:
        kind = s.dtype
        if kind is first or kind.name == first.name or kind.image is not None or first.image is not None:
            continue
        raise GraphError(
            "SL212",
            f"{op} of dtypes {' and '.join(str(s.dtype) for s in src)}",
            reason="operands of an elementwise operation have one dtype",
            help="cast one of them first",
        )
