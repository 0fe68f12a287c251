"""Making nodes: every front end builds graphs through these functions.

Movement operations become views when they are made: a VIEW always stands directly on a node that is not a VIEW, and a
view that shows its source unchanged is the source itself. Broadcasting is explicit (`expand`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedulog.errors import GraphError
from schedulog.facts.arguments import check_reduction, check_target
from schedulog.facts.buffer import Buffer
from schedulog.facts.device_name import DEFAULT
from schedulog.facts.dtype import DType, from_numpy
from schedulog.facts.node import ConstArg, CopyArg, Node, ReduceArg, ReduceOp, Shape, check_bytes, node
from schedulog.facts.ops import Op
from schedulog.facts.place import target_of
from schedulog.facts.symbolic import Size, equal, prod
from schedulog.facts.view import ViewStack


def buffer(memory: Buffer, shape: Shape | None = None, label: str = "") -> Node:
    """The contents of `memory` (flat), seen in `shape` if one is given."""
    flat = node(Op.BUFFER, (), memory, memory.dtype, label or memory.name)
    return flat if shape is None else reshape(flat, shape)


def array(values: NDArray[Any], name: str = "", device: str = DEFAULT) -> Node:
    """A buffer holding a copy of `values`, in their shape."""
    memory = Buffer(
        values.size, from_numpy(values.dtype), device, name, np.array(values, order="C").reshape(-1)
    )
    return buffer(memory, tuple(values.shape))


def const(
    value: bool | float, dtype: DType, shape: Shape = (), device: str = DEFAULT, label: str = ""
) -> Node:
    """`value` in every element of `shape`, brought to the dtype's own kind (and wrapped or rounded as it does).

    Raises GraphError (SL216) where that is impossible: NaN or an infinity as an integer.
    """
    return node(Op.CONST, (), ConstArg(value, shape, device), dtype, label)


def view(source: Node, look: ViewStack, label: str = "", *, moved: bool = False) -> Node:
    """`source` seen through `look`, on its base; an unmasked view of a constant is a constant of the new shape.

    `moved` says that `look` was made by movements of the plain look at `source`, and so reaches nothing else.
    """
    whole = source.view.then(look) if source.op is Op.VIEW else look
    base = source.base
    if base.op is Op.CONST and not whole.masked:
        return node(Op.CONST, (), ConstArg(base.arg.value, whole.shape, base.arg.device), base.dtype, label)
    if whole.contiguous and whole.shape == base.shape:
        return base
    return node(Op.VIEW, (base,), whole, base.dtype, label or base.label, moved=moved)


def reshape(source: Node, shape: Sequence[Size], label: str = "") -> Node:
    return (
        source
        if tuple(shape) == source.shape
        else view(source, source_look(source).reshape(tuple(shape)), label, moved=True)
    )


def permute(source: Node, order: Sequence[int], label: str = "") -> Node:
    return view(source, source_look(source).permute(tuple(order)), label, moved=True)


def expand(source: Node, shape: Sequence[Size], label: str = "") -> Node:
    return (
        source
        if tuple(shape) == source.shape
        else view(source, source_look(source).expand(tuple(shape)), label, moved=True)
    )


def pad(source: Node, widths: Sequence[tuple[Size, Size]], label: str = "") -> Node:
    """Zeros before and after each axis: `widths` = (begin, end) per axis."""
    return view(source, source_look(source).pad(tuple(widths)), label, moved=True)


def shrink(source: Node, bounds: Sequence[tuple[Size, Size]], label: str = "") -> Node:
    """The window [begin, end) of each axis."""
    return view(source, source_look(source).shrink(tuple(bounds)), label, moved=True)


def flip(source: Node, axes: Sequence[bool], label: str = "") -> Node:
    """Reversed along the axes marked True."""
    return view(source, source_look(source).flip(tuple(axes)), label, moved=True)


def source_look(source: Node) -> ViewStack:
    """The plain look at a node in its own shape, to which a movement is applied."""
    return ViewStack.of_shape(source.shape)


def alu(op: Op, *operands: Node, label: str = "") -> Node:
    """An elementwise operation on operands of one shape and dtype (see `Op`)."""
    return node(op, operands, label=label)


def cast(source: Node, dtype: DType, label: str = "") -> Node:
    """Converted as numpy's astype does; the source itself if it has the dtype already."""
    return source if source.dtype == dtype else node(Op.CAST, (source,), None, dtype, label)


