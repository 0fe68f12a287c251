"""Shapes, constants and movement: nothing here computes, except that padding picks a value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from schedulog.facts import compose
from schedulog.facts.dtype import bool_, float32, int64
from schedulog.facts.onnx.call import Call, Lowering
from schedulog.facts.onnx.ops.taking import take
from schedulog.facts.onnx.values import (
    FOLD_LIMIT,
    Known,
    Value,
    alu,
    broadcast_to,
    concat,
    constant,
    drop_axes,
    insert_axes,
    like,
    pad,
    permute,
    reshape,
    select,
    select_along,
    shape_of,
)
from schedulog.facts.ops import Op


def _shape(call: Call) -> Value:
    shape = shape_of(call.value())
    start, end = call.integer("start", 0), call.integer("end", len(shape))
    return Known(np.array(shape[start:end], np.int64))


def _reshape(call: Call) -> Value:
    value = call.value()
    wanted, keep_zero = call.integers_in(1, "shapes"), call.flag("allowzero")
    if wanted is None:
        raise call.mismatch("operand 1 is missing")
    old = shape_of(value)
    if not keep_zero and any(n == 0 and i >= len(old) for i, n in enumerate(wanted)):
        raise call.mismatch(f"0 in {list(wanted)} stands for an axis that {list(old)} does not have")
    sizes = [old[i] if n == 0 and not keep_zero else n for i, n in enumerate(wanted)]
    return reshape(value, _with_rest(call, sizes, math.prod(old)))


def _with_rest(call: Call, sizes: Sequence[int], total: int) -> tuple[int, ...]:
    """`sizes` with one -1 replaced by what is left of `total`."""
    others = math.prod(n for n in sizes if n != -1)
    if sizes.count(-1) > 1 or any(n < -1 for n in sizes):
        raise call.mismatch(f"{list(sizes)} is no shape")
    if -1 in sizes and (others == 0 or total % others):
        raise call.mismatch(f"{total} elements do not fill {list(sizes)}")
    return tuple(total // others if n == -1 else n for n in sizes)


def _transpose(call: Call) -> Value:
    rank = len(shape_of(call.value()))
    order = call.integers("perm") or tuple(reversed(range(rank)))
    return permute(call.value(), [call.axis(a, rank) for a in order])


def _squeeze(call: Call) -> Value:
    shape = shape_of(call.value())
    axes = call.axes(1, len(shape))
    if axes is None:
        axes = tuple(i for i, n in enumerate(shape) if n == 1)
    return drop_axes(call.value(), axes)


def _unsqueeze(call: Call) -> Value:
    rank = len(shape_of(call.value()))
    given = call.integers("axes") if call.has("axes") else call.integers_in(1, "axes")
    axes = [call.axis(a, rank + len(given or ())) for a in given or ()]
    if len(set(axes)) < len(axes):
        raise call.mismatch(f"axes {axes} name one axis twice")
    return insert_axes(call.value(), axes)


def _flatten(call: Call) -> Value:
    shape = shape_of(call.value())
    axis = call.integer("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    if not 0 <= axis <= len(shape):
        raise call.mismatch(f"axis {axis} of a value with {len(shape)} axes")
    return reshape(call.value(), (math.prod(shape[:axis]), math.prod(shape[axis:])))


def _expand(call: Call) -> Value:
    target = call.integers_in(1, "shapes") or ()
    shape = compose.broadcast_shapes(call.value().shape, target)
    return broadcast_to(call.value(), [int(n) for n in shape if isinstance(n, int)])


def _slice(call: Call) -> Value:
    shape = shape_of(call.value())
    if call.opset < 10:
        starts, stops = call.integers("starts") or (), call.integers("ends") or ()
        axes, steps = call.integers("axes"), None
    else:
        starts, stops = call.integers_in(1, "bounds") or (), call.integers_in(2, "bounds") or ()
        axes, steps = call.integers_in(3, "axes"), call.integers_in(4, "steps")
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(stops) == len(axes) == len(steps) or 0 in steps:
        raise call.mismatch(f"slice {starts}:{stops}:{steps} along {axes}")
    ranges = [range(n) for n in shape]
    places = [call.axis(axis, len(shape)) for axis in axes]
    if len(set(places)) < len(places):
        raise call.mismatch(f"axes {list(axes)} name one axis twice")
    for start, stop, step, at in zip(starts, stops, steps, places, strict=True):
        ranges[at] = _slice_range(start, stop, step, shape[at])
    return select(call.value(), ranges)


def _slice_range(start: int, stop: int, step: int, size: int) -> range:
    """The positions of a slice; as Python, but that a negative stop counts from the end only once."""
    low, high = (0, size) if step > 0 else (-1, size - 1)
    first = min(max(start + size if start < 0 else start, max(low, 0)), high)
    last = min(max(stop + size if stop < 0 else stop, low), size)
    return range(first, last, step)


def _split(call: Call) -> Sequence[Value]:
    value, shape = call.value(), shape_of(call.value())
    axis = call.axis(call.integer("axis", 0), len(shape))
    given = call.integers("split") if call.has("split") else call.integers_in(1, "sizes")
    parts = call.integer("num_outputs", call.output_count)
    if parts < 1 or (given is None and call.opset < 18 and shape[axis] % parts):
        raise call.mismatch(f"{parts} parts of {shape[axis]} elements")
    each = -(-shape[axis] // parts)
    sizes = given or tuple(max(0, min(each, shape[axis] - i * each)) for i in range(parts))
    if sum(sizes) != shape[axis] or min(sizes) < 0 or len(sizes) != call.output_count:
        raise call.mismatch(f"sizes {list(sizes)} of an axis of {shape[axis]}")
    ends = list(accumulate(sizes))
    return [select_along(value, axis, range(end - n, end)) for end, n in zip(ends, sizes, strict=True)]


def _concat(call: Call) -> Value:
    values = call.values()
    axis = call.axis(call.integer("axis", 0), len(shape_of(values[0])))
    filled = [v for v in values if shape_of(v)[axis : axis + 1] != (0,)]
    return concat(filled or values[:1], axis)


def _identity(call: Call) -> Value:
    return call.value()


def _dropout(call: Call) -> Sequence[Value]:
    """The operand: only inference is supported. The mask, where it is asked for, keeps everything."""
    call.ignore("ratio", "seed")
    call.ignore_input(1)
    if call.opset < 7:
        call.require("is_test", 0, 1)
    training = call.known(2, "training modes")
    if training is not None and training.any():
        raise call.refuse("training_mode true")
    return [call.value(), constant(True, bool_, shape_of(call.value()))]


def _constant(call: Call) -> Value:
    tensor = call.raw("value")
    if isinstance(tensor, np.ndarray):
        return Known(tensor)
    for name, numpy_type in (("value_float", np.float32), ("value_floats", np.float32),
                             ("value_int", np.int64), ("value_ints", np.int64)):  # fmt: skip
        found = call.raw(name)
        if found is not None:
            return Known(np.array(found, numpy_type))
    raise call.refuse("a value that is not a tensor of numbers")


def _constant_of_shape(call: Call) -> Value:
    shape = call.integers_in(0, "shapes") or ()
    value = call.raw("value")
    if value is None:
        return constant(0, float32, shape)
    if value.size != 1 or min(shape, default=0) < 0:
        raise call.mismatch(f"{value.size} values for the shape {list(shape)}")
    return Known(np.broadcast_to(value.reshape(()), shape))


def _range(call: Call) -> Value:
    start, limit, step = (call.known(i, "bounds") for i in range(3))
    if start is None or limit is None or step is None or step == 0:
        raise call.mismatch("a start, a limit and a step that is not 0 are needed")
    count = max(0, math.ceil((limit - start).item() / step.item()))
    if count > FOLD_LIMIT:
        raise call.refuse(f"{count} elements")
    return Known((start + np.arange(count).astype(start.dtype) * step).astype(start.dtype).reshape(-1))


def _pad(call: Call) -> Value:
    value, rank = call.value(), len(shape_of(call.value()))
    mode = call.choice("mode", "constant", ("constant", "reflect", "edge", "wrap"))
    if call.opset < 11:
        given, fill = call.integers("pads"), like(value, call.number("value", 0))
        axes: tuple[int, ...] = tuple(range(rank))
    else:
        given, fill = call.integers_in(1, "widths"), call.optional(2) or like(value, 0)  # type: ignore[assignment]
        found = call.axes(3, rank)
        axes = tuple(range(rank)) if found is None else found
    if given is None or len(given) != 2 * len(axes):
        raise call.mismatch(f"pads {given} for {len(axes)} axes")
    widths = [(0, 0)] * rank
    for axis, begin, end in zip(axes, given, given[len(axes) :], strict=False):
        widths[axis] = (begin, end)
    cut = _cropped(value, widths)
    grown = [(max(begin, 0), max(end, 0)) for begin, end in widths]
    return padded_with(cut, grown, fill) if mode == "constant" else _padded_by_index(call, cut, grown, mode)


def _cropped(value: Value, widths: Sequence[tuple[int, int]]) -> Value:
    """Negative widths take elements away."""
    ranges = [range(max(-b, 0), n - max(-e, 0)) for (b, e), n in zip(widths, shape_of(value), strict=True)]
    return (
        value
        if all(len(r) == n for r, n in zip(ranges, shape_of(value), strict=True))
        else select(value, ranges)
    )


def padded_with(value: Value, widths: Sequence[tuple[int, int]], fill: Value) -> Value:
    """`fill` before and after each axis. Padding gives zeros, so another fill is put in by a mask."""
    if not any(begin or end for begin, end in widths):
        return value
    filled = pad(value, widths)
    if isinstance(fill, Known) and not np.any(fill.array) and not np.any(np.signbit(fill.array)):
        return filled
    inside = pad(constant(True, bool_, shape_of(value)), widths)
    return alu(Op.WHERE, inside, filled, reshape(fill, ()))


def _padded_by_index(call: Call, value: Value, widths: Sequence[tuple[int, int]], mode: str) -> Value:
    for axis, (begin, end) in enumerate(widths):
        size = shape_of(value)[axis]
        if (begin or end) and (size == 0 or (mode == "reflect" and max(begin, end) >= size)):
            raise call.mismatch(f"{mode} padding of {begin} and {end} beside {size} elements")
        value = take(value, axis, _outside(size, begin, end, mode))
    return value


def _outside(size: int, begin: int, end: int, mode: str) -> NDArray[np.int64]:
    """For each position of the padded axis the position it repeats."""
    at = np.arange(-begin, size + end)
    if mode == "edge":
        return np.clip(at, 0, size - 1)
    if mode == "wrap":
        return at % size
    mirrored: NDArray[np.int64] = (size - 1) - np.abs((size - 1) - np.abs(at))
    return mirrored


def _tile(call: Call) -> Value:
    value, shape = call.value(), shape_of(call.value())
    repeats = call.integers_in(1, "repeats") or ()
    if len(repeats) != len(shape) or min(repeats, default=0) < 0:
        raise call.mismatch(f"repeats {list(repeats)} of {len(shape)} axes")
    split = insert_axes(value, range(0, 2 * len(shape), 2))
    stretched = broadcast_to(split, [n for pair in zip(repeats, shape, strict=True) for n in pair])
    return reshape(stretched, [r * n for r, n in zip(repeats, shape, strict=True)])


def _depth_to_space(call: Call) -> Value:
    value, block = call.value(), call.integer("blocksize", 0)
    mode = call.choice("mode", "DCR", ("DCR", "CRD"))
    shape = shape_of(value)
    if len(shape) != 4 or block < 1 or shape[1] % (block * block):
        raise call.mismatch(f"blocks of {block} in {list(shape)}")
    n, c, h, w = shape
    left = c // (block * block)
    if mode == "DCR":
        parts = permute(reshape(value, (n, block, block, left, h, w)), (0, 3, 4, 1, 5, 2))
    else:
        parts = permute(reshape(value, (n, left, block, block, h, w)), (0, 1, 4, 2, 5, 3))
    return reshape(parts, (n, left, h * block, w * block))


def _space_to_depth(call: Call) -> Value:
    value, block = call.value(), call.integer("blocksize", 0)
    mode = call.choice("mode", "DCR", ("DCR", "CRD"))
    shape = shape_of(value)
    if len(shape) != 4 or block < 1 or shape[2] % block or shape[3] % block:
        raise call.mismatch(f"blocks of {block} in {list(shape)}")
    n, c, h, w = shape
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    parts = permute(reshape(value, (n, c, h // block, block, w // block, block)), order)
    return reshape(parts, (n, c * block * block, h // block, w // block))


def _triangle(call: Call) -> Value:
    value, shape = call.value(), shape_of(call.value())
    upper, offset = call.flag("upper", True), call.one_integer(1, "diagonals", 0)
    if len(shape) < 2:
        raise call.mismatch(f"a triangle of shape {list(shape)}")
    rows, columns = np.arange(shape[-2])[:, None], np.arange(shape[-1])[None, :]
    kept = columns >= rows + offset if upper else columns <= rows + offset
    return alu(Op.WHERE, Known(kept), value, like(value, 0))


def _eye_like(call: Call) -> Value:
    shape = shape_of(call.value())
    dtype = call.element_type("dtype", 1) if call.has("dtype") else call.value().dtype
    if len(shape) != 2:
        raise call.mismatch(f"a diagonal of shape {list(shape)}")
    return Known(np.eye(*shape, k=call.integer("k", 0), dtype=dtype.to_numpy()))


LOWERINGS: Final[Mapping[str, Lowering]] = MappingProxyType(
    {
        "Concat": _concat,
        "Constant": _constant,
        "ConstantOfShape": _constant_of_shape,
        "DepthToSpace": _depth_to_space,
        "Dropout": _dropout,
        "Expand": _expand,
        "EyeLike": _eye_like,
        "Flatten": _flatten,
        "Identity": _identity,
        "Pad": _pad,
        "Range": _range,
        "Reshape": _reshape,
        "Shape": _shape,
        "Size": lambda call: constant(math.prod(shape_of(call.value())), int64),
        "Slice": _slice,
        "SpaceToDepth": _space_to_depth,
        "Split": _split,
        "Squeeze": _squeeze,
        "Tile": _tile,
        "Transpose": _transpose,
        "Trilu": _triangle,
        "Unsqueeze": _unsqueeze,
    }
)
