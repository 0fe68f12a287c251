"""Operations that pick elements by index."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedulog.facts import compose
from schedulog.facts.dtype import int64
from schedulog.facts.onnx.call import Call, Lowering
from schedulog.facts.onnx.ops.taking import take
from schedulog.facts.onnx.values import (
    Known,
    Value,
    alu,
    cast,
    drop_axes,
    insert_axes,
    like,
    node_of,
    permute,
    reduce,
    reshape,
    select,
    shape_of,
)
from schedulog.facts.ops import Op

STEP_LIMIT: Final = 1 << 33
"""An index that is computed is compared with every position of the table; more comparisons than this are refused."""


def _gather(call: Call) -> Value:
    table, indices = call.value(0), call.value(1)
    shape = shape_of(table)
    axis = call.axis(call.integer("axis", 0), len(shape))
    if not indices.dtype.is_integer:
        raise call.mismatch(f"indices of {indices.dtype}")
    if isinstance(indices, Known):
        positions = _positions(call, indices.array, shape[axis])
        taken = take(table, axis, positions.reshape(-1))
        return reshape(taken, (*shape[:axis], *positions.shape, *shape[axis + 1 :]))
    _check_cost(call, math.prod(shape) * math.prod(shape_of(indices)))
    return compose.gather(node_of(table), indices, axis)


def _positions(call: Call, indices: NDArray[Any], size: int) -> NDArray[np.int64]:
    """Known indices counted from the start. Raises GraphError (SL245) for one outside."""
    wide = indices.astype(np.int64)
    if ((wide < -size) | (wide >= size)).any():
        raise call.mismatch(f"an index outside of {size} elements")
    return np.where(wide < 0, wide + size, wide)


def _check_cost(call: Call, steps: int) -> None:
    if steps > STEP_LIMIT:
        raise call.refuse(
            f"computed indices into a table this large ({steps} comparisons)", "make the indices constants"
        )


def _from_start(indices: Value, size: int) -> Value:
    """Indices counted from the start, as int64."""
    wide = cast(indices, int64)
    return alu(Op.WHERE, alu(Op.CMPLT, wide, like(wide, 0)), alu(Op.ADD, wide, like(wide, size)), wide)


def _gather_elements(call: Call) -> Value:
    """By comparison with every position; a computed index outside gives the dtype's minimum (-inf), as Gather does."""
    table, indices = call.value(0), call.value(1)
    shape, wanted = shape_of(table), shape_of(indices)
    axis = call.axis(call.integer("axis", 0), len(shape))
    if len(wanted) != len(shape) or any(
        w > n for i, (w, n) in enumerate(zip(wanted, shape, strict=True)) if i != axis
    ):
        raise call.mismatch(f"indices of shape {list(wanted)} into {list(shape)}")
    if isinstance(indices, Known):
        indices = Known(_positions(call, indices.array, shape[axis]))
    _check_cost(call, math.prod(wanted) * shape[axis])
    window = select(
        table, [range(n if i == axis else w) for i, (w, n) in enumerate(zip(wanted, shape, strict=True))]
    )
    last = insert_axes(
        permute(window, (*(i for i in range(len(shape)) if i != axis), axis)), (len(shape) - 1,)
    )
    order = [*range(axis), *range(axis + 1, len(shape)), axis]
    places = insert_axes(permute(_from_start(indices, shape[axis]), order), (len(shape),))
    hits = alu(Op.CMPEQ, places, Known(np.arange(shape[axis])))
    chosen = alu(Op.WHERE, hits, last, like(table, table.dtype.minimum()))
    found = drop_axes(reduce("MAX", chosen, (len(shape),)), (len(shape),))
    return permute(found, [order.index(i) for i in range(len(shape))])


def _one_hot(call: Call) -> Value:
    indices, values = call.value(0), call.value(2)
    depth = call.known(1, "depths")
    if depth is None or depth.size != 1:
        raise call.mismatch("a depth of one number is needed")
    size, rank = int(depth.reshape(-1)[0]), len(shape_of(indices))
    if shape_of(values) != (2,) or size < 0:
        raise call.mismatch(f"values of shape {list(values.shape)} and depth {size}")
    axis = call.axis(call.integer("axis", -1), rank + 1)
    places = insert_axes(_from_start(indices, size), (axis,))
    classes = Known(np.arange(size).reshape([size if i == axis else 1 for i in range(rank + 1)]))
    off, on = (drop_axes(select(values, [range(i, i + 1)]), (0,)) for i in (0, 1))
    return alu(Op.WHERE, alu(Op.CMPEQ, places, classes), on, off)


LOWERINGS: Final[Mapping[str, Lowering]] = MappingProxyType(
    {"Gather": _gather, "GatherElements": _gather_elements, "OneHot": _one_hot}
)
