"""Where each box stands: the places in a row are as near as they can be to those of the box's neighbours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from schedulog.pictures.layering import Layered, layered

_SWEEPS: Final = 8
_BEND_WIDTH: Final = 12.0
LIGHT: Final = 0.02
BEND_WEIGHT: Final = 0.3
"""How much a light box and a bend count where boxes push each other; a box counts 1."""


@dataclass(frozen=True, slots=True)
class Placed:
    """`layers` says rows and order; `centers` gives the middle of each box and bend, `tops` the upper border of each row.

    Lengths are in pixels; the left and upper border of the picture are 0.
    """

    layers: Layered
    centers: tuple[float, ...]
    tops: tuple[float, ...]
    width: float
    height: float


def placed(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    *,
    gaps: tuple[float, float],
    widest: float = 1e9,
    light: Collection[int] = (),
) -> Placed:
    """Places for boxes of these (width, height), numbered so that sources come before users.

    `gaps` are the room between boxes of a row and between rows, `widest` the width from which on rows are broken. Boxes
    that are `light` give way to others.
    """
    across, down = gaps
    layers = layered([width + across for width, _ in sizes], edges, widest)
    count = len(layers.above)
    widths = [width for width, _ in sizes] + [_BEND_WIDTH] * (count - len(sizes))
    weights = [LIGHT if n in light else 1.0 for n in range(len(sizes))] + [BEND_WEIGHT] * (count - len(sizes))
    centers = _centers(layers, widths, weights, across)
    left = min((centers[n] - widths[n] / 2 for n in range(count)), default=0.0)
    right = max((centers[n] + widths[n] / 2 for n in range(count)), default=0.0)
    tops, bottom = [], 0.0
    for row in layers.rows:
        tops.append(bottom)
        bottom += max((sizes[n][1] for n in row if n < len(sizes)), default=0.0) + down
    height = max(0.0, bottom - down)
    return Placed(layers, tuple(center - left for center in centers), tuple(tops), right - left, height)


def _centers(layers: Layered, widths: Sequence[float], weights: Sequence[float], gap: float) -> list[float]:
    centers = [0.0] * len(layers.above)
    for row in layers.rows:
        _settle(row, centers, widths, weights, gap)
    for sweep in range(_SWEEPS):
        rows = layers.rows if sweep % 2 == 0 else tuple(reversed(layers.rows))
        neighbours = layers.above if sweep % 2 == 0 else layers.below
        for row in rows:
            for box in row:
                if neighbours[box]:
                    centers[box] = _middle([centers[n] for n in neighbours[box]])
            _settle(row, centers, widths, weights, gap)
    return centers


def _middle(values: list[float]) -> float:
    values.sort()
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def _settle(
    row: Sequence[int], centers: list[float], widths: Sequence[float], weights: Sequence[float], gap: float
) -> None:
    """Move boxes apart until none overlap, each as little as possible: the least squares solution.

    Boxes that push each other form blocks, which stand at the mean of what their boxes want (pool adjacent violators).
    """
    blocks: list[tuple[float, float, int]] = []
    offsets: list[float] = []
    offset = 0.0
    for at, box in enumerate(row):
        if at:
            offset += (widths[row[at - 1]] + widths[box]) / 2 + gap
        offsets.append(offset)
        mean, weight, count = centers[box] - offset, weights[box], 1
        while blocks and blocks[-1][0] > mean:
            other, heavy, many = blocks.pop()
            mean = (other * heavy + mean * weight) / (heavy + weight)
            weight, count = weight + heavy, count + many
        blocks.append((mean, weight, count))
    at = 0
    for mean, _, count in blocks:
        for _ in range(count):
            centers[row[at]] = mean + offsets[at]
            at += 1
