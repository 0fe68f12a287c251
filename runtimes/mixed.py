"""Schedules over several devices: each runs its own kernels on its own memory, values are moved between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from schedulog.errors import DeviceError
from schedulog.facts.buffer import Buffer
from schedulog.facts.device_name import is_file
from schedulog.runtimes import device_names, open_device
from schedulog.runtimes.base import Program
from schedulog.runtimes.executor import Executor, executor
from schedulog.runtimes.files import file_spans
from schedulog.runtimes.move import Memory, move, only_moves
from schedulog.scheduler.kernels import Kernel, Schedule


def load_schedule(schedule: Schedule, usual: str) -> Program:
    """The schedule made ready to run: each kernel where its device is, those that name none on the device `usual`.

    Raises CodegenError; DeviceError: SL500, SL501 a device that is not there or cannot run here, SL540 something to
    compute on disk, SL541, SL545, SL522 files that cannot be used so, SL547 a kernel with memory of two devices.
    """
    plan = _Plan(schedule, usual)
    if len(plan.used) == 1 and not plan.files:
        (only,) = plan.used
        return open_device(only.kind).load(schedule)
    return MixedProgram(plan)


class _Plan:
    """Where each kernel and each buffer of a schedule is, and which kernels run where."""

    def __init__(self, schedule: Schedule, usual: str) -> None:
        self.schedule = schedule
        self._usual = usual
        self._known = frozenset(device_names())
        self.files = any(is_file(buffer.device) for buffer in schedule.buffers)
        self._place = {buffer: self._executor(buffer.device) for buffer in schedule.buffers}
        self.used = set(self._place.values()) | {self.place(kernel) for kernel in schedule.kernels}
        self.used = self.used or {self._executor("")}

    def _executor(self, device: str) -> Executor:
        return executor(device, self._usual, self._known)

    def place(self, kernel: Kernel) -> Executor:
        """The executor of a kernel: that of the memory it writes."""
        return self._place[kernel.buffers[0]]

    def moves(self, kernel: Kernel) -> bool:
        """Whether a kernel takes a value from one place to another, or to a file."""
        where = {self._place[buffer] for buffer in kernel.buffers}
        return only_moves(kernel) and (len(where) > 1 or is_file(kernel.buffers[0].device))

    def check(self, kernel: Kernel) -> None:
        """Raises DeviceError SL547 if a kernel computes with memory of another place than its own."""
        own = self.place(kernel)
        for buffer in kernel.buffers:
            if self._place[buffer] != own:
                raise DeviceError(
                    "SL547",
                    f"kernel {kernel.name} on {own.kind}:{own.instance or '0'} uses memory on "
                    f"{buffer.device or 'the default device'}",
                    where=kernel.output.label,
                    reason="a device computes with its own memory",
                    help="copy the operand to the kernel's device first",
                )

    def is_window(self, kernel: Kernel) -> bool:
        """Whether a kernel is a window into a file, for which nothing runs."""
        return kernel.kind == "view" and is_file(kernel.buffers[0].device)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Kernels of one device that run in a row: `part` counts in the schedule of the device's kernels."""

    where: Executor
    part: range


@dataclass(frozen=True, slots=True, eq=False)
class _Share:
    """One device's kernels as a program, and which of all buffers are its memory."""

    program: Program
    slots: tuple[int, ...]
    kernels: int


class MixedProgram:
    """A schedule over several devices or files, as a program. Memory that lies in a file has no array: its entry is empty.

    `sources` has the code of all kernels.
    """

    def __init__(self, plan: _Plan) -> None:
        self._schedule = plan.schedule
        self._spans = file_spans(plan.schedule)
        self._steps, own = _steps(plan)
        self._shares = {where: _share(plan.schedule, where, kernels) for where, kernels in own.items()}
        sources = dict.fromkeys((kernel.name for kernel in plan.schedule.kernels), "")
        for share in self._shares.values():
            sources.update(share.program.sources)
        self.sources: Mapping[str, str] = MappingProxyType(sources)

    def run(
        self,
        memory: Sequence[NDArray[Any]],
        variables: Mapping[str, int],
        times: list[float] | None = None,
        part: range | None = None,
    ) -> None:
        """Run all kernels, in order; see `Program.run`. Raises DeviceError, also for `part` (SL548)."""
        if part is not None:
            raise DeviceError("SL548", "a schedule over several devices runs as a whole")
        held: dict[Buffer, Memory] = dict(zip(self._schedule.buffers, memory, strict=True))
        held.update(self._spans)
        for step in self._steps:
            if isinstance(step, _Stretch):
                self._run_stretch(step, memory, variables, times)
                continue
            begin = perf_counter()
            if step.kind != "view":
                move(step, held, variables)
            if times is not None:
                times.append(perf_counter() - begin)

    def _run_stretch(
        self,
        step: _Stretch,
        memory: Sequence[NDArray[Any]],
        variables: Mapping[str, int],
        times: list[float] | None,
    ) -> None:
        share = self._shares[step.where]
        own = [memory[slot] for slot in share.slots]
        if len(step.part) == share.kernels:
            share.program.run(own, variables, times)
        else:
            share.program.run(own, variables, times, step.part)


def _steps(plan: _Plan) -> tuple[list[_Stretch | Kernel], dict[Executor, list[Kernel]]]:
    """What is done in order, and the kernels of each device."""
    steps: list[_Stretch | Kernel] = []
    own: dict[Executor, list[Kernel]] = {}
    for kernel in plan.schedule.kernels:
        if plan.moves(kernel) or plan.is_window(kernel):
            steps.append(kernel)
            continue
        plan.check(kernel)
        where = plan.place(kernel)
        mine = own.setdefault(where, [])
        mine.append(kernel)
        last = steps[-1] if steps else None
        if isinstance(last, _Stretch) and last.where == where:
            steps[-1] = _Stretch(where, range(last.part.start, len(mine)))
        else:
            steps.append(_Stretch(where, range(len(mine) - 1, len(mine))))
    return steps, own


def _share(schedule: Schedule, where: Executor, kernels: Sequence[Kernel]) -> _Share:
    used = {buffer for kernel in kernels for buffer in kernel.buffers}
    slots = tuple(i for i, buffer in enumerate(schedule.buffers) if buffer in used)
    mine = replace(schedule, kernels=tuple(kernels), buffers=tuple(schedule.buffers[i] for i in slots))
    return _Share(open_device(where.kind).load(mine), slots, len(kernels))
