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
_NUMBER: Final = re.compile(r"\d+")
_SIZED: Final = re.compile(r"\[[^\]]*\]|\([^)]*\)")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_BLANKS: Final = re.compile(r"[ \t]*(=|,)[ \t]*|(?<=[(\[])[ \t]+|[ \t]+(?=[)\]])")


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
        return self.retyped(_FLOAT, "f64")

    def retyped(self, types: re.Pattern[str], other: str) -> Recipe:
        """The recipe with another type in place of those that `types` finds among the operands."""
        steps = (replace(s, operands=tuple(types.sub(other, o) for o in s.operands)) for s in self.steps)
        return replace(self, steps=tuple(steps))

    @property
    def sizes(self) -> list[int]:
        """The numbers in brackets: sizes, and places inside them."""
        return [int(n) for part in _SIZED.findall(str(self)) for n in _NUMBER.findall(part)]

    def resized(self, size: int, other: int) -> Recipe:
        """The recipe with another number in place of a size, wherever it stands in brackets."""

        def number(found: re.Match[str]) -> str:
            return str(other) if int(found[0]) == size else found[0]

        def inside(text: str) -> str:
            return _SIZED.sub(lambda part: _NUMBER.sub(number, part[0]), text)

        steps = (
            replace(s, operands=tuple(map(inside, s.operands)), options=inside(s.options)) for s in self.steps
        )
        return replace(self, steps=tuple(steps))

    def renamed(self, names: Mapping[str, str]) -> Recipe:
        """The recipe with other names for its steps and variable sizes; those that `names` does not hold stay."""

        def put(text: str) -> str:
            return _WORD.sub(lambda m: names.get(m[0], m[0]), text)

        steps = (Step(put(s.name), s.op, tuple(map(put, s.operands)), put(s.options)) for s in self.steps)
        return Recipe(tuple(steps), tuple(names.get(w, w) for w in self.wanted))


def words(step: Step) -> set[str]:
    """All names that a step mentions: its operands, and variables among its sizes."""
    return set(_WORD.findall(" ".join((*step.operands, step.options))))


def read_recipe(text: str) -> Recipe:
    """The steps of a well-formed text in the short notation."""
    steps: list[Step] = []
    for statement in filter(None, (part.strip() for part in re.split(r"[;\n]", text))):
        first, *rest = _BLANKS.sub(lambda m: m[1] or "", statement).split()
        if first == "out":
            return Recipe(tuple(steps), tuple("".join(rest).split(",")))
        name, _, op = first.partition("=")
        operands = tuple(word for word in rest if "=" not in word)
        steps.append(Step(name, op, operands, " ".join(word for word in rest if "=" in word)))
    raise ValueError("no `out`")


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
