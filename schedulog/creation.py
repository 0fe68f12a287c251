"""Tensors from nothing: filled, counted, spaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from schedulog.facts import build, compose
from schedulog.facts.dtype import DType
from schedulog.facts.node import Node
from schedulog.operands import flat, kind_of, stored
from schedulog.origin import placed
from schedulog.tensor import Tensor


def full(shape: int | Sequence[int], value: Any, dtype: DTypeLike | DType | None = None) -> Tensor:
    """`value` in every element of `shape`."""

    def make(label: str) -> Node:
        return compose.broadcast_to(stored(value, dtype), flat((shape,)), label)

    return Tensor.of(placed("full", make))


def zeros(shape: int | Sequence[int], dtype: DTypeLike | DType = np.float64) -> Tensor:
    """0 in every element of `shape`."""
    return full(shape, 0, dtype)


def ones(shape: int | Sequence[int], dtype: DTypeLike | DType = np.float64) -> Tensor:
    """1 in every element of `shape`."""
    return full(shape, 1, dtype)


def arange(
    start: float, stop: float | None = None, step: float = 1, dtype: DTypeLike | DType | None = None
) -> Tensor:
    """start, start + step, ... up to, not including, stop; from 0 if only one number is given."""
    first, end = (0, start) if stop is None else (start, stop)
    return _values("arange", np.arange(first, end, step), dtype)


def linspace(start: float, stop: float, count: int = 50, dtype: DTypeLike | DType | None = None) -> Tensor:
    """`count` evenly spaced numbers from start to stop, both included."""
    return _values("linspace", np.linspace(start, stop, count), dtype)


def eye(rows: int, columns: int | None = None, dtype: DTypeLike | DType = np.float64) -> Tensor:
    """1 on the diagonal, 0 elsewhere."""
    return _values("eye", np.eye(rows, columns), dtype)


def _values(name: str, values: np.ndarray[Any, Any], dtype: DTypeLike | DType | None) -> Tensor:
    def make(label: str) -> Node:
        kind = kind_of(values.dtype if dtype is None else dtype)
        return build.array(values.astype(kind.to_numpy()))

    return Tensor.of(placed(name, make))
