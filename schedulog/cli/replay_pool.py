"""Captured calls scheduled again, in several processes where that is worth it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from schedulog.cli.pool import cores, in_processes, progress
from schedulog.errors import SchedulogError
from schedulog.scheduler.compare import Difference
from schedulog.scheduler.record.capture import Captures
from schedulog.scheduler.replay import Instead, Replay

_WORTH: Final = 32
"""Calls that justify one more process: starting it takes about as long as scheduling so many."""


@dataclass(frozen=True)
class Job:
    """What every process is told: the database, and what replaces what was captured, identified by `key`."""

    database: str
    key: str
    instead: Instead = field(compare=False)


@dataclass(frozen=True, slots=True)
class Result:
    """One call: the difference, or the error because of which it could not be scheduled again."""

    number: int
    name: str
    difference: Difference | None = None
    error: Failed | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """An error as it travels between processes."""

    code: str
    message: str
    where: str = ""
    reason: str = ""
    help: str = ""


def replay_all(captures: Captures, job: Job, jobs: int | None) -> list[Result]:
    """Every call once, in their order. Raises DatabaseError: SL602 the file is gone, SL612 a process died."""
    numbers = captures.numbers
    wanted = jobs or max(1, min(cores(), len(numbers) // _WORTH))
    size = 1 if wanted == 1 else max(1, min(8, len(numbers) // (4 * wanted)))
    parts = ((job, numbers[i : i + size]) for i in range(0, len(numbers), size))
    results: list[Result] = []
    # With one job the work is done here, where an earlier replay may have read the database as it was then.
    _worker.cache_clear()
    with progress(len(numbers)) as step:
        for found in in_processes(_replayed, parts, wanted, job.database):
            for result in found:
                results.append(result)
                step()
    return sorted(results, key=lambda result: result.number)


@cache
def _worker(job: Job) -> tuple[Captures, Replay]:
    """What a process keeps from call to call: above all the rule sets it has compiled."""
    return Captures(job.database), Replay(job.instead)


def _replayed(part: tuple[Job, Sequence[int]]) -> list[Result]:
    job, numbers = part
    captures, replay = _worker(job)
    return [_result(captures, replay, number) for number in numbers]


def _result(captures: Captures, replay: Replay, number: int) -> Result:
    name = captures.names[number][0]
    try:
        return Result(number, name, replay(captures.read(number)))
    except SchedulogError as error:
        failed = Failed(error.code, error.message, str(error.where), error.reason, error.help)
        return Result(number, name, error=failed)
    except Exception as error:  # noqa: BLE001 (a bug that one graph meets is what a replay is to find)
        return Result(number, name, error=Failed("SL900", f"{type(error).__name__}: {error}"))
