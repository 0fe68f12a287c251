"""Work spread over processes: results as they come, a bar for people who watch, and an end at once on Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from schedulog.errors import DatabaseError

Part = TypeVar("Part")
Result = TypeVar("Result")


def cores() -> int:
    """How many processes can work at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_processes(
    work: Callable[[Part], Result], parts: Iterable[Part], jobs: int, where: str
) -> Iterator[Result]:
    """What `work` makes of every part, in the order in which it is done.

    With one job it is done here. Else `work`, a function of a module, and its parts and results travel between processes;
    no more parts are taken than are soon worked on. Raises DatabaseError SL612 where a process dies; `where` says over what.
    """
    if jobs == 1:
        yield from map(work, parts)
        return
    # Spawned, not forked: a fork would take over whatever locks the threads of this process hold.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(jobs, context, _end_with_parent) as pool:
        try:
            yield from _as_they_come(pool, work, iter(parts), 3 * jobs)
        except BrokenProcessPool as error:
            raise DatabaseError("SL612", "a process ended while it scheduled", where=where, reason=str(error),
                                help="--jobs 1 shows at which call, or needs less memory") from error  # fmt: skip
        except BaseException:
            # What is being done there is of no use any more, and may take long. The pool then ends by itself.
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise


def _end_with_parent() -> None:
    """Let this process end when the one that started it is gone, however that ended: waiting for work it would not notice."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _as_they_come(
    pool: ProcessPoolExecutor, work: Callable[[Part], Result], parts: Iterator[Part], ahead: int
) -> Iterator[Result]:
    waiting: set[Future[Result]] = set()
    while True:
        with _interrupts_held():
            waiting |= {pool.submit(work, part) for part in islice(parts, ahead - len(waiting))}
        if not waiting:
            return
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()


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


@contextmanager
def progress(count: int | None, what: str = "scheduling") -> Iterator[Callable[[], None]]:
    """A function to call after each of `count` steps (None: nobody knows how many); shows a bar if people watch."""
    if not sys.stderr.isatty() or count in (0, 1):
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
        task = bar.add_task(what, total=count)
        yield lambda: bar.advance(task)
