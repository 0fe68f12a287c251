"""All small graphs: every way to put up to K operations on one piece of memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from schedulog.trials.recipe import Recipe, Step

_MEMORY: Final = Step("x", "load", ("f32[2,2]",))
_SQUARE: Final = (
    ("exp", ""),
    ("sum", "axis=1"),
    ("flip", "axis=0"),
    ("pad", "by=(0,0),(1,0)"),
    ("contiguous", ""),
)
_COLUMN: Final = (("exp", ""), ("expand", "to=[2,2]"))
_WIDE: Final = (("sum", "axis=1"), ("shrink", "to=(0,2),(0,2)"))
_UNARY: Final = {(2, 2): _SQUARE, (2, 1): _COLUMN, (2, 3): _WIDE}
"""The operations on one value, by its shape: one of each sort that rules tell apart."""
_SHAPES: Final = {"sum": (2, 1), "pad": (2, 3), "expand": (2, 2), "shrink": (2, 2)}


@dataclass(frozen=True, slots=True)
class _Grown:
    """A graph by the expressions it computes: each with its step's operation, operands and shape."""

    values: tuple[tuple[str, tuple[int, int]], ...]
    steps: tuple[tuple[str, tuple[int, ...], str], ...]
    content: int


def small_recipes(most: int) -> Iterator[Recipe]:
    """Every graph of one to `most` operations, smallest first, each once.

    Memory is one f32[2,2], x. An operation is exp, mul, sum, flip, pad, shrink, expand, contiguous or an assign to x,
    of any values that are there; what nothing reads is requested. Two graphs are the same if they compute the same
    expressions.
    """
    level = [_Grown((("x", (2, 2)),), (), 0)]
    for _ in range(most):
        grown: dict[frozenset[str], _Grown] = {}
        for graph in level:
            for larger in _extended(graph):
                grown.setdefault(frozenset(text for text, _ in larger.values), larger)
        level = list(grown.values())
        yield from map(_recipe, level)


def _extended(graph: _Grown) -> Iterator[_Grown]:
    known = {text for text, _ in graph.values}
    for op, operands, options, shape in _operations(graph):
        text = f"{op}({','.join(graph.values[i][0] for i in operands)})"
        if text not in known:
            content = len(graph.values) if op == "assign" else graph.content
            step = (op, operands, options)
            yield _Grown((*graph.values, (text, shape)), (*graph.steps, step), content)


def _operations(graph: _Grown) -> Iterator[tuple[str, tuple[int, ...], str, tuple[int, int]]]:
    for i, (text, shape) in enumerate(graph.values):
        for op, options in _UNARY[shape]:
            stored = op == "contiguous" and (text.startswith("contiguous") or text == "x")
            if not stored:
                yield op, (i,), options, _SHAPES.get(op, shape)
        for j in range(i + 1):
            if graph.values[j][1] == shape:
                yield "mul", tuple(sorted((i, j))), "", shape
        if shape == (2, 2) and i != graph.content:
            yield "assign", (graph.content, i), "", shape


def _recipe(graph: _Grown) -> Recipe:
    names = ["x", *(f"v{i}" for i in range(1, len(graph.values)))]
    steps = [
        Step(name, op, tuple(names[i] for i in operands), options)
        for name, (op, operands, options) in zip(names[1:], graph.steps, strict=True)
    ]
    read = {i for _, operands, _ in graph.steps for i in operands}
    wanted = tuple(name for i, name in enumerate(names) if i and i not in read)
    return Recipe((_MEMORY, *steps), wanted)
