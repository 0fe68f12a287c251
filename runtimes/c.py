"""The device "c": the system's C compiler makes one shared object of a whole schedule."""

from __future__ import annotations

import ctypes
import os
import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from schedulog.codegen.source import ProgramCode, program_code
from schedulog.errors import DeviceError
from schedulog.runtimes.c_cache import Cache, digest
from schedulog.runtimes.c_compiler import (
    BASE_FLAGS,
    SHARED_FLAGS,
    TIME_LIMIT,
    Compiler,
    failed,
    find_compiler,
    no_compiler,
    processor,
    run_compiler,
    version,
    working_flags,
)
from schedulog.scheduler.kernels import Schedule

SPINS: Final = "5000"
_LOADING: Final = threading.Lock()  # held while the environment of the process is changed


class CDevice:
    """Runs schedules as native code, by the compiler that $CC names, or cc, gcc, clang.

    Compiled code is kept in the user's cache folder; `warning` says so if it cannot be.
    """

    name = "c"
    settings = ("CC", "PATH", "SCHEDULOG_CACHE", "XDG_CACHE_HOME", "HOME")

    def __init__(self, time_limit: float = TIME_LIMIT, extra_flags: Sequence[str] = ()) -> None:
        self._time_limit = time_limit
        self._extra = tuple(extra_flags)

    def missing(self) -> str | None:
        """Why there is no C here: no compiler on the path."""
        return None if find_compiler() is not None else no_compiler()

    @property
    def warning(self) -> str:
        """A sentence on the cache folder, "" if it is in order."""
        return self._cache.warning

    @cached_property
    def _cache(self) -> Cache:
        return Cache()

    @cached_property
    def _compiler(self) -> Compiler:
        found = find_compiler()
        if found is None:
            raise DeviceError("SL501", "device c cannot run here", reason=no_compiler())
        return found

    @cached_property
    def _machine(self) -> tuple[str, ...]:
        return (self._compiler.path, " ".join(self._compiler.command), version(self._compiler), processor())

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """The flags everything is compiled with: what the compiler can do is found out once and kept in the cache."""
        key = "flags-" + digest([*self._machine, *BASE_FLAGS])
        kept = self._cache.use(key, self._probe, lambda path: path.read_text("utf-8"))
        return (*BASE_FLAGS, *kept.split(), *self._extra)

    def _probe(self, folder: Path) -> Path:
        found = folder / "flags"
        found.write_text(" ".join(working_flags(self._compiler, folder, self._cache.keep)), "utf-8")
        return found

    def load(self, schedule: Schedule) -> CProgram:
        """The schedule as native code. Raises CodegenError, and DeviceError: SL502 if the compiler fails, SL503 if it
        takes too long."""
        code = program_code(schedule)
        library = self.compile(code.text)
        if not hasattr(library, "schedulog_run"):
            raise failed(
                self._compiler,
                "what it made has no `schedulog_run`",
                self._cache.keep("schedule.c", code.text),
            )
        return CProgram(schedule, code, library)

    def compile(self, text: str) -> ctypes.CDLL:
        """The shared object of a C source, from the cache or compiled now. Raises DeviceError (SL502, SL503)."""
        key = digest([text, *self._machine, *self.flags, *SHARED_FLAGS])
        try:
            return self._cache.use(key, lambda folder: self._build(text, key, folder), _opened)
        except OSError as error:
            self._cache.remove(key)  # so that what does not load is not taken from the cache again
            raise failed(self._compiler, str(error), self._cache.keep(f"{key}.c", text)) from error

    def _build(self, text: str, key: str, folder: Path) -> Path:
        source, output = folder / "schedule.c", folder / "schedule.so"
        source.write_text(text, "utf-8")
        message = run_compiler(self._compiler, self.flags, source, output, self._time_limit)
        if message:
            raise failed(self._compiler, message, self._cache.keep(f"{key}.c", text))
        return output


def _opened(path: Path) -> ctypes.CDLL:
    with _short_spins():
        return ctypes.CDLL(os.fspath(path))


