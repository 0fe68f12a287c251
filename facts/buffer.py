"""Memory as the graph sees it: an identity, a size, a device, and perhaps contents."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedulog.errors import GraphError
from schedulog.facts.device_name import DEFAULT, spelled
from schedulog.facts.dtype import DType


class Buffer:
    """A flat run of `size` elements on `device` ("": the one a schedule is run on). Two buffers are equal only if they
    are the same object.

    `array` is the contents as a flat numpy array of `dtype`, or None for memory that is given at execution time (an
    input) or made by a kernel. An ASSIGN that is executed writes into `array`.
    """

    __slots__ = ("__weakref__", "array", "device", "dtype", "name", "size")

    def __init__(
        self,
        size: int,
        dtype: DType,
        device: str = DEFAULT,
        name: str = "",
        array: NDArray[Any] | None = None,
    ) -> None:
        if size < 0:
            raise GraphError("SL203", f"a buffer cannot have {size} elements", where=name)
        if array is not None and (array.size != size or array.dtype != dtype.to_numpy()):
            raise GraphError(
                "SL203",
                f"contents of {array.size} x {array.dtype} for a buffer of {size} x {dtype}",
                where=name,
            )
        self.size = size
        self.dtype = dtype
        self.device = spelled(device)
        self.name = name
        self.array = None if array is None else np.ascontiguousarray(array).reshape(-1)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"Buffer({self.name or hex(id(self))}, {self.size} x {self.dtype}, {self.device})"
