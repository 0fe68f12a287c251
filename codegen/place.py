"""Placing values in loops: each at the outermost level where all loop variables it depends on are bound.

A row softmax thus computes its maximum and its sum once per row. The levels form a tree: the output loops are a
chain from the root, and every reduction hangs its own chain under the level it is placed at.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from schedulog.codegen.values import Computation, Constant, Index, Reduction, Value
from schedulog.facts.symbolic import Variable, variables


@dataclass(eq=False, slots=True)
class Level:
    """A loop, or the kernel itself (then `variable` is None), with the values placed directly in it."""

    variable: Variable | None
    parent: Level | None
    depth: int
    values: list[Value] = field(default_factory=list)
    reductions: int = 0

    def path(self) -> list[Level]:
        """The levels from the outermost loop to this one, without the kernel itself."""
        found: list[Level] = []
        level: Level | None = self
        while level is not None and level.variable is not None:
            found.append(level)
            level = level.parent
        return found[::-1]


@dataclass(frozen=True, eq=False, slots=True)
class Placement:
    """Where everything is: `of[value]` its level, `chain[reduction]` its loops, `outputs` the output loops."""

    root: Level
    outputs: tuple[Level, ...]
    chain: Mapping[Reduction, tuple[Level, ...]]
    of: Mapping[Value, Level]
    depends: Mapping[Value, frozenset[Variable]]

    @property
    def innermost(self) -> Level:
        """The level the result is stored at."""
        return self.outputs[-1] if self.outputs else self.root


def dependencies(values: Sequence[Value], loops: Collection[Variable]) -> dict[Value, frozenset[Variable]]:
    """The loop variables each value depends on; a reduction binds its own."""
    found: dict[Value, frozenset[Variable]] = {}
    for value in values:
        own = [v for size in value.sizes for v in variables(size) if v in loops]
        parts = [found[source] for source in value.sources]
        merged = parts[0] if not own and len(set(parts)) == 1 else frozenset(own).union(*parts)
        found[value] = merged.difference(value.loops) if isinstance(value, Reduction) else merged
    return found


def place(computation: Computation, order: Sequence[Variable]) -> Placement:
    """The levels of `computation` with its output loops nested in `order`, outermost first."""
    values = computation.values()
    depends = dependencies(values, computation.extents)
    root = Level(None, None, 0)
    level_of: dict[Variable, Level] = {}
    outputs = _nested(order, root, level_of)
    chain: dict[Reduction, tuple[Level, ...]] = {}
    for value in reversed(
        values
    ):  # users first: a reduction's level may be a loop of the reduction around it
        if isinstance(value, Reduction):
            level = _deepest(depends[value], level_of, root)
            level.reductions += 1
            chain[value] = _nested(value.loops, level, level_of)
    of: dict[Value, Level] = {}
    for value in values:
        of[value] = _deepest(depends[value], level_of, root)
        of[value].values.append(value)
    return Placement(root, outputs, chain, of, depends)


def _nested(loops: Sequence[Variable], parent: Level, level_of: dict[Variable, Level]) -> tuple[Level, ...]:
    chain = []
    for variable in loops:
        parent = level_of[variable] = Level(variable, parent, parent.depth + 1)
        chain.append(parent)
    return tuple(chain)


def _deepest(loops: Collection[Variable], level_of: Mapping[Variable, Level], root: Level) -> Level:
    return max((level_of[v] for v in loops), key=lambda level: level.depth, default=root)


def cheap(value: Value) -> bool:
    """Whether a value is written out again wherever it is used rather than kept."""
    return isinstance(value, Index | Constant)
