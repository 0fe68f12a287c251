"""Resizing: every output position looks at known input positions, so no coordinate is computed when it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedulog.facts.onnx.call import Call, Lowering
from schedulog.facts.onnx.ops.taking import take
from schedulog.facts.onnx.values import Known, Value, alu, shape_of
from schedulog.facts.ops import Op

Floats = NDArray[np.float64]
Coordinates = Callable[[Floats, float, int, int], Floats]
"""Input coordinates of output positions, given the scale, the input size and the output size."""


def _align_corners(at: Floats, scale: float, size: int, length: int) -> Floats:
    return np.zeros_like(at) if length == 1 else at * ((size - 1) / (length - 1))


def _pytorch_half_pixel(at: Floats, scale: float, size: int, length: int) -> Floats:
    return np.zeros_like(at) if length == 1 else (at + 0.5) / scale - 0.5


def _half_pixel_symmetric(at: Floats, scale: float, size: int, length: int) -> Floats:
    adjustment = length / (size * scale)
    centre = size / 2
    return centre * (1 - adjustment) + (at + 0.5) / scale - 0.5


_COORDINATES: Final[Mapping[str, Coordinates]] = MappingProxyType(
    {
        "half_pixel": lambda at, scale, size, length: (at + 0.5) / scale - 0.5,
        "half_pixel_symmetric": _half_pixel_symmetric,
        "asymmetric": lambda at, scale, size, length: at / scale,
        "align_corners": _align_corners,
        "pytorch_half_pixel": _pytorch_half_pixel,
    }
)
_NEAREST: Final[Mapping[str, Callable[[Floats], Any]]] = MappingProxyType(
    {
        "floor": np.floor,
        "ceil": np.ceil,
        "round_prefer_floor": lambda x: np.ceil(x - 0.5),
        "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    }
)


def _resize(call: Call) -> Value:
    value, rank = call.value(), len(shape_of(call.value()))
    mode = call.choice("mode", "nearest", ("nearest", "linear"))
    first = call.opset < 11
    transformation = call.choice(
        "coordinate_transformation_mode", "asymmetric" if first else "half_pixel", tuple(_COORDINATES)
    )
    coordinates = _COORDINATES[transformation]
    nearest = _NEAREST[
        call.choice("nearest_mode", "floor" if first else "round_prefer_floor", tuple(_NEAREST))
    ]
    _ignore_unused(call)
    axes = tuple(call.axis(a, rank) for a in call.integers("axes") or range(rank))
    if len(set(axes)) < len(axes):
        raise call.mismatch(f"axes {list(axes)} name one axis twice")
    for axis, (length, scale) in zip(axes, _lengths(call, axes), strict=True):
        size = shape_of(value)[axis]
        if transformation == "align_corners" and abs(size * scale - length) > 1e-4 * length:
            # The operator's reference divides by the scaled size, runtimes by the whole size below it.
            raise call.refuse("align_corners and a scale that gives no whole size", "give the sizes instead")
        if length != size or scale != 1:
            at = coordinates(np.arange(length, dtype=np.float64), scale, size, length)
            value = _nearest(value, axis, nearest(at)) if mode == "nearest" else _linear(value, axis, at)
    return value


def _ignore_unused(call: Call) -> None:
    """The region of interest, cubic coefficient and extrapolation belong to modes that are refused."""
    call.ignore("cubic_coeff_a", "extrapolation_value")
    if call.opset >= 11:
        call.ignore_input(1)
    call.require("antialias", 0, 0)
    call.require("exclude_outside", 0, 0)
    call.choice("keep_aspect_ratio_policy", "stretch", ("stretch",))


def _lengths(call: Call, axes: tuple[int, ...]) -> list[tuple[int, float]]:
    """The output size and the scale of each resized axis, from the scales or the sizes that are given."""
    shape = shape_of(call.value())
    scales = call.known(1 if call.opset < 11 else 2, "scales")
    sizes = call.integers_in(3, "sizes") if call.opset >= 11 else None
    if scales is not None and scales.size:
        given: list[float] = [float(s) for s in scales.reshape(-1)]
        found = [(int(np.floor(shape[a] * s)), s) for a, s in zip(axes, given, strict=False)]
    else:
        given = [float(n) for n in sizes or ()]
        found = [(int(n), n / max(shape[a], 1)) for a, n in zip(axes, given, strict=False)]
    if len(given) != len(axes) or any(n < 1 or s <= 0 for n, s in found) or 0 in shape:
        raise call.mismatch(f"scales or sizes for {len(axes)} axes of {list(shape)} are needed")
    return found


def _upsample(call: Call) -> Value:
    """Resize as it was before operator set 10: asymmetric coordinates, the position below."""
    value, mode = call.value(), call.choice("mode", "nearest", ("nearest", "linear"))
    scales = call.raw("scales") if call.has("scales") else call.known(1, "scales")
    if scales is None or len(scales) != len(shape_of(value)):
        raise call.mismatch("a scale for every axis is needed")
    for axis, scale in enumerate(float(s) for s in scales):
        length = int(np.floor(shape_of(value)[axis] * scale))
        if scale != 1:
            at = np.arange(length) / scale
            value = _nearest(value, axis, np.floor(at)) if mode == "nearest" else _linear(value, axis, at)
    return value


def _nearest(value: Value, axis: int, at: Floats) -> Value:
    return take(value, axis, np.clip(at, 0, shape_of(value)[axis] - 1).astype(np.int64))


def _linear(value: Value, axis: int, at: Floats) -> Value:
    """The two neighbours of each coordinate, weighted by nearness; outside, the border."""
    last, rank = shape_of(value)[axis] - 1, len(shape_of(value))
    inside = np.clip(at, 0, last)
    below = np.floor(inside).astype(np.int64)
    weight = (inside - below).astype(value.dtype.to_numpy())
    shape = [len(at) if i == axis else 1 for i in range(rank)]
    upper, lower = Known(weight.reshape(shape)), Known((1 - weight).astype(weight.dtype).reshape(shape))
    left, right = take(value, axis, below), take(value, axis, np.minimum(below + 1, last))
    return alu(Op.ADD, alu(Op.MUL, left, lower), alu(Op.MUL, right, upper))


LOWERINGS: Final[Mapping[str, Lowering]] = MappingProxyType({"Resize": _resize, "Upsample": _upsample})
