"""Graphs as lists of steps in the short notation, so that each can be printed, changed and pasted into a rule test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Final

from schedulog.facts.notation import NamedGraph, read_names

_FLOAT: Final = re.compile(r"\b(?:f16|bf16|f32)\b")


@dataclass(frozen=True, slots=True)
class Step:
    """One statement of the notation: `name=op operands options`."""

    name: str
    op: str
    operands: tuple[str, ...]
    options: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in (f"{self.name}={self.op}", *self.operands, self.options) if part)


@dataclass(frozen=True)
class Recipe:
    """A graph to be made: its steps, sources before users, and the names of what is requested."""

    steps: tuple[Step, ...]
    wanted: tuple[str, ...]

    def __str__(self) -> str:
        return "; ".join([*map(str, self.steps), f"out {', '.join(self.wanted)}"])

    @cached_property
    def made(self) -> NamedGraph:
        """The graph and its names. Raises GraphError for steps that make none."""
        return read_names(str(self))

    def needed(self) -> Recipe:
        """The recipe without the steps on which nothing requested depends."""
        used = set(self.wanted)
        for step in reversed(self.steps):
            if step.name in used:
                used.update(words(step))
        return replace(self, steps=tuple(step for step in self.steps if step.name in used))

    def widened(self) -> Recipe:
        """The recipe with double precision in place of every float type."""

        def wide(text: str) -> str:
            return _FLOAT.sub("f64", text)

        steps = (replace(step, operands=tuple(map(wide, step.operands))) for step in self.steps)
        return replace(self, steps=tuple(steps))


def words(step: Step) -> set[str]:
    """All names that a step mentions: its operands, and variables among its sizes."""
    return set(re.findall(r"[A-Za-z_]\w*", " ".join((*step.operands, step.options))))


@dataclass(frozen=True)
class Sample:
    """A graph, and the switches with which it is scheduled."""

    recipe: Recipe
    options: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def as_test(self, title: str) -> str:
        """A rule test, as a file NAME_test.dl has them."""
        lines = [f'test "{title}"', f"  graph: {self.recipe}"]
        if self.options:
            lines.append("  set: " + " ".join(f"{name}={value}" for name, value in self.options.items()))
        return "\n".join([*lines, "  result ~ numpy.", ""])
