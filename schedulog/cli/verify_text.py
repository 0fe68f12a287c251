"""What `schedulog verify` tells: a line a rule, and the counterexample as a finding and as a rule test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from schedulog.cli.output import print_table
from schedulog.errors import RuleError
from schedulog.scheduler.language.diagnostic import plural
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.language.rule_file import Part
from schedulog.scheduler.rungs import RUNGS
from schedulog.trials.ladder import SMALL, Counterexample, Effort, Findings


@dataclass(frozen=True, eq=False)
class Asked:
    """What is verified: rules by id, as part of a rule set."""

    parts: tuple[Part, ...]
    program: Program
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """What was found about one rule."""

    rule: str
    kind: str
    rung: int
    random: int
    small: int
    verdict: str


def verdict_on(rung: int, kind: str, rule: str, found: Findings, effort: Effort, *, failing: bool) -> str:
    if failing:
        return "a test of its own fails"
    if found.counterexample is not None:
        return "needed for the counterexample" if rung == 0 else "unproved: stopped at a counterexample"
    late = f" (limit: {effort.seconds:g} s)" if found.late else ""
    if rung == 3:
        return "verified: " + RUNGS[3]
    if rung == 2 and effort.exhaustive >= SMALL and not found.small_done:
        return f"unproved, rung 2 passed{late}"
    if rung == 2:
        return ("lets pass whatever has a schedule" if kind == "check" else RUNGS[2]) + late
    return f"unproved: it fired on none of {plural(found.drawn, 'graph')}{late}"


def title_of(bad: Counterexample) -> str:
    what = {
        "wrong": "wrong numbers", "error": f"an error ({bad.fault.code})", "endless": "no end of the evaluation",
        "undefined": "atoms neither true nor false", "order": "decisions that depend on an order", "crash": "a crash",
    }[bad.fault.kind]  # fmt: skip
    return f"counterexample: {what}"


def finding_of(bad: Counterexample, asked: Asked) -> RuleError:
    """The counterexample as an error at the first clause that is needed for it."""
    places = {rule.name: rule.place for rule in asked.program.rules}
    culprits = [name for name in bad.culprits if name in places]
    first = bad.fault.text.splitlines()[0].removeprefix(f"error[{bad.fault.code}] ") if bad.fault.text else ""
    who = ", ".join(culprits) or "no rule of a policy: core alone, or what is left of it"
    return RuleError(
        "SL143",
        f"{title_of(bad).removeprefix('counterexample: ')} on a graph that has a schedule",
        where=places[culprits[0]] if culprits else "core",
        reason=f"{first}; needed for it: {who}",
        help="the test below shows it; `schedulog why` and `schedulog diff` say what the rules do there",
    )


def tell(lines: Sequence[Line], found: Findings, effort: Effort, asked: Asked) -> None:
    rows = [(i.rule, i.kind, i.rung, i.random, i.small if found.small else None, i.verdict) for i in lines]
    print_table(("rule", "kind", "rung", "random", "small", "verdict"), rows)
    parts = [f"{plural(found.ran, 'random graph')} run of {found.drawn} drawn (seed {effort.seed})"]
    parts += [f"{found.refused} refused by the policy or core"] if found.refused else []
    parts += [f"{found.small} of {found.small_total} small graphs"] if found.small_total else []
    typer.echo(f"\n{', '.join(parts)}; on {', '.join(found.devices)}")
    if found.counterexample is not None:
        typer.echo(f"\n{finding_of(found.counterexample, asked)}\n")
        typer.echo(found.counterexample.sample.as_test(title_of(found.counterexample)), nl=False)
        for kernel in found.counterexample.kernels:
            made = f" computes {' '.join(kernel.members)}" if kernel.members else ""
            typer.echo(f"% kernel {kernel.name}{made} reads {' '.join(kernel.reads) or 'nothing'}")


def record_of(
    lines: Sequence[Line],
    found: Findings,
    effort: Effort,
    asked: Asked,
    saved: str | None,
    kept: Sequence[Path],
) -> dict[str, Any]:
    bad = found.counterexample
    return {
        "rules": [asdict(line) for line in lines],
        "random_graphs": {"run": found.ran, "drawn": found.drawn, "refused": found.refused, "seed": effort.seed},
        "small_graphs": {"run": found.small, "all": found.small_total, "operations": effort.exhaustive},
        "devices": list(found.devices),
        "seconds": found.seconds,
        "late": found.late,
        "counterexample": None
        if bad is None
        else {
            "kind": bad.fault.kind, "code": bad.fault.code, "text": bad.fault.text, "culprits": list(bad.culprits),
            "graph": str(bad.sample.recipe), "options": dict(bad.sample.options), "test": bad.sample.as_test(title_of(bad)),
            "kernels": [asdict(kernel) for kernel in bad.kernels],
        },
        "written": [str(path) for path in [*([saved] if saved else []), *kept]],
    }  # fmt: skip
