"""Scheduling one graph with whatever comes of it, and that as plain data (`Outcome`), in memory and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from schedulog.errors import SchedulogError
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.scheduler.compare import Decision, Failure, KernelOutcome, Outcome
from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.kernels import Kernel, Schedule
from schedulog.scheduler.schedule import Decisions, Scheduler
from schedulog.scheduler.why.spelling import Speller
from schedulog.scheduler.why.support import DECISIONS, derivations


@dataclass(frozen=True, eq=False)
class Attempt:
    """How far a scheduling came: decisions, then a schedule; `error` is what ended it early."""

    decisions: Decisions | None = None
    schedule: Schedule | None = None
    error: SchedulogError | None = None

    def result(self) -> tuple[Decisions, Schedule]:
        """Both, or raise the error."""
        if self.error is not None:
            raise self.error
        assert self.decisions is not None and self.schedule is not None
        return self.decisions, self.schedule


def attempt(scheduler: Scheduler, graph: Graph, options: Mapping[str, int]) -> Attempt:
    """Schedule a graph; an error is part of the result."""
    decisions: Decisions | None = None
    try:
        decisions = scheduler.decide(graph, options)
        return Attempt(decisions, scheduler.schedule(decisions))
    except SchedulogError as error:
        return Attempt(decisions, None, error)


def outcome_of(made: Attempt, names: Sequence[str] = ()) -> Outcome:
    """What a scheduling gave, as plain data. `names` are those of the nodes, by position, if not n0, n1, ..."""
    error, schedule = made.error, made.schedule
    return Outcome(
        () if made.decisions is None else tuple(_decisions(made.decisions, names)),
        () if schedule is None else tuple(_kernel(k, schedule.graph, names) for k in schedule.kernels),
        None if error is None else Failure(error.code, error.message),
    )


def _decisions(decisions: Decisions, names: Sequence[str]) -> list[Decision]:
    model, speller = decisions.model, Speller(decisions, names)
    rules: dict[tuple[str, Row], list[str]] = {}
    heads = {
        rule.name: (rule.head.relation, model.program.infos[rule.id].kind) for rule in model.program.rules
    }
    kinds: dict[tuple[str, Row], str] = {}
    for rule, rows in sorted(derivations(model, DECISIONS).items()):
        relation, kind = heads[rule]
        for row in rows:
            rules.setdefault((relation, row), []).append(rule)
            kinds.setdefault((relation, row), kind)
    return [
        Decision(speller.atom(*at), kinds[at], tuple(found))
        for at, found in sorted(rules.items(), key=lambda item: item[0])
    ]


def _kernel(kernel: Kernel, graph: Graph, names: Sequence[str]) -> KernelOutcome:
    def label(n: Node) -> str:
        return names[graph.position[n]] if names else graph.label(n)

    return KernelOutcome(
        label(kernel.output),
        tuple(map(label, kernel.members)),
        tuple(map(label, kernel.reads)),
        kernel.bytes_read,
        kernel.bytes_written,
        kernel.rules,
        not kernel.members,
    )


def write_outcome(outcome: Outcome) -> str:
    """An outcome as JSON text. `read_outcome` gives an equal one."""
    record = {
        "decisions": [[d.atom, d.kind, list(d.rules)] for d in outcome.decisions],
        "kernels": [asdict(kernel) for kernel in outcome.kernels],
        "failure": None if outcome.failure is None else asdict(outcome.failure),
    }
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def read_outcome(text: str) -> Outcome:
    """The outcome in `text`. Raises ValueError, KeyError or TypeError for a text that is none."""
    record = json.loads(text)
    failure = record["failure"]
    return Outcome(
        tuple(Decision(atom, kind, tuple(rules)) for atom, kind, rules in record["decisions"]),
        tuple(_read_kernel(kernel) for kernel in record["kernels"]),
        None if failure is None else Failure(**failure),
    )


def _read_kernel(record: Mapping[str, Any]) -> KernelOutcome:
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}
    return KernelOutcome(**fields)
