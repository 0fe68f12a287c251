"""One graph under one rule set: what was wrong with its schedule, if anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Final, Literal

from schedulog.errors import Place, ScheduleError, SchedulogError
from schedulog.facts.graph import Graph, graph_of
from schedulog.scheduler.engines.engine import Limits
from schedulog.scheduler.engines.sqlite import RuleMatches
from schedulog.scheduler.kernels import Schedule
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import Program, Rule, RuleTest
from schedulog.scheduler.rule_test import Case
from schedulog.scheduler.rule_test_check import Outcome, same_decisions
from schedulog.scheduler.rule_tests import edit, shuffled
from schedulog.scheduler.schedule import Decisions, Scheduler
from schedulog.trials.recipe import Sample
from schedulog.verify import difference

SMALL_LIMITS: Final = Limits(rows=200_000, rounds=5_000, alternations=5_000, steps=200_000_000, compute=10.0)
"""Where the rules are given up on a graph of a few nodes: what needs more does not end."""

Kind = Literal["wrong", "error", "endless", "undefined", "order", "crash"]
_MAY_REFUSE: Final = frozenset({"SL310", "SL313"})
"""Errors by which a policy refuses a graph on purpose: it derives `refused`."""
_KINDS: Final = MappingProxyType({"SL140": "endless", "SL120": "undefined"})
_ORDER: Final = 1
"""The seed by which rules, conditions and facts are shuffled."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong: wrong numbers on a device, an error, an evaluation that does not end, atoms without a truth value,
    decisions that depend on the order of rules, or a crash. `code` is that of the error, `text` says it in full."""

    kind: Kind
    text: str
    code: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Two faults are the same if kind and code are."""
        return self.kind, self.code


@dataclass(frozen=True, eq=False)
class Tried:
    """What came of one sample before it was run. `fired` are the ids of the watched rules that derived something;
    `refused` is the code of an error by which the policy, or core alone, refuses this graph."""

    sample: Sample
    schedule: Schedule | None = None
    fired: frozenset[str] = frozenset()
    fault: Fault | None = None
    refused: str = ""


