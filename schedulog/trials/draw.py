"""Random graphs for trials of rules.

Every operation that rules tell apart occurs: elementwise ones that keep zero and that do not, reductions, movements with
and without masks, casts, copies, assigns to whole buffers and to windows of them, several outputs, symbolic sizes. Values
stay where every device agrees: comparisons and whole numbers are made of exact values only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from random import Random
from types import MappingProxyType
from typing import Final

from schedulog.trials.recipe import Recipe, Step
from schedulog.trials.value import Size, Value, fits, known, list_text, pairs_text, same, shape_text

UNARY: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"f": ("neg", "exp", "sqrt", "recip", "sin", "tanh", "log2", "cos"), "i": ("neg",), "b": ()}
)
BINARY: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "f": ("add", "mul", "sub", "max", "fdiv", "add", "mul"),
        "i": ("add", "mul", "sub", "max", "xor", "idiv", "mod"),
        "b": ("and", "or", "xor"),
    }
)
TYPES: Final = ("f32",) * 6 + ("i32",) * 3 + ("f16", "f64", "u8", "bool")
CASTS: Final = ("f16", "f32", "f64", "i32", "i64")
_MOST_ELEMENTS: Final = 400


def draw_recipe(generator: Random, most: int = 9, favoured: Collection[str] = ()) -> Recipe:
    """A random graph of up to `most` operations and some memory. The same generator state gives the same graph.

    Of elementwise operations the `favoured` ones, by their names in the notation, are taken more often.
    """
    draft = _Draft(generator, favoured)
    draft.begin()
    for _ in range(generator.randint(2, most)):
        draft.step()
    return draft.finish()


def draw_more(generator: Random, recipe: Recipe, values: Sequence[Value], most: int = 3) -> Recipe:
    """A graph with up to `most` further operations on its `values`. It requests what it did, and what nobody reads yet."""
    draft = _Draft(generator, ())
    draft.resume(recipe, values)
    for _ in range(generator.randint(1, most)):
        draft.step()
    before = {step.name for step in recipe.steps}
    more = [name for name in draft.finish().wanted if name not in before]
    return Recipe(tuple(draft.steps), (*recipe.wanted, *more)).needed()


class _Draft:
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

    def begin(self) -> None:
        """Memory, and perhaps a variable size."""
        random = self.random
        dims = [random.choice((1, 2, 3, 4, 4, 5, 8)) for _ in range(random.choice((1, 2, 2, 2, 3)))]
        dtype = random.choice(TYPES)
        for name in "xyz"[: random.randint(1, 3)]:
            shape = (
                tuple(dims)
                if random.random() < 0.8
                else tuple(1 if random.random() < 0.5 else d for d in dims)
            )
            same = dtype if random.random() < 0.8 else random.choice(TYPES)
            self.add(
                "load", (f"{same}{shape_text(shape)}",), Value(name, shape, same, exact=True, memory=True)
            )
            self.newest[name] = self.values[-1]
            self.loads.append(self.values[-1])
        if random.random() < 0.1:
            self.symbolic()

    def symbolic(self) -> None:
        """A window of a size known only when it runs."""
        source = self.values[0]
        size = source.shape[0]
        if not isinstance(size, int) or size < 2:
            return
        self.steps.append(Step("n", "bind", (), f"min=1 max={size} value={self.random.randint(1, size)}"))
        rest = "".join(f",(0,{s})" for s in source.shape[1:])
        made = Value(self.fresh(), ("n", *source.shape[1:]), source.dtype, source.exact)
        self.add("shrink", (source.name,), made, f"to=(0,n){rest}")

    def step(self) -> None:
        """One more operation on what is there; the newest values are taken more often."""
        random = self.random
        v = self.values[-1] if random.random() < 0.4 else random.choice(self.values)
        moves: list[tuple[Callable[[Value], None], int]] = [
            (self.unary, 4), (self.binary, 6), (self.reduce, 4), (self.cast, 2), (self.contiguous, 3),
            (self.select, 1), (self.constant, 1),
        ]  # fmt: skip
        if self.loads:
            moves.append((self.window, 1))
        if v.plain:
            moves += [
                (self.broadcast, 3), (self.pad, 2), (self.shrink, 1), (self.flip, 1), (self.permute, 1),
                (self.reshape, 1), (self.copy, 1), (self.assign, 4), (self.assign_window, 1),
            ]  # fmt: skip
            moves += [(self.assign_moved, 1)] if self.newest else []
        ((move, _),) = random.choices(moves, [weight for _, weight in moves])
        move(v)

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

    def elementwise(self, ops: Sequence[str]) -> str:
        liked = [op for op in ops if op in self.favoured]
        return self.random.choice(liked if liked and self.random.random() < 0.5 else ops)

    def unary(self, v: Value) -> None:
        ops = UNARY[v.kind]
        if ops:
            op = self.elementwise(ops)
            exact = v.exact and (v.kind != "f" or op == "neg")
            self.add(op, (v.name,), self.like(v, exact=exact))

    def binary(self, v: Value) -> None:
        op = self.elementwise(BINARY[v.kind])
        other = self.partner(v)
        if other is None:
            if v.kind == "b":
                return
            number = str(self.random.choice((1, 2, 3)))
            self.add(op, (v.name, number), self.like(v, exact=v.exact and v.kind != "f"))
            return
        both = v.exact and other.exact
        if both and v.kind != "b" and self.random.random() < 0.15:
            self.add("cmplt", (v.name, other.name), self.like(v, dtype="bool", exact=True))
            return
        pair = (v.name, other.name) if self.random.random() < 0.5 else (other.name, v.name)
        self.add(op, pair, self.like(v, exact=both and v.kind != "f"))

    def partner(self, v: Value) -> Value | None:
        """Another operand for an operation on `v`: one of its type and shape, or one that can be repeated to it."""
        fit = [
            w for w in self.values if (w.dtype, w.device) == (v.dtype, v.device) and fits(w.shape, v.shape)
        ]
        if not fit or self.random.random() < 0.15:
            return None
        found = self.random.choice(fit)
        return found if found.shape == v.shape else self.expand(found, v.shape)

    def constant(self, v: Value) -> None:
        """A number in every element, seldom without a sum of it: that is an index range."""
        self.add(
            "const",
            (str(self.random.choice((0, 1, 2))), f"{v.dtype}{shape_text(v.shape)}"),
            self.like(v, exact=True),
            f"device={v.device}" if v.device else "",
        )
        if self.random.random() < 0.7:
            self.reduce(self.values[-1])

    def window(self, v: Value) -> None:
        """The first bytes of some memory itself, not of a content."""
        memory = self.loads[0]
        size = math.prod(known(memory.shape))
        made = self.like(memory, shape=(self.random.randint(1, size),))
        self.add("buffer_view", (memory.name, f"{made.dtype}{shape_text(made.shape)}"), made)

    def select(self, v: Value) -> None:
        conditions = [
            w for w in self.values if w.dtype == "bool" and (w.shape, w.device) == (v.shape, v.device)
        ]
        other = self.partner(v)
        if conditions and other is not None and v.kind != "b":
            condition = self.random.choice(conditions)
            exact = v.exact and other.exact and condition.exact
            self.add("where", (condition.name, v.name, other.name), self.like(v, exact=exact))

    def reduce(self, v: Value) -> None:
        axes = [i for i, size in enumerate(v.shape) if size != 1]
        if not axes or v.kind == "b":
            return
        chosen = sorted(self.random.sample(axes, self.random.randint(1, len(axes))))
        op = self.random.choice(("sum", "sum", "sum", "max", "prod"))
        shape = tuple(1 if i in chosen else s for i, s in enumerate(v.shape))
        exact = v.exact and (v.kind != "f" or op == "max")
        self.add(op, (v.name,), self.like(v, shape=shape, exact=exact), f"axis={list_text(chosen)}")

    def broadcast(self, v: Value) -> None:
        """Repeated along the axes of size 1, to the shape of another value where one fits."""
        shapes = [w.shape for w in self.values if w.shape != v.shape and w.plain and fits(v.shape, w.shape)]
        if shapes:
            self.expand(v, self.random.choice(shapes))

    def expand(self, v: Value, shape: tuple[Size, ...]) -> Value:
        return self.add(
            "expand", (v.name,), self.like(v, shape=shape, exact=v.exact), f"to={shape_text(shape)}"
        )

    def moved(self, v: Value, op: str, shape: tuple[Size, ...], options: str) -> None:
        self.add(op, (v.name,), self.like(v, shape=shape, exact=v.exact), options)

    def pad(self, v: Value) -> None:
        sizes, by = (
            known(v.shape),
            [(self.random.choice((0, 0, 1)), self.random.choice((0, 1, 2))) for _ in v.shape],
        )
        shape = tuple(s + a + b for s, (a, b) in zip(sizes, by, strict=True))
        if shape != sizes and math.prod(shape) <= _MOST_ELEMENTS:
            self.moved(v, "pad", shape, f"by={pairs_text(by)}")

    def shrink(self, v: Value) -> None:
        sizes = known(v.shape)
        begins = [self.random.randint(0, (s - 1) // 2) for s in sizes]
        ends = [self.random.randint(b + 1, s) for b, s in zip(begins, sizes, strict=True)]
        pairs = list(zip(begins, ends, strict=True))
        shape = tuple(e - b for b, e in pairs)
        if shape != sizes:
            self.moved(v, "shrink", shape, f"to={pairs_text(pairs)}")

    def flip(self, v: Value) -> None:
        self.moved(v, "flip", v.shape, f"axis={self.random.randrange(len(v.shape))}")

    def permute(self, v: Value) -> None:
        order = self.random.sample(range(len(v.shape)), len(v.shape))
        if order != sorted(order):
            self.moved(v, "permute", tuple(v.shape[i] for i in order), f"order={list_text(order)}")

    def reshape(self, v: Value) -> None:
        sizes = known(v.shape)
        total = math.prod(sizes)
        parts = [(total,), (total, 1), *((d, total // d) for d in range(2, total) if total % d == 0)]
        shape = self.random.choice([p for p in parts if p != sizes] or [sizes])
        if shape != sizes:
            self.moved(v, "reshape", shape, f"to={shape_text(shape)}")

    def cast(self, v: Value) -> None:
        """Inexact values are made no more exact: a wider type is compared as such."""
        dtype = self.random.choice([t for t in CASTS if v.exact or t == "f16"])
        if dtype != v.dtype:
            self.add("cast", (v.name, dtype), self.like(v, dtype=dtype, exact=v.exact))

    def contiguous(self, v: Value) -> None:
        if not v.memory:
            self.add("contiguous", (v.name,), self.like(v, exact=v.exact))

    def copy(self, v: Value) -> None:
        if self.random.random() < 0.4:
            device = "A" if v.device == "B" else "B"
            self.add("copy", (v.name,), self.like(v, exact=v.exact, device=device), f"device={device}")

    def assign(self, v: Value) -> None:
        """A whole buffer is overwritten; what it holds then is a new value, the old one may still be read."""
        open_ = [
            b for b, w in self.newest.items() if b not in self.closed and same(w, v) and w.name != v.name
        ]
        if open_:
            self.overwrite(self.random.choice(open_), v)

    def overwrite(self, name: str, v: Value) -> None:
        made = self.like(v, exact=v.exact, memory=True)
        self.newest[name] = self.add("assign", (self.newest[name].name, v.name), made)

    def assign_moved(self, _: Value) -> None:
        """A buffer is overwritten with its own content in another order, or with what a sum of it gives."""
        name = self.random.choice(list(self.newest))
        content = self.newest[name]
        if name in self.closed or not content.plain:
            return
        if self.random.random() < 0.6:
            self.flip(content)
        else:
            self.reduce(content)
            if self.values[-1].shape != content.shape and fits(self.values[-1].shape, content.shape):
                self.expand(self.values[-1], content.shape)
        self.unary(self.values[-1])
        if same(self.values[-1], content):
            self.overwrite(name, self.values[-1])

    def assign_window(self, v: Value) -> None:
        """A part of a buffer is overwritten. Nothing else is written there afterwards: that would have no order."""
        open_ = [
            b
            for b, w in self.newest.items()
            if b not in self.closed and (w.dtype, w.device) == (v.dtype, v.device)
        ]
        for name in open_:
            target = self.newest[name]
            begins = tuple((0, s) for s in known(v.shape))
            inside = len(target.shape) == len(v.shape) and all(
                s <= t for s, t in zip(known(v.shape), known(target.shape), strict=True)
            )
            if inside and target.shape != v.shape:
                window = self.add(
                    "shrink", (target.name,), self.like(v, exact=target.exact), f"to={pairs_text(begins)}"
                )
                self.add("assign", (window.name, v.name), self.like(v, exact=v.exact))
                self.closed.add(name)
                return
