"""Captured calls scheduled again, in several processes where that is worth it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final

from schedulog.errors import DatabaseError, SchedulogError
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
    reason: str = ""
    help: str = ""


def replay_all(captures: Captures, job: Job, jobs: int | None) -> list[Result]:
    """Every call once, in their order. Raises DatabaseError: SL602 the file is gone, SL612 a process died."""
    numbers = captures.numbers
    wanted = jobs or max(1, min(_cores(), len(numbers) // _WORTH))
    with _progress(len(numbers)) as step:
        results = []
        for result in _in_turn(job, captures) if wanted == 1 else _at_once(job, captures, wanted):
            results.append(result)
            step()
    return results


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_turn(job: Job, captures: Captures) -> Iterator[Result]:
    replay = Replay(job.instead)
    return (_result(captures, replay, number) for number in captures.numbers)


def _at_once(job: Job, captures: Captures, jobs: int) -> Iterator[Result]:
    # Spawned, not forked: a fork would take over whatever locks the threads of this process hold.
    context = multiprocessing.get_context("spawn")
    size = max(1, min(8, len(captures.numbers) // (4 * jobs)))
    with ProcessPoolExecutor(jobs, context, _ignore_interrupt) as pool:
        try:
            yield from pool.map(partial(_in_process, job), captures.numbers, chunksize=size)
        except BrokenProcessPool as error:
            raise DatabaseError("SL612", "a process ended while it scheduled", where=job.database, reason=str(error),
                                help="--jobs 1 shows at which call, or needs less memory") from error  # fmt: skip
        except BaseException:
            # What is being scheduled there is of no use any more, and may take long.
            _stop(pool)
            raise


def _stop(pool: ProcessPoolExecutor) -> None:
    pool.shutdown(wait=False, cancel_futures=True)
    for process in multiprocessing.active_children():
        process.terminate()


def _ignore_interrupt() -> None:
    """Ctrl-C reaches all processes of a terminal; the first one ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@cache
def _worker(job: Job) -> tuple[Captures, Replay]:
    """What a process keeps from call to call: above all the rule sets it has compiled."""
    return Captures(job.database), Replay(job.instead)


def _in_process(job: Job, number: int) -> Result:
    return _result(*_worker(job), number)


def _result(captures: Captures, replay: Replay, number: int) -> Result:
    name = captures.names[number][0]
    try:
        return Result(number, name, replay(captures.read(number)))
    except SchedulogError as error:
        return Result(number, name, error=Failed(error.code, error.message, error.reason, error.help))
    except Exception as error:  # noqa: BLE001 (a bug that one graph meets is what a replay is to find)
        return Result(number, name, error=Failed("SL900", f"{type(error).__name__}: {error}"))


@contextmanager
def _progress(count: int) -> Iterator[Callable[[], None]]:
    """A function to call after each step; shows a bar if people watch."""
    if not (sys.stderr.isatty() and count > 1):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    columns: Sequence[Any] = (
        *Progress.get_default_columns()[:2],
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("scheduling", total=count)
        yield lambda: bar.advance(task)
