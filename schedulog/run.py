"""One scheduled graph: its kernels, its decisions, and running it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedulog.errors import UsageError
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.node import Node
from schedulog.runtimes import default_device, open_device
from schedulog.runtimes.base import Program as DeviceProgram
from schedulog.runtimes.memory import allocate, fetch
from schedulog.scheduler.kernels import Kernel, Schedule, ScheduleItem
from schedulog.scheduler.load import load_program
from schedulog.scheduler.program import Program
from schedulog.scheduler.schedule import Decisions, Scheduler


def schedule(
    what: Graph | Node | Sequence[Node],
    rules: str | Path | Sequence[str | Path] = ("classic",),
    engine: str = "sqlite",
    options: Mapping[str, int] | None = None,
    disable: Sequence[str] = (),
) -> Run:
    """Schedule a graph (or the nodes whose values are wanted) under a rule set.

    `rules` names packs, rule files or folders of them (`core` is always loaded); `engine` is "sqlite", "pydatalog" or
    "clingo"; `options` are facts `option(name, value)` for the rules; `disable` leaves out rules by id.

    Raises RuleError for wrong rules, ScheduleError where they give no schedule, UsageError for an unknown engine.
    """
    graph = _graph(what)
    packs = (rules,) if isinstance(rules, (str, Path)) else tuple(rules)
    scheduler = _scheduler(packs, engine, tuple(disable))
    decisions = scheduler.decide(graph, options)
    return Run(scheduler.program, engine, dict(options or {}), decisions, scheduler.schedule(decisions))


def _graph(what: Graph | Node | Sequence[Node]) -> Graph:
    if isinstance(what, Graph):
        return what
    nodes = [what] if isinstance(what, Node) else list(what)
    if not nodes or not all(isinstance(n, Node) for n in nodes):
        raise UsageError("SL704", f"cannot schedule {type(what).__name__}", help="give a Graph, a Node, or some Nodes")
    return graph_of(nodes)


@lru_cache(maxsize=32)
def _built_in(packs: tuple[str, ...], engine: str, disable: tuple[str, ...]) -> Scheduler:
    return Scheduler(load_program(packs, disable=disable), engine)


def _scheduler(packs: tuple[str | Path, ...], engine: str, disable: tuple[str, ...]) -> Scheduler:
    """Packs that come with schedulog are compiled once a process; files may change, so they are read each time."""
    named = tuple(p for p in packs if isinstance(p, str) and not p.endswith(".dl") and "/" not in p and "\\" not in p)
    if len(named) == len(packs):
        return _built_in(named, engine, disable)
    return Scheduler(load_program(packs, disable=disable), engine)


class Run:
    """The result of scheduling one graph.

    `program` is the rule set, `decisions` what it derived, `schedule` the kernels in order with their buffers.
    """

    def __init__(
        self, program: Program, engine: str, options: Mapping[str, int], decisions: Decisions, schedule: Schedule
    ) -> None:
        self.program = program
        self.engine = engine
        self.options = options
        self.decisions = decisions
        self.schedule = schedule
        self._loaded: dict[str, DeviceProgram] = {}

    @property
    def graph(self) -> Graph:
        return self.schedule.graph

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels in running order."""
        return self.schedule.kernels

    @cached_property
    def items(self) -> tuple[ScheduleItem, ...]:
        """The kernels with their output and input buffers and the user's names for what they compute."""
        return tuple(ScheduleItem.of(kernel) for kernel in self.kernels)

    def load(self, device: str | None = None) -> DeviceProgram:
        """The schedule made ready for a device (compiled where it compiles), once per device. Raises DeviceError."""
        name = device or default_device()
        if name not in self._loaded:
            self._loaded[name] = open_device(name).load(self.schedule)
        return self._loaded[name]

    def execute(
        self,
        inputs: Mapping[str, NDArray[Any]] | None = None,
        device: str | None = None,
        times: list[float] | None = None,
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Run the kernels and return the outputs by name. Assigns change the contents of the graph's own buffers.

        `inputs` gives the contents of `graph.inputs` by name; `device` is a name from `schedulog devices` (default: c
        where there is a compiler, else numpy); `times` receives seconds per kernel. Raises DeviceError and GraphError.
        """
        program = self.load(device)
        memory = allocate(self.schedule, inputs or {})
        program.run(memory, self.schedule.variables, times)
        return fetch(self.schedule, memory)
