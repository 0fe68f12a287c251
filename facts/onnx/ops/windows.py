"""Sliding windows: where a convolution or a pooling looks, and the view that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedulog.facts import build
from schedulog.facts.compose import row_major
from schedulog.facts.node import Node
from schedulog.facts.onnx.call import Call
from schedulog.facts.view import View, ViewStack

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@dataclass(frozen=True, slots=True)
class Windows:
    """One entry per spatial axis: kernel size, step, spacing of the taps, padding before and after, window count.

    `reach` is the padding after the axis that the windows look at, which may be more (a last window hangs over, by
    `ceil_mode`) or less than the declared padding.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    count: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def reach(self) -> tuple[int, ...]:
        return tuple(
            (count - 1) * stride + (kernel - 1) * dilation + 1 - size - begin
            for count, stride, kernel, dilation, size, begin in zip(
                self.count, self.strides, self.kernel, self.dilations, self.sizes, self.begin, strict=True
            )
        )

    @property
    def padded(self) -> bool:
        """Whether a window looks beyond the elements."""
        return any(self.begin) or any(r > 0 for r in self.reach)


def windows(call: Call, sizes: tuple[int, ...], kernel: tuple[int, ...], ceiling: bool = False) -> Windows:
    """The windows described by the attributes of `call` over axes of `sizes`. Raises GraphError (SL245)."""
    rank = len(sizes)
    strides, dilations = call.sizes("strides", (1,) * rank), call.sizes("dilations", (1,) * rank)
    auto = call.choice("auto_pad", "NOTSET", AUTO_PADS)
    pads = call.sizes("pads", (0,) * (2 * rank))
    if len(kernel) != rank or min(strides) < 1 or min(dilations) < 1 or min(kernel) < 1 or min(pads) < 0:
        raise call.mismatch(f"windows of {list(kernel)} with strides {list(strides)} over {list(sizes)}")
    begin, end = pads[:rank], pads[rank:]
    spans = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
    if auto != "NOTSET":
        begin, end = _automatic(auto, sizes, spans, strides)
    found = tuple(_count(*each, ceiling) for each in zip(sizes, spans, strides, begin, end, strict=True))
    if min(found) < 1:
        raise call.mismatch(f"windows of {list(spans)} do not fit into {list(sizes)} with pads {list(pads)}")
    return Windows(kernel, strides, dilations, begin, end, found, sizes)


def _count(size: int, span: int, stride: int, begin: int, end: int, ceiling: bool) -> int:
    room = size + begin + end - span
    if not ceiling:
        return room // stride + 1
    count = -(-room // stride) + 1
    # A window that would start in the padding after the elements is left out.
    return count - 1 if (count - 1) * stride >= size + begin else count


def _automatic(
    auto: str, sizes: Sequence[int], spans: Sequence[int], strides: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The padding with which every `stride`-th element starts a window (SAME), or none (VALID)."""
    if auto == "VALID":
        return (0,) * len(sizes), (0,) * len(sizes)
    totals = [
        max((-(-size // stride) - 1) * stride + span - size, 0)
        for size, span, stride in zip(sizes, spans, strides, strict=True)
    ]
    less, more = tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)
    return (less, more) if auto == "SAME_UPPER" else (more, less)


def show(source: Node, look: Windows) -> Node:
    """`source` (leading axes, then the spatial ones), padded with zeros, as (leading, window counts, kernel).

    The windows overlap: the same element stands in several places, which a view may do.
    """
    lead = len(source.shape) - len(look.sizes)
    widths = [(b, max(r, 0)) for b, r in zip(look.begin, look.reach, strict=True)]
    padded = build.pad(source, [(0, 0)] * lead + widths) if look.padded else source
    steps = row_major(padded.shape)
    by_window = tuple(s * n for s, n in zip(steps[lead:], look.strides, strict=True))
    by_tap = tuple(s * n for s, n in zip(steps[lead:], look.dilations, strict=True))
    shape = (*padded.shape[:lead], *look.count, *look.kernel)
    return build.view(padded, ViewStack((View.create(shape, (*steps[:lead], *by_window, *by_tap)),)))
