"""Graph in, schedule out: extract the facts, let an engine derive the decisions, assemble the kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from schedulog.errors import UsageError
from schedulog.facts.extract import Facts, extract
from schedulog.facts.graph import Graph
from schedulog.scheduler.assemble import assemble
from schedulog.scheduler.derived import Derived, read_decisions
from schedulog.scheduler.kernels import Schedule
from schedulog.scheduler.model import Model
from schedulog.scheduler.program import Program
from schedulog.scheduler.support import kernel_reasons
from schedulog.scheduler.symbols import Symbols


class Compiled(Protocol):
    """A rule set made ready by an engine."""

    symbols: Symbols

    def evaluate(
        self, facts: Mapping[str, list[tuple[int, ...]]], functions: Mapping[str, Callable[..., int]], symbols: Symbols
    ) -> Model: ...


@dataclass(frozen=True, eq=False)
class Decisions:
    """Everything the rules derived for one graph."""

    graph: Graph
    facts: Facts
    model: Model
    derived: Derived


class Scheduler:
    """A rule set on an engine, ready for any number of graphs and threads."""

    def __init__(self, program: Program, engine: str = "sqlite") -> None:
        self.program = program
        self.engine = engine
        self._compiled = _compile(program, engine)

    def decide(self, graph: Graph, options: Mapping[str, int] | None = None) -> Decisions:
        """Let the rules decide, without making kernels. Raises ScheduleError for what the engine reports."""
        symbols = self._compiled.symbols.fork()
        facts = extract(graph, options or {}, symbols.intern)
        model = self._compiled.evaluate(facts.rows, facts.looks.functions(), symbols)
        return Decisions(graph, facts, model, read_decisions(model))

    def schedule(self, decisions: Decisions) -> Schedule:
        """The kernels that follow from decisions. Raises ScheduleError: SL310, SL311, SL312."""
        return assemble(decisions.graph, decisions.derived, kernel_reasons(decisions.model))


def _compile(program: Program, engine: str) -> Compiled:
    """Engines are imported when asked for: two of them need packages that the default does not."""
    if engine == "sqlite":
        from schedulog.scheduler.engine_sqlite import compile_program as compile_sqlite

        return compile_sqlite(program)
    raise UsageError("SL703", f"unknown engine `{engine}`", help="engines: sqlite, pydatalog, clingo")
