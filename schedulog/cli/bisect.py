"""`schedulog bisect`: the smallest set of rules, or the first decision, that breaks a graph."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

import typer

from schedulog.cli.inputs import check_options, pairs
from schedulog.cli.output import print_json, print_table, working
from schedulog.cli.run import AsJson, GraphPath, Options, Rules
from schedulog.cli.source import Constants, Dims, Shapes, bindings, read_graph_file, tell_assumed
from schedulog.codes import TITLES
from schedulog.facts.graph import Graph
from schedulog.facts.simplify import simplify
from schedulog.scheduler.engines.engine import Limits
from schedulog.scheduler.language.diagnostic import plural
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.record.program_text import write_program
from schedulog.scheduler.schedule import Scheduler
from schedulog.scheduler.why.question import names
from schedulog.trials.bisect import Culprits, FirstDecision, first_decision, smallest_rules
from schedulog.trials.condition import (
    Broken,
    any_break,
    error_code,
    kernel_count,
    make,
    wrong_numbers,
)
from schedulog.verify import computing_devices

_CANNOT_TELL: Final = 125
"""Exit status of a command that cannot judge: counts as not broken."""
_ROUNDS: Final = 1000
"""Rounds of a fixpoint before rules are given up, or four for each node of the graph, if that is more."""
_NOT_RUN: Final = (126, 127)
"""Exit statuses of the shell for a command that is not there or no program: they say nothing about the graph."""
_PLACE: Final = re.compile(r"\{(rules|graph)\}")
"""Where a command is given a file."""


@dataclass(frozen=True, eq=False)
class _Question:
    """A graph that breaks under a rule set with these switches, and what counts as broken."""

    path: str
    graph: Graph
    program: Program
    options: dict[str, int]
    condition: Broken


def bisect_command(
    graph: GraphPath,
    rules: Rules = None,
    decisions: Annotated[
        bool, typer.Option("--decisions", help="The first decision instead of the smallest set of rules.")
    ] = False,
    error: Annotated[str | None, typer.Option("--error", metavar="SLnnn", help="Broken: this error.")] = None,
    wrong: Annotated[bool, typer.Option("--wrong", help="Broken: wrong numbers.")] = False,
    kernels: Annotated[
        str | None, typer.Option("--kernels", metavar="'> 5'", help="Broken: so many kernels.")
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(
            "--check", metavar="COMMAND", help="Broken: the command fails. {rules} and {graph} are files."
        ),
    ] = None,
    dim: Dims = None,
    shape: Shapes = None,
    const: Constants = None,
    set_: Options = None,
    as_json: AsJson = False,
) -> None:
    """Find what breaks a graph: of the rules beside core the fewest that are needed, or the first decision.

    Without an option an error counts as broken, and wrong numbers on any device.
    """
    condition = _condition(error, kernels, check, wrong=wrong)
    if decisions and check is not None:
        raise typer.BadParameter("decisions are no rules that a command could be given", param_hint="--check")
    options = pairs(set_ or (), "--set", int)
    program = load_program(rules or ["classic"])
    check_options(program, options)
    whole = read_graph_file(graph, bindings(dim, shape, const))
    simple = simplify(whole, preserves="values").graph
    question = _Question(graph, simple, program, {"verify": 1} | options, condition)
    if not as_json:
        tell_assumed(whole.assumed)
    with working(f"bisecting {graph}"):
        found = _decision(question) if decisions else _rules(question, check)
    if as_json:
        print_json(_record(found, program))
    elif isinstance(found, Culprits):
        _tell_rules(found, program)
    else:
        _tell_decision(found)


def _condition(error: str | None, kernels: str | None, check: str | None, *, wrong: bool) -> Broken:
    """What counts as broken. Raises BadParameter for several answers, or one that is not well formed."""
    given = [name for name, there in
             (("--error", error), ("--wrong", wrong or None), ("--kernels", kernels), ("--check", check)) if there is not None]  # fmt: skip
    if len(given) > 1:
        raise typer.BadParameter("give one of them", param_hint=", ".join(given))
    if check is not None and not check.strip():
        raise typer.BadParameter("the command is empty", param_hint="--check")
    if kernels is not None:
        counted = kernel_count(kernels)
        if counted is None:
            raise typer.BadParameter(f"`{kernels}` is not of the form '> 5'", param_hint="--kernels")
        return counted
    if error is not None:
        if error.upper() not in TITLES:
            raise typer.BadParameter(f"there is no error code `{error}`", param_hint="--error")
        return error_code(error.upper())
    return wrong_numbers(computing_devices()) if wrong else any_break(computing_devices())


def _rules(question: _Question, command: str | None) -> Culprits:
    if command is not None:
        with TemporaryDirectory() as folder:
            return smallest_rules(question.program, _by_command(command, question, Path(folder)))
    return smallest_rules(question.program, partial(_judged, question))


def _judged(question: _Question, program: Program) -> str:
    """What is broken under these rules. Rules that do not end are given up soon: that is asked many times."""
    scheduler = Scheduler(program, limits=Limits(rounds=max(_ROUNDS, 4 * len(question.graph.nodes))))
    return question.condition(make(scheduler, question.graph, question.options))


def _decision(question: _Question) -> FirstDecision:
    return first_decision(question.program, question.graph, question.options, question.condition)


def _by_command(command: str, question: _Question, folder: Path) -> Callable[[Program], str]:
    """Ask a command of the shell: 0 is right, 125 cannot tell, all else is broken. Raises BadParameter if there is none."""
    path = folder / "rules.dl"
    core = load_program(()).relations.keys()

    def judge(program: Program) -> str:
        path.write_text(_policy_text(program, core), encoding="utf-8")
        told = {"rules": str(path), "graph": question.path}
        line = _PLACE.sub(lambda place: _quoted(told[place[1]]), command)
        environment = os.environ | {"SCHEDULOG_RULES": told["rules"], "SCHEDULOG_GRAPH": told["graph"]}
        done = subprocess.run(line, shell=True, env=environment, capture_output=True, check=False)
        if done.returncode in _NOT_RUN:
            raise typer.BadParameter(
                f"the shell cannot run `{command}`: {_last_line(done.stderr)}", param_hint="--check"
            )
        return "" if done.returncode in (0, _CANNOT_TELL) else "the command fails"

    return judge


def _last_line(told: bytes) -> str:
    lines = told.decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it says nothing")


def _quoted(path: str) -> str:
    """A path as one word of the shell, whatever it is called."""
    return subprocess.list2cmdline([path]) if os.name == "nt" else shlex.quote(path)


def _policy_text(program: Program, core: Sequence[str] | Any) -> str:
    """The rules beside core as one file, with what they declare."""
    used = load_program(()).functions.keys()
    policy = replace(
        program,
        relations={name: r for name, r in program.relations.items() if name not in core},
        functions={name: f for name, f in program.functions.items() if name not in used},
        rules=tuple(rule for rule in program.rules if program.infos[rule.id].pack != "core"),
    )
    return write_program(policy)


def _tell_rules(found: Culprits, program: Program) -> None:
    if not found.clauses:
        typer.echo(f"{found.broken}: core alone breaks it, without any of {plural(found.among, 'clause')}")
        return
    are = "is" if len(found.clauses) == 1 else "are"
    typer.echo(
        f"{found.broken}: {len(found.clauses)} of {plural(found.among, 'clause')} beside core {are} needed "
        f"({plural(found.tried, 'rule set')} tried)\n"
    )
    rules = {rule.name: rule for rule in program.rules}
    rows = [
        (name, f"{rules[name].place.file}:{rules[name].place.line}", " ".join(rules[name].text.split()))
        for name in found.clauses
    ]
    print_table(("clause", "place", "text"), rows)


def _tell_decision(found: FirstDecision) -> None:
    if found.decision is None:
        typer.echo(f"{found.broken}: before any of {plural(found.among, 'decision')} is taken")
        return
    typer.echo(
        f"{found.broken}: decision {found.number} of {found.among} breaks it, those before it do not\n"
    )
    typer.echo(_proof(found))


def _proof(found: FirstDecision) -> str:
    """The decision with its proof."""
    assert found.decision is not None
    model = found.decisions.model
    proof = model.why(found.decision.relation, found.decision.row)
    return proof.render(names(found.decisions).atom)


def _record(found: Culprits | FirstDecision, program: Program) -> dict[str, Any]:
    if isinstance(found, FirstDecision):
        taken = found.decision
        return {
            "broken": found.broken,
            "decision": None if taken is None else {"relation": taken.relation, "values": list(taken.values)},
            "number": found.number,
            "decisions": found.among,
            "why": None if taken is None else _proof(found),
        }
    rules = {rule.name: rule for rule in program.rules}
    return {
        "broken": found.broken,
        "clauses": [
            {"name": n, "file": rules[n].place.file, "line": rules[n].place.line, "text": rules[n].text}
            for n in found.clauses
        ],
        "among": found.among,
        "tried": found.tried,
    }
