"""What `schedulog diff` asks, and the answer for one graph: plain data, which travels between processes and is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

import schedulog
from schedulog.agreement import Agreement
from schedulog.cli.diff_items import Item
from schedulog.cli.failure import error_record
from schedulog.cli.source import Bindings
from schedulog.difference import Diff, compared
from schedulog.errors import SchedulogError
from schedulog.facts.graph import Graph
from schedulog.facts.simplify import simplify
from schedulog.scheduler.ablate import Ablation
from schedulog.scheduler.language.meaning import functions_sha
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.schedule import Scheduler
from schedulog.scheduler.what_if import Policy, Trial, what_if

_CODE: Final = (".py", ".j2", ".lark", ".sql")
"""Endings of the files on which an answer depends, besides rules."""


@dataclass(frozen=True)
class Question:
    """Two rule sets with their switches, and what else is wanted of every graph.

    `ablate` holds the rules to leave out in turn of the second set; then the first is not asked. `devices` are those on which
    both schedules are run, with inputs by `seed`, if they have no more than `most_work` element operations.
    """

    before: Program = field(compare=False)
    after: Program = field(compare=False)
    options: Mapping[str, int] = field(compare=False)
    options_after: Mapping[str, int] = field(compare=False)
    bindings: Bindings = field(compare=False)
    engine: str = "sqlite"
    ablate: tuple[str, ...] | None = None
    devices: tuple[str, ...] = ()
    seed: int = 0
    most_work: int = 0
    simplify: bool = True
    brief: bool = False
    sha: str = ""

    def known(self) -> Question:
        """The question with the hash that two are the same by: rules, functions, switches and the code of schedulog enter."""
        given = self.bindings
        parts = [self.before.sha, self.after.sha, functions_sha(self.before.code), functions_sha(self.after.code),
                 sorted(self.options.items()), sorted(self.options_after.items()),
                 sorted(given.dims.items()), sorted(given.shapes.items()),
                 [(name, _content(value)) for name, value in sorted(given.constants.items())],
                 self.engine, self.ablate, self.devices, self.seed, self.most_work, self.simplify, self.brief, code_sha()]  # fmt: skip
        sha = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        return replace(self, sha=sha)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question gives for one graph: `lines` for people and `record` for programs, or the error of a broken graph."""

    number: int
    name: str
    key: str
    lines: tuple[str, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    error: Mapping[str, Any] | None = None


def _content(value: Any) -> str:
    array = np.asarray(value)
    return f"{array.dtype}{array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"


@lru_cache(maxsize=1)
def code_sha() -> str:
    """A hash of the sources of schedulog: what an earlier version found is not what this one finds."""
    found = hashlib.sha256()
    # Folders are linked in, and a glob does not follow links.
    for folder in sorted(p for p in Path(schedulog.__file__).parent.iterdir() if p.is_dir()):
        for path in sorted(p for p in folder.resolve().rglob("*") if p.suffix in _CODE):
            found.update(path.read_bytes())
    return found.hexdigest()


def answer_all(part: tuple[Question, Sequence[Item]]) -> list[Answer]:
    """The answers for some graphs. A graph that is broken, or that a bug meets, is an answer too."""
    question, items = part
    worker = _worker(question)
    return [_answer(worker, item) for item in items]


class _Worker:
    """What a process keeps from graph to graph: above all the rule sets it has compiled."""

    def __init__(self, question: Question) -> None:
        self.question = question
        before, after = (Scheduler(p, question.engine) for p in (question.before, question.after))
        self.before, self.after = Policy(before, question.options), Policy(after, question.options_after)
        self.ablation = None if question.ablate is None else Ablation(self.after, question.ablate)

    def graph(self, item: Item) -> Graph:
        graph = item.graph(self.question.bindings)
        return simplify(graph, preserves="values").graph if self.question.simplify else graph

    def compared(self, trial: Trial) -> Diff:
        most = max(
            (m.operations for m in (trial.found.before, trial.found.after) if m is not None), default=0
        )
        if most > self.question.most_work:
            skipped = f"{most:,} element operations, more than --most-work"
            return Diff(trial.found, tuple(Agreement(d, skipped=skipped) for d in self.question.devices))
        return compared(trial, self.question.devices, self.question.seed)


@lru_cache(maxsize=1)
def _worker(question: Question) -> _Worker:
    return _Worker(question)


def _answer(worker: _Worker, item: Item) -> Answer:
    try:
        graph = worker.graph(item)
        if worker.ablation is not None:
            return Answer(item.number, item.name, item.key, record=_ablated(worker, worker.ablation, graph))
        found = worker.compared(what_if(graph, worker.before, worker.after))
        lines = (item.name, *list(found.lines(brief=worker.question.brief))[1:])
        return Answer(item.number, item.name, item.key, lines, {"file": item.name, **found.record()})
    except SchedulogError as error:
        return Answer(item.number, item.name, item.key, error=error_record(error))
    except Exception as error:  # noqa: BLE001 (a bug that one graph meets is not the end of the others)
        record = {"code": "SL900", "message": f"{type(error).__name__}: {error}".splitlines()[0]}
        return Answer(item.number, item.name, item.key, error=record)


def _ablated(worker: _Worker, ablation: Ablation, graph: Graph) -> dict[str, Any]:
    """What leaving out each rule changes, for those that change something."""
    idle, alike, rules = [], [], []
    for rule, trial in ablation(graph):
        if trial is None:
            idle.append(rule)
            continue
        found = worker.compared(trial)
        if found.same and not found.wrong:
            alike.append(rule)
        else:
            rules.append({"rule": rule, **_effect(found)})
    return {"graph": graph.name, "nodes": len(graph.nodes), "rules": rules, "alike": alike, "idle": idle}


def _effect(found: Diff) -> dict[str, Any]:
    """One line of the table: sizes before and after, and how many decisions and kernels are others."""
    changes = found.changes
    failure = changes.difference.after.failure
    return {
        "decisions": len(changes.difference.decisions),
        "changed_kernels": len(changes.difference.kernels),
        "before": None if changes.before is None else asdict(changes.before),
        "after": None if changes.after is None else asdict(changes.after),
        "error": None if failure is None or not changes.difference.failure_differs else asdict(failure),
        "wrong": [str(result) for result in found.results if result.wrong],
        "worse": found.worse,
        "untraced": changes.untraced,
    }
