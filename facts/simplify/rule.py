"""A rewrite rule of the simplifier: a named law about one node and its sources."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from types import ModuleType
from typing import Literal

from schedulog.facts.node import Node
from schedulog.facts.ops import Op

Preserves = Literal["values", "rounding", "finite"]
"""What a rule leaves as it was: every value, bit for bit; values up to rounding; values up to rounding where nothing
divides by zero, overflows, or is infinite or NaN, and the sign of a zero does not matter.

Which of its NaNs arithmetic gives is nowhere said, so a rule about arithmetic may give another NaN."""

Law = Callable[[Node], Node | None]


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """`apply` gives what a node is replaced by, or None where the rule says nothing about it.

    `id` is stable. `ops` are the operations the rule is tried on, `sentence` says which law it applies. An `early` rule is
    tried before the node's sources are rewritten: it holds whatever they become. `beside` are the operations of which
    some source must be one for the rule to say anything; None where that does not matter.
    """

    id: str
    ops: frozenset[Op]
    apply: Law
    preserves: Preserves
    sentence: str
    early: bool = False
    beside: frozenset[Op] | None = None


def rule(
    ops: Op | Collection[Op],
    preserves: Preserves = "values",
    *,
    early: bool = False,
    beside: Op | Collection[Op] | None = None,
) -> Callable[[Law], Rule]:
    """Make a rule of a function: its id is the function's name with hyphens, its sentence the docstring's first line."""
    wanted, needed = _set(ops), None if beside is None else _set(beside)

    def made(law: Law) -> Rule:
        sentence = (law.__doc__ or "").strip().partition("\n")[0]
        return Rule(law.__name__.replace("_", "-"), wanted, law, preserves, sentence, early, needed)

    return made


def _set(ops: Op | Collection[Op]) -> frozenset[Op]:
    return frozenset((ops,) if isinstance(ops, Op) else ops)


def rules_in(module: ModuleType) -> tuple[Rule, ...]:
    """The rules a module defines, in the order it defines them, which is the order they are tried in."""
    return tuple(value for value in vars(module).values() if isinstance(value, Rule))
