"""A random graph under construction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import count
from random import Random

from schedulog.trials.recipe import Recipe, Step
from schedulog.trials.value import Size, Value, fits, shape_text


class Draft:
    """A graph under construction. `newest` names, per buffer, the value that holds its newest content."""

    def __init__(self, generator: Random, favoured: Collection[str]) -> None:
        self.random = generator
        self.favoured = favoured
        self.steps: list[Step] = []
        self.values: list[Value] = []
        self.newest: dict[str, Value] = {}
        self.closed: set[str] = set()
        self.loads: list[Value] = []

    def resume(self, recipe: Recipe, values: Sequence[Value]) -> None:
        """Begin with what a graph has. Memory of which a part is overwritten is closed: see `assign_window`."""
        self.steps, self.values = list(recipe.steps), [v for v in values if v.shape]
        known_values = {v.name: v for v in self.values}
        roots: dict[str, str] = {}
        for step in recipe.steps:
            roots[step.name] = step.name if step.op == "load" else roots.get((*step.operands, "")[0], "")
            v, root = known_values.get(step.name), roots[step.name]
            if step.op == "load" and v is not None:
                self.loads.append(v)
                self.newest[step.name] = v
            elif step.op == "assign" and root:
                whole = root in self.newest and step.operands[0] == self.newest[root].name
                self.newest |= {root: v} if whole and v is not None else {}
                self.closed |= set() if whole else {root}

    def finish(self) -> Recipe:
        """What nobody reads is requested, and sometimes something else besides."""
        read = {word for step in self.steps for word in step.operands}
        loads = {v.name for v in self.loads}
        names = [v.name for v in self.values if v.name not in read | loads]
        inner = [v.name for v in self.values if v.name in read - loads]
        if inner and self.random.random() < 0.3:
            names.append(self.random.choice(inner))
        if not names:
            names = [self.values[-1].name]
        self.random.shuffle(names)
        return Recipe(tuple(self.steps), tuple(names)).needed()

    def fresh(self) -> str:
        taken = {step.name for step in self.steps}
        return next(name for i in count(len(self.steps)) if (name := f"v{i}") not in taken)

    def add(self, op: str, operands: tuple[str, ...], made: Value, options: str = "") -> Value:
        self.steps.append(Step(made.name, op, operands, options))
        self.values.append(made)
        return made

    def like(self, v: Value, **changes: object) -> Value:
        """A new value of the shape, type and device of `v`."""
        given: dict[str, object] = {"shape": v.shape, "dtype": v.dtype, "exact": False, "device": v.device}
        return Value(self.fresh(), **(given | changes))  # type: ignore[arg-type]

    def partner(self, v: Value) -> Value | None:
        """Another operand for an operation on `v`: one of its type and shape, or one that can be repeated to it."""
        fit = [
            w for w in self.values if (w.dtype, w.device) == (v.dtype, v.device) and fits(w.shape, v.shape)
        ]
        if not fit or self.random.random() < 0.15:
            return None
        found = self.random.choice(fit)
        return found if found.shape == v.shape else self.expand(found, v.shape)

    def expand(self, v: Value, shape: tuple[Size, ...]) -> Value:
        return self.add(
            "expand", (v.name,), self.like(v, shape=shape, exact=v.exact), f"to={shape_text(shape)}"
        )
