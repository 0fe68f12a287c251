"""The system's C compiler: which one there is, what it can do, and running it with a time limit."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

from schedulog.errors import DeviceError

TIME_LIMIT: Final = 300.0  # seconds one compiler call may take
SHOWN_LINES: Final = 12

BASE_FLAGS: Final = (
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fno-tree-slp-vectorize",  # loops are vectorised as loops; as straight code they end in permutations
)
SHARED_FLAGS: Final = ("-w", "-fPIC", "-shared")

_PROBES: Final = (("-march=native", "-fopenmp"), ("-march=native",), ())
_PROBE_TEXT: Final = """#ifdef _OPENMP
#include <omp.h>
int probe(void) { return omp_get_max_threads(); }
#else
int probe(void) { return 1; }
#endif
"""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler command and the path it resolves to."""

    command: tuple[str, ...]
    path: str


def candidates() -> list[str]:
    """What is tried, in order: $CC alone if it is set, else the usual names."""
    chosen = os.environ.get("CC", "").strip()
    return [chosen] if chosen else ["cc", "gcc", "clang"]


def find_compiler() -> Compiler | None:
    """The first candidate that names a program, or None. Another compiler than the one $CC asks for is never taken."""
    for candidate in candidates():
        try:
            command = tuple(shlex.split(candidate))
        except ValueError:  # unbalanced quotes in $CC
            continue
        path = shutil.which(command[0]) if command else None
        if path is not None:
            return Compiler(command, path)
    return None


def no_compiler() -> str:
    """The sentence that says that no compiler was found, and what was tried."""
    chosen = os.environ.get("CC", "").strip()
    if chosen:
        return f"CC is `{chosen}`, which names nothing that runs; set it to a C compiler, or unset it"
    return f"no C compiler was found (tried {', '.join(candidates())}); install gcc or clang, or set CC"


def version(compiler: Compiler) -> str:
    """What tells this compiler from another one at the same path."""
    try:
        done = subprocess.run([*compiler.command, "--version"], capture_output=True, timeout=20, check=False)
        return done.stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return ""


def processor() -> str:
    """What native code depends on: the machine type and the processor's features."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join([platform.machine(), *dict.fromkeys(line for line in lines if line.startswith(wanted))])


def working_flags(compiler: Compiler, folder: Path, keep: Callable[[str, str], Path]) -> tuple[str, ...]:
    """The first set of extra flags this compiler takes; `folder` is for its files.

    Raises DeviceError (SL502) if it cannot compile at all; `keep` then keeps the source.
    """
    source = folder / "probe.c"
    source.write_text(_PROBE_TEXT, "utf-8")
    message = ""
    for extra in _PROBES:
        message = run_compiler(compiler, (*BASE_FLAGS, *extra), source, folder / "probe.so", TIME_LIMIT)
        if not message:
            return extra
    raise failed(compiler, message, keep(source.name, _PROBE_TEXT))


def run_compiler(
    compiler: Compiler, flags: Sequence[str], source: Path, output: Path, time_limit: float
) -> str:
    """Compile `source` to a shared object. Returns "" or, if that failed, what the compiler said.

    The compiler and whatever it started are ended when the time is up (DeviceError SL503) and on Ctrl-C.
    """
    command = [*compiler.command, *flags, *SHARED_FLAGS, "-o", str(output), str(source), "-lm"]
    started: list[subprocess.Popen[bytes]] = []
    try:
        with _interrupts_later():
            started.append(_start(command))
        said, _ = started[0].communicate(timeout=time_limit)
    except BaseException as error:
        for process in started:
            _end(process)
        if isinstance(error, OSError) and not started:
            return f"{compiler.path}: {error.strerror}"
        if isinstance(error, subprocess.TimeoutExpired):
            raise DeviceError(
                "SL503",
                f"{compiler.path} did not finish within {time_limit:g} s",
                reason="the generated source may be too large for the compiler",
                help="split the graph with contiguous(), or use another device",
            ) from None
        raise
    process = started[0]
    if process.returncode != 0:
        return (
            said.decode("utf-8", "replace").strip() or f"exit status {process.returncode}, and nothing said"
        )
    return "" if output.is_file() else "it reported success, but made no file"


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Ctrl-C, or a request to end, waits until the process that is started here is known, else nobody could end it.

    Only the main thread hears of signals, whichever thread the system told: so a mask of signals would not do.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    heard = {number: call for number, call in before.items() if callable(call)}
    came: list[tuple[int, FrameType | None]] = []
    for number in heard:
        signal.signal(number, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for number, call in heard.items():
            signal.signal(number, call)
        for first, frame in came[:1]:
            heard[signal.Signals(first)](first, frame)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (OSError, AttributeError):  # already gone, or a system without process groups
        process.kill()
    process.wait()


def failed(compiler: Compiler, message: str, source: Path) -> DeviceError:
    """The error for a compiler that does not compile `source`."""
    first = message.strip().splitlines()[:SHOWN_LINES]
    return DeviceError(
        "SL502",
        f"{compiler.path} cannot compile the generated source",
        where=str(source),
        reason="\n       ".join(first) or "the compiler said nothing",
        help="the source is kept at the place above; another compiler can be chosen with CC",
    )
