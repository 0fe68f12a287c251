"""`schedulog verify`: try rules on many graphs, on every device, and say how far each is verified."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from schedulog.cli.check import rule_groups
from schedulog.cli.output import print_json
from schedulog.cli.run import AsJson
from schedulog.cli.verify_text import Asked, Line, record_of, tell, title_of, verdict_on
from schedulog.errors import RuleError, UsageError
from schedulog.facts.new_file import new_file
from schedulog.rules import USER_RULES, pack_names
from schedulog.scheduler.language.diagnostic import nearest
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.language.rule_file import Part
from schedulog.scheduler.language.rule_set import rule_names
from schedulog.scheduler.language.sources import with_required
from schedulog.scheduler.rule_tests import Suite, run_suites, suites
from schedulog.scheduler.rungs import keep
from schedulog.trials.ladder import SMALL, Counterexample, Effort, Findings, Progress, try_rules
from schedulog.trials.seeds import read_seeds, rules_of
from schedulog.verify import computing_devices

_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]*/[a-z0-9][a-z0-9_-]*")


What = Annotated[
    list[str] | None,
    typer.Argument(metavar="[RULE|PACK|FILE]...", help="What to try; all rules if left out."),
]
RuleSet = Annotated[
    list[str] | None, typer.Option("--rules", help="The rule set it is part of: packs, files or folders.")
]
Exhaustive = Annotated[
    int,
    typer.Option(
        metavar="K", min=0, max=5, help=f"All graphs of up to K operations; rung 3 asks for {SMALL}."
    ),
]
Devices = Annotated[list[str] | None, typer.Option("--device", help="A device; repeatable. All if left out.")]
Disable = Annotated[
    list[str] | None, typer.Option("--disable", metavar="RULE", help="Leave a rule out, to see it missed.")
]
SaveTest = Annotated[
    str | None,
    typer.Option("--save-counterexample", metavar="FILE", help="Add the counterexample to a file of tests."),
]


def verify_command(
    what: What = None,
    rules: RuleSet = None,
    graphs: Annotated[int, typer.Option(min=0, help="Random graphs to run.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Which random graphs.")] = 0,
    exhaustive: Exhaustive = 0,
    seconds: Annotated[float, typer.Option(min=0.0, help="After so long nothing new is begun.")] = 300.0,
    device: Devices = None,
    disable: Disable = None,
    save: SaveTest = None,
    record: Annotated[
        bool, typer.Option("--record", help="Write the rungs beside the rules (verified.json).")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Try rules on random and on all small graphs: the schedule ends, depends on no order, and gives the numbers of the
    unfused reference on every device. Exits 1 with a counterexample, made small."""
    asked = _asked(what or [], rules or [], disable or [])
    devices = _devices(device)
    effort = Effort(graphs, seed, exhaustive, seconds)
    with _watching() as watch:
        own = suites(asked.parts)
        seeds = read_seeds([*own, *(suites(["core"]) if "core" not in asked.parts else [])], asked.program)
        tested, failing = _own_tests(asked, own)
        found = try_rules(asked.program, asked.rules, devices, effort, watch, seeds)
    lines = [_line(asked.program, rule, found, effort, (tested, failing)) for rule in asked.rules]
    saved = _save(found.counterexample, save, asked) if save and found.counterexample else None
    kept = (
        keep(asked.program, {line.rule: line.rung for line in lines}, _how(found, effort)) if record else []
    )
    if as_json:
        print_json(record_of(lines, found, effort, asked, saved, kept))
    else:
        tell(lines, found, effort, asked)
        for path in [*([saved] if saved else []), *kept]:
            typer.echo(f"written: {path}")
    return int(found.counterexample is not None or bool(failing))


def _asked(what: Sequence[str], rules: Sequence[str], disable: Sequence[str]) -> Asked:
    """Raises RuleError for rules with mistakes, UsageError SL716 for a rule that does not exist."""
    ids = [name for name in what if _ID.fullmatch(name) and not Path(name).exists()]
    (named,) = rule_groups([name for name in what if name not in ids]) if len(what) > len(ids) else ([],)
    around: Sequence[Part] = rules or [
        n for n in dict.fromkeys(i.partition("/")[0] for i in ids) if n in pack_names()
    ]
    parts = with_required([*named, *around] or _usual())
    program = load_program(parts, disable=disable)
    known = rule_names(program.infos)
    for name in ids:
        if name not in known:
            raise UsageError("SL716", f"no rule is called `{name}`", where=name,
                             help=nearest(name, known) or "--rules names the pack or file that it is in")  # fmt: skip
    there = {rule.id for rule in program.rules}
    wanted = {known[name] for name in ids} | {r for part in named for r in _inside(program, part)}
    return Asked(tuple(parts), program, tuple(sorted(there & wanted if what else there)))


def _usual() -> list[Part]:
    return [Path(USER_RULES)] if Path(USER_RULES).is_dir() else ["classic"]


def _inside(program: Program, part: Part) -> Iterator[str]:
    """The rules of a pack, a file or a folder."""
    for info in program.infos.values():
        file = Path(info.place.file)
        if info.pack == part or (isinstance(part, Path) and (file == part or part in file.parents)):
            yield info.id


def _devices(wanted: Sequence[str] | None) -> list[str]:
    present = computing_devices()
    for name in wanted or ():
        if name not in present:
            raise typer.BadParameter(f"`{name}` is none of {', '.join(present)}", param_hint="--device")
    return list(dict.fromkeys(wanted or present))


def _own_tests(asked: Asked, found: Sequence[Suite]) -> tuple[set[str], set[str]]:
    """The rules with tests in their own file or beside it, and those of which one fails. Decisions only, as written."""
    with_tests = [suite for suite in found if suite.tests]
    results = run_suites(with_tests, ["sqlite"]) if with_tests else []
    tested: set[str] = set()
    failing: set[str] = set()
    for result in results:
        rules = rules_of(result.test, asked.program) & set(asked.rules)
        tested |= rules
        failing |= set() if result.passed else rules
    return tested, failing


def _line(
    program: Program, rule: str, found: Findings, effort: Effort, tests: tuple[set[str], set[str]]
) -> Line:
    kind = program.infos[rule].kind
    rung = found.rung(kind, rule, tested=rule in tests[0], failing=rule in tests[1])
    verdict = verdict_on(rung, kind, rule, found, effort, failing=rule in tests[1])
    return Line(rule, kind, rung, found.fired[rule], found.fired_small[rule], verdict)


def _how(found: Findings, effort: Effort) -> dict[str, Any]:
    return {
        "graphs": found.ran, "seed": effort.seed, "small_graphs": found.small if found.small_done else 0,
        "devices": list(found.devices),
    }  # fmt: skip


def _save(bad: Counterexample, path: str, asked: Asked) -> str:
    """Add the counterexample to a file of tests. Raises RuleError SL107 where it cannot be written."""
    try:
        before = Path(path).read_text(encoding="utf-8") + "\n" if Path(path).exists() else ""
        with new_file(path) as file:
            file.write((before + bad.sample.as_test(title_of(bad))).encode())
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError("SL107", "the counterexample cannot be saved", where=path, reason=str(error),
                        help="give another place; it is printed without --save-counterexample") from error  # fmt: skip
    return path


@contextmanager
def _watching() -> Iterator[Progress]:
    """A bar for each part of the trials, for people who watch."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _all: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("trials", total=None)
        yield lambda what, done, all_: bar.update(task, description=what, completed=done, total=all_)