def bitcast(source: Node, dtype: DType, label: str = "") -> Node:
    """The same bits as `dtype`; elements of another width change the size of the last axis. In a file, a window: nothing is read.

    Raises GraphError (SL212) where the last axis does not hold a whole number of elements.
    """
    if source.made_in_file and source.dtype != dtype:
        shape = node(Op.BITCAST, (source,), None, dtype).shape
        return node(Op.BUFFER_VIEW, (source,), shape, dtype, label)
    return source if source.dtype == dtype else node(Op.BITCAST, (source,), None, dtype, label)


def reduce(op: ReduceOp, source: Node, axes: Sequence[int], label: str = "") -> Node:
    """Reduced over `axes`, which stay with size 1. Axes of size 1 need no reduction; an empty axis gives the identity.

    Raises GraphError (SL213) for an axis that does not exist (they count from 0) or stands twice.
    """
    check_reduction(op, sorted(axes), len(source.shape))
    kept = tuple(a for a in sorted(axes) if equal(source.shape[a], 1) is not True)
    if not kept:
        return source
    result = tuple(1 if i in kept else s for i, s in enumerate(source.shape))
    if equal(prod(source.shape), 0) is True:
        return const(identity(op, source.dtype), source.dtype, result, source.device, label)
    return node(Op.REDUCE_AXIS, (source,), ReduceArg(op, kept), source.dtype, label)


def identity(op: ReduceOp, dtype: DType) -> bool | int | float:
    """What a reduction over nothing gives: 0, 1, or the dtype's minimum."""
    return {"ADD": 0, "MUL": 1, "MAX": dtype.minimum()}[op]


def contiguous(source: Node, label: str = "") -> Node:
    """The source, stored. Memory and already stored values stay as they are; of a file, it is a window."""
    if source.made_in_file and source.op is Op.VIEW:
        return node(Op.BUFFER_VIEW, (source,), source.shape, source.dtype, label)
    stored = source.op in (Op.BUFFER, Op.CONTIGUOUS, Op.COPY, Op.BUFFER_VIEW)
    return source if stored else node(Op.CONTIGUOUS, (source,), label=label)


def copy(source: Node, device: str, clone: bool = False, label: str = "") -> Node:
    """The source on `device`; itself if it is there already and no clone is wanted."""
    same = source.device == device and not clone
    return source if same else node(Op.COPY, (source,), CopyArg(device, clone), label=label)


def assign(target: Node, value: Node, label: str = "") -> Node:
    """`value` written into the memory under `target`: a BUFFER, what an assign wrote, or a look at one that movements and
    bitcasts make, which shows each element once. What is returned has the shape and type of `target`.

    Where a bitcast stands in between, the ASSIGN counts the memory in elements as narrow as the narrowest on the way, so
    one of a wider target is written in pieces. Raises GraphError: SL214 for another target, SL211 and SL212 for a value
    that has not the target's shape and type, if the target is a bitcast.
    """
    found = target_of(target)
    if found is None:
        return node(Op.ASSIGN, (target, value), label=label)
    check_target(repr(target), found.memory.op, found.look)
    check_bytes(repr(target), found.memory, target.dtype)
    if value.dtype != target.dtype:
        raise GraphError("SL212", f"ASSIGN of {value.dtype} to {target.dtype}", help="cast the value first")
    if found.parts == 1:
        return node(Op.ASSIGN, (found.memory, value), found.look, label=label)
    # Memory is written elsewhere only as it is, so what is taken apart has to be here first.
    here = copy(value, found.memory.device, label=label)
    pieces = bitcast(reshape(here, (*value.shape, 1)), found.dtype, label)
    stored = node(Op.ASSIGN, (found.memory, pieces), found.look, label=label)
    return reshape(bitcast(stored, target.dtype, label), target.shape, label)


def element_count(shape: Shape) -> Size:
    """The number of elements of a shape."""
    return (
        math.prod(s for s in shape if isinstance(s, int))
        if all(isinstance(s, int) for s in shape)
        else prod(shape)
    )
