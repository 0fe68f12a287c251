"""Do two schedules of one graph give the same numbers? Both are run on a device, with the same random inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from schedulog.errors import SchedulogError
from schedulog.facts.device_name import is_file
from schedulog.facts.graph import Graph
from schedulog.scheduler.kernels import Schedule
from schedulog.verify import Values, distances, drawn, executed, first_difference, reference_values

Inputs = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the results of two schedules have to do with each other on one device.

    `ulp` is the most units in the last place that a float is off, `relative` the most it is off relative to the largest
    element of its tensor. `wrong` says what differs by more than rounding, and which side is to blame, "" for nothing.
    `skipped` says why nothing was compared, "" if something was.
    """

    device: str
    ulp: int = 0
    relative: float = 0.0
    wrong: str = ""
    skipped: str = ""

    @property
    def equal(self) -> bool:
        """Whether every bit is the same."""
        return not (self.ulp or self.wrong or self.skipped)

    def __str__(self) -> str:
        if self.skipped:
            return f"not compared on {self.device}: {self.skipped}"
        if self.wrong:
            return f"WRONG on {self.device}: {self.wrong}"
        return f"equal on {self.device}" + (f" (max {self.ulp} ulp)" if self.ulp else "")


def agreements(
    before: Schedule | None, after: Schedule | None, devices: Sequence[str], seed: int = 0
) -> Iterator[Agreement]:
    """Run both schedules of a graph on each device. The graph's own arrays stay as they are, no file is written.

    A device that cannot run one of them is skipped, with the reason; so is a schedule that there is none of.
    """
    for device in devices:
        if before is None or after is None:
            yield Agreement(device, skipped="an error ended the scheduling")
        elif any(
            is_file(k.buffers[0].device) and k.kind != "view" for s in (before, after) for k in s.kernels
        ):
            yield Agreement(device, skipped="it writes into files")
        else:
            yield _agreement(before, after, device, seed)


def _agreement(before: Schedule, after: Schedule, device: str, seed: int) -> Agreement:
    graph = before.graph
    try:
        inputs = drawn(graph, seed)
        old, new = (executed(schedule, device, inputs) for schedule in (before, after))
        found = list(distances(graph, new, old))
        wrong = _blame(graph, inputs, old, new) if any(d.wrong for _, d in found) else ""
    except SchedulogError as error:
        return Agreement(device, skipped=f"{error.code} {error.message}")
    ulp, relative = (max((getattr(d, name) for _, d in found), default=0) for name in ("ulp", "relative"))
    return Agreement(device, ulp, float(relative), wrong)


def _blame(graph: Graph, inputs: Inputs, old: Values, new: Values) -> str:
    """Which side is not what the graph means. "" where each is as near to it as rounding explains."""
    meant = reference_values(graph, inputs)
    sides = (("before", old), ("after", new))
    told = [(name, first_difference(graph, values, meant)) for name, values in sides]
    return "; ".join(f"{name} {text}" for name, text in told if text)
