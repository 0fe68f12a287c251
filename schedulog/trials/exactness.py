"""Where do all devices agree to the last bit? Only there comparisons, whole numbers and bits may be taken of values."""

from __future__ import annotations

from typing import Final

from schedulog.facts.node import Node
from schedulog.facts.symbolic import Variable
from schedulog.runtimes.numpy_ops import FLOAT_ONLY
from schedulog.trials.recipe import Recipe, Step
from schedulog.trials.value import Size, Value, short_name

_KEEPS: Final = frozenset(
    {"neg", "max", "where", "cast", "contiguous", "copy", "assign", "reshape", "expand", "permute", "flip", "pad", "shrink"}
)  # fmt: skip
"""Operations whose result, in floats too, is exact if their operands are."""
_NEEDS: Final = frozenset({"cmplt", "cmpne", "cmpeq", "bitcast", "floor", "idiv", "mod", "shl", "shr"})
"""Operations that make a difference of rounding a large one."""
_INTEGERS: Final = frozenset({"and", "or", "xor", "shl", "shr", "idiv", "mod", "threefry"})
"""Operations that are tried on whole numbers only."""
_FLOATS: Final = frozenset(op.value.lower() for op in FLOAT_ONLY)
_GIVEN: Final = frozenset({"load", "const", "buffer_view"})


def values_of(recipe: Recipe) -> list[Value] | None:
    """The values of a graph in its order; None if one of its operations has no meaning for its type, or needs
    exact operands and has others.

    A value whose sizes are expressions is left out. Raises GraphError for steps that make no graph.
    """
    names = recipe.made.names
    exact: dict[str, bool] = {}
    found: list[Value] = []
    for step in recipe.steps:
        if step.op == "bind":
            continue
        operands = [names[o] for o in step.operands if o in exact]
        sources = all(exact.get(o, True) for o in step.operands)
        node = names[step.name]
        if _meaningless(step, node) or (not sources and _needs(step, node, operands)):
            return None
        exact[step.name] = step.op in _GIVEN or (sources and (step.op in _KEEPS or not node.dtype.is_float))
        shape = _sizes(node)
        if shape is not None:
            memory = step.op in ("load", "assign")
            dtype = short_name(node.dtype)
            found.append(Value(step.name, shape, dtype, exact[step.name], memory, node.device))
    return found


def crosses_devices(recipe: Recipe) -> bool:
    """Whether an operation has operands of several devices; what is made of constants alone is on every one."""
    names = recipe.made.names
    return any(
        len({names[o].device for o in step.operands if o in names and names[o].placed}) > 1
        for step in recipe.steps
    )


def _meaningless(step: Step, node: Node) -> bool:
    return step.op in (_INTEGERS if node.dtype.is_float else _FLOATS)


def _needs(step: Step, node: Node, operands: list[Node]) -> bool:
    """A wider type would be compared as such; an integer shows each rounding as a whole step."""
    if step.op != "cast":
        return step.op in _NEEDS
    return not node.dtype.is_float or any(node.dtype.bits > o.dtype.bits for o in operands)


def _sizes(node: Node) -> tuple[Size, ...] | None:
    found: list[Size] = []
    for size in node.shape:
        if not isinstance(size, int | Variable):
            return None
        found.append(size.name if isinstance(size, Variable) else size)
    return tuple(found)
