"""Registered functions as an engine calls them: memoised, checked, with the first failure kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from schedulog.errors import ScheduleError, UsageError
from schedulog.scheduler.engines.engine import Functions, arithmetic_failed, function_failed
from schedulog.scheduler.language.expression import HIGHEST, LOWEST, calculate
from schedulog.scheduler.language.program import Function, Rule

ARITHMETIC = {"sl_add": "+", "sl_subtract": "-", "sl_multiply": "*", "sl_divide": "//", "sl_modulo": "%"}
"""Names under which engines reach exact arithmetic."""


@dataclass(slots=True)
class Failure:
    """A call that gave no integer. `function` is empty for arithmetic; `shown` is how its arguments are written."""

    function: str
    arguments: tuple[int, ...]
    reason: str
    shown: tuple[str, ...] = ()

    def error(self, rule: Rule) -> ScheduleError:
        """Return SL130 or SL131 for the rule that made the call."""
        if self.function:
            return function_failed(rule, self.function, self.shown, self.reason)
        return arithmetic_failed(rule, self.reason)


class CallFailed(Exception):
    """Raised through an engine by a failing call; the engine's owner turns `Calls.failure` into an error."""


class CallRefused(Exception):
    """Raised by a function that says itself, in its text, why it gives no value."""


class _Memo(dict[Any, int]):
    """Results of one function by its arguments: one number as it is, several as a tuple."""

    def __init__(self, compute: Callable[[tuple[int, ...]], int]) -> None:
        super().__init__()
        self.compute = compute

    def __missing__(self, arguments: int | tuple[int, ...]) -> int:
        value = self.compute(arguments if isinstance(arguments, tuple) else (arguments,))
        self[arguments] = value
        return value


class Calls:
    """The functions of one evaluation. A function is called once for each tuple of arguments."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions
        self.failure: Failure | None = None
        self._memos: list[_Memo] = []
        self._called: dict[str, Callable[..., int]] = {}

    def restart(self, functions: Functions) -> None:
        """Serve another evaluation."""
        self.functions = functions
        self.failure = None
        for memo in self._memos:
            memo.clear()

    def call(self, name: str, arguments: Sequence[int]) -> int:
        """Return `@name(arguments)`, or exact arithmetic by its name. Raises CallFailed, with `failure` set."""
        function = self._called.get(name)
        if function is None:
            function = self._called[name] = self.function(name, -1)
        return function(*arguments)

    def function(self, name: str, arity: int) -> Callable[..., int]:
        """Return `@name` as an engine may register it once, for this and all later evaluations.

        `arity` is the number of arguments it will be called with, -1 when that is not known.
        It raises CallFailed, with `failure` set.
        """
        if name in ARITHMETIC:
            return partial(self.arithmetic, ARITHMETIC[name])
        memo = _Memo(partial(self.checked, name))
        self._memos.append(memo)
        # With one argument the engine asks the dictionary itself: no Python code runs for a known value.
        return memo.__getitem__ if arity == 1 else lambda *arguments: memo[arguments]

    def checked(self, name: str, arguments: tuple[int, ...]) -> int:
        try:
            value = self.functions[name](*arguments)
        except CallRefused as error:
            raise self.fail(name, arguments, str(error)) from error
        except Exception as error:
            raise self.fail(name, arguments, f"it raised {type(error).__name__}: {error}") from error
        if type(value) is not int:
            raise self.fail(name, arguments, f"it returned {value!r}, which is no int")
        if not LOWEST <= value <= HIGHEST:
            raise self.fail(name, arguments, f"it returned {value}, which needs more than 64 bits")
        return value

    def arithmetic(self, op: str, left: int, right: int) -> int:
        """Return `left op right`. Raises CallFailed for overflow and division by 0."""
        try:
            return calculate(op, left, right)
        except ZeroDivisionError:
            raise self.fail("", (left, right), f"{left} {op} {right} divides by 0") from None
        except OverflowError as error:
            raise self.fail("", (left, right), str(error)) from None

    def fail(self, function: str, arguments: tuple[int, ...], reason: str) -> CallFailed:
        if self.failure is None:
            shown = getattr(self.functions.get(function), "shown", None)
            texts = tuple(shown(arguments)) if shown is not None else tuple(map(str, arguments))
            self.failure = Failure(function, arguments, reason, texts)
        return CallFailed(reason)


def check_functions(declared: Mapping[str, Function], given: Functions) -> None:
    """Require that every declared function is there. Raises UsageError SL701."""
    missing = sorted(set(declared) - set(given))
    if missing:
        raise UsageError(
            "SL701",
            f"functions not given: {', '.join('@' + name for name in missing)}",
            reason="the rules declare them with .function",
            help='a pack supplies them (functions = "functions.py" in its pack.toml): name the pack, not its files',
        )
