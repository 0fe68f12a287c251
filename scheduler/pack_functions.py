"""The functions that packs supply, as the rules call them: values in, a value out, and nothing else.

A function gets the values that its arguments stand for (an int, a string, a `ViewStack`) and gives an int or a string. What it
gave is kept: a saved run is asked again without its code.
"""

from __future__ import annotations

import json
import operator
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from hashlib import sha256
from importlib import import_module
from types import ModuleType
from typing import Any

from schedulog.errors import RuleError
from schedulog.facts.look import Looks
from schedulog.facts.symbolic import sizes_text
from schedulog.facts.view import ViewStack
from schedulog.scheduler.engines.functions import CallRefused
from schedulog.scheduler.engines.symbols import Symbols, quote
from schedulog.scheduler.language.program import Function, FunctionCode, Program

Value = int | str
Argument = int | str | ViewStack


class PackFunctions:
    """Functions by name, ready for any number of graphs and threads."""

    def __init__(self, called: Mapping[str, Callable[..., object]], declared: Mapping[str, Function]) -> None:
        self._called = called
        self._declared = declared

    def of(self, looks: Looks, symbols: Symbols, *, twice: bool = False) -> dict[str, PackCall]:
        """The functions as one evaluation calls them; `twice`: each call is made again, to see that it gives the same."""
        lock = threading.Lock()
        return {
            name: PackCall(self._declared[name], call, looks, symbols, lock, twice=twice)
            for name, call in self._called.items()
        }


def running(program: Program) -> PackFunctions:
    """The functions of a program's packs. This runs the packs' Python files. Raises RuleError SL126 where one fails."""
    found: dict[str, Callable[..., object]] = {}
    for code in program.code:
        module = _module(code)
        for name in (name for name in code.functions if name in program.functions):
            call = getattr(module, name, None)
            if not callable(call):
                raise RuleError("SL126", f"@{name} is no function", where=code.file,
                                help=f"write there: def {name}(...)")  # fmt: skip
            found[name] = partial(_call, code, call)
    return PackFunctions(found, program.functions)


def unsupplied(program: Program) -> set[str]:
    """The functions that a program declares and nobody supplies."""
    return set(program.functions).difference(Looks().functions(), *(code.functions for code in program.code))


def recorded(program: Program, rows: Iterable[tuple[str, str, str]]) -> PackFunctions:
    """Functions that give what they gave before, by `function_values`; no code runs."""
    tables: dict[str, dict[str, Value]] = {}
    for name, arguments, result in rows:
        tables.setdefault(name, {})[arguments] = json.loads(result)
    return PackFunctions(
        {name: partial(_look_up, table) for name, table in tables.items() if name in program.functions},
        program.functions,
    )


def function_values(functions: Mapping[str, Callable[..., int]]) -> Iterator[tuple[str, str, str]]:
    """Each call of a pack's function so far: its name, its arguments and its result as JSON."""
    for name, call in sorted(functions.items()):
        if isinstance(call, PackCall):
            for arguments, value in sorted((_key(given), value) for given, value in call.values.items()):
                yield name, arguments, json.dumps(value)


class PackCall:
    """One function of a pack in one evaluation: numbers in, a number out. `values` holds what it gave."""

    def __init__(
        self,
        function: Function,
        call: Callable[..., object],
        looks: Looks,
        symbols: Symbols,
        lock: threading.Lock,
        *,
        twice: bool,
    ) -> None:
        self.function = function
        self.values: dict[tuple[Argument, ...], Value] = {}
        self._call = call
        self._looks = looks
        self._symbols = symbols
        self._lock = lock
        self._twice = twice

    def __call__(self, *numbers: int) -> int:
        """The number of what the function gives. Raises CallRefused."""
        arguments = tuple(map(self._argument, numbers, (column.type for column in self.function.arguments)))
        value = self._value(arguments)
        if self._twice and (again := self._value(arguments)) != value:
            raise CallRefused(f"it returned {value!r}, and {again!r} when it was called again")
        self.values[arguments] = value
        if isinstance(value, int):
            return value
        with self._lock:
            return self._symbols.intern(value)

    def shown(self, numbers: Iterable[int]) -> list[str]:
        """Arguments as a person reads them: 64, "ADD", a view as the shape it shows."""
        given = map(self._argument, numbers, (column.type for column in self.function.arguments))
        return [
            f"view {sizes_text(value.shape)}" if isinstance(value, ViewStack) else quote(value)
            for value in given
        ]

    def _argument(self, number: int, kind: str) -> Argument:
        if kind == "view":
            return self._looks.view(number)
        return self._symbols.value(number, kind)

    def _value(self, arguments: tuple[Argument, ...]) -> Value:
        value, kind = self._call(*arguments), self.function.result
        if kind == "int":
            try:
                return operator.index(value)  # type: ignore[arg-type]  # whatever it gave
            except TypeError:
                raise CallRefused(f"it returned {value!r}, which is no int") from None
        if not isinstance(value, str):
            raise CallRefused(f"it returned {value!r}, which is no string, as a {kind} is")
        return str(value)


def _call(code: FunctionCode, call: Callable[..., object], *arguments: Argument) -> object:
    try:
        return call(*arguments)
    except (Exception, SystemExit) as error:
        raise CallRefused(f"it raised {type(error).__name__}: {error}{_line(code, error)}") from error


def _look_up(table: Mapping[str, Value], *arguments: Argument) -> Value:
    found = table.get(_key(arguments))
    if found is None:
        raise CallRefused("the saved run does not hold what it gives for this")
    return found


def _key(arguments: tuple[Argument, ...]) -> str:
    return json.dumps(
        [a.to_json() if isinstance(a, ViewStack) else a for a in arguments], separators=(",", ":")
    )


@lru_cache(maxsize=64)
def _module(code: FunctionCode) -> ModuleType:
    """The module that a pack's functions are in; the same text runs once a process. Raises RuleError SL126."""
    try:
        return _loaded(code)
    except (Exception, SystemExit) as error:
        raise RuleError("SL126", f"the functions of {code.pack} cannot be loaded", where=code.file,
                        reason=f"{type(error).__name__}: {error}{_line(code, error)}",
                        help="a file of functions only defines; it must load without error") from error  # fmt: skip


def _loaded(code: FunctionCode) -> ModuleType:
    if code.module:
        module = import_module(code.module)
        vars(module).setdefault("print", _print)
        return module
    digest = sha256(code.text.encode()).hexdigest()[:12]
    module = ModuleType(f"schedulog_pack_{code.pack.replace('-', '_')}_{digest}")
    module.__file__ = code.file
    vars(module)["print"] = _print
    # Listed, as every module is: a dataclass looks there for the module that it stands in.
    sys.modules[module.__name__] = module
    exec(compile(code.text, code.file, "exec"), module.__dict__)  # noqa: S102 (the caller named this pack)
    return module


def _print(*values: object, **how: Any) -> None:
    """`print` as functions of packs have it: standard output is for what a command answers, which may be JSON.

    To exchange `sys.stdout` for the time of a call would do the same to all threads.
    """
    how["file"] = sys.stderr if how.get("file") is None else how["file"]
    print(*values, **how)


def _line(code: FunctionCode, error: BaseException) -> str:
    """Where in the file of functions an error was raised."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == code.file]
    return f" ({code.file}:{frames[-1].lineno})" if frames else ""
