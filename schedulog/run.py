"""One scheduled graph: its kernels, its decisions, and running it."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from schedulog.arguments import (
    device_named,
    graph_behind,
    integers_of,
    mapping_of,
    name_of,
    names_of,
    path_text,
    rule_parts,
    wrong_kind,
)
from schedulog.capturing import destination, keep
from schedulog.errors import UsageError
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.facts.simplify import Simplified, rewrite_rows
from schedulog.facts.simplify import simplify as simplify_graph
from schedulog.pending import PENDING
from schedulog.runtimes import default_device
from schedulog.runtimes.base import Program as DeviceProgram
from schedulog.runtimes.memory import allocate, fetch
from schedulog.runtimes.mixed import load_schedule
from schedulog.runtimes.variables import variable_values
from schedulog.scheduler.given import check_known
from schedulog.scheduler.html.run import run_html
from schedulog.scheduler.kernels import Kernel, Schedule, ScheduleItem
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.pack_finder import built_in_packs
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.language.rule_file import Part, RuleFile, is_text
from schedulog.scheduler.record.database import memory_database
from schedulog.scheduler.record.outcome import attempt
from schedulog.scheduler.record.queries import ask
from schedulog.scheduler.record.run_file import save
from schedulog.scheduler.record.run_record import RunRecord
from schedulog.scheduler.results import Outcome, outcomes
from schedulog.scheduler.schedule import Decisions, Scheduler
from schedulog.scheduler.why.answer import Answer
from schedulog.scheduler.why.ask import explain
from schedulog.scheduler.why.names import Names
from schedulog.scheduler.why.proof import Proof
from schedulog.scheduler.why.question import names, why
from schedulog.scheduler.why.whynot import WhyNot, whynot

if TYPE_CHECKING:
    from schedulog.tensor import Tensor


def schedule(
    what: Graph | Node | Tensor | Sequence[Node | Tensor],
    rules: Part | Sequence[Part] = ("classic",),
    engine: str = "sqlite",
    options: Mapping[str, int] | None = None,
    disable: str | Sequence[str] = (),
    capture: str | os.PathLike[str] | None = None,
    simplify: bool = True,
    refusals: bool = True,
) -> Run:
    """Schedule a graph, or the nodes or tensors whose values are wanted, under a rule set.

    `rules` names packs, rule files or folders of them, or is rules itself: a text with a line break or `:-`, or a function
    under `schedulog.datalog_rules`; `core` is always loaded. `engine` is "sqlite", "pydatalog" or
    "clingo"; `options` are facts `option(name, value)` for the rules; `disable` leaves out rules by id. `capture` is a
    database to which the call is added, whatever comes of it (else see `schedulog.capture`). `simplify` rewrites the
    graph first, by the rules of `schedulog.facts.simplify` that keep every value. `refusals`: whether the
    run's database says of each operand that is not fused which rules keep it apart.

    A tensor stays lazy: the run is about the graph behind it, and an assign that waits is done by every execution.

    Raises RuleError for wrong rules, ScheduleError where they give no schedule, UsageError: SL703 an unknown engine, SL704
    nothing that can be scheduled, SL706 an option that no rule asks about, SL730 an argument of the wrong kind, SL731 an
    option outside its range.
    """
    packs, dropped = rule_parts("rules", rules), names_of("disable", disable)
    scheduler = scheduler_of(packs, name_of("engine", engine), dropped)
    return schedule_with(
        scheduler, what, (packs, dropped), options, capture, simplify=simplify, refusals=refusals
    )


def schedule_with(
    scheduler: Scheduler,
    what: Graph | Node | Tensor | Sequence[Node | Tensor],
    given: tuple[Sequence[Part], Sequence[str]],
    options: Mapping[str, int] | None = None,
    capture: str | os.PathLike[str] | None = None,
    *,
    simplify: bool = True,
    refusals: bool = True,
) -> Run:
    """Schedule by rules that are compiled already; `given` are the parts and the ids left out that a captured call keeps.

    Other arguments and errors are those of `schedule`.
    """
    asked = graph_behind(what)
    simplified = simplify_graph(asked, preserves="values") if simplify else None
    graph = simplified.graph if simplified else asked
    switches = integers_of("options", options)
    check_known(scheduler.switches if switches else (), switches)
    made, path = attempt(scheduler, graph, switches), destination(capture)
    if path is not None:
        keep(path, graph, given, scheduler, switches, made)
    decisions, kernels = made.result()
    return Run(scheduler.program, scheduler.engine, switches, decisions, kernels, simplified, refusals)


@lru_cache(maxsize=32)
def _kept(packs: tuple[Part, ...], engine: str, disable: tuple[str, ...]) -> Scheduler:
    return Scheduler(load_program(packs, disable=disable), engine)


def scheduler_of(packs: tuple[Part, ...], engine: str, disable: tuple[str, ...] = ()) -> Scheduler:
    """Rules ready for any number of graphs. Those that cannot change are compiled once a process: texts, and packs that
    come with schedulog. Others are read each time. Raises what `schedule` raises for rules and engines."""
    if all(
        isinstance(part, RuleFile) or part in built_in_packs() or (isinstance(part, str) and is_text(part))
        for part in packs
    ):
        return _kept(packs, engine, disable)
    return Scheduler(load_program(packs, disable=disable), engine)


class Run:
    """The result of scheduling one graph.

    `program` is the rule set, `decisions` what it derived, `schedule` the kernels in order with their buffers,
    `simplified` the rewrites that came first, if any; `refusals` says whether its database has the rows of that name.
    `timings` holds, by device, the seconds of each kernel in the last execution that measured them. Threads may share
    a run: executions that write to memory which outlives them take turns, all others run side by side.
    """

    def __init__(
        self,
        program: Program,
        engine: str,
        options: Mapping[str, int],
        decisions: Decisions,
        schedule: Schedule,
        simplified: Simplified | None = None,
        refusals: bool = True,
    ) -> None:
        self.program = program
        self.engine = engine
        self.options = options
        self.decisions = decisions
        self.schedule = schedule
        self.simplified = simplified
        self.refusals = refusals
        self.timings: dict[str, list[float]] = {}
        self._loaded: dict[str, DeviceProgram] = {}
        # Held while what is made once is made, and while a query runs: what a query may do is a state of the connection.
        self._once = threading.RLock()

    def __repr__(self) -> str:
        graph = self.graph
        return f"<Run of {graph.name}: {len(graph.nodes)} nodes, {len(self.kernels)} kernels>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a run holds locks and loaded code: pickle or copy its schedule or graph, or save() it to a file"
        )

    def _repr_html_(self) -> str:
        return run_html(self.schedule, self.timings)

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

    @cached_property
    def outcomes(self) -> Mapping[Node, Outcome]:
        """What the nodes of the graph, as it was before simplification, are once it has run: the output of a kernel, memory,
        a constant, or what another node shows. Nodes that stay what they are, or that nothing stores, have no entry."""
        whole = {n: n for n in self.graph.nodes}
        return outcomes(self.simplified or Simplified(self.graph, whole, ()), self.schedule)

    def load(self, device: str | None = None) -> DeviceProgram:
        """The schedule made ready to run, with `device` for what names none; compiled once per device.

        A kernel of which the graph says where it runs ("c:1") runs there. Raises CodegenError, DeviceError, UsageError
        SL730.
        """
        name = device_named(device) or default_device()
        with self._once:
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
        variables other values than those the graph binds them to. Raises DeviceError, GraphError, and UsageError SL730 for
        an argument of the wrong kind.
        """
        if not isinstance(times, list | None):
            raise wrong_kind("times", times, "give a list: times=[]")
        arrays = mapping_of("inputs", inputs, "{'x': array}")
        given = mapping_of("variables", variables, "{'n': 5}")
        name = device_named(device) or default_device()
        program = self.load(name)
        values = variable_values(self.schedule, given)
        before = len(times or ())
        with self._turn:
            memory = allocate(self.schedule, arrays, name)
            program.run(memory, values, times)
            outputs = fetch(replace(self.schedule, variables=values), memory)
        if times is not None:
            self.timings[name] = times[before:]
        return outputs

    @cached_property
    def _turn(self) -> AbstractContextManager[object]:
        """Held during an execution. Other runs and tensors may have the memory that is written, so there is one turn for
        all; which memory an assign through a window changes is not asked."""
        written = (kernel for kernel in self.kernels if kernel.kind != "view")
        shared = any(kernel.kind == "assign" or kernel.buffers[0].array is not None for kernel in written)
        return PENDING.turn if shared else nullcontext()

    @property
    def record(self) -> RunRecord:
        """What is saved of this run."""
        rewrites = tuple(rewrite_rows(self.simplified)) if self.simplified else ()
        return RunRecord(
            self.program,
            self.engine,
            self.options,
            self.decisions,
            self.schedule,
            self.timings,
            rewrites=rewrites,
            refusals=self.refusals,
        )

    def save(self, path: str | os.PathLike[str], *, append: bool = False, label: str = "") -> None:
        """Write everything that was decided to a SQLite file, described in docs/schema.md; whole or not at all.

        `append` keeps the runs that are in the file; `label` is a name to tell runs apart. Raises DatabaseError, UsageError SL730.
        """
        save(replace(self.record, label=name_of("label", label)), path_text("path", path), append=append)

    def sql(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """The rows that answer a SELECT, or a query by its name (`run.sql("kernels")`), on what was decided.

        `values` are the query's parameters. The database is made once, in memory. Raises DatabaseError, UsageError SL730.
        """
        name_of("query", query, "give a SELECT or the name of a query, as kernels")
        with self._once:
            return ask(self.database, query, values).rows

    @property
    def database(self) -> sqlite3.Connection:
        """The database of this run, in memory, with the times of the executions before it was first asked for.

        Any thread may use it; `sql` takes care that one query at a time does.
        """
        with self._once:
            return self._database

    @cached_property
    def _database(self) -> sqlite3.Connection:
        return memory_database(self.record)

    def why(self, fact: str, *, all: bool = False) -> Proof:
        """Why a fact holds: `realize(n12)`, or `realize("conv1")` with a node's label; `_` stands for any value.

        `print(run.why("realize(n12)"))` writes it out as `schedulog why` does, `Proof.tree(depth)` deeper. `all`: with all
        derivations, of the fact and of those its proof rests on, in `Proof.others`. `explain` is for what is no fact.
        Raises UsageError SL710 to SL715.
        """
        return why(self.decisions, fact, every=all)

    def explain(self, question: str, *, negated: bool = False, all: bool = False) -> Answer:
        """Why an operand is fused or not (`n3 -> n5`), some kernel computes two nodes or none does (`one_kernel(n3, n5)`),
        a kernel is one (`kernel k3`), and which clauses give the facts of a relation (`realize`).

        `negated`: which conditions keep further facts out of the relation. `all`: with all derivations in `proofs`.
        `print(run.explain("n3 -> n5"))` writes it out. Raises UsageError SL710 for a question about a fact or none, SL713,
        SL715, SL721 to SL723.
        """
        text = question if isinstance(question, str) else ""
        answer = explain(self.decisions, text, negated=negated, every=all)
        if answer is None:
            raise UsageError("SL710", f"`{question}` asks about no operand, kernel or relation",
                             help="ask like this: n3 -> n5; about a fact ask `why` or `whynot`")  # fmt: skip
        return answer

    def whynot(self, fact: str) -> WhyNot:
        """Why a fact does not hold: the rules that could derive it, the conditions that fail, the smallest repairs.

        `print(run.whynot("realize(n12)"))` writes it out. Raises UsageError SL710 to SL713, SL715, and SL718 for a fact
        that holds.
        """
        return whynot(self.decisions, fact)

    @property
    def names(self) -> Names:
        """Writes derived rows in the user's words."""
        return names(self.decisions)
