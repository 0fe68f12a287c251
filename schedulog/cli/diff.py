"""`schedulog diff`: what another rule, or one less, changes on a graph or on thousands of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import typer

from schedulog.cli.diff_items import Item, collected, count_of, named
from schedulog.cli.diff_kept import Kept, usual_place
from schedulog.cli.diff_options import (
    Ablate,
    Brief,
    Corpus,
    Devices,
    Drop,
    Execute,
    FailOn,
    FailOnOption,
    Graphs,
    Jobs,
    MostWork,
    Only,
    Replace,
    Resume,
    Seed,
    SetAfter,
    With,
)
from schedulog.cli.diff_rules import changed_rules, left_out
from schedulog.cli.diff_text import ablation_record, diffs_record, show_ablation, show_diffs
from schedulog.cli.diff_work import Answer, Question, answer_all
from schedulog.cli.inputs import check_asked, pairs
from schedulog.cli.output import print_json
from schedulog.cli.pool import cores, in_processes, progress
from schedulog.cli.run import AsJson, Engine, Options, Rules
from schedulog.cli.source import Constants, Dims, Shapes, bindings
from schedulog.scheduler.given import check_switches
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.schedule import Scheduler

_PART = 8
"""Graphs that a process is given at a time, at most."""
_LARGE = 100_000
"""Characters of recorded calls that end a part: large graphs are done one by one, so that little is lost."""
_WORTH = 16
"""Graphs that justify one more process: starting it takes about as long as comparing so many."""


def diff_command(
    graphs: Graphs = None,
    corpus: Corpus = None,
    rules: Rules = None,
    with_: With = None,
    drop: Drop = None,
    replace: Replace = None,
    set_: Options = None,
    set_after: SetAfter = None,
    ablate: Ablate = False,
    only: Only = None,
    execute: Execute = False,
    device: Devices = None,
    seed: Seed = 0,
    most_work: MostWork = 100_000_000,
    dim: Dims = None,
    shape: Shapes = None,
    const: Constants = None,
    engine: Engine = "sqlite",
    fail_on: FailOnOption = FailOn.ANY,
    resume: Resume = None,
    jobs: Jobs = None,
    brief: Brief = False,
    as_json: AsJson = False,
) -> int:
    """Compare two rule sets on graphs: decisions, kernels, bytes, recomputed operations, memory, results, and why.

    Before are the rules as given, after them what --with, --drop, --replace and --set-after make of them.
    """
    _check_use(bool(graphs or corpus), bool(with_ or drop or replace or set_after or ablate), only, ablate)
    if resume is not None and not corpus:
        raise typer.BadParameter(
            "it keeps the answers about a --corpus: give that too", param_hint="--resume"
        )
    before, after = changed_rules(rules or ["classic"], with_ or (), replace or (), drop or ())
    options, later = _switches((before, after), set_ or (), set_after or ())
    if engine != "sqlite":
        # An engine that cannot be used is one error, not one a graph.
        Scheduler(before, engine)
    question = Question(
        before, after, options, later, bindings(dim, shape, const), engine,
        left_out(after, only or ()) if ablate else None, _devices(execute, device or ()), seed, most_work, brief=brief,
    ).known()  # fmt: skip
    answers = _answers(question, graphs or [], corpus or [], resume, jobs)
    _tell(answers, ablate=ablate, whole=not corpus, as_json=as_json)
    return int(any(_fails(answer, fail_on) for answer in answers))


def _tell(answers: Sequence[Answer], *, ablate: bool, whole: bool, as_json: bool) -> None:
    if as_json:
        print_json(ablation_record(answers) if ablate else diffs_record(answers))
    elif ablate:
        show_ablation(answers)
    else:
        show_diffs(answers, whole=whole)


def _switches(
    programs: tuple[Program, Program], both: Sequence[str], second: Sequence[str]
) -> tuple[dict[str, int], dict[str, int]]:
    """The switches of each side. Raises UsageError SL706 and SL731."""
    options = pairs(both, "--set", int)
    later = options | pairs(second, "--set-after", int)
    check_asked(programs, options)
    check_asked(programs[1:], later.keys() - options.keys(), "--set-after")
    for program, switches in zip(programs, (options, later), strict=True):
        check_switches(program, switches)
    return options, later


def _check_use(about: bool, edited: bool, only: list[str] | None, ablate: bool) -> None:
    """Raises BadParameter where there is nothing to compare."""
    if not about:
        raise typer.BadParameter("give a graph, or --corpus PATH", param_hint="GRAPH")
    if not edited:
        raise typer.BadParameter("say what is to change: --with, --drop, --replace, --set-after, or --ablate",
                                 param_hint="diff")  # fmt: skip
    if only and not ablate:
        raise typer.BadParameter("it limits --ablate: give that too", param_hint="--only")


def _devices(execute: bool, named: Sequence[str]) -> tuple[str, ...]:
    """The devices to run on. Raises DeviceError SL500 and SL501, BadParameter for one that computes nothing."""
    if not named and not execute:
        return ()
    from schedulog.runtimes import computes, open_device
    from schedulog.verify import computing_devices

    for name in named:
        kind = name.partition(":")[0]
        open_device(kind)
        if not computes(kind):
            raise typer.BadParameter(
                f"`{name}` computes no values that could be compared", param_hint="--device"
            )
    return tuple(dict.fromkeys(named)) or tuple(computing_devices())


def _answers(
    question: Question, graphs: Sequence[str], corpus: Sequence[str], resume: str | None, jobs: int | None
) -> list[Answer]:
    """The answer for every graph, in their order; those about a corpus are kept until all are there."""
    own = list(named(graphs))
    found = _compared(question, own, len(own), jobs, None)
    if len(own) == 1 and not corpus and found[0].error is not None:
        # One graph that is broken is the error of the command.
        own[0].graph(question.bindings)
    if not corpus:
        return found
    place = Path(resume) if resume else usual_place(question.sha)
    kept = Kept(place, question.sha)
    try:
        total = count_of(corpus)
        found += _compared(question, collected(corpus), total, jobs, kept)
    finally:
        kept.close()
    if resume is None:
        # All is told: what is asked again is found again.
        with suppress(OSError):
            place.unlink()
    return found


def _compared(
    question: Question, items: Iterable[Item], total: int, jobs: int | None, kept: Kept | None
) -> list[Answer]:
    """Answers that are kept already, and the others as they come."""
    done: list[Answer] = []
    wanted = jobs or max(1, min(cores(), total // _WORTH))
    with progress(total, "comparing") as step:

        def fresh() -> Iterator[Item]:
            for item in items:
                answer = None if kept is None else kept.find(item)
                if answer is None:
                    yield item
                else:
                    done.append(answer)
                    step()

        for answers in in_processes(answer_all, _parts(question, fresh()), wanted, "diff"):
            if kept is not None:
                kept.add(answers)
            for answer in answers:
                done.append(answer)
                step()
    return sorted(done, key=lambda answer: answer.number)


def _parts(question: Question, items: Iterator[Item]) -> Iterator[tuple[Question, list[Item]]]:
    part: list[Item] = []
    for item in items:
        part.append(item)
        if len(part) == _PART or sum(len(item.text) for item in part) > _LARGE:
            yield question, part
            part = []
    if part:
        yield question, part


def _fails(answer: Answer, fail_on: FailOn) -> bool:
    """Whether an answer makes the exit status 1. To leave a rule out in turn is no finding, wrong results are."""
    record = answer.record
    if answer.error is not None:
        return True
    if "rules" in record:
        return any(rule["wrong"] for rule in record["rules"])
    wrong = any(result["wrong"] for result in record["results"])
    return bool(
        wrong
        or (fail_on != FailOn.WRONG and record["worse"])
        or (fail_on == FailOn.ANY and not record["same"])
    )
