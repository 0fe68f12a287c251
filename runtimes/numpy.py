"""The device "numpy": a schedule's kernels run one after the other, each evaluated node by node, unfused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedulog.facts.dtype import DType
from schedulog.runtimes.evaluate import evaluate
from schedulog.runtimes.memory import room_for
from schedulog.runtimes.strided import show, store, typed
from schedulog.scheduler.kernels import Kernel, Schedule

Array = NDArray[Any]


class NumpyDevice:
    """The reference device. It runs everywhere and generates no code."""

    name = "numpy"

    def missing(self) -> str | None:
        """None: nothing is needed but numpy."""
        return None

    def load(self, schedule: Schedule) -> NumpyProgram:
        """The schedule, ready to run."""
        return NumpyProgram(schedule)


class NumpyProgram:
    """A schedule whose kernels are evaluated with numpy, in order."""

    def __init__(self, schedule: Schedule) -> None:
        self._kernels = schedule.kernels
        self._slot = {b: i for i, b in enumerate(schedule.buffers)}
        self.sources: Mapping[str, str] = MappingProxyType({kernel.name: "" for kernel in schedule.kernels})

    def run(
        self,
        memory: Sequence[Array],
        variables: Mapping[str, int],
        times: list[float] | None = None,
        part: range | None = None,
    ) -> None:
        """Run all kernels, or those in `part`, on `memory`: the flat array of each of the schedule's buffers.

        `times` gets the seconds of each kernel. Raises what `evaluate` raises.
        """
        for kernel in self._kernels if part is None else self._kernels[part.start : part.stop]:
            begin = perf_counter()
            self._launch(kernel, memory, variables)
            if times is not None:
                times.append(perf_counter() - begin)

    def _launch(self, kernel: Kernel, memory: Sequence[Array], variables: Mapping[str, int]) -> None:
        def flat(argument: int, dtype: DType) -> Array:
            return typed(memory[self._slot[kernel.buffers[argument]]], dtype)

        given = {
            n: show(read.view, flat(read.argument, n.dtype), variables) for n, read in kernel.reads.items()
        }
        largest = max((kernel.value, *kernel.members), key=lambda n: n.nbytes)
        with room_for(f"a value in kernel {kernel.name}", largest.size, largest.dtype):
            (value,) = evaluate([kernel.value], given, variables)
        store(kernel.stores, flat(0, kernel.output.dtype), np.array(value), variables)
