"""One operation of a tensor graph, hash-consed: equal operations on equal sources are the same object."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import ref

from schedulog.errors import GraphError
from schedulog.facts.arguments import (
    check_pieces,
    check_reduction,
    check_size,
    check_target,
    check_window,
    no_bool,
)
from schedulog.facts.device_name import is_file, spelled
from schedulog.facts.dtype import DType
from schedulog.facts.interning import Interned
from schedulog.facts.number import wrapped
from schedulog.facts.ops import ARITY, Op
from schedulog.facts.result_dtype import result_dtype
from schedulog.facts.symbolic import Size, Variable, sizes_text, upper_bound
from schedulog.facts.view import ViewStack
from schedulog.facts.views.reach import check_reach

if TYPE_CHECKING:
    from schedulog.facts.copied import Step

ReduceOp = Literal["ADD", "MUL", "MAX"]
Shape = tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class ConstArg:
    """A constant: its value, the shape it fills and the device it is for."""

    value: bool | int | float
    shape: Shape
    device: str

    def __post_init__(self) -> None:
        if ":" in self.device:
            object.__setattr__(self, "device", spelled(self.device))

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

    def __post_init__(self) -> None:
        if ":" in self.device:
            object.__setattr__(self, "device", spelled(self.device))


class Node:
    """An operation: op, dtype, sources and argument; shape and device follow from these.

    Made by `node` only, which checks and interns. Nodes compare by identity. `label` is the user's name for the node
    (an ONNX name, or file:line of a Tensor call); it is not part of the identity.

    `placed` says that the value is made at a place, which is `device`: it is made of memory, or a copy. What is made of
    constants alone can be made anywhere; `device` is then only the one it is meant for.
    """

    __slots__ = ("__weakref__", "arg", "device", "dtype", "label", "op", "placed", "shape", "src", "step")

    op: Op
    dtype: DType
    src: tuple[Node, ...]
    arg: Any
    shape: Shape
    device: str
    placed: bool
    label: str
    step: ref[Step]
    """What pickle writes of the node, while it does."""

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
        count = math.prod(self.shape)
        return count if isinstance(count, int) else math.prod(map(upper_bound, self.shape))

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def made_in_file(self) -> bool:
        """Whether the place of the value is a file. A constant meant for one is in none."""
        return self.placed and is_file(self.device)

    def __repr__(self) -> str:
        return f"<{self.op} {self.dtype}{sizes_text(self.shape)}>"

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        from schedulog.facts.copied import copied

        return copied(self, memo)

    def __reduce__(self) -> tuple[Any, ...]:
        from schedulog.facts.copied import last_of, steps

        return last_of, (steps(self),)


_INTERNED: Final[Interned[Node]] = Interned()

_SIZED: Final = frozenset({Op.BUFFER, Op.CONST, Op.VIEW})
"""Operations whose result can be larger than their operands."""

_PLACED: Final = frozenset({Op.BUFFER, Op.COPY})
"""Operations whose argument says where they are."""


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
    follows, and only an image may be given that is not what follows. An ASSIGN whose argument is a view writes through that
    view of its first source, which it counts in elements of its own type, that of its second source.

    The value of a CONST is brought to its dtype, as `wrapped` does. `moved` says that a VIEW's argument was made by
    movements of how its source is seen, which cannot leave the source: what it reaches is then not looked at again.

    Raises GraphError: SL210 wrong number of sources, SL211 shapes differ, SL212 dtypes differ, SL213 bad argument,
    SL214 an assign to what is no memory or not one place for each value, SL216 a constant that is no element of its dtype,
    SL225 a view of what its source does not have, SL226 a value larger than any machine can count.
    """
    _check_arity(op, src)
    dtype = result_dtype(op, src, arg, dtype)
    if op is Op.CONST:
        arg = _constant(arg, dtype)
    key = _key(op, src, arg, dtype)
    known = _INTERNED.find(key)
    if known is not None:
        return known
    fresh = Node()
    fresh.op, fresh.src, fresh.arg, fresh.dtype, fresh.label = op, src, arg, dtype, label
    if not moved and op in _CHECKED:
        _check_argument(fresh)
    fresh.shape = _shape(op, src, arg) if op is not Op.BITCAST else _bitcast_shape(src[0], dtype)
    if op in _SIZED:
        check_size(fresh.shape, dtype)
    fresh.placed, fresh.device = _place(op, src, arg)
    return _INTERNED.add(key, fresh)


def remade(n: Node, src: tuple[Node, ...]) -> Node:
    """The same operation on other sources. A view has its source's dtype, which only an image changes.

    Raises GraphError as `node` does.
    """
    if not _take_over(n, src):
        return node(n.op, src, n.arg, None if n.op is Op.VIEW else n.dtype, n.label)
    key = _key(n.op, src, n.arg, n.dtype)
    known = _INTERNED.find(key)
    if known is not None:
        return known
    fresh = Node()
    fresh.op, fresh.src, fresh.arg, fresh.label = n.op, src, n.arg, n.label
    fresh.dtype, fresh.shape, fresh.placed, fresh.device = n.dtype, n.shape, n.placed, n.device
    return _INTERNED.add(key, fresh)


def made_before(op: Op, src: tuple[Node, ...], arg: Any, dtype: DType, label: str) -> Node:
    """The node of an operation that was checked when it was first made, perhaps by another process."""
    return node(op, src, arg, dtype, label, moved=True)


