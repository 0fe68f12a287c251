"""When does a graph count as broken under some rules?"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from schedulog.errors import SchedulogError
from schedulog.facts.graph import Graph
from schedulog.scheduler.kernels import Schedule
from schedulog.scheduler.schedule import Edit, Scheduler
from schedulog.verify import difference

_COMPARISONS: Final[Mapping[str, Callable[[int, int], bool]]] = MappingProxyType(
    {
        "<": operator.lt,
        "<=": operator.le,
        "=": operator.eq,
        "==": operator.eq,
        "!=": operator.ne,
        ">": operator.gt,
        ">=": operator.ge,
    }
)
_KERNELS: Final = re.compile(r"\s*(<=|>=|==|!=|<|>|=)\s*(\d+)\s*")


@dataclass(frozen=True, eq=False)
class Made:
    """What one rule set made of a graph: a schedule, or an error."""

    schedule: Schedule | None
    error: SchedulogError | None = None


Broken = Callable[[Made], str]
"""Says what is broken, in a few words that are the same for the same break; "" for nothing."""


def make(scheduler: Scheduler, graph: Graph, options: Mapping[str, int], edit: Edit | None = None) -> Made:
    """Schedule a graph; an error is a result like another."""
    try:
        return Made(scheduler.schedule(scheduler.decide(graph, options, edit)))
    except SchedulogError as error:
        return Made(None, error)


def any_break(devices: Sequence[str]) -> Broken:
    """An error, or else wrong numbers."""
    wrong = wrong_numbers(devices)
    return lambda made: f"error {made.error.code}" if made.error is not None else wrong(made)


def error_code(code: str) -> Broken:
    """This error and no other."""
    return lambda made: f"error {code}" if made.error is not None and made.error.code == code else ""


def wrong_numbers(devices: Sequence[str]) -> Broken:
    """On some device other numbers than those of the unfused reference; an error there counts too."""

    def look(made: Made) -> str:
        if made.schedule is None:
            return ""
        for device in devices:
            try:
                if difference(made.schedule, device):
                    return f"wrong numbers on {device}"
            except SchedulogError as error:
                return f"error {error.code} on {device}"
        return ""

    return look


def kernel_count(text: str) -> Broken | None:
    """So many kernels: `> 5`, `== 3`. None for a text that is no comparison."""
    found = _KERNELS.fullmatch(text)
    if found is None:
        return None
    compare, number = _COMPARISONS[found[1]], int(found[2])

    def look(made: Made) -> str:
        right = made.schedule is not None and compare(len(made.schedule.kernels), number)
        return f"kernels {found[1]} {number}" if right else ""

    return look
