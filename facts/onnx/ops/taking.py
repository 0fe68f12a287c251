"""Taking elements along one axis at positions that are known: views where they form runs, one-hot sums where not."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedulog.facts.onnx.values import (
    Known,
    Value,
    alu,
    broadcast_to,
    concat,
    drop_axes,
    insert_axes,
    like,
    reduce,
    reshape,
    select_along,
    shape_of,
)
from schedulog.facts.ops import Op

RUN_LIMIT: Final = 16
"""Positions in more runs than this are taken by comparison: a concatenation of many parts costs one mask each."""

Positions = NDArray[np.integer[Any]]


def take(value: Value, axis: int, positions: Positions) -> Value:
    """The elements of `value` at `positions` (1-D, inside the axis) along `axis`, which gets as many elements."""
    if isinstance(value, Known):
        return Known(np.take(value.array, positions, axis), value.name)
    if not len(positions):
        return select_along(value, axis, range(0))
    repeats = _repeats(positions)
    if repeats > 1:
        return _repeated(take(value, axis, positions[::repeats]), axis, repeats)
    runs = _runs(positions)
    if len(runs) > RUN_LIMIT:
        return _by_comparison(value, axis, positions)
    return concat([_run(value, axis, first, step, count) for first, step, count in runs], axis)


def _repeats(positions: Positions) -> int:
    """How often each position comes in a row, if all come equally often and there is more than one; else 1."""
    changes = np.flatnonzero(np.diff(positions)) + 1
    if not len(changes):
        return 1
    lengths = np.diff(np.concatenate([[0], changes, [len(positions)]]))
    return int(lengths[0]) if (lengths == lengths[0]).all() else 1


def _repeated(value: Value, axis: int, times: int) -> Value:
    shape = shape_of(value)
    stretched = broadcast_to(insert_axes(value, (axis + 1,)), (*shape[: axis + 1], times, *shape[axis + 1 :]))
    return reshape(stretched, (*shape[:axis], shape[axis] * times, *shape[axis + 1 :]))


def _runs(positions: Positions) -> list[tuple[int, int, int]]:
    """The positions as arithmetic runs (first, step, count), taken greedily from the left."""
    runs: list[tuple[int, int, int]] = []
    for position in map(int, positions):
        if runs:
            first, step, count = runs[-1]
            if count == 1 or position == first + step * count:
                runs[-1] = (first, position - first if count == 1 else step, count + 1)
                continue
        runs.append((position, 0, 1))
    return runs


def _run(value: Value, axis: int, first: int, step: int, count: int) -> Value:
    if step:
        return select_along(value, axis, range(first, first + step * count, step))
    one = select_along(value, axis, range(first, first + 1))
    return one if count == 1 else _repeated(one, axis, count)


def _by_comparison(value: Value, axis: int, positions: Positions) -> Value:
    """A sum in which all but the wanted element are 0: exact, and blind to infinities at other places."""
    size, rank = shape_of(value)[axis], len(shape_of(value))
    hits = positions[:, None] == np.arange(size)[None, :]
    mask = Known(hits.reshape(*(1,) * axis, len(positions), size, *(1,) * (rank - axis - 1)))
    terms = alu(Op.WHERE, mask, insert_axes(value, (axis,)), like(value, 0))
    return drop_axes(reduce("ADD", terms, (axis + 1,)), (axis + 1,))
