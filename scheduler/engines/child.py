"""A process of its own for an engine that takes no signal while it works: it ends by the time, the memory and by Ctrl-C.

It runs a module of this folder and speaks lines of JSON: a message in, then any number of `{"call": name, "arguments":
[...]}` out with `{"value": n}` or `{"failed": reason}` in, and at last an answer out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from types import MappingProxyType
from typing import Any, Final

from schedulog.scheduler.engines.engine import Limits

Reply = dict[str, Any]
NO_MEMORY: Final[Mapping[str, str]] = MappingProxyType({"failed": "memory"})
"""What the process answers when it has no more memory."""
Call = Callable[[str, Sequence[int]], Reply]
"""Computes a function for the process: `{"value": n}`, or `{"failed": reason}`."""


class ChildEnded(Exception):
    """The process gave no answer, for the reason that is the text."""


@dataclass(slots=True)
class Time:
    """The seconds that are left to one evaluation, all its questions together."""

    left: float


class Child:
    """The process. It is started when first asked and again after it was ended.

    Threads take turns, a question with all its calls each: it knows no other way to tell whose line it reads.
    """

    def __init__(self, module: str, limits: Limits) -> None:
        self.module = module
        self.limits = limits
        self.turn = threading.Lock()
        self.process: subprocess.Popen[str] | None = None

    def started(self) -> subprocess.Popen[str]:
        """Return the running process."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
            )
        return self.process

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def ask(self, question: Mapping[str, Any], call: Call, time: Time) -> Reply:
        """Return the answer to one question, and take what it lasted from `time`.

        Raises ChildEnded without an answer, when the time is over at the latest.
        """
        with self.turn:
            begin = monotonic()
            try:
                reply = self._timed(question, call, time.left)
            except BaseException:
                # Half a conversation cannot go on: the next question gets a new process.
                self.close()
                raise
            time.left -= monotonic() - begin
        return reply

    def _timed(self, question: Mapping[str, Any], call: Call, seconds: float) -> Reply:
        late = threading.Event()
        process = self.started()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(max(seconds, 0.0), end)
        timer.start()
        limits = {"seconds": self.limits.seconds, "memory": self.limits.memory}
        try:
            reply = _exchange(process, {**question, **limits})
            while "call" in reply:
                reply = _exchange(process, call(reply["call"], reply["arguments"]))
        except (BrokenPipeError, EOFError, json.JSONDecodeError):
            code = process.wait()
            raise ChildEnded(
                f"it had not ended after {self.limits.seconds:g} s"
                if late.is_set()
                else f"its process ended with code {code}"
            ) from None
        finally:
            timer.cancel()
        if reply == NO_MEMORY:
            raise ChildEnded(f"it needs more than {self.limits.memory // 2**20} MiB of memory")
        return reply


def _exchange(process: subprocess.Popen[str], message: Mapping[str, Any]) -> Reply:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line.endswith("\n"):
        raise EOFError
    reply: Reply = json.loads(line)
    return reply


def restrict(question: Mapping[str, Any]) -> None:
    """In the process: let it end when its parent is gone and cannot end it, and fail when it needs more memory.

    The question's `seconds` of the processor from now on, its `memory` in bytes of address space; where the system has no
    such limits, none hold.
    """
    if sys.platform == "win32":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + question["seconds"]) + 2)
    _lower(resource.RLIMIT_AS, question["memory"])


def _lower(kind: int, most: int) -> None:
    """Set a limit, but not above what the process may have."""
    import resource

    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
