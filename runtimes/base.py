"""What a device is: it says why it cannot run here, and makes a program of a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from schedulog.scheduler.kernels import Schedule


class Program(Protocol):
    """A schedule made ready to run on a device.

    `sources` maps kernel names to the code generated for them, "" where there is none.
    """

    sources: Mapping[str, str]

    def run(
        self,
        memory: Sequence[NDArray[Any]],
        variables: Mapping[str, int],
        times: list[float] | None = None,
        part: range | None = None,
    ) -> None:
        """Run all kernels, in order, or those whose place in `schedule.kernels` is in `part`.

        `memory[i]` is the flat array of `schedule.buffers[i]` (its dtype, its size), read and written in place.
        `variables` gives the symbolic variables their values; one that is left out has the value it is bound to.
        `times`, if given, is extended by the seconds of each kernel. Raises DeviceError.
        """
        ...


class Device(Protocol):
    """A place where schedules run. Making one costs nothing and never fails.

    A device called `x` is the class `XDevice` of the file runtimes/x.py, which imports nothing heavy. One that leaves
    memory as it is has the class attribute `computes = False`, so that nobody takes what is there for results. One device
    serves a whole process and all its threads; `settings`, another class attribute, names the environment variables it
    depends on: where one has changed, a new device is made.
    """

    name: str

    def missing(self) -> str | None:
        """One sentence saying why the device cannot run here, None if it can. Never raises, and probes cheaply."""
        ...

    def load(self, schedule: Schedule) -> Program:
        """The schedule compiled for this device. Raises CodegenError or DeviceError."""
        ...