@contextmanager
def _short_spins() -> Iterator[None]:
    """While a library is loaded, which may bring gcc's thread library with it: its threads then wait for work in a spin
    of some microseconds, not of milliseconds, which on a busy machine would hold up the threads they wait for."""
    with _LOADING:
        if any(name in os.environ for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")):
            yield
            return
        os.environ["GOMP_SPINCOUNT"] = SPINS
        try:
            yield
        finally:
            os.environ.pop("GOMP_SPINCOUNT", None)


class CProgram:
    """A compiled schedule. `sources` has the C function of every kernel; kernels with the same code share one."""

    def __init__(self, schedule: Schedule, code: ProgramCode, library: ctypes.CDLL) -> None:
        self.sources: Mapping[str, str] = code.sources
        self._schedule = schedule
        self._code = code
        self._run = library.schedulog_run
        self._run.argtypes = [
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_int64,
            ctypes.c_int64,
        ]
        self._run.restype = None
        self._types = [buffer.dtype.to_numpy() for buffer in schedule.buffers]
        slot = {buffer: i for i, buffer in enumerate(schedule.buffers)}
        self._written = frozenset(
            slot[kernel.buffers[0]] for kernel in schedule.kernels if kernel.kind != "view"
        )

    def run(
        self,
        memory: Sequence[NDArray[Any]],
        variables: Mapping[str, int],
        times: list[float] | None = None,
        part: range | None = None,
    ) -> None:
        """Run all kernels, or those in `part`, on `memory`; see `Program.run`.

        Raises DeviceError: SL510 if an array does not fit its buffer, SL511 if a variable has no value or one outside
        its bounds.
        """
        pointers = (ctypes.c_void_p * max(1, len(memory)))(*self._pointers(memory))
        values = self._values(variables)
        launched = self._code.launched
        wanted = range(len(self._schedule.kernels)) if part is None else part
        first, last = (bisect_left(launched, edge) for edge in (wanted.start, wanted.stop))
        if times is None:
            self._run(pointers, values, None, first, last)
            return
        seconds = (ctypes.c_double * max(1, last))()
        self._run(pointers, values, seconds, first, last)
        taken = dict(zip(launched, seconds, strict=False))
        times += [taken.get(i, 0.0) for i in wanted]

    def _pointers(self, memory: Sequence[NDArray[Any]]) -> list[int]:
        buffers = self._schedule.buffers
        if len(memory) != len(buffers):
            raise DeviceError("SL510", f"{len(memory)} arrays for a schedule of {len(buffers)} buffers")
        found = []
        for i, (array, buffer, dtype) in enumerate(zip(memory, buffers, self._types, strict=True)):
            address, read_only = array.__array_interface__["data"]
            whole = array.dtype == dtype and array.size == buffer.size and array.flags.c_contiguous
            if not whole or (read_only and i in self._written):
                raise _unfit(i, array, buffer.name, f"{buffer.size} x {buffer.dtype}", whole)
            found.append(address)
        return found

    def _values(self, variables: Mapping[str, int]) -> ctypes.Array[ctypes.c_int64]:
        names = self._code.variables
        values = (ctypes.c_int64 * max(1, len(names)))()
        if not names:
            return values
        known = {v.name: v for kernel in self._schedule.kernels for v in kernel.variables}
        for i, name in enumerate(names):
            variable = known.get(name)
            bound = variable.value if variable is not None else None
            value = variables.get(name, self._schedule.variables.get(name, bound))
            if value is None:
                raise DeviceError(
                    "SL511", f"variable {name} has no value", help=f"give {name} a value for this run"
                )
            if variable is not None and not variable.min <= value <= variable.max:
                raise DeviceError(
                    "SL511",
                    f"variable {name} = {value} is out of bounds",
                    reason=f"{name} lies between {variable.min} and {variable.max}",
                )
            values[i] = value
        return values


def _unfit(position: int, array: NDArray[Any], name: str, expected: str, whole: bool) -> DeviceError:
    given = f"{array.size} x {array.dtype}{'' if array.flags.c_contiguous else ', not contiguous'}"
    return DeviceError(
        "SL510",
        f"an array of {given} for a buffer of {expected}"
        if not whole
        else "a read-only array for a buffer that is written",
        where=f"memory[{position}]{f' ({name})' if name else ''}",
        help="give a flat contiguous array of the buffer's dtype and size, writeable if a kernel writes it",
    )
