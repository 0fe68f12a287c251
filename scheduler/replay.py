"""A captured call scheduled again, with today's rules or others, and compared with what came of it then.

What the caller gave (graph, options, rule files) is taken as it was captured, what belongs to schedulog (its packs, its code)
as it is now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from schedulog.errors import SchedulogError, UsageError
from schedulog.facts.graph import Graph
from schedulog.facts.json_format import read_graph, write_graph
from schedulog.scheduler.compare import Cause, Difference, compare
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import FunctionCode, Program
from schedulog.scheduler.pack_functions import unsupplied
from schedulog.scheduler.record.capture import Capture, GivenRules
from schedulog.scheduler.record.outcome import Attempt, attempt, outcome_of
from schedulog.scheduler.record.program_text import read_program
from schedulog.scheduler.schedule import Scheduler
from schedulog.scheduler.why.cause import causes_of

UNTRACED: Final = Cause("untraced")


@dataclass(frozen=True, slots=True)
class Instead:
    """What replaces what was captured: other rules, another engine, options on top of the captured ones."""

    program: Program | None = None
    engine: str | None = None
    options: Mapping[str, int] = field(default_factory=dict)


def rules_today(given: GivenRules) -> Program:
    """The rules a caller gave, with the packs of today. Raises RuleError where they are no rule set any more.

    A captured file is text: the functions of a pack that was given by its path are not captured (UsageError SL701).
    """
    program = load_program(given.packs, extra=given.files, disable=given.disable)
    absent = sorted(unsupplied(program))
    if absent:
        packs = sorted({file.pack for file in given.files})
        raise UsageError("SL701", f"functions not given: {', '.join('@' + name for name in absent)}",
                         reason=f"they are not captured with the text of {', '.join(packs)}",
                         help="replay with all packs of the call, given by their paths: --rules classic --rules ./my_pack")  # fmt: skip
    return program


class Replay:
    """Schedules captured calls again. Rule sets are compiled once."""

    def __init__(self, instead: Instead) -> None:
        self._instead = instead
        self._schedulers: dict[object, Scheduler] = {}

    def __call__(self, call: Capture) -> Difference:
        """What differs today, with causes.

        Raises RuleError or GraphError for a call whose rules or graph cannot be read any more, UsageError for its engine.
        """
        graph = read_graph(call.graph, f"graph of call {call.number}")
        scheduler = self._today(call)
        made = attempt(scheduler, graph, {**call.options, **self._instead.options})
        found = compare(call.outcome, outcome_of(made))
        return found if found.same else self._explained(found, call, graph, scheduler, made)

    def _today(self, call: Capture) -> Scheduler:
        engine = self._instead.engine or call.engine
        program = self._instead.program
        if program is not None:
            return self._scheduler(("instead", engine), engine, lambda: program)
        return self._scheduler((call.given, engine), engine, lambda: rules_today(call.given))

    def _scheduler(self, key: object, engine: str, program: Callable[[], Program]) -> Scheduler:
        if key not in self._schedulers:
            self._schedulers[key] = Scheduler(program(), engine)
        return self._schedulers[key]

    def _explained(
        self, found: Difference, call: Capture, graph: Graph, scheduler: Scheduler, made: Attempt
    ) -> Difference:
        """The difference with causes: those in the rules and options, as far as today's code decides as it did then."""
        rest = (
            Cause("engine", scheduler.engine)
            if scheduler.engine != call.engine
            else Cause(
                "code", " or a function of ".join(["schedulog", *(c.pack for c in scheduler.program.code)])
            )
        )
        options = {**call.options, **self._instead.options}
        if scheduler.program.sha == call.rules_sha and options == dict(call.options):
            return found.explained({}, rest)
        then = self._then(call, graph, scheduler.program.code)
        if then is None or then.decisions is None or made.decisions is None:
            return found.explained({}, UNTRACED)
        if not _same(then.decisions.graph, made.decisions.graph):
            return found.explained({}, UNTRACED)
        causes = dict(causes_of(then.decisions, made.decisions, found.decisions))
        drifted = {change.atom for change in compare(call.outcome, outcome_of(then)).decisions}
        causes.update((atom, (rest,)) for atom in drifted)
        return found.explained(causes, UNTRACED)

    def _then(self, call: Capture, graph: Graph, code: tuple[FunctionCode, ...]) -> Attempt | None:
        """The captured call with its own rules, on today's code; None if it does not know those any more."""
        engine = self._instead.engine or call.engine
        try:
            scheduler = self._scheduler(
                (call.rules_sha, engine),
                engine,
                lambda: replace(read_program(call.program, call.rules_sha, {}), code=code),
            )
        except SchedulogError:
            return None
        return attempt(scheduler, graph, call.options)


def _same(one: Graph, other: Graph) -> bool:
    """Whether a node's number means the same in both: where a graph is rewritten on the way, it need not."""
    return one is other or write_graph(one, contents=False) == write_graph(other, contents=False)
