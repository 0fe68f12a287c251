"""Keeping what is scheduled: where scheduling calls are captured to, and capturing one.

`SCHEDULOG_CAPTURE=CALLS.db` captures every call of every program that uses schedulog, the command line included. This is
the one place where the variable is read: when a process first schedules, once. `with schedulog.capture("calls.db")` does
the same for a block of code, and `schedule(..., capture=...)` for one call; the nearest of the three counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Final

from schedulog.arguments import path_text
from schedulog.facts.graph import Graph
from schedulog.scheduler.language.rule_file import Part
from schedulog.scheduler.language.sources import own_sources, pack_names_of
from schedulog.scheduler.record.capture import GivenRules, add_capture, capture_of
from schedulog.scheduler.record.outcome import Attempt, outcome_of
from schedulog.scheduler.schedule import Scheduler

VARIABLE: Final = "SCHEDULOG_CAPTURE"

# A context variable, not an attribute: a block captures its own calls, not those of other threads or tasks.
_BLOCK: Final[ContextVar[Path | None]] = ContextVar("schedulog_capture", default=None)


@contextmanager
def capture(path: str | os.PathLike[str]) -> Iterator[None]:
    """Capture every scheduling call of this block, in this thread, to the database at `path`.

    `schedulog replay` schedules them again. A call raises DatabaseError SL602, SL603 or SL604 where that cannot be written.
    Raises UsageError SL730 for what is no path.
    """
    token = _BLOCK.set(Path(path_text("path", path)).absolute())
    try:
        yield
    finally:
        _BLOCK.reset(token)


def destination(given: str | os.PathLike[str] | None) -> Path | None:
    """Where a call is captured to: `given`, else what the block says, else what the environment says, else nowhere.

    Raises UsageError SL730.
    """
    if given is not None:
        return Path(path_text("capture", given))
    return _BLOCK.get() or _of_environment()


@cache
def _of_environment() -> Path | None:
    """Made absolute, so that a program that changes its folder later still writes to one file."""
    named = os.environ.get(VARIABLE)
    return Path(named).absolute() if named else None


def keep(
    path: Path,
    graph: Graph,
    rules: tuple[Sequence[Part], Sequence[str]],
    scheduler: Scheduler,
    options: Mapping[str, int],
    made: Attempt,
) -> None:
    """Add a call to the database at `path`; `rules` are the packs that were given and the ids left out.

    Raises DatabaseError SL602, SL603, SL604, and GraphError SL213.
    """
    packs, disable = rules
    own = own_sources(packs)
    left_out = dict.fromkeys([*disable, *(name for pack in own.packs for name in pack.disable)])
    given = GivenRules(pack_names_of(packs), own.files, tuple(left_out))
    outcome = outcome_of(made)
    add_capture(capture_of(graph, given, scheduler.program, scheduler.engine, options, outcome), path)