def _take_over(n: Node, src: tuple[Node, ...]) -> bool:
    """Whether new sources are so like the old ones that all holds on them that was found when `n` was made."""
    if n.op is Op.ASSIGN or (n.op is Op.VIEW and n.dtype != n.src[0].dtype):
        return False
    for new, old in zip(src, n.src, strict=True):
        if new.shape != old.shape or new.device != old.device or new.placed != old.placed:
            return False
        if new.dtype is not old.dtype and new.dtype != old.dtype:
            return False
    return True


def _key(op: Op, src: tuple[Node, ...], arg: Any, dtype: DType) -> Hashable:
    """What tells a node from all others, as `Interned` wants it: sources and memory by identity, types by their names."""
    identity = arg.key() if op is Op.CONST else id(arg) if op is Op.BUFFER else arg
    return (op, dtype.name, identity, *map(id, src))


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
            _check_assign(fresh)
        case Op.BUFFER_VIEW:
            check_window(arg, fresh.dtype, src[0].nbytes)


def _check_assign(fresh: Node) -> None:
    """To what a view shows of memory; or, with a view as argument, to memory counted in elements of the value's type."""
    (place, value), look = fresh.src, fresh.arg
    if look is None:
        check_target(repr(place), _under_windows(place.base).op, place.view)
        return
    check_target(repr(place), place.op, look)
    check_pieces(place.dtype.itemsize, value.dtype.itemsize)
    check_bytes(repr(place), place, value.dtype)
    check_reach(look.views, (*place.shape, place.dtype.itemsize // value.dtype.itemsize))
    if value.shape != look.shape:
        raise _other_shape(Op.ASSIGN, (look.shape, value.shape))


def check_bytes(target: str, memory: Node, dtype: DType) -> None:
    """Raises GraphError SL214 for an assign of another type to memory of bool, or to what assigns wrote there, all of bool."""
    if dtype.kind == "bool":
        return
    # An assign of another type says what the memory is not, so no chain is walked again for each that is added to it.
    while memory.op is Op.ASSIGN and memory.dtype.kind == "bool":
        memory = memory.src[0].base
    if memory.dtype.kind == "bool":
        raise no_bool(target, dtype)


def _under_windows(base: Node) -> Node:
    while base.op is Op.BUFFER_VIEW:
        base = base.src[0].base
    return base


_CHECKED: Final = frozenset({Op.VIEW, Op.REDUCE_AXIS, Op.ASSIGN, Op.BUFFER_VIEW})


def _shape(op: Op, src: tuple[Node, ...], arg: Any) -> Shape:
    if op not in _SHAPED:
        return _common_shape(op, src)
    match op:
        case Op.ASSIGN if arg is None:
            return _common_shape(op, src)
        case Op.BUFFER:
            return (arg.size,)
        case Op.CONST:
            return arg.shape  # type: ignore[no-any-return]
        case Op.BIND | Op.SINK:
            return ()
        case Op.VIEW | Op.ASSIGN:
            return arg.shape  # type: ignore[no-any-return]
        case Op.REDUCE_AXIS:
            return tuple(1 if i in arg.axes else s for i, s in enumerate(src[0].shape))
        case _:
            return arg  # type: ignore[no-any-return]


_SHAPED: Final = frozenset(
    {Op.BUFFER, Op.CONST, Op.BIND, Op.SINK, Op.VIEW, Op.REDUCE_AXIS, Op.BUFFER_VIEW, Op.ASSIGN}
)
"""Operations whose shape is not always that of each operand."""


def _common_shape(op: Op, src: tuple[Node, ...]) -> Shape:
    shape = src[0].shape
    for s in src:
        if s.shape is not shape and s.shape != shape:
            raise _other_shape(op, [source.shape for source in src])
    return shape


def _other_shape(op: Op, shapes: Iterable[Shape]) -> GraphError:
    return GraphError(
        "SL211",
        f"{op} of shapes {' and '.join(map(sizes_text, shapes))}",
        reason="an elementwise operation takes operands of one shape",
        help="reshape or expand one of them first",
    )


def _bitcast_shape(source: Node, dtype: DType) -> Shape:
    """The last axis grows or shrinks with the element width."""
    if source.dtype.itemsize == dtype.itemsize:
        return source.shape
    last = source.shape[-1] * source.dtype.itemsize if source.shape else 0
    if not isinstance(last, int) or last % dtype.itemsize or not source.shape:
        raise GraphError("SL212", f"bitcast of {source.dtype}{sizes_text(source.shape)} to {dtype}",
                         reason="the last axis does not hold a whole number of elements")  # fmt: skip
    return (*source.shape[:-1], last // dtype.itemsize)


def _place(op: Op, src: tuple[Node, ...], arg: Any) -> tuple[bool, str]:
    """Whether the value is made at a place, and the device: that of the first operand with a place, else the first that is meant."""
    if op in _PLACED:
        return True, arg.device
    meant = arg.device if op is Op.CONST else ""
    for s in src:
        if s.placed:
            return True, s.device
        meant = meant or s.device
    return False, meant


def topological(sinks: Iterable[Node], seen: set[Node] | None = None) -> Iterator[Node]:
    """Every node reachable from `sinks`, sources first: depth first, sources left to right, post-order, each once.

    Iterative, so that a chain of any length passes. What is in `seen`, which grows, is left out with all under it.
    """
    seen = set() if seen is None else seen
    for sink in sinks:
        if sink in seen:
            continue
        seen.add(sink)
        stack = [(sink, iter(sink.src))]
        while stack:
            current, sources = stack[-1]
            for source in sources:
                if source not in seen:
                    seen.add(source)
                    if source.src:
                        stack.append((source, iter(source.src)))
                        break
                    yield source
            else:
                stack.pop()
                yield current


def bind(variable: Variable, dtype: DType) -> Node:
    """A scalar node holding a bound variable."""
    return node(Op.BIND, (), variable, dtype)
