"""One operation of a tensor graph, hash-consed: equal operations on equal sources are the same object."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from schedulog.errors import GraphError
from schedulog.facts.arguments import check_reduction, check_size, check_target, check_window
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import DType, bool_, void
from schedulog.facts.number import wrapped
from schedulog.facts.ops import ARITY, COMPARISON, ELEMENTWISE, Op
from schedulog.facts.symbolic import Size, Variable, upper_bound
from schedulog.facts.view import ViewStack
from schedulog.facts.views.reach import check_reach

ReduceOp = Literal["ADD", "MUL", "MAX"]
Shape = tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class ConstArg:
    """A constant: its value, the shape it fills and the device it is for."""

    value: bool | int | float
    shape: Shape
    device: str

    def key(self) -> object:
        """Tells 0 from 0.0, 0.0 from -0.0 and one NaN from no other, so that equal keys print equal code."""
        return (type(self.value), repr(self.value), self.shape, self.device)


@dataclass(frozen=True, slots=True)
class ReduceArg:
    """Which axes are reduced, and by which operation."""

    op: ReduceOp
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CopyArg:
    """Where a COPY goes; a clone is kept even if that is where the source is."""

    device: str
    clone: bool = False


class Node:
    """An operation: op, dtype, sources and argument; shape and device follow from these.

    Made by `node` only, which checks and interns. Nodes compare by identity. `label` is the user's name for the node
    (an ONNX name, or file:line of a Tensor call); it is not part of the identity.
    """

    __slots__ = ("__weakref__", "arg", "device", "dtype", "label", "op", "shape", "src")

    op: Op
    dtype: DType
    src: tuple[Node, ...]
    arg: Any
    shape: Shape
    device: str
    label: str

    @property
    def base(self) -> Node:
        """The node under the view, or the node itself."""
        return self.src[0] if self.op is Op.VIEW else self

    @property
    def view(self) -> ViewStack:
        """How this node looks at its base; for anything but a VIEW the plain look at its shape."""
        return self.arg if self.op is Op.VIEW else ViewStack.of_shape(self.shape)

    @property
    def size(self) -> int:
        """Number of elements; symbolic sizes count at their maximum."""
        return math.prod(upper_bound(s) for s in self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"<{self.op} {self.dtype}{list(self.shape)}>"


class _Interned:
    """The table behind hash-consing. It holds nodes weakly and cannot be observed except through `is`."""

    def __init__(self) -> None:
        self._table: weakref.WeakValueDictionary[object, Node] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def get(self, key: object, fresh: Node) -> Node:
        with self._lock:
            return self._table.setdefault(key, fresh)


_INTERNED: Final = _Interned()

_TYPED: Final = frozenset({Op.CONST, Op.CAST, Op.BITCAST, Op.BIND, Op.BUFFER_VIEW})
"""Operations whose dtype does not follow from their operands."""

_SIZED: Final = frozenset({Op.BUFFER, Op.CONST, Op.VIEW})
"""Operations whose result can be larger than their operands."""


def node(
    op: Op,
    src: tuple[Node, ...] = (),
    arg: Any = None,
    dtype: DType | None = None,
    label: str = "",
    *,
    moved: bool = False,
) -> Node:
    """The node for this operation. `dtype` is needed for CONST, CAST, BITCAST, BIND and BUFFER_VIEW; elsewhere it
    follows, and only an image may be given that is not what follows.

    The value of a CONST is brought to its dtype, as `wrapped` does. `moved` says that a VIEW's argument was made by
    movements of how its source is seen, which cannot leave the source: what it reaches is then not looked at again.

    Raises GraphError: SL210 wrong number of sources, SL211 shapes differ, SL212 dtypes differ, SL213 bad argument,
    SL214 an assign to what is no memory or not one place for each value, SL216 a constant that is no element of its dtype,
    SL225 a view of what its source does not have, SL226 a value larger than any machine can count.
    """
    _check_arity(op, src)
    fresh = Node()
    fresh.op, fresh.src, fresh.label = op, src, label
    fresh.dtype = _dtype(op, src, arg, dtype)
    fresh.arg = arg = _constant(arg, fresh.dtype) if op is Op.CONST else arg
    if not moved:
        _check_argument(fresh)
    fresh.shape = _shape(op, src, arg) if op is not Op.BITCAST else _bitcast_shape(src[0], fresh.dtype)
    if op in _SIZED:
        check_size(fresh.shape, fresh.dtype)
    fresh.device = _device(op, src, arg)
    identity = arg.key() if isinstance(arg, ConstArg) else arg
    return _INTERNED.get((op, fresh.dtype, src, identity), fresh)


def _check_arity(op: Op, src: tuple[Node, ...]) -> None:
    expected = ARITY.get(op)
    if expected is not None and len(src) != expected:
        raise GraphError("SL210", f"{op} takes {expected} sources, not {len(src)}")


def _constant(arg: ConstArg, dtype: DType) -> ConstArg:
    value = wrapped(arg.value, dtype)
    return arg if repr(value) == repr(arg.value) else replace(arg, value=value)


def _check_argument(fresh: Node) -> None:
    """What is left to check once operands fit each other."""
    arg, src = fresh.arg, fresh.src
    match fresh.op:
        case Op.VIEW:
            check_reach(arg.views, src[0].shape)
        case Op.REDUCE_AXIS:
            check_reduction(arg.op, arg.axes, len(src[0].shape))
        case Op.ASSIGN:
            check_target(repr(src[0]), _under_windows(src[0].base).op, src[0].view)
        case Op.BUFFER_VIEW:
            check_window(arg, fresh.dtype, src[0].nbytes)


def _under_windows(base: Node) -> Node:
    while base.op is Op.BUFFER_VIEW:
        base = base.src[0].base
    return base


def _shape(op: Op, src: tuple[Node, ...], arg: Any) -> Shape:
    match op:
        case Op.BUFFER:
            return (arg.size,)
        case Op.CONST:
            return arg.shape  # type: ignore[no-any-return]
        case Op.BIND | Op.SINK:
            return ()
        case Op.VIEW:
            return arg.shape  # type: ignore[no-any-return]
        case Op.REDUCE_AXIS:
            return tuple(1 if i in arg.axes else s for i, s in enumerate(src[0].shape))
        case Op.BUFFER_VIEW:
            return arg  # type: ignore[no-any-return]
        case _:
            if any(s.shape != src[0].shape for s in src):
                shapes = " and ".join(str(list(s.shape)) for s in src)
                raise GraphError(
                    "SL211",
                    f"{op} of shapes {shapes}",
                    reason="an elementwise operation takes operands of one shape",
                    help="reshape or expand one of them first",
                )
            return src[0].shape


def _bitcast_shape(source: Node, dtype: DType) -> Shape:
    """The last axis grows or shrinks with the element width."""
    if source.dtype.itemsize == dtype.itemsize:
        return source.shape
    last = source.shape[-1] * source.dtype.itemsize if source.shape else 0
    if not isinstance(last, int) or last % dtype.itemsize or not source.shape:
        raise GraphError("SL212", f"bitcast of {source.dtype}{list(source.shape)} to {dtype}",
                         reason="the last axis does not hold a whole number of elements")  # fmt: skip
    return (*source.shape[:-1], last // dtype.itemsize)


def _dtype(op: Op, src: tuple[Node, ...], arg: Any, dtype: DType | None) -> DType:
    if op in _TYPED:
        if dtype is None:
            raise GraphError("SL212", f"{op} needs a dtype")
        return dtype
    derived = _derived_dtype(op, src, arg)
    if dtype is None or dtype == derived:
        return derived
    # An image is another place for the same floats, which its users may not know of.
    if dtype.image is None and derived.image is None:
        raise GraphError("SL212", f"{op} gives {derived}, not {dtype}", reason="its dtype follows from its operands",
                         help="cast it")  # fmt: skip
    return dtype


def _derived_dtype(op: Op, src: tuple[Node, ...], arg: Any) -> DType:
    match op:
        case Op.SINK:
            return void
        case Op.BUFFER:
            kind: DType = arg.dtype
            return kind
        case _ if op in COMPARISON:
            _same_dtype(op, src)
            return bool_
        case Op.WHERE:
            _same_dtype(op, src[1:])
            return src[1].dtype
        case _ if op in ELEMENTWISE and op not in (Op.SHL, Op.SHR):
            _same_dtype(op, src)
    return src[0].dtype


def _same_dtype(op: Op, src: tuple[Node, ...]) -> None:
    if any(
        s.dtype.name != src[0].dtype.name and s.dtype.image is None and src[0].dtype.image is None
        for s in src
    ):
        raise GraphError(
            "SL212",
            f"{op} of dtypes {' and '.join(str(s.dtype) for s in src)}",
            reason="operands of an elementwise operation have one dtype",
            help="cast one of them first",
        )


def _device(op: Op, src: tuple[Node, ...], arg: Any) -> str:
    if isinstance(arg, (Buffer, CopyArg, ConstArg)):
        return arg.device
    return next((s.device for s in src if s.device), "")


def topological(sinks: Iterable[Node]) -> Iterator[Node]:
    """Every node reachable from `sinks`, sources first: depth first, sources left to right, post-order, each once.

    Iterative, so that a chain of any length passes.
    """
    done: set[Node] = set()
    for sink in sinks:
        stack: list[tuple[Node, int]] = [(sink, 0)]
        if sink in done:
            continue
        pending = {sink}
        while stack:
            current, at = stack[-1]
            if at < len(current.src):
                stack[-1] = (current, at + 1)
                child = current.src[at]
                if child not in done and child not in pending:
                    pending.add(child)
                    stack.append((child, 0))
            else:
                stack.pop()
                done.add(current)
                yield current


def bind(variable: Variable, dtype: DType) -> Node:
    """A scalar node holding a bound variable."""
    return node(Op.BIND, (), variable, dtype)
