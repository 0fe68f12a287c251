"""Functions of several tensors: choosing, stacking, joining."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schedulog.facts import compose
from schedulog.facts.build import const
from schedulog.facts.dtype import bool_
from schedulog.facts.node import Node
from schedulog.numeric import common, truth
from schedulog.operands import operand, stored
from schedulog.origin import placed
from schedulog.pending import PENDING
from schedulog.tensor import Tensor


def where(condition: Any, if_true: Any, if_false: Any) -> Tensor:
    """`if_true` where `condition` is not 0, else `if_false`, broadcast. Raises GraphError (SL211, SL212)."""

    def make(label: str) -> Node:
        given = operand(condition)
        test = truth(given) if isinstance(given, Node) else const(bool(given), bool_)
        chosen, other = common([operand(if_true), operand(if_false)])
        return compose.where(test, chosen, other, label)

    with PENDING.turn:
        return Tensor.of(placed("where", make))


def maximum(a: Any, b: Any) -> Tensor:
    """The larger of two, NaN if either is."""
    return _tensor(a).maximum(b)


def minimum(a: Any, b: Any) -> Tensor:
    """The smaller of two, NaN if either is."""
    return _tensor(a).minimum(b)


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else Tensor(x)


def concatenate(tensors: Sequence[Any], axis: int = 0) -> Tensor:
    """One after the other along `axis`. Raises GraphError (SL211, SL213, SL215)."""
    with PENDING.turn:
        return Tensor.of(placed("concatenate", lambda label: compose.concat(_nodes(tensors), axis, label)))


def stack(tensors: Sequence[Any], axis: int = 0) -> Tensor:
    """One beside the other along a new axis `axis`. Raises GraphError (SL211, SL213, SL215)."""

    def make(label: str) -> Node:
        nodes = _nodes(tensors)
        at = compose.axis_index(axis, len(nodes[0].shape) + 1) if nodes else 0
        return compose.concat([compose.insert_axis(n, at) for n in nodes], at, label)

    with PENDING.turn:
        return Tensor.of(placed("stack", make))


def _nodes(tensors: Sequence[Any]) -> list[Node]:
    given = [operand(x) for x in tensors]
    return common([x if isinstance(x, Node) else stored(x, None) for x in given]) if given else []
