"""The C source of a kernel and of a whole schedule: one translation unit that runs every launch."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined

from schedulog.codegen import scalar
from schedulog.codegen.arrange import arrange
from schedulog.codegen.choose import choose
from schedulog.codegen.lower import STATEMENT_LIMIT, lower
from schedulog.codegen.merge import merge_loops
from schedulog.codegen.render import body_lines
from schedulog.codegen.text import pointer_name
from schedulog.codegen.values import Computation, Load
from schedulog.errors import CodegenError
from schedulog.scheduler.kernels import Kernel, Schedule


@dataclass(frozen=True, slots=True)
class KernelCode:
    """A kernel as C: the lines that fetch its arguments, the lines of its body, and the variables it takes, in order."""

    pointers: tuple[str, ...]
    body: tuple[str, ...]
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProgramCode:
    """A schedule as one C translation unit.

    `sources` has the function of every kernel ("" where a kernel has no code), `launched` the indices in the schedule
    of the kernels that are launched, `variables` the names whose values `schedulog_run` takes, in order.
    """

    text: str
    sources: Mapping[str, str]
    launched: tuple[int, ...]
    variables: tuple[str, ...]


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates of this folder, which threads may share: each is read and made ready once a process."""
    return Environment(
        loader=PackageLoader("schedulog.codegen", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def kernel_code(kernel: Kernel, statement_limit: int = STATEMENT_LIMIT) -> KernelCode:
    """The C of one kernel. Raises CodegenError (SL401, SL402) naming the kernel."""
    try:
        computation = merge_loops(lower(kernel, statement_limit))
        body = () if kernel.value.size == 0 else tuple(_body(computation))
    except CodegenError as error:
        if error.where:
            raise
        raise CodegenError(
            error.code, error.message, where=f"kernel {kernel.name}", reason=error.reason, help=error.help
        ) from error
    names = tuple(computation.variables)
    variables = [f"const int64_t {name} = variables[{i}];" for i, name in enumerate(names)]
    return KernelCode(
        (*_pointers(kernel, computation), *variables),
        body,
        tuple(computation.variables[name] for name in names),
    )


def _body(computation: Computation) -> list[str]:
    choice = choose(computation)
    return body_lines(computation, choice, arrange(computation, choice))


def _pointers(kernel: Kernel, computation: Computation) -> list[str]:
    """The declarations of the pointers the code uses. They never overlap, unless they point to one argument."""
    held, value = scalar.plain(kernel.output.dtype), scalar.plain(kernel.value.dtype)
    if held != value:
        raise CodegenError(
            "SL402",
            f"{value} values in a buffer of {held} have no code",
            where=f"kernel {kernel.name}, argument 0",
            reason="a buffer is read and written as the type it was made with",
            help="bitcast the values",
        )
    used = sorted({0, *(v.argument for v in computation.values() if isinstance(v, Load))})
    shared = Counter(computation.pointers[number].argument for number in used)
    lines = []
    for number in used:
        pointer = computation.pointers[number]
        kind = scalar.storage_type(pointer.dtype)
        constant = "const " if number else ""
        alone = "restrict " if shared[pointer.argument] == 1 or pointer.argument else ""
        lines.append(
            f"{constant}{kind} *{alone}const {pointer_name(number)} = arguments[{pointer.argument}];"
        )
    return lines


def kernel_source(kernel: Kernel, code: KernelCode, name: str, templates: Environment) -> str:
    """The C function `name` that runs `kernel`; its first line says which kernel that is and which rules formed it."""
    rules = ", ".join(kernel.rules) or "no rule recorded"
    title = f"{kernel.name}: {rules}".replace("*/", "* /")
    text = templates.get_template("kernel.c.j2").render(
        title=title, name=name, pointers=code.pointers, body=code.body
    )
    return text


def program_code(schedule: Schedule, statement_limit: int = STATEMENT_LIMIT) -> ProgramCode:
    """The whole schedule as C, kernels with the same code written once. Raises CodegenError (SL401, SL402)."""
    return _Program(schedule, statement_limit).code()


class _Program:
    def __init__(self, schedule: Schedule, statement_limit: int) -> None:
        self.schedule = schedule
        self.limit = statement_limit
        self.templates = environment()
        self.functions: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, str]] = {}
        self.taken: set[str] = set()
        self.variables: dict[str, int] = {}

    def code(self) -> ProgramCode:
        launched = [
            (i, k) for i, k in enumerate(self.schedule.kernels) if k.kind != "view" and k.value.size > 0
        ]
        sources = dict.fromkeys((kernel.name for kernel in self.schedule.kernels), "")
        table = _Table()
        slot = {buffer: i for i, buffer in enumerate(self.schedule.buffers)}
        for _, kernel in launched:
            code = kernel_code(kernel, self.limit)
            name, sources[kernel.name] = self.function(kernel, code)
            numbers = [self.variables.setdefault(v, len(self.variables)) for v in code.variables]
            table.add(name, [slot[b] for b in kernel.buffers], numbers)
        functions = [text for _, text in self.functions.values()]
        text = self.templates.get_template("c.j2").render(sources=functions, **table.fields())
        order = tuple(i for i, _ in launched)
        return ProgramCode(text, MappingProxyType(sources), order, tuple(self.variables))

    def function(self, kernel: Kernel, code: KernelCode) -> tuple[str, str]:
        """The name and the text of the function for this code, written if it is the first of its kind."""
        key = (code.pointers, code.body)
        found = self.functions.get(key)
        if found is None:
            name = self.unique(kernel.name)
            found = self.functions[key] = (name, kernel_source(kernel, code, name, self.templates))
        return found

    def unique(self, name: str) -> str:
        stem = "kernel_" + re.sub(r"[^A-Za-z0-9_]", "_", name)
        result, number = stem, 1
        while result in self.taken:
            number += 1
            result = f"{stem}_{number}"
        self.taken.add(result)
        return result


class _Table:
    """The launches as the columns of a C table."""

    def __init__(self) -> None:
        self.launches: list[str] = []
        self.slots: list[int] = []
        self.names: list[int] = []
        self.most_arguments = 1
        self.most_variables = 1

    def add(self, name: str, slots: Sequence[int], variables: Sequence[int]) -> None:
        self.launches.append(f"{name}, {len(self.slots)}, {len(slots)}, {len(self.names)}, {len(variables)}")
        self.slots += slots
        self.names += variables
        self.most_arguments = max(self.most_arguments, len(slots))
        self.most_variables = max(self.most_variables, len(variables))

    def fields(self) -> dict[str, object]:
        return {
            "launches": self.launches,
            "slots": self.slots or [0],
            "names": self.names or [0],
            "most_arguments": self.most_arguments,
            "most_variables": self.most_variables,
        }
