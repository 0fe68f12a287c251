"""`schedulog replay`: schedule captured calls again, and tell what changed and why."""

from __future__ import annotations

from typing import Annotated

import typer

from schedulog.cli.inputs import check_asked, pairs
from schedulog.cli.output import print_json
from schedulog.cli.replay_pool import Job, replay_all
from schedulog.cli.replay_text import changed, replay_record, show_replay
from schedulog.cli.run import AsJson, Options
from schedulog.errors import RuleError
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.record.capture import Captures
from schedulog.scheduler.replay import Instead, rules_today
from schedulog.scheduler.schedule import Scheduler


def replay_command(
    database: Annotated[str, typer.Argument(metavar="CALLS.db", help="Captured calls.")],
    rules: Annotated[
        list[str] | None,
        typer.Option("--rules", help="A pack, file or folder instead of the captured rules; repeatable."),
    ] = None,
    set_: Options = None,
    engine: Annotated[str | None, typer.Option(help="sqlite, pydatalog or clingo.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; as many as cores if left out.")] = None,
    as_json: AsJson = False,
) -> int:
    """Schedule captured calls again, and report what changed, with the rule responsible. Exits 1 if anything did."""
    options = pairs(set_ or (), "--set", int)
    captures = Captures(database)
    program = load_program(rules) if rules else None
    if engine is not None:
        # An engine that cannot be used is one error, not one a call.
        Scheduler(program or load_program(()), engine)
    if options:
        check_asked(_programs(captures) if program is None else [program], options)
    results = replay_all(captures, _job(database, Instead(program, engine, options)), jobs)
    if as_json:
        print_json(replay_record(results))
    else:
        show_replay(results)
    return int(any(changed(result) for result in results))


def _job(database: str, instead: Instead) -> Job:
    sha = "" if instead.program is None else instead.program.sha
    return Job(database, f"{sha} {instead.engine} {sorted(instead.options.items())}", instead)


def _programs(captures: Captures) -> list[Program]:
    """The rule sets of the calls; of those that cannot be loaded any more the replay will tell."""
    found = []
    for given in captures.given():
        try:
            found.append(rules_today(given))
        except RuleError:
            continue
    return found
