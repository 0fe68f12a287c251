"""One scheduled graph: its kernels, its decisions, and running it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedulog.capturing import destination, keep
from schedulog.errors import UsageError
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.node import Node
from schedulog.runtimes import default_device
from schedulog.runtimes.base import Program as DeviceProgram
from schedulog.runtimes.memory import allocate, fetch
from schedulog.runtimes.mixed import load_schedule
from schedulog.runtimes.variables import variable_values
from schedulog.scheduler.kernels import Kernel, Schedule, ScheduleItem
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.record.database import memory_database, save
from schedulog.scheduler.record.outcome import attempt
from schedulog.scheduler.record.queries import ask
from schedulog.scheduler.record.run_record import RunRecord
from schedulog.scheduler.schedule import Decisions, Scheduler
from schedulog.scheduler.why.names import Names
from schedulog.scheduler.why.proof import Proof
from schedulog.scheduler.why.question import names, why


def schedule(
    what: Graph | Node | Sequence[Node],
    rules: str | Path | Sequence[str | Path] = ("classic",),
    engine: str = "sqlite",
    options: Mapping[str, int] | None = None,
    disable: Sequence[str] = (),
    capture: str | os.PathLike[str] | None = None,
) -> Run:
    """Schedule a graph (or the nodes whose values are wanted) under a rule set.

    `rules` names packs, rule files or folders of them (`core` is always loaded); `engine` is "sqlite", "pydatalog" or
    "clingo"; `options` are facts `option(name, value)` for the rules; `disable` leaves out rules by id. `capture` is a
    database to which the call is added, whatever comes of it (else see `schedulog.capture`).

    Raises RuleError for wrong rules, ScheduleError where they give no schedule, UsageError for an unknown engine.
    """
    graph = _graph(what)
    packs = (rules,) if isinstance(rules, (str, Path)) else tuple(rules)
    scheduler = _scheduler(packs, engine, tuple(disable))
    made, path = attempt(scheduler, graph, options or {}), destination(capture)
    if path is not None:
        keep(path, graph, (packs, disable), scheduler, options or {}, made)
    decisions, kernels = made.result()
    return Run(scheduler.program, engine, dict(options or {}), decisions, kernels)


def _graph(what: Graph | Node | Sequence[Node]) -> Graph:
    if isinstance(what, Graph):
        return what
    nodes = [what] if isinstance(what, Node) else list(what)
    if not nodes or not all(isinstance(n, Node) for n in nodes):
        raise UsageError(
            "SL704", f"cannot schedule {type(what).__name__}", help="give a Graph, a Node, or some Nodes"
        )
    return graph_of(nodes)


@lru_cache(maxsize=32)
def _built_in(packs: tuple[str, ...], engine: str, disable: tuple[str, ...]) -> Scheduler:
    return Scheduler(load_program(packs, disable=disable), engine)


def _scheduler(packs: tuple[str | Path, ...], engine: str, disable: tuple[str, ...]) -> Scheduler:
    """Packs that come with schedulog are compiled once a process; files may change, so they are read each time."""
    named = tuple(
        p for p in packs if isinstance(p, str) and not p.endswith(".dl") and "/" not in p and "\\" not in p
    )
    if len(named) == len(packs):
        return _built_in(named, engine, disable)
    return Scheduler(load_program(packs, disable=disable), engine)


class Run:
    """The result of scheduling one graph.

    `program` is the rule set, `decisions` what it derived, `schedule` the kernels in order with their buffers.
    `timings` holds, by device, the seconds of each kernel in the last execution that measured them.
    """

    def __init__(
        self,
        program: Program,
        engine: str,
        options: Mapping[str, int],
        decisions: Decisions,
        schedule: Schedule,
    ) -> None:
        self.program = program
        self.engine = engine
        self.options = options
        self.decisions = decisions
        self.schedule = schedule
        self.timings: dict[str, list[float]] = {}
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
        """The schedule made ready to run, with `device` for what names none; compiled once per device.

        A kernel of which the graph says where it runs ("c:1") runs there. Raises CodegenError, DeviceError.
        """
        name = device or default_device()
        if name not in self._loaded:
            self._loaded[name] = load_schedule(self.schedule, name)
        return self._loaded[name]

    def execute(
        self,
        inputs: Mapping[str, NDArray[Any]] | None = None,
        device: str | None = None,
        times: list[float] | None = None,
        variables: Mapping[str, int] | None = None,
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Run the kernels and return the outputs by name. Assigns change the contents of the graph's own buffers.

        `inputs` gives the contents of `graph.inputs` by name; `device` is a name from `schedulog devices` (default: c
        where there is a compiler, else numpy); `times` receives seconds per kernel; `variables` gives symbolic
        variables other values than those the graph binds them to. Raises DeviceError and GraphError.
        """
        name = device or default_device()
        program = self.load(name)
        values = variable_values(self.schedule, variables or {})
        memory = allocate(self.schedule, inputs or {}, name)
        before = len(times or ())
        program.run(memory, values, times)
        if times is not None:
            self.timings[name] = times[before:]
        return fetch(replace(self.schedule, variables=values), memory)

    @property
    def record(self) -> RunRecord:
        """What is saved of this run."""
        return RunRecord(self.program, self.engine, self.options, self.decisions, self.schedule, self.timings)

    def save(self, path: str | os.PathLike[str], *, append: bool = False, label: str = "") -> None:
        """Write everything that was decided to a SQLite file, described in docs/schema.md; whole or not at all.

        `append` keeps the runs that are in the file; `label` is a name to tell runs apart. Raises DatabaseError.
        """
        save(replace(self.record, label=label), path, append=append)

    def sql(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """The rows that answer a SELECT, or a query by its name (`run.sql("kernels")`), on what was decided.

        `values` are the query's parameters. The database is made once, in memory. Raises DatabaseError.
        """
        return ask(self.database, query, values).rows

    @cached_property
    def database(self) -> sqlite3.Connection:
        """The database of this run, in memory, with the times of the executions before it was first asked for."""
        return memory_database(self.record)

    def why(self, fact: str) -> Proof:
        """Why a fact holds: `realize(n12)`, or `realize("conv1")` with a node's label; `_` stands for any value.

        `run.names` spells the proof: `print(run.why("realize(n12)").render(run.names.atom))`.
        Raises UsageError SL710 to SL715.
        """
        return why(self.decisions, fact)

    @property
    def names(self) -> Names:
        """Writes derived rows in the user's words."""
        return names(self.decisions)
