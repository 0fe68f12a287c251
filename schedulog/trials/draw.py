"""Random graphs for trials of rules.

Every operation that rules tell apart occurs: elementwise ones that keep zero and that do not, reductions, movements with
and without masks, casts, copies, assigns to whole buffers and to windows of them, several outputs, symbolic sizes. Values
stay where every device agrees: comparisons and whole numbers are made of exact values only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from random import Random
from typing import Final

from schedulog.trials.draft import Draft
from schedulog.trials.draw_memory import assign, assign_moved, assign_window, copy, window
from schedulog.trials.draw_values import (
    binary,
    broadcast,
    cast,
    constant,
    contiguous,
    flip,
    pad,
    permute,
    reduce,
    reshape,
    select,
    shrink,
    unary,
)
from schedulog.trials.recipe import Recipe, Step
from schedulog.trials.value import Value, shape_text

TYPES: Final = ("f32",) * 6 + ("i32",) * 3 + ("f16", "f64", "u8", "bool")


def draw_recipe(generator: Random, most: int = 9, favoured: Collection[str] = ()) -> Recipe:
    """A random graph of up to `most` operations and some memory. The same generator state gives the same graph.

    Of elementwise operations the `favoured` ones, by their names in the notation, are taken more often.
    """
    draft = Draft(generator, favoured)
    _begin(draft)
    for _ in range(generator.randint(2, most)):
        _step(draft)
    return draft.finish()


def draw_more(generator: Random, recipe: Recipe, values: Sequence[Value], most: int = 3) -> Recipe:
    """A graph with up to `most` further operations on its `values`. It requests what it did, and what nobody reads yet."""
    draft = Draft(generator, ())
    draft.resume(recipe, values)
    for _ in range(generator.randint(1, most)):
        _step(draft)
    before = {step.name for step in recipe.steps}
    more = [name for name in draft.finish().wanted if name not in before]
    return Recipe(tuple(draft.steps), (*recipe.wanted, *more)).needed()


def _begin(draft: Draft) -> None:
    """Memory, and perhaps a variable size."""
    random = draft.random
    dims = [random.choice((1, 2, 3, 4, 4, 5, 8)) for _ in range(random.choice((1, 2, 2, 2, 3)))]
    dtype = random.choice(TYPES)
    for name in "xyz"[: random.randint(1, 3)]:
        shape = (
            tuple(dims) if random.random() < 0.8 else tuple(1 if random.random() < 0.5 else d for d in dims)
        )
        same = dtype if random.random() < 0.8 else random.choice(TYPES)
        draft.add("load", (f"{same}{shape_text(shape)}",), Value(name, shape, same, exact=True, memory=True))
        draft.newest[name] = draft.values[-1]
        draft.loads.append(draft.values[-1])
    if random.random() < 0.1:
        _symbolic(draft)


def _symbolic(draft: Draft) -> None:
    """A window of a size known only when it runs."""
    source = draft.values[0]
    size = source.shape[0]
    if not isinstance(size, int) or size < 2:
        return
    draft.steps.append(Step("n", "bind", (), f"min=1 max={size} value={draft.random.randint(1, size)}"))
    rest = "".join(f",(0,{s})" for s in source.shape[1:])
    made = Value(draft.fresh(), ("n", *source.shape[1:]), source.dtype, source.exact)
    draft.add("shrink", (source.name,), made, f"to=(0,n){rest}")


def _step(draft: Draft) -> None:
    """One more operation on what is there; the newest values are taken more often."""
    random = draft.random
    v = draft.values[-1] if random.random() < 0.4 else random.choice(draft.values)
    moves: list[tuple[Callable[[Draft, Value], None], int]] = [
        (unary, 4), (binary, 6), (reduce, 4), (cast, 2), (contiguous, 3),
        (select, 1), (constant, 1),
    ]  # fmt: skip
    if draft.loads:
        moves.append((window, 1))
    if v.plain:
        moves += [
            (broadcast, 3), (pad, 2), (shrink, 1), (flip, 1), (permute, 1),
            (reshape, 1), (copy, 1), (assign, 4), (assign_window, 1),
        ]  # fmt: skip
        moves += [(assign_moved, 1)] if draft.newest else []
    ((move, _),) = random.choices(moves, [weight for _, weight in moves])
    move(draft, v)
