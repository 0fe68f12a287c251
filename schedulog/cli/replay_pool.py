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
from functools import cache
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
    where: str = ""
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
    numbers, size = captures.numbers, max(1, min(8, len(captures.numbers) // (4 * jobs)))
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(jobs, context) as pool:
        try:
            with _interrupts_held():
                starts = range(0, len(numbers), size)
                parts = [pool.submit(_in_process, job, numbers[i : i + size]) for i in starts]
            for part in parts:
                yield from part.result()
        except BrokenProcessPool as error:
            raise DatabaseError("SL612", "a process ended while it scheduled", where=job.database, reason=str(error),
                                help="--jobs 1 shows at which call, or needs less memory") from error  # fmt: skip
        except BaseException:
            # What is being scheduled there is of no use any more, and may take long. The pool then ends by itself.
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits while processes are started, and does not reach them: this process ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@cache
def _worker(job: Job) -> tuple[Captures, Replay]:
    """What a process keeps from call to call: above all the rule sets it has compiled."""
    return Captures(job.database), Replay(job.instead)


def _in_process(job: Job, numbers: Sequence[int]) -> list[Result]:
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
