"""Every supported ONNX operation and how it is lowered."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from schedulog.facts.onnx.call import Lowering
from schedulog.facts.onnx.ops import (
    activation,
    convolution,
    elementwise,
    indexing,
    linear,
    movement,
    normalization,
    pooling,
    reduction,
    resize,
)

LOWERINGS: Final[Mapping[str, Lowering]] = MappingProxyType(
    {
        **activation.LOWERINGS,
        **convolution.LOWERINGS,
        **elementwise.LOWERINGS,
        **indexing.LOWERINGS,
        **linear.LOWERINGS,
        **movement.LOWERINGS,
        **normalization.LOWERINGS,
        **pooling.LOWERINGS,
        **reduction.LOWERINGS,
        **resize.LOWERINGS,
    }
)
