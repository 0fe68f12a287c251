"""How well is a rule tried? The rungs that it reached, by what was found now.

0: nothing holds. 1: its own tests pass. 2: random graphs on which it fired, fused equal to unfused on every device present.
3: all graphs of up to 4 operations on a small piece of memory. A rule of kind `check` is there not to fire: it reaches a
rung by letting pass every graph that has a schedule.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Final

from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.scheduler.language.program import Program
from schedulog.trials.candidates import Candidates
from schedulog.trials.minimal import minimal
from schedulog.trials.parts import clauses, only
from schedulog.trials.recipe import Sample
from schedulog.trials.seeds import NO_SEEDS, Seeds
from schedulog.trials.shrink import shrink
from schedulog.trials.small import small_recipes
from schedulog.trials.trial import Fault, Trials, Tried

SMALL: Final = 4
"""Operations of the graphs that rung 3 is about."""
_BATCH: Final = 48
"""Schedules that are compiled and run together."""
_CANDIDATES: Final = 20
"""So many graphs are drawn for each that is wanted, at most."""
_OTHERS: Final = 0.1
"""Chance that a graph is run on which none of the watched rules fires."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is tried: random graphs to run, their seed, the most operations of the exhaustive part (0: none), and
    the seconds after which nothing new is begun."""

    graphs: int = 200
    seed: int = 0
    exhaustive: int = 0
    seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class KernelLine:
    """A kernel by its name, with the names of what it computes and of what it reads."""

    name: str
    members: tuple[str, ...]
    reads: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Counterexample:
    """A graph on which the rules go wrong, made small; `culprits` are the clauses without any of which it goes right,
    none if core alone does it. `kernels` are those of its schedule, if there is one."""

    sample: Sample
    fault: Fault
    culprits: tuple[str, ...]
    kernels: tuple[KernelLine, ...] = ()


@dataclass(eq=False)
class Findings:
    """What the trials of one rule set found, as far as they went."""

    devices: tuple[str, ...]
    ran: int = 0
    drawn: int = 0
    refused: int = 0
    small: int = 0
    small_total: int = 0
    small_done: bool = False
    late: bool = False
    seconds: float = 0.0
    fired: Counter[str] = field(default_factory=Counter)
    fired_small: Counter[str] = field(default_factory=Counter)
    counterexample: Counterexample | None = None

    def rung(self, kind: str, rule: str, *, tested: bool, failing: bool) -> int:
        """The rung that a rule of this kind reached."""
        bad = self.counterexample
        if failing or (bad is not None and any(name.rpartition("#")[0] == rule for name in bad.culprits)):
            return 0
        if bad is None and self.small_done and (kind == "check" or self.fired_small[rule]):
            return 3
        if bad is None and self.ran and (kind == "check" or self.fired[rule]):
            return 2
        return int(tested)


@dataclass(frozen=True, slots=True)
class _Broken:
    """A sample with its fault, and whether that showed only when kernels were run."""

    sample: Sample
    fault: Fault
    executed: bool


Progress = Callable[[str, int, int], None]
"""Told what is done, how many of how many."""


def try_rules(
    program: Program,
    watched: Sequence[str],
    devices: Sequence[str],
    effort: Effort,
    progress: Progress,
    seeds: Seeds = NO_SEEDS,
) -> Findings:
    """Try a rule set on random graphs and on some near `seeds`, then on all small ones, up to the first counterexample or the
    end of the time."""
    trials = Trials(program, devices, watched)
    found = Findings(tuple(devices))
    begin = time.monotonic()
    fault = _random(trials, found, seeds, effort, begin + effort.seconds, progress)
    if fault is None and effort.exhaustive and not found.late:
        fault = _exhaustive(trials, found, effort, begin + effort.seconds, progress)
    if fault is not None:
        progress("shrinking", 0, 1)
        found.counterexample = _counterexample(program, trials, fault)
    found.seconds = time.monotonic() - begin
    return found


def _random(
    trials: Trials, found: Findings, seeds: Seeds, effort: Effort, end: float, progress: Progress
) -> _Broken | None:
    drawn = _drawn(trials, found, seeds, effort)
    chosen = (tried for tried in drawn if time.monotonic() < end or _note_late(found))
    for batch in _batches(islice(chosen, effort.graphs), end):
        fault = _first_fault(trials, batch)
        if fault is not None:
            return fault
        for tried in batch:
            found.fired.update(tried.fired)
            found.refused += bool(tried.refused)
            found.ran += tried.schedule is not None
        progress("random graphs", found.ran + found.refused, effort.graphs)
        if found.late:
            break
    return None


def _note_late(found: Findings) -> bool:
    found.late = True
    return False


def _drawn(trials: Trials, found: Findings, seeds: Seeds, effort: Effort) -> Iterator[Tried]:
    """Graphs that are worth a run: a watched rule fires, or something is wrong; and some others."""
    generator = Random(effort.seed)
    candidates = Candidates(trials.written.program, trials.rules, seeds, generator)
    for _ in range(effort.graphs * _CANDIDATES):
        if found.late:
            return
        sample, other = candidates.draw(), generator.random() < _OTHERS
        tried = trials.decide(sample)
        candidates.note(tried.fired)
        found.drawn += 1
        if tried.fired or tried.fault or other:
            yield tried


def _exhaustive(
    trials: Trials, found: Findings, effort: Effort, end: float, progress: Progress
) -> _Broken | None:
    recipes = list(small_recipes(effort.exhaustive))
    found.small_total = len(recipes)
    tried = (trials.decide(Sample(recipe), order=False) for recipe in recipes)
    for batch in _batches(tried, end):
        fault = _first_fault(trials, batch)
        if fault is not None:
            return fault
        for one in batch:
            found.fired_small.update(one.fired)
        found.small += len(batch)
        progress("small graphs", found.small, found.small_total)
        if time.monotonic() > end and found.small < found.small_total:
            found.late = True
            return None
    found.small_done = effort.exhaustive >= SMALL
    return None


def _batches(tried: Iterable[Tried], end: float) -> Iterator[list[Tried]]:
    """Some at a time; the last ones together. A fault ends a batch, so that it is told at once."""
    batch: list[Tried] = []
    for one in tried:
        batch.append(one)
        if len(batch) == _BATCH or one.fault is not None or time.monotonic() > end:
            yield batch
            batch = []
    if batch:
        yield batch


def _first_fault(trials: Trials, batch: Sequence[Tried]) -> _Broken | None:
    for tried, fault in zip(batch, trials.run(batch), strict=True):
        wrong = tried.fault or fault
        if wrong is not None:
            return _Broken(tried.sample, wrong, executed=tried.fault is None)
    return None


def _counterexample(program: Program, trials: Trials, broken: _Broken) -> Counterexample:
    """The sample made small, with the fault it still has and the clauses that are needed for it."""

    def breaks(candidate: Sample, tried: Trials = trials) -> bool:
        found = tried.fault(candidate, execute=broken.executed, order=broken.fault.kind == "order")
        return found is not None and found.key == broken.fault.key

    small = shrink(broken.sample, breaks)

    def guilty(kept: Sequence[str]) -> bool:
        return breaks(small, Trials(only(program, kept), trials.devices))

    fault = trials.fault(small, execute=broken.executed) or broken.fault
    culprits = tuple(minimal(clauses(program), guilty))
    return Counterexample(small, fault, culprits, _kernels(trials.decide(small, order=False)))


def _kernels(tried: Tried) -> tuple[KernelLine, ...]:
    """The kernels of a schedule in running order, with the names of the graph; where it has none, the operation."""
    if tried.schedule is None:
        return ()
    # A look at a value comes behind it and does not take its name away.
    names = {n.base: name for name, n in reversed([*tried.sample.recipe.made.names.items()])}

    def told(nodes: Iterable[Node]) -> tuple[str, ...]:
        return tuple(names.get(n.base, n.op.value.lower()) for n in nodes if n.op is not Op.VIEW)

    return tuple(KernelLine(k.name, told(k.members), told(k.reads)) for k in tried.schedule.kernels)
