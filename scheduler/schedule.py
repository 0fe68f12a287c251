"""Graph in, schedule out: extract the facts, let an engine derive the decisions, assemble the kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Final, Protocol

from schedulog.errors import UsageError
from schedulog.facts.extract import Facts, Intern, Row, extract
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.facts.split import Cut, split_reductions
from schedulog.scheduler.assemble import assemble
from schedulog.scheduler.derived import Derived, read_decisions
from schedulog.scheduler.engines.engine import Limits
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.engines.symbols import Symbols
from schedulog.scheduler.given import check_inputs, check_switches, known_switches
from schedulog.scheduler.kernels import Schedule
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.pack_functions import PackFunctions, running
from schedulog.scheduler.verify.decisions import check_decisions
from schedulog.scheduler.verify.kernels import check_kernels
from schedulog.scheduler.why.support import copy_reasons, kernel_reasons


class Compiled(Protocol):
    """A rule set made ready by an engine."""

    symbols: Symbols

    def evaluate(
        self,
        facts: Mapping[str, list[tuple[int, ...]]],
        functions: Mapping[str, Callable[..., int]],
        symbols: Symbols,
    ) -> Model: ...


@dataclass(frozen=True, eq=False)
class Decisions:
    """Everything the rules derived for one graph.

    `before` holds what they derived first where that had the graph rewritten (reductions done in two steps).
    """

    graph: Graph
    facts: Facts
    model: Model
    derived: Derived
    before: Decisions | None = None


Edit = Callable[[Mapping[str, list[Row]], Intern], Mapping[str, list[Row]]]
"""Changes the rows of a graph before the rules see them; strings become numbers by the second argument."""


def cuts_of(decisions: Decisions) -> dict[Node, Cut]:
    """The reductions that the rules want done in two steps."""
    nodes = decisions.graph.nodes
    return {nodes[r]: Cut(axis, parts) for r, axis, parts in decisions.model.rows("split")}


class Scheduler:
    """A rule set on an engine, ready for any number of graphs and threads.

    `functions` stand in for those that the program's packs supply, whose Python files are else run here; `compiled` for what
    the engine makes of the program.
    Raises UsageError: SL703 an unknown engine, SL705 one whose package is not installed; RuleError SL126 for Python files
    that fail.
    """

    def __init__(
        self,
        program: Program,
        engine: str = "sqlite",
        limits: Limits | None = None,
        functions: PackFunctions | None = None,
        compiled: Compiled | None = None,
    ) -> None:
        self.program = program
        self.engine = engine
        self._functions = functions or running(program)
        self._compiled = compiled or _compile(program, engine, limits or Limits())

    @cached_property
    def switches(self) -> frozenset[str]:
        """The switches that the rules ask about; found out once."""
        return known_switches(self.program)

    def decide(
        self, graph: Graph, options: Mapping[str, int] | None = None, edit: Edit | None = None
    ) -> Decisions:
        """Let the rules decide, without making kernels.

        Where they ask for reductions in two steps, the graph is rewritten and they decide about that one, once; `edit`
        speaks of the graph that was given.
        Raises ScheduleError for what the engine reports, and SL315 for an input that the graph does not supply; UsageError
        SL730 and SL731 for options.
        """
        first = self._decide(graph, options or {}, edit)
        cuts = cuts_of(first)
        if not cuts:
            return first
        return replace(self._decide(split_reductions(graph, cuts), options or {}, None), before=first)

    def _decide(self, graph: Graph, options: Mapping[str, int], edit: Edit | None) -> Decisions:
        check_switches(self.program, options)
        symbols = self._compiled.symbols.fork()
        facts = extract(graph, options, symbols.intern)
        if edit is not None:
            facts = Facts(graph, edit(facts.rows, symbols.intern), facts.looks)
        check_inputs(self.program, facts.rows)
        own = self._functions.of(facts.looks, symbols, twice=bool(options.get("verify")))
        model = self._compiled.evaluate(facts.rows, {**facts.looks.functions(), **own}, symbols)
        return Decisions(graph, facts, model, read_decisions(model))

    def schedule(self, decisions: Decisions) -> Schedule:
        """The kernels that follow from decisions, verified.

        Raises ScheduleError: SL310, SL311, SL312, and for what is no schedule SL320, SL322, SL323.
        """
        check_decisions(decisions.graph, decisions.model)
        model = decisions.model
        reasons = kernel_reasons(model) | {~n: rules for n, rules in copy_reasons(model).items()}
        made = assemble(decisions.graph, decisions.derived, reasons)
        check_kernels(made)
        return made


ENGINES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "sqlite": ("CompiledProgram", "sqlite3"),
        "pydatalog": ("PydatalogEvaluator", "pyDatalog"),
        "clingo": ("ClingoEvaluator", "clingo"),
    }
)
"""The engines: per name the class in scheduler/engines/NAME.py and the package it needs."""


def engines() -> dict[str, str | None]:
    """Every engine, and one sentence why it cannot run here (None: it can)."""
    return {
        name: None if find_spec(package) else f"{package} is not installed"
        for name, (_, package) in ENGINES.items()
    }


def _compile(program: Program, engine: str, limits: Limits) -> Compiled:
    """Engines are imported when asked for: two of them need packages that the default does not."""
    if engine not in ENGINES:
        raise UsageError("SL703", f"unknown engine `{engine}`", help="engines: " + ", ".join(ENGINES))
    module = import_module(f"schedulog.scheduler.engines.{engine}")
    made: Compiled = getattr(module, ENGINES[engine][0])(program, limits)
    return made
