"""Sizes and indices that may contain variables: plain ints where known, expressions with exact bounds elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from schedulog.errors import GraphError
from schedulog.facts.integers.compare import equal, less, maximum, minimum, surely_equal
from schedulog.facts.integers.divide import quotient, remainder
from schedulog.facts.integers.expr import (
    Atom,
    Expr,
    FloorDiv,
    Less,
    Modulo,
    Polynomial,
    Size,
    Variable,
    atoms,
    lower_bound,
    parts,
    upper_bound,
)
from schedulog.facts.integers.json import from_json, parse_record, to_json
from schedulog.facts.integers.text import render, sizes_text

__all__ = [
    "Atom",
    "Expr",
    "FloorDiv",
    "Less",
    "Modulo",
    "Polynomial",
    "Size",
    "Variable",
    "atoms",
    "bound_value",
    "equal",
    "evaluate",
    "from_json",
    "less",
    "lower_bound",
    "maximum",
    "minimum",
    "parse_record",
    "prod",
    "quotient",
    "remainder",
    "render",
    "sizes_text",
    "substitute",
    "surely_equal",
    "to_json",
    "upper_bound",
    "variables",
]


def prod(sizes: Iterable[Size]) -> Size:
    """The product, 1 for none."""
    return math.prod(sizes)


def variables(size: Size) -> frozenset[Variable]:
    """The variables that occur in `size`."""
    return frozenset(atom for atom in atoms(size) if isinstance(atom, Variable))


def substitute(size: Size, mapping: Mapping[Variable, Size]) -> Size:
    """`size` with every variable of `mapping` replaced, simplified again."""
    return _replaced(size, lambda variable: mapping.get(variable, variable))


def evaluate(size: Size, mapping: Mapping[str, int]) -> int:
    """The value where the variables, by name, have these values.

    Raises GraphError: SL220 if one is missing, SL223 if one is outside the bounds of its variable, for which the
    expression is not meant.
    """

    def value(variable: Variable) -> int:
        if variable.name not in mapping:
            raise _unbound(variable, size)
        return bound_value(variable.bind(mapping[variable.name]))

    return _known(_replaced(size, value))


def bound_value(size: Size) -> int:
    """The value where every variable has the value it is bound to. Raises GraphError SL220 if one is unbound."""

    def value(variable: Variable) -> int:
        if variable.value is None:
            raise _unbound(variable, size)
        return variable.value

    return _known(_replaced(size, value))


def _known(size: Size) -> int:
    assert isinstance(size, int)
    return size


def _unbound(variable: Variable, size: Size) -> GraphError:
    return GraphError(
        "SL220",
        f"variable {variable.name} has no value",
        where=render(size),
        help=f"bind {variable.name} to a number between {variable.min} and {variable.max}",
    )


def _replaced(size: Size, replacement: Callable[[Variable], Size]) -> Size:
    if isinstance(size, int):
        return size
    new: dict[Atom, Size] = {}
    for atom in atoms(size):
        if isinstance(atom, Variable):
            new[atom] = replacement(atom)
        elif all(new[part] is part for part in parts(atom)):
            new[atom] = atom
        else:
            new[atom] = _remade(atom, tuple(_rebuilt(child, new) for child in atom.children))
    return _rebuilt(size, new)


def _remade(atom: Atom, children: tuple[Size, ...]) -> Size:
    left, right = children
    match atom:
        case FloorDiv():
            return quotient(left, right)
        case Modulo():
            return remainder(left, right)
        case _:
            return less(left, right)


def _rebuilt(size: Size, new: Mapping[Atom, Size]) -> Size:
    if isinstance(size, int):
        return size
    if all(new[atom] is atom for monomial in size.coefficients for atom in monomial):
        return size
    result: Size = size.constant
    for monomial, coefficient in size.coefficients.items():
        result = result + coefficient * prod(new[atom] for atom in monomial)
    return result
