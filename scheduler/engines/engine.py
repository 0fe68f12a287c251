"""What the driver asks of an engine, and the limits of one evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from schedulog.errors import ScheduleError
from schedulog.scheduler.engines.strata import Strata, SubComponent
from schedulog.scheduler.engines.symbols import Symbols, quote
from schedulog.scheduler.language.expression import postorder
from schedulog.scheduler.language.program import Aggregate, Call, Compare, Const, Expr, Program, Rule, Var

Row = tuple[int, ...]
Functions = Mapping[str, Callable[..., int]]
"""Registered functions by name: pure, ints to int. They may be called on values that only an over-estimate has, or
before another condition of the rule is tested, and must not fail on those."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Where an evaluation is given up.

    `rows` of one relation, and no more than `growth` for each row that was given, but always `least_rows`: what the rules
    derive grows with the graph, and a product of its nodes is a mistake. `steps` of SQLite's machine in one statement, many
    millions a second; `compute` seconds of the processor for one component, all its evaluations together, or `slowest` seconds
    for each given row where that is more; `seconds` of one evaluation, and `memory` in bytes, of the processes in which the
    pydatalog and clingo engines run.

    Of the default, the models that the reference scheduler's tests record use up: of `compute` and `slowest` a hundredth, of
    `growth` a ninetieth.
    """

    rows: int = 50_000_000
    growth: int = 20
    least_rows: int = 2_000_000
    rounds: int = 1_000_000
    alternations: int = 100_000
    seconds: float = 30.0
    steps: int = 2_000_000_000
    compute: float = 10.0
    slowest: float = 3e-4
    memory: int = 4 * 2**30


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Setting:
    """What an evaluation is about: the rules, how they split, the strings' numbers, the functions, the limits."""

    program: Program
    strata: Strata
    symbols: Symbols
    functions: Functions
    limits: Limits


class Engine(Protocol):
    """One evaluation of one program. Relations that are negated inside their component are read from snapshots."""

    def load(self, relation: str, rows: Sequence[Row]) -> None:
        """Set the rows of a relation that no rule derives, or the given rows of a derived one."""

    def evaluate(self, sub: SubComponent) -> int:
        """Compute the least fixpoint of a sub-component from empty relations; return the number of rounds."""
        ...

    def late(self, sub: SubComponent) -> str:
        """Say after what the sub-component is not to be evaluated again, "9 s of computing"; empty when it may be."""
        ...

    def count(self, relation: str) -> int:
        """Return the number of rows of a relation."""
        ...

    def rows(self, relation: str) -> list[Row]:
        """Return the rows of a relation, sorted."""
        ...

    def clear(self, relations: Sequence[str]) -> None:
        """Empty the relations."""

    def keep_snapshot(self, relation: str) -> None:
        """Make the relation's rows of now what `not` reads inside its component."""

    def drop_snapshot(self, relation: str) -> None:
        """Let `not` inside the component see no rows of the relation."""


def function_failed(rule: Rule, function: str, shown: Sequence[str], reason: str) -> ScheduleError:
    """Return the error for a registered function that raised or gave no integer; `shown` are its arguments in words."""
    bound = _bound(rule, function, shown)
    return ScheduleError(
        "SL130",
        f"rule {rule.name}: @{function}({', '.join(shown)}) failed",
        where=rule.place,
        reason=f"with {', '.join(bound)} {reason}" if bound else reason,
        help=f"make @{function} total on the values this rule hands it, or test them in a rule below",
    )


def _bound(rule: Rule, function: str, shown: Sequence[str]) -> list[str]:
    """The variables of the rule that the failing call fixes: those that are its arguments."""
    for call in (part for side in _sides(rule) for part in postorder(side) if isinstance(part, Call)):
        given = list(zip(call.arguments, shown, strict=True)) if call.function == function else []
        if given and all(quote(part.value) == text for part, text in given if isinstance(part, Const)):
            return list(
                dict.fromkeys(f"{part.name} = {text}" for part, text in given if isinstance(part, Var))
            )
    return []


def _sides(rule: Rule) -> Iterator[Expr]:
    items = [part for item in rule.body for part in (item.body if isinstance(item, Aggregate) else (item,))]
    for item in items:
        if isinstance(item, Compare):
            yield from (item.left, item.right)


def arithmetic_failed(rule: Rule, reason: str) -> ScheduleError:
    """Return the error for integer arithmetic without a right result."""
    return ScheduleError(
        "SL131",
        f"rule {rule.name}: integer arithmetic has no right result",
        where=rule.place,
        reason=reason,
        help="rules compute with integers from -2**63 to 2**63 - 1 and never divide by 0",
    )


def not_finished(rule: Rule, relation: str, what: str, newest: str) -> ScheduleError:
    """Return the error for an evaluation that reached a limit; `what`: "after 9 rounds", "at 9 rows"."""
    return ScheduleError(
        "SL140",
        f"{relation}: not finished {what}; no partial answer is returned",
        where=rule.place,
        reason=f"rule {rule.name} still adds rows, the newest is {newest}",
        help="bound what the rule counts up or composes, or raise the limit",
    )


def too_much(rule: Rule, what: str) -> ScheduleError:
    """Return the error for one match of a rule's body against all rows that reached a limit; `what` says which."""
    return ScheduleError(
        "SL140",
        f"{rule.head.relation}: not finished; no partial answer is returned",
        where=rule.place,
        reason=f"rule {rule.name} matches too many rows at once: {what}",
        help="let the conditions of the rule share variables, so that fewer rows match, or raise the limit",
    )
