"""Graphs near a given one: other sizes, operations and types, more views, users, outputs and axes, two joined.

A rule that asks for much fires on no graph drawn at random. It fires on those that its author drew for it, and should be
right on all that are near.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from schedulog.errors import DeviceError, GraphError
from schedulog.trials.draw import TYPES, draw_more
from schedulog.trials.draw_values import BINARY, CASTS, UNARY
from schedulog.trials.exactness import crosses_devices, values_of
from schedulog.trials.recipe import Recipe, Step
from schedulog.trials.value import Value, known, list_text, pairs_text, same
from schedulog.verify import drawn, reference_values

_MOST_ELEMENTS: Final = 4_096
"""Of one value of a changed graph; more costs time and shows nothing."""
_TRIES: Final = 6
"""So often another change is looked for where one makes no graph."""
_REDUCTIONS: Final = ("sum", "max", "prod")


@dataclass(frozen=True, eq=False)
class _Here:
    """A graph that is to be changed, its values, and the graphs it may be joined with."""

    random: Random
    recipe: Recipe
    values: Sequence[Value]
    others: Sequence[Recipe]


_Change = Callable[[_Here], Recipe]


def mutated(generator: Random, recipe: Recipe, others: Sequence[Recipe], changes: int) -> Recipe:
    """The recipe with so many changes; `others` are those it may be joined with. Every one of them makes a graph on which
    all devices agree. The same generator state gives the same graph."""
    for _ in range(changes):
        recipe = next((r for _ in range(_TRIES) if (r := _changed(generator, recipe, others))), recipe)
    return recipe


def _changed(generator: Random, recipe: Recipe, others: Sequence[Recipe]) -> Recipe | None:
    """One change; None if it makes no graph that can be tried."""
    (change,) = generator.choices(_CHANGES, _WEIGHTS)
    try:
        values = values_of(recipe)
        found = change(_Here(generator, recipe, values, others)) if values else recipe
        return found if found != recipe and _can_be_tried(found, recipe) else None
    except (GraphError, DeviceError):
        return None


def _can_be_tried(recipe: Recipe, before: Recipe) -> bool:
    """Whether the graph has a value, the same on every device. Raises GraphError for steps that make no graph."""
    graph = recipe.made.graph
    if not graph.nodes or _largest(recipe) > max(_MOST_ELEMENTS, _largest(before)):
        return False
    if values_of(recipe) is None or crosses_devices(recipe):
        return False
    reference_values(graph, drawn(graph, 0))
    return True


def _largest(recipe: Recipe) -> int:
    nodes = (recipe.made.names[step.name] for step in recipe.steps if step.op != "bind")
    return max(math.prod(s for s in node.shape if isinstance(s, int)) for node in nodes)


def _resize(here: _Here) -> Recipe:
    """Another size for one, wherever it stands: 1, one more or less, twice, half. Memory has to hold the most of a variable size."""
    sizes = sorted(set(here.recipe.sizes) - {0})
    if not sizes or any(step.op == "bind" for step in here.recipe.steps):
        return here.recipe
    size = here.random.choice(sizes)
    return here.recipe.resized(
        size, max(1, here.random.choice((1, 2, size - 1, size + 1, size * 2, size // 2)))
    )


def _exchange(here: _Here) -> Recipe:
    """Another operation of the same arity in the place of one."""
    kinds = {v.name: v.kind for v in here.values}
    found: list[tuple[Step, Sequence[str]]] = []
    for step in here.recipe.steps:
        kind = kinds.get(step.name, "b")
        reduces = step.op in _REDUCTIONS and bool(step.options)
        tables: list[Sequence[str]] = [_REDUCTIONS] if reduces else [UNARY[kind], BINARY[kind]]
        for ops in tables:
            found += [(step, ops)] if step.op in ops and len(ops) > 1 else []
    if not found:
        return here.recipe
    step, others = here.random.choice(found)
    return _replaced(here.recipe, step, [replace(step, op=here.random.choice(others))])


def _retype(here: _Here) -> Recipe:
    """Another type in the place of one, wherever it stands."""
    dtype = here.random.choice(sorted({v.dtype for v in here.values}))
    return here.recipe.retyped(re.compile(rf"\b{dtype}\b"), here.random.choice(TYPES))


def _insert(here: _Here) -> Recipe:
    """Something of the same shape between a value and one that reads it."""
    shaped = {v.name: v for v in here.values if v.shape and v.plain}
    edges = [
        (step, i)
        for step in here.recipe.steps
        for i, name in enumerate(step.operands)
        if name in shaped and not (i == 0 and step.op in ("assign", "buffer_view"))
    ]
    if not edges:
        return here.recipe
    step, i = here.random.choice(edges)
    last, between = step.operands[i], list[Step]()
    for op, *rest in _same_shape(here.random, shaped[last]):
        between.append(Step(_fresh(here.recipe, len(between)), op, (last, *rest[:-1]), rest[-1]))
        last = between[-1].name
    operands = (*step.operands[:i], last, *step.operands[i + 1 :])
    return _replaced(here.recipe, step, [*between, replace(step, operands=operands)])


def _same_shape(generator: Random, v: Value) -> list[tuple[str, ...]]:
    """Operations that together give a value of the shape and type of `v`: each a word, operands besides, options."""
    sizes = known(v.shape)
    one = generator.choice(sizes)
    alike = [a for a, s in enumerate(sizes) if s == one]
    order = [alike[alike.index(a) - 1] if a in alike else a for a in range(len(sizes))]
    pads = [(generator.choice((0, 1)), generator.choice((0, 1, 2))) for _ in sizes]
    inner = [(a, a + s) for (a, _), s in zip(pads, sizes, strict=True)]
    forms: list[list[tuple[str, ...]]] = [
        [("contiguous", "")],
        [("flip", f"axis={generator.randrange(len(sizes))}")],
        [("reshape", f"to=[{math.prod(sizes)}]"), ("reshape", f"to=[{list_text(sizes)}]")],
        [("pad", f"by={pairs_text(pads)}"), ("shrink", f"to={pairs_text(inner)}")],
        [("cast", generator.choice(CASTS), ""), ("cast", v.dtype, "")],
        [("copy", f"device={'A' if v.device == 'B' else 'B'}"), ("copy", f"device={v.device}")] if v.device else [],
        [(generator.choice(UNARY[v.kind]), "")] if UNARY[v.kind] else [],
        [("permute", f"order={list_text(order)}")] if len(alike) > 1 else [],
    ]  # fmt: skip
    return generator.choice([form for form in forms if form])


def _rewire(here: _Here) -> Recipe:
    """Another value of the same shape and type in the place of an operand."""
    found: list[tuple[Step, int, str]] = []
    earlier: list[Value] = []
    made = {v.name: v for v in here.values}
    for step in here.recipe.steps:
        for i, name in enumerate(step.operands):
            if name in made:
                fit = (w.name for w in earlier if w.name != name and same(w, made[name]))
                found += [(step, i, other) for other in fit]
        earlier += [made[step.name]] if step.name in made else []
    if not found:
        return here.recipe
    step, i, other = here.random.choice(found)
    operands = (*step.operands[:i], other, *step.operands[i + 1 :])
    return _replaced(here.recipe, step, [replace(step, operands=operands)])


def _request(here: _Here) -> Recipe:
    """Another order of what is requested, or one more."""
    names = [v.name for v in here.values if v.name not in here.recipe.wanted]
    more = [here.random.choice(names)] if names else []
    wanted = [*here.recipe.wanted, *more]
    here.random.shuffle(wanted)
    return replace(here.recipe, wanted=tuple(wanted))


def _axis(here: _Here) -> Recipe:
    """A first axis for every value."""
    size = here.random.choice((1, 2, 3))
    return replace(here.recipe, steps=tuple(_with_axis(step, size) for step in here.recipe.steps))


def _with_axis(step: Step, size: int) -> Step:
    key, _, text = step.options.partition("=")
    if step.op in ("load", "const"):
        *first, typed = step.operands
        wider = typed.replace("[]", f"[{size}]") if "[]" in typed else typed.replace("[", f"[{size},")
        return replace(step, operands=(*first, wider))
    if key in ("axis", "order"):
        moved = ",".join(str(int(n) + 1) for n in text.split(","))
        return replace(step, options=f"order=0,{moved}" if key == "order" else f"axis={moved}")
    if key in ("to", "by"):
        first_pair = "(0,0)," if key == "by" else f"(0,{size}),"
        return replace(step, options=f"{key}=" + (text.replace("[", f"[{size},") if text.startswith("[") else first_pair + text))  # fmt: skip
    return step


def _more(here: _Here) -> Recipe:
    """Operations behind it: a chain, other users, assigns to its memory."""
    return draw_more(here.random, here.recipe, here.values)


def _join(here: _Here) -> Recipe:
    """Another graph beside this one, or behind it: it may read this one's values where it would read memory."""
    other, number = here.random.choice(here.others or [here.recipe]), len(here.recipe.steps)
    second = other.renamed({s.name: f"{s.name}_{number}" for s in other.steps})
    instead: dict[str, str] = {}
    for step in second.steps:
        fit = [
            v.name
            for v in here.values
            if step.op == "load" and step.operands == (_typed(v),) and not step.options
        ]
        if fit and here.random.random() < 0.7:
            instead[step.name] = here.random.choice(fit)
    kept = replace(second, steps=tuple(s for s in second.steps if s.name not in instead)).renamed(instead)
    return Recipe(
        (*here.recipe.steps, *kept.steps), tuple(dict.fromkeys((*here.recipe.wanted, *kept.wanted)))
    )


def _typed(v: Value) -> str:
    return f"{v.dtype}[{list_text(v.shape)}]"


def _replaced(recipe: Recipe, step: Step, by: Sequence[Step]) -> Recipe:
    at = recipe.steps.index(step)
    return replace(recipe, steps=(*recipe.steps[:at], *by, *recipe.steps[at + 1 :]))


def _fresh(recipe: Recipe, number: int) -> str:
    names = {step.name for step in recipe.steps}
    free = (f"i{n}" for n in range(len(names) + number + 1) if f"i{n}" not in names)
    return [next(free) for _ in range(number + 1)][number]


_CHANGES: Final[Sequence[_Change]] = (
    _resize,
    _exchange,
    _retype,
    _insert,
    _rewire,
    _request,
    _axis,
    _more,
    _join,
)
_WEIGHTS: Final = (6, 4, 2, 6, 2, 2, 2, 6, 2)
