"""The device "null": runs nothing and counts launches, to measure what everything but the kernels costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from schedulog.scheduler.kernels import Schedule


class NullDevice:
    """Leaves all memory as it is: the outputs of its kernels are zeros."""

    name = "null"
    computes = False

    def missing(self) -> str | None:
        """None: there is nothing to miss."""
        return None

    def load(self, schedule: Schedule) -> NullProgram:
        """The schedule as a program that does nothing."""
        return NullProgram(schedule)


class NullProgram:
    """Counts: `launches` kernels were asked for so far, in all runs together."""

    def __init__(self, schedule: Schedule) -> None:
        self._launched = [kernel.kind != "view" for kernel in schedule.kernels]
        self.launches = 0
        self.sources: Mapping[str, str] = MappingProxyType({kernel.name: "" for kernel in schedule.kernels})

    def run(
        self,
        memory: Sequence[NDArray[Any]],
        variables: Mapping[str, int],
        times: list[float] | None = None,
        part: range | None = None,
    ) -> None:
        """Count the launches; each takes 0 seconds."""
        asked = self._launched if part is None else self._launched[part.start : part.stop]
        self.launches += sum(asked)
        if times is not None:
            times += [0.0] * len(asked)
