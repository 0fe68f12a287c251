"""Pooling: the largest element or the mean of every window."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from schedulog.facts.dtype import bool_
from schedulog.facts.onnx.call import Call, Lowering
from schedulog.facts.onnx.ops.reduction import mean_over
from schedulog.facts.onnx.ops.windows import Windows, show, windows
from schedulog.facts.onnx.values import (
    Known,
    Value,
    alu,
    cast,
    constant,
    drop_axes,
    like,
    node_of,
    reduce,
    shape_of,
)
from schedulog.facts.ops import Op


def _pool_windows(call: Call) -> Windows:
    sizes = call.spatial(call.value())
    kernel = call.integers("kernel_shape") or ()
    look = windows(call, sizes, kernel, call.flag("ceil_mode"))
    if not _tap_counts(look, False).all():
        raise call.mismatch(f"windows of {list(kernel)} that lie wholly in the padding")
    return look


def _taps(value: Value, look: Windows) -> tuple[int, ...]:
    rank = len(shape_of(value))
    return tuple(range(rank, rank + len(look.kernel)))


def _max_pool(call: Call) -> Value:
    # The order of the indices, an output that is refused.
    call.ignore("storage_order")
    value, look = call.value(), _pool_windows(call)
    shown: Value = show(node_of(value), look)
    if look.padded:
        inside = show(node_of(constant(True, bool_, shape_of(value))), look)
        shown = alu(Op.WHERE, inside, shown, like(value, value.dtype.minimum()))
    return drop_axes(reduce("MAX", shown, _taps(value, look)), _taps(value, look))


def _average_pool(call: Call) -> Value:
    value, look = call.value(), _pool_windows(call)
    call.require_float(value)
    counts = _tap_counts(look, call.flag("count_include_pad"))
    shown = show(node_of(value), look)
    total = drop_axes(reduce("ADD", shown, _taps(value, look)), _taps(value, look))
    return alu(Op.FDIV, total, cast(Known(counts), value.dtype))


def _tap_counts(look: Windows, with_padding: bool) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """How many taps of each window lie on elements (or on declared padding too), in the shape of the windows."""
    counts = np.ones((), np.int64)
    for axis in range(len(look.sizes)):
        starts = np.arange(look.count[axis]) * look.strides[axis] - look.begin[axis]
        taps = starts[:, None] + np.arange(look.kernel[axis]) * look.dilations[axis]
        low = -look.begin[axis] if with_padding else 0
        high = look.sizes[axis] + (look.end[axis] if with_padding else 0)
        counts = counts[..., None] * ((taps >= low) & (taps < high)).sum(axis=1)
    return counts


def _spatial_axes(call: Call) -> tuple[int, ...]:
    return tuple(range(2, 2 + len(call.spatial(call.value()))))


LOWERINGS: Final[Mapping[str, Lowering]] = MappingProxyType(
    {
        "AveragePool": _average_pool,
        "GlobalAveragePool": lambda call: mean_over(call.value(), _spatial_axes(call)),
        "GlobalMaxPool": lambda call: reduce("MAX", call.value(), _spatial_axes(call)),
        "MaxPool": _max_pool,
    }
)
