"""Where in memory the target of an ASSIGN lies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedulog.errors import GraphError
from schedulog.facts.buffer import Buffer
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.runtimes.strided import Values, numbers, positions, typed

Array = NDArray[Any]
Place = tuple[Array, NDArray[np.int64]]


class Places:
    """Finds the memory under views, assigns and windows: the flat array, and the element behind each position."""

    def __init__(self, memory: Mapping[Buffer, Array], variables: Values) -> None:
        self._memory = memory
        self._variables = variables
        self._known: dict[Node, Place] = {}

    def of(self, target: Node) -> Place:
        """The memory under `target` and, in its shape, the index of each element (-1: hidden by a mask).

        Raises GraphError (SL214) if no memory lies under it.
        """
        chain: list[Node] = []
        n = target
        while n.op is not Op.BUFFER and n not in self._known:
            if n.op not in (Op.VIEW, Op.ASSIGN, Op.BUFFER_VIEW):
                raise GraphError("SL214", f"cannot assign to {target!r}", where=target.label,
                                 reason="only memory can be written to")  # fmt: skip
            chain.append(n)
            n = n.src[0]
        flat, where = self._known[n] if n in self._known else self._whole(n)
        for n in reversed(chain):
            flat, where = self._step(n, flat, where)
            if n.op is Op.ASSIGN:
                self._known[n] = flat, where
        return flat, where

    def write(self, target: Node, value: Array) -> None:
        """Put `value` where `target` lies; elements hidden by a mask are dropped."""
        flat, where = self.of(target)
        seen = where >= 0
        flat[where[seen]] = value[seen]

    def _whole(self, n: Node) -> Place:
        place = self._known[n] = self._memory[n.arg], np.arange(n.arg.size)
        return place

    def _step(self, n: Node, flat: Array, where: NDArray[np.int64]) -> Place:
        if n.op is Op.VIEW:
            return flat, positions(n.arg, where, self._variables)
        if n.op is Op.ASSIGN:
            return (flat, where) if n.arg is None else self._pieces(n, flat, where)
        shape = numbers(n.shape, self._variables)
        count = int(np.prod(shape, dtype=np.int64))
        begin = int(where.flat[0]) * flat.itemsize if where.size else 0
        window = flat.view(np.uint8)[begin : begin + count * n.dtype.itemsize]
        return window.view(n.dtype.to_numpy()), np.arange(count).reshape(shape)

    def _pieces(self, n: Node, flat: Array, where: NDArray[np.int64]) -> Place:
        """What an assign writes of memory that it counts in elements of its own type."""
        parts = flat.itemsize // n.dtype.itemsize
        pieces = where.reshape(-1, 1) * parts + np.arange(parts)
        return typed(flat, n.dtype), positions(n.arg, pieces, self._variables)
