"""Sizes and indices that may contain variables: plain ints where known, expressions with exact bounds elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from schedulog.errors import GraphError
from schedulog.facts.divide import less
from schedulog.facts.expr import (
    Atom,
    Expr,
    FloorDiv,
    Less,
    Modulo,
    Monomial,
    Polynomial,
    Size,
    Variable,
    lower_bound,
    order,
    upper_bound,
)
from schedulog.facts.symbolic_json import from_json, parse_record, to_json

__all__ = [
    "Atom", "Expr", "FloorDiv", "Less", "Modulo", "Polynomial", "Size", "Variable",
    "bound_value", "equal", "evaluate", "from_json", "less", "lower_bound", "maximum", "minimum", "parse_record", "prod",
    "render", "substitute", "surely_equal", "to_json", "upper_bound", "variables",
]  # fmt: skip


def prod(sizes: Iterable[Size]) -> Size:
    """The product, 1 for none."""
    result: Size = 1
    for size in sizes:
        result = result * size
    return result


def equal(a: Size, b: Size) -> bool | None:
    """True if a == b whatever the variables are, False if never, None if that depends on them."""
    difference = a - b
    if isinstance(difference, int):
        return difference == 0
    return False if difference.min > 0 or difference.max < 0 else None


def atoms(size: Size) -> list[Atom]:
    """Every atom in `size`, each once, parts before what they are part of."""
    if isinstance(size, int):
        return []
    done: dict[Atom, None] = {}
    stack: list[tuple[Atom, Iterator[Atom]]] = []
    pending = iter([atom for monomial in size.terms for atom in monomial])
    while True:
        child = next(pending, None)
        if child is not None:
            if child not in done:
                stack.append((child, pending))
                pending = _parts(child)
        elif stack:
            atom, pending = stack.pop()
            done[atom] = None
        else:
            return list(done)


def _parts(atom: Atom) -> Iterator[Atom]:
    return iter([a for c in atom.children if not isinstance(c, int) for m in c.terms for a in m])


def variables(size: Size) -> frozenset[Variable]:
    """The variables that occur in `size`."""
    return frozenset(atom for atom in atoms(size) if isinstance(atom, Variable))


def substitute(size: Size, mapping: Mapping[Variable, Size]) -> Size:
    """`size` with every variable of `mapping` replaced, simplified again."""
    return _replaced(size, lambda variable: mapping.get(variable, variable))


def evaluate(size: Size, mapping: Mapping[str, int]) -> int:
    """The value where the variables, by name, have these values. GraphError SL220 if one is missing."""

    def value(variable: Variable) -> int:
        if variable.name not in mapping:
            raise _unbound(variable, size)
        return mapping[variable.name]

    return _known(_replaced(size, value))


def bound_value(size: Size) -> int:
    """The value where every variable has the value it is bound to. GraphError SL220 if one is unbound."""

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
        elif all(new[part] is part for part in _parts(atom)):
            new[atom] = atom
        else:
            new[atom] = _remade(atom, tuple(_rebuilt(child, new) for child in atom.children))
    return _rebuilt(size, new)


def _remade(atom: Atom, children: tuple[Size, ...]) -> Size:
    left, right = children
    match atom:
        case FloorDiv():
            return left // right
        case Modulo():
            return left % right
        case _:
            return less(left, right)


def _rebuilt(size: Size, new: Mapping[Atom, Size]) -> Size:
    if isinstance(size, int):
        return size
    if all(new[atom] is atom for monomial in size.terms for atom in monomial):
        return size
    result: Size = size.constant
    for monomial, coefficient in size.terms.items():
        result = result + coefficient * prod(new[atom] for atom in monomial)
    return result


def render(size: Size) -> str:
    """The expression as text, in Python's notation: evaluating the text gives the value."""
    if isinstance(size, int):
        return str(size)
    text: dict[Atom, str] = {}
    for atom in atoms(size):
        text[atom] = _atom_text(atom, text)
    return _sum_text(size, text)


def _atom_text(atom: Atom, text: Mapping[Atom, str]) -> str:
    if isinstance(atom, Variable):
        return atom.name
    left, right = (_sum_text(child, text) for child in atom.children)
    if isinstance(atom, Less):
        return f"({left} < {right})"
    sign = "//" if isinstance(atom, FloorDiv) else "%"
    return f"{_operand(left)}{sign}{_operand(right)}"


def _operand(text: str) -> str:
    whole = text.replace("_", "a").isalnum() or _is_parenthesised(text)
    return text if whole else f"({text})"


def _is_parenthesised(text: str) -> bool:
    return text.startswith("(") and text.find(")") == len(text) - 1


def _sum_text(size: Size, text: Mapping[Atom, str]) -> str:
    if isinstance(size, int):
        return str(size)
    parts = [_product_text(m, size.terms[m], text) for m in sorted(size.terms, key=_place)]
    if size.constant:
        parts.append(str(size.constant))
    return " + ".join(parts).replace("+ -", "- ")


def _place(monomial: Monomial) -> tuple[Any, ...]:
    return (len(monomial), [order(atom) for atom in monomial])


def _product_text(monomial: Monomial, coefficient: int, text: Mapping[Atom, str]) -> str:
    if len(monomial) == 1 and coefficient == 1:
        return text[monomial[0]]
    factors = [_operand(text[atom]) for atom in monomial]
    product = "*".join(factors)
    if coefficient == 1:
        return product
    return f"-{product}" if coefficient == -1 else f"{product}*{coefficient}" if coefficient > 0 else f"-{product}*{-coefficient}"


def surely_equal(a: Size, b: Size) -> bool:
    """True if a == b whatever the variables are."""
    return equal(a, b) is True


def maximum(a: Size, b: Size) -> Size:
    """The greater of the two."""
    smaller = less(a, b)
    return b if smaller == 1 else a if smaller == 0 else a + smaller * (b - a)


def minimum(a: Size, b: Size) -> Size:
    """The lesser of the two."""
    smaller = less(a, b)
    return a if smaller == 1 else b if smaller == 0 else b + smaller * (a - b)