class Trials:
    """A rule set to be tried. `watched` are the rules of which it is noted whether they fire."""

    def __init__(
        self,
        program: Program,
        devices: Sequence[str],
        watched: Iterable[str] = (),
        limits: Limits = SMALL_LIMITS,
    ) -> None:
        self.devices = tuple(devices)
        wanted = frozenset(watched)
        self.rules = [rule for rule in program.rules if rule.id in wanted]
        self.relations = {rule.head.relation for rule in program.rules}
        self.written = Scheduler(program, limits=limits)
        self.limits = limits

    @cached_property
    def shuffled(self) -> Scheduler:
        """The rules in another order. Made when it is asked for, as `core` is: most trials of a culprit need neither."""
        return Scheduler(shuffled(self.written.program, _ORDER), limits=self.limits)

    @cached_property
    def core(self) -> Scheduler:
        return Scheduler(load_program(()), limits=self.limits)

    def decide(self, sample: Sample, *, order: bool = True) -> Tried:
        """Schedule a sample; with `order` once more with everything shuffled."""
        try:
            outcome = Outcome(_case(sample), self.written, edit(()))
            decisions, schedule = outcome.decided, outcome.scheduled
            if isinstance(decisions, SchedulogError) or isinstance(schedule, SchedulogError):
                error = decisions if isinstance(decisions, SchedulogError) else schedule
                assert isinstance(error, SchedulogError)
                return replace(self._refused(sample, error), fired=self._fired(decisions))
            fired = self._fired(decisions)
            fault = self._unstable(sample, outcome) if order else None
        except (KeyError, IndexError, AssertionError, ValueError, TypeError) as error:
            # Decisions that no rules make which pass their tests: kernels are put together from rows that are missing.
            return Tried(sample, fault=Fault("crash", f"{type(error).__name__}: {error}", "SL900"))
        return Tried(sample, schedule, fired, fault)

    def run(self, tried: Sequence[Tried]) -> list[Fault | None]:
        """Execute the schedules on every device and compare with the unscheduled reference.

        All are run as one program, since starting a compiler costs more than these kernels; each by itself where that
        shows a difference, and those with variables, which may have one name and several values.
        """
        together = [t.schedule for t in tried if t.schedule is not None and not t.schedule.variables]
        right = all(self._runs(joined(together), device) is None for device in self.devices if together)
        return [
            None if right and t.schedule is not None and not t.schedule.variables else self._executed(t)
            for t in tried
        ]

    def fault(self, sample: Sample, *, execute: bool = True, order: bool = True) -> Fault | None:
        """What is wrong with one sample; without `execute` its numbers are not looked at, without `order` no other order."""
        tried = self.decide(sample, order=order)
        return tried.fault or (self._executed(tried) if execute else None)

    def _executed(self, tried: Tried) -> Fault | None:
        if tried.schedule is None:
            return None
        for device in self.devices:
            fault = self._runs(tried.schedule, device)
            if fault is not None and (fault.kind != "wrong" or not self._rounding(tried, device)):
                return fault
        return None

    def _runs(self, schedule: Schedule, device: str) -> Fault | None:
        try:
            problem = difference(schedule, device)
        except SchedulogError as error:
            return Fault("error", str(error), error.code)
        return Fault("wrong", f"on {device} {problem}") if problem else None

    def _rounding(self, tried: Tried, device: str) -> bool:
        """Whether a difference is one of rounding: in double precision the same kernels give the right numbers."""
        assert tried.schedule is not None
        wide = self.decide(replace(tried.sample, recipe=tried.sample.recipe.widened()), order=False)
        if wide.schedule is None:
            return False
        same = len(wide.schedule.kernels) == len(tried.schedule.kernels)
        return same and self._runs(wide.schedule, device) is None

    def _refused(self, sample: Sample, error: SchedulogError) -> Tried:
        """An error counts as a fault unless it is meant as a refusal, or core alone ends with it too."""
        if error.code in _MAY_REFUSE:
            return Tried(sample, refused=error.code)
        try:
            self.core.schedule(self.core.decide(sample.recipe.made.graph, {"verify": 1}))
        except ScheduleError as other:
            if other.code == error.code:
                return Tried(sample, refused=error.code)
        kind: Kind = _KINDS.get(error.code, "error")  # type: ignore[assignment]
        return Tried(sample, fault=Fault(kind, str(error), error.code))

    def _fired(self, decisions: Decisions | SchedulogError) -> frozenset[str]:
        """The watched rules that derive something, before or after reductions were split."""
        if isinstance(decisions, SchedulogError):
            return frozenset()
        found: set[str] = set()
        for decided in (decisions, decisions.before):
            if decided is not None:
                source = decided.model.source
                assert isinstance(source, RuleMatches)
                found.update(rule.id for rule in self.rules if _fires(source, rule, found))
        return frozenset(found)

    def _unstable(self, sample: Sample, outcome: Outcome) -> Fault | None:
        other = Outcome(outcome.case, self.shuffled, edit((), _ORDER))
        if isinstance(other.decided, SchedulogError):
            return Fault("order", f"shuffled, the rules end with {other.decided}", other.decided.code)
        problem = same_decisions(outcome, other, self.relations)
        return Fault("order", problem) if problem else None


def _fires(source: RuleMatches, rule: Rule, found: set[str]) -> bool:
    return rule.id not in found and bool(source.matches(rule))


def _case(sample: Sample) -> Case:
    """The sample as a rule test without assertions, with all checks of kernels on."""
    made = sample.recipe.made
    test = RuleTest("trial", str(sample.recipe), Place("<trial>", 1))
    return Case(test, made.graph, made.names, {"verify": 1, **sample.options}, (), ())


def joined(schedules: Sequence[Schedule]) -> Schedule:
    """The kernels of several schedules, one after the other, as one schedule. Their graphs share no memory."""
    graphs = [schedule.graph for schedule in schedules]
    names = [f"{i}.{name}" for i, graph in enumerate(graphs) for name in graph.outputs]
    kernels = [kernel for schedule in schedules for kernel in schedule.kernels]
    results = [result for schedule in schedules for result in schedule.results]
    return Schedule(
        _union(graphs, names),
        tuple(replace(kernel, index=i, name=f"k{i}") for i, kernel in enumerate(kernels)),
        (),
        tuple(replace(result, name=name) for result, name in zip(results, names, strict=True)),
        tuple(buffer for schedule in schedules for buffer in schedule.buffers),
        {name: value for schedule in schedules for name, value in schedule.variables.items()},
    )


def _union(graphs: Sequence[Graph], outputs: Sequence[str]) -> Graph:
    inputs = {f"{i}.{name}": memory for i, g in enumerate(graphs) for name, memory in g.inputs.items()}
    shapes = {f"{i}.{name}": shape for i, g in enumerate(graphs) for name, shape in g.input_shapes.items()}
    wanted = [source for graph in graphs for source in graph.sink.src]
    return graph_of(wanted, name="trials", outputs=outputs, inputs=inputs, input_shapes=shapes)
