"""A graph on which two rules give one key two values: found among the graphs of the rule tests and some small ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from schedulog.errors import RuleError, ScheduleError, SchedulogError
from schedulog.facts.graph import Graph
from schedulog.facts.json_format import write_graph
from schedulog.facts.notation import read_notation
from schedulog.rules import pack_names
from schedulog.scheduler.language.functional import possible_clashes
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.rule_test import Case
from schedulog.scheduler.rule_tests import edit
from schedulog.scheduler.schedule import Edit, Scheduler

_SMALL: Final = (
    "x=load f32[8]; e=exp x; out e",
    "x=load f32[8]; y=load f32[8]; a=add x y; m=mul a x; out m, a",
    "x=load f32[8,8]; s=sum x axis=1; e=expand s to=[8,8]; d=sub x e; t=sum d axis=1; out t",
    "x=load f32[8,8]; m=max x axis=1; e=expand m to=[8,8]; d=sub x e; p=exp d; s=sum p axis=1; out s, p",
    "x=load f32[8,8]; s=sum x axis=0; t=sum x axis=1; a=neg s; b=neg t; out a, b",
    "x=load f32[8]; n=neg x; a=assign x n; f=add a x; out f",
    "x=load f32[8]; s=shrink x to=(0,4); p=pad s by=(0,4); e=exp p; c=contiguous e; q=cast c f16; out q",
    "x=load f32[8]; y=copy x device=B; e=exp y; out e",
)
"""Graphs in the short notation that are tried after those of the tests."""


@dataclass(frozen=True, eq=False)
class _Trial:
    """A graph to try, with the settings of its test, and what it is called."""

    name: str
    graph: Graph
    options: Mapping[str, int]
    edit: Edit | None


def check_clashes(program: Program, cases: Sequence[Case], folder: Path | None = None) -> list[RuleError]:
    """Two rules that disagree on some graph (SL132), one finding for each relation.

    The graph is written to `folder` as a witness. Rules for which no graph shows it are no finding: every evaluation
    looks again. Pairs of rules that come with schedulog are left to its own tests.
    """
    found: list[RuleError] = []
    shipped = set(pack_names())
    pairs = possible_clashes(program.rules, program.relations)
    own = (pair for pair in pairs if not {program.infos[rule.id].pack for rule in pair} <= shipped)
    for name in sorted({one.head.relation for one, _ in own}):
        only = _with_one_key(program, name)
        scheduler = Scheduler(only)
        for trial in _trials(cases):
            clash = _clash(scheduler, trial)
            if clash is not None:
                found.append(_finding(clash, name, trial, folder))
                break
    return found


def _with_one_key(program: Program, name: str) -> Program:
    """The program in which only one relation has a key, so that no other clash comes first."""
    relations = {
        n: r if n == name or r.is_input else replace(r, key=None) for n, r in program.relations.items()
    }
    return replace(program, relations=relations)


def _trials(cases: Sequence[Case]) -> Iterator[_Trial]:
    for case in cases:
        place = case.test.place
        name = f'test "{case.test.title}", {place.file}:{place.line}'
        # A test may state rows that no graph gives: these come last.
        if not case.given:
            yield _Trial(name, case.graph, case.options, None)
    for text in _SMALL:
        yield _Trial(text, read_notation(text), MappingProxyType({}), None)
    for case in cases:
        if case.given:
            place = case.test.place
            name = f'test "{case.test.title}" with its given facts, {place.file}:{place.line}'
            yield _Trial(name, case.graph, case.options, edit(case.given))


def _clash(scheduler: Scheduler, trial: _Trial) -> ScheduleError | None:
    try:
        scheduler.decide(trial.graph, trial.options, trial.edit)
    except ScheduleError as error:
        return error if error.code == "SL132" else None
    except SchedulogError:
        # What else is wrong with a graph is told where it is used.
        return None
    return None


def _finding(clash: ScheduleError, name: str, trial: _Trial, folder: Path | None) -> RuleError:
    witness = f"; seen on {trial.name}"
    if folder is not None:
        path = folder / f"SL132-{name}.json"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(write_graph(trial.graph), encoding="utf-8")
            witness = f"; witness graph: {path.as_posix()} ({trial.name})"
        except OSError as problem:
            witness += f" ({path.as_posix()} cannot be written: {problem.strerror})"
    return RuleError(
        clash.code, clash.message, where=clash.where, reason=clash.reason + witness, help=clash.help
    )
