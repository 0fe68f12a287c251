"""A difference as lines of text, short: a few examples of each kind, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from schedulog.scheduler.compare import Cause, DecisionChange, Difference

SHOWN: Final = 5
"""Decisions, kernels and members that one line shows."""


def some(words: Sequence[str], between: str = ", ") -> str:
    """The first few of some words, and how many more there are."""
    more = f"{between}and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return between.join(words[:SHOWN]) + more


def causes_text(causes: Sequence[Cause]) -> str:
    """What is responsible, in one line."""
    return some([str(cause) for cause in causes])


def failure_lines(difference: Difference) -> list[str]:
    """The error on either side, if they differ."""
    if not difference.failure_differs:
        return []
    sides = (difference.before.failure, difference.after.failure)
    old, new = ("-" if f is None else f"error[{f.code}] {f.message}" for f in sides)
    return [f"error    {old} -> {new}", f"         because of {causes_text(difference.causes)}"]


def order_lines(difference: Difference) -> list[str]:
    """The order of the kernels that both sides have, from the first one on that differs."""
    if difference.order is None:
        return []
    steps = zip(*difference.order, strict=True)
    alike = next(i for i, (old, new) in enumerate(steps) if old != new)
    return [f"order    {' -> '.join(some(order[alike:]) for order in difference.order)}"]


def decision_lines(difference: Difference, *, rules: bool = False) -> list[str]:
    """The changed decisions, under what caused them; with `rules` also the rules that derive them, where they hold."""
    groups: dict[tuple[Cause, ...], list[DecisionChange]] = {}
    for change in difference.decisions:
        groups.setdefault(change.causes, []).append(change)
    lines = []
    for causes, changes in groups.items():
        lines.append(f"because of {causes_text(causes)}")
        for sign, kind in (("-", "removed"), ("+", "added")):
            found = [change for change in changes if change.change == kind]
            lines += _derived(sign, found) if rules else _listed(sign, [change.atom for change in found])
    return lines


def _listed(sign: str, atoms: Sequence[str]) -> list[str]:
    return [f"  {sign} {some(atoms)}"] if atoms else []


def _derived(sign: str, changes: Sequence[DecisionChange]) -> list[str]:
    """One line for the decisions of the same rules."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for change in changes:
        groups.setdefault(change.rules, []).append(change.atom)
    shown = list(groups.items())[:SHOWN]
    lines = [f"  {sign} {some(atoms)}   by {some(rules)}" for rules, atoms in shown]
    rest = sum(len(atoms) for atoms in groups.values()) - sum(len(atoms) for _, atoms in shown)
    return lines + ([f"  {sign} {rest} more"] if rest else [])
