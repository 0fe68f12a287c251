"""Convolutions: windows times weights, summed over channels and kernel in one reduction."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from schedulog.facts.onnx.call import Call, Lowering
from schedulog.facts.onnx.ops.windows import AUTO_PADS, Windows, show, windows
from schedulog.facts.onnx.values import (
    Value,
    alu,
    insert_axes,
    node_of,
    pad,
    permute,
    reduce,
    reshape,
    select,
    shape_of,
)
from schedulog.facts.ops import Op


def _conv(call: Call) -> Value:
    value, weights, bias = call.value(0), call.value(1), call.optional(2)
    sizes, kernel = call.spatial(value), call.spatial(weights)
    group = call.integer("group", 1)
    if call.sizes("kernel_shape", kernel) != kernel:
        raise call.mismatch(f"kernel_shape is not that of the weights, {list(kernel)}")
    _check_channels(call, shape_of(value)[1], shape_of(weights)[1] * group, shape_of(weights)[0], group)
    return _with_bias(call, convolved(value, weights, group, windows(call, sizes, kernel)), bias)


def _check_channels(call: Call, given: int, wanted: int, outputs: int, group: int) -> None:
    if given != wanted or group < 1 or outputs % group:
        raise call.mismatch(f"{given} channels where the weights take {wanted} in {group} groups")


def convolved(value: Value, weights: Value, group: int, look: Windows) -> Value:
    """`value` (N, C, *sizes) with `weights` (M, C/group, *kernel): (N, M, *counts).

    Products stand in shape (N, group, M/group, *counts, C/group, *kernel) and are reduced over the last axes, so the
    last spatial axis is the fastest of the output.
    """
    rank, (n, channels) = len(look.sizes), shape_of(value)[:2]
    outputs, each = shape_of(weights)[0], channels // group
    shown = reshape(show(node_of(value), look), (n, group, 1, each, *look.count, *look.kernel))
    counts, taps = range(4, 4 + rank), range(4 + rank, 4 + 2 * rank)
    looked = permute(shown, (0, 1, 2, *counts, 3, *taps))
    factors = reshape(weights, (1, group, outputs // group, *(1,) * rank, each, *look.kernel))
    products = alu(Op.MUL, looked, factors)
    summed = reduce("ADD", products, range(3 + rank, 4 + 2 * rank))
    return reshape(summed, (n, outputs, *look.count))


def _with_bias(call: Call, value: Value, bias: Value | None) -> Value:
    if bias is None:
        return value
    if shape_of(bias) != shape_of(value)[1:2]:
        raise call.mismatch(f"a bias of shape {list(bias.shape)} for {value.shape[1]} channels")
    return alu(Op.ADD, value, insert_axes(bias, (0, *range(2, len(shape_of(value))))))


def _conv_transpose(call: Call) -> Value:
    value, weights, bias = call.value(0), call.value(1), call.optional(2)
    kernel = call.spatial(weights)
    group, rank = call.integer("group", 1), len(call.spatial(value))
    if call.sizes("kernel_shape", kernel) != kernel or len(kernel) != rank:
        raise call.mismatch(f"kernel_shape is not that of the weights, {list(kernel)}")
    _check_channels(call, shape_of(value)[1], shape_of(weights)[0], shape_of(weights)[0], group)
    strides, dilations = call.sizes("strides", (1,) * rank), call.sizes("dilations", (1,) * rank)
    begin, lengths = _transposed_extent(call, strides, dilations, kernel)
    if strides == kernel and not any(d != 1 and k != 1 for d, k in zip(dilations, kernel, strict=True)):
        whole = _disjoint(value, weights, group)
    else:
        whole = _overlapping(value, weights, group, strides, dilations)
    return _with_bias(call, _cut(whole, begin, lengths), bias)


def _transposed_extent(
    call: Call, strides: tuple[int, ...], dilations: tuple[int, ...], kernel: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many elements of the whole result are cut off in front, and how many then stay, per axis."""
    sizes = call.spatial(call.value(0))
    rank = len(sizes)
    extra = call.sizes("output_padding", (0,) * rank)
    pads = call.sizes("pads", (0,) * (2 * rank))
    auto = call.choice("auto_pad", "NOTSET", AUTO_PADS)
    wanted = call.integers("output_shape")
    whole = tuple(
        (n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(sizes, strides, kernel, dilations, strict=True)
    )
    if wanted is None and auto in ("NOTSET", "VALID"):
        pads = pads if auto == "NOTSET" else (0,) * (2 * rank)
        lengths = tuple(w + e - b - c for w, e, b, c in zip(whole, extra, pads, pads[rank:], strict=False))
        return pads[:rank], lengths
    lengths = (
        wanted[-rank:] if wanted is not None else tuple(n * s for n, s in zip(sizes, strides, strict=True))
    )
    if wanted is None and any(n > w + e for w, e, n in zip(whole, extra, lengths, strict=True)):
        # The operator's text says stride times size, runtimes give what the kernel reaches.
        raise call.refuse(f'auto_pad="{auto}" and strides beyond the kernel', "give pads instead")
    if any(n < 1 or n - w - e >= s for w, e, n, s in zip(whole, extra, lengths, strides, strict=True)):
        raise call.mismatch(f"an output of {list(lengths)} where {list(whole)} are made")
    totals = [max(w + e - n, 0) for w, e, n in zip(whole, extra, lengths, strict=True)]
    return tuple(t // 2 if auto == "SAME_UPPER" else t - t // 2 for t in totals), lengths


def _disjoint(value: Value, weights: Value, group: int) -> Value:
    """Where kernel and stride are equal each output element comes from one input position: only channels are summed."""
    (n, channels), sizes = shape_of(value)[:2], shape_of(value)[2:]
    each, kernel, rank = shape_of(weights)[1], shape_of(weights)[2:], len(shape_of(value)) - 2
    left = reshape(value, (n, group, 1, channels // group, *(m for size in sizes for m in (size, 1))))
    grouped = permute(
        reshape(weights, (group, channels // group, each, *kernel)), (0, 2, 1, *range(3, 3 + rank))
    )
    right = reshape(grouped, (1, group, each, channels // group, *(m for k in kernel for m in (1, k))))
    order = (0, 1, 2, *range(4, 4 + 2 * rank), 3)
    summed = reduce("ADD", alu(Op.MUL, permute(left, order), permute(right, order)), (3 + 2 * rank,))
    return reshape(summed, (n, group * each, *(s * k for s, k in zip(sizes, kernel, strict=True))))


def _overlapping(
    value: Value, weights: Value, group: int, strides: tuple[int, ...], dilations: tuple[int, ...]
) -> Value:
    """A plain convolution with the kernel reversed, over the input with stride - 1 zeros between its elements."""
    spread = value
    for axis, stride in enumerate(strides, 2):
        spread = _spread(spread, axis, stride)
    kernel, each, channels = shape_of(weights)[2:], shape_of(weights)[1], shape_of(weights)[0]
    rank = len(kernel)
    backward = select(weights, [range(channels), range(each), *(range(k - 1, -1, -1) for k in kernel)])
    grouped = permute(
        reshape(backward, (group, channels // group, each, *kernel)), (0, 2, 1, *range(3, 3 + rank))
    )
    turned = reshape(grouped, (group * each, channels // group, *kernel))
    sizes = shape_of(spread)[2:]
    rims = tuple((k - 1) * d for k, d in zip(kernel, dilations, strict=True))
    counts = tuple(n + r for n, r in zip(sizes, rims, strict=True))
    return convolved(
        spread, turned, group, Windows(kernel, (1,) * rank, dilations, rims, rims, counts, sizes)
    )


def _spread(value: Value, axis: int, step: int) -> Value:
    """With `step` - 1 zeros between neighbours along `axis`."""
    shape = shape_of(value)
    if step == 1:
        return value
    apart = insert_axes(value, (axis + 1,))
    widened = pad(apart, [(0, step - 1) if i == axis + 1 else (0, 0) for i in range(len(shape) + 1)])
    joined = reshape(widened, (*shape[:axis], shape[axis] * step, *shape[axis + 1 :]))
    kept = [(shape[axis] - 1) * step + 1 if i == axis else n for i, n in enumerate(shape)]
    return select(joined, [range(n) for n in kept])


def _cut(whole: Value, begin: tuple[int, ...], lengths: tuple[int, ...]) -> Value:
    """`lengths` elements of each spatial axis from `begin` on, zeros beyond the end."""
    shape = shape_of(whole)
    ends = [
        (b, min(b + n, size), max(b + n - size, 0))
        for b, n, size in zip(begin, lengths, shape[2:], strict=True)
    ]
    inside = select(whole, [range(shape[0]), range(shape[1]), *(range(b, e) for b, e, _ in ends)])
    return pad(inside, [(0, 0), (0, 0), *((0, rest) for _, _, rest in ends)])


LOWERINGS: Final[Mapping[str, Lowering]] = MappingProxyType({"Conv": _conv, "ConvTranspose": _conv_transpose})
