"""A graph that breaks, made as small as it can be while it still breaks in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from schedulog.errors import GraphError
from schedulog.facts.notation import DTYPES
from schedulog.trials.exactness import values_of
from schedulog.trials.recipe import Recipe, Sample, Step, words
from schedulog.trials.value import short_name

_OTHER_TYPE: Final = re.compile(rf"\b(?:{'|'.join(name for name in DTYPES if name != 'f32')})\b")
_MOST: Final = 2_000
"""Candidates that are tried at most."""


def shrink(sample: Sample, breaks: Callable[[Sample], bool]) -> Sample:
    """The smallest sample found: without outputs, steps and switches that are not needed, with small sizes.

    Each candidate is smaller than the last one kept, so this ends; `breaks` decides whether it is kept. The steps of the
    result are named anew.
    """
    budget = _MOST
    found = sample
    while budget > 0:
        for candidate in _candidates(found):
            budget -= 1
            if _weight(candidate) < _weight(found) and _is_graph(candidate) and breaks(candidate):
                found = candidate
                break
            if budget <= 0:
                break
        else:
            break
    return replace(found, recipe=_renamed(found.recipe))


def _weight(sample: Sample) -> tuple[int, int, int]:
    """What is made smaller: steps and outputs first, then switches, then the numbers in the text and types but f32."""
    recipe = sample.recipe
    types = len(_OTHER_TYPE.findall(str(recipe)))
    return len(recipe.steps) * 4 + len(recipe.wanted), len(sample.options), sum(recipe.sizes) + types


def _is_graph(sample: Sample) -> bool:
    try:
        return bool(sample.recipe.made.graph.nodes) and values_of(sample.recipe) is not None
    except GraphError:
        return False


def _candidates(sample: Sample) -> Iterator[Sample]:
    for recipe in _smaller(sample.recipe):
        yield replace(sample, recipe=recipe.needed())
    for name in sample.options:
        yield replace(sample, options={n: v for n, v in sample.options.items() if n != name})


def _smaller(recipe: Recipe) -> Iterator[Recipe]:
    wanted = recipe.wanted
    for i in range(len(wanted) if len(wanted) > 1 else 0):
        yield replace(recipe, wanted=wanted[:i] + wanted[i + 1 :])
    for step in reversed(recipe.steps):
        yield from _without(recipe, step)
    yield from _resized(recipe)
    for dtype in sorted(set(_OTHER_TYPE.findall(str(recipe)))):
        yield recipe.retyped(re.compile(rf"\b{dtype}\b"), "f32")


def _without(recipe: Recipe, step: Step) -> Iterator[Recipe]:
    """One of its operands in the place of a step, or memory of its shape."""
    earlier = {s.name for s in recipe.steps}
    for operand in dict.fromkeys(step.operands):
        if operand in earlier:
            yield _instead(recipe, step.name, operand)
    if step.op not in ("load", "bind"):
        n = recipe.made.names[step.name]
        if all(isinstance(size, int) for size in n.shape):
            fresh = Step(step.name, "load", (f"{short_name(n.dtype)}[{','.join(map(str, n.shape))}]",))
            steps = tuple(fresh if s is step else s for s in recipe.steps)
            yield replace(recipe, steps=steps, wanted=tuple(w for w in recipe.wanted if w != step.name))


def _instead(recipe: Recipe, name: str, other: str) -> Recipe:
    def put(text: str) -> str:
        return other if text == name else text

    steps = tuple(replace(s, operands=tuple(map(put, s.operands))) for s in recipe.steps if s.name != name)
    return replace(recipe, steps=steps, wanted=tuple(dict.fromkeys(map(put, recipe.wanted))))


def _resized(recipe: Recipe) -> Iterator[Recipe]:
    """Every size of one value made smaller, wherever it stands."""
    for size in sorted(set(recipe.sizes), reverse=True):
        for smaller in dict.fromkeys((1, 2, size - 1)):
            if 0 < smaller < size:
                yield recipe.resized(size, smaller)


def _renamed(recipe: Recipe) -> Recipe:
    """Memory is called x, y, z, sizes n, everything else a, b, c, ..."""
    names: dict[str, str] = {}
    memory, others = iter("xyzuvw"), iter("abcdefghijkl")
    for step in recipe.steps:
        pool = memory if step.op == "load" else others
        names[step.name] = "n" if step.op == "bind" else next(pool, f"v{len(names)}")
    if any(word in names.values() for step in recipe.steps for word in words(step) - set(names)):
        return recipe

    return recipe.renamed(names)
