"""Index arithmetic for generated code: through views, linear coefficients, and as C text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from schedulog.facts.symbolic import (
    Atom,
    FloorDiv,
    Less,
    Modulo,
    Size,
    Variable,
    equal,
    less,
    lower_bound,
    quotient,
    remainder,
    substitute,
    upper_bound,
    variables,
)
from schedulog.facts.symbolic import atoms as atoms_of
from schedulog.facts.view import View, ViewStack


def in_range(
    indices: Sequence[Size], shape: Sequence[Size], extents: Mapping[Variable, Size]
) -> tuple[Size, ...]:
    """The undecided (or false) comparisons that together say 0 <= index < size on every axis.

    A loop variable is in range of its own extent, which its bounds cannot say where the extent is symbolic.
    """
    tests: list[Size] = []
    for index, size in zip(indices, shape, strict=True):
        if isinstance(index, Variable) and extents.get(index) == size:
            continue
        tests += [less(-1, index), less(index, size)]
    return tuple(dict.fromkeys(t for t in tests if t != 1))


def through(look: ViewStack, indices: Sequence[Size]) -> tuple[Size, tuple[Size, ...]]:
    """The element of the base that `look` shows at `indices`, and the tests under which it shows it (else it shows 0).

    Wherever the tests of a view hold, its indices lie inside its mask, so the arithmetic behind them is simplified
    with these bounds; where they do not hold the result means nothing.
    """
    offset, tests, assumed = _walked(look, indices)
    return _resolved(offset, assumed), tests


def through_to(
    look: ViewStack, indices: Sequence[Size], shape: Sequence[Size]
) -> tuple[tuple[Size, ...], tuple[Size, ...]]:
    """As `through`, with the element as an index vector of a base of `shape`."""
    offset, tests, assumed = _walked(look, indices)
    return tuple(_resolved(index, assumed) for index in unravel(offset, shape)), tests


def _walked(look: ViewStack, indices: Sequence[Size]) -> tuple[Size, tuple[Size, ...], dict[Variable, Size]]:
    """The element, over stand-ins for indices that a mask bounds; the tests; and what the stand-ins stand for."""
    assumed: dict[Variable, Size] = {}
    tests: list[Size] = []
    current = list(indices)
    offset: Size = 0
    for depth, view in enumerate(reversed(look.views)):
        if view.mask is not None and any(equal(begin, end) is True for begin, end in view.mask):
            return 0, (0,), {}
        if depth:
            current = unravel(offset, view.shape)
        tests += _mask_tests(view, current)
        offset = view.offset
        for axis, stride in enumerate(view.strides):
            if stride != 0:
                offset = offset + stride * _assume(view, axis, current[axis], assumed)
    resolved = (_resolved(test, assumed) for test in tests)
    return offset, tuple(dict.fromkeys(test for test in resolved if test != 1)), assumed


def _mask_tests(view: View, indices: Sequence[Size]) -> list[Size]:
    if view.mask is None:
        return []
    bounded = zip(indices, view.mask, strict=True)
    return [test for index, (begin, end) in bounded for test in (less(begin - 1, index), less(index, end))]


def _assume(view: View, axis: int, index: Size, assumed: dict[Variable, Size]) -> Size:
    """The index, or a stand-in with the tighter bounds it has where the view's mask lets it through."""
    begin, end = (0, view.shape[axis]) if view.mask is None else view.mask[axis]
    low, high = lower_bound(begin), upper_bound(end) - 1
    inside = low <= lower_bound(index) and upper_bound(index) <= high
    if isinstance(index, int) or inside or low > high:
        return index
    stand_in = Variable(f"?{len(assumed)}", max(low, index.min), max(low, index.min, min(high, index.max)))
    assumed[stand_in] = index
    return stand_in


def _resolved(size: Size, assumed: dict[Variable, Size]) -> Size:
    """`size` with the stand-ins replaced; a later one may stand for an expression over earlier ones."""
    for stand_in in reversed(assumed):
        if not isinstance(size, int):
            size = substitute(size, {stand_in: assumed[stand_in]})
    return size


def unravel(offset: Size, shape: Sequence[Size]) -> list[Size]:
    """The row-major indices of element `offset` of `shape`."""
    indices: list[Size] = []
    for size in reversed(shape):
        if len(indices) == len(shape) - 1:
            indices.append(0 if size == 1 else offset)
            break
        indices.append(remainder(offset, size))
        offset = quotient(offset, size)
    return indices[::-1]


def coefficients(size: Size, loops: Collection[Variable]) -> dict[Variable, Size | None]:
    """For each loop variable in `size` the factor it occurs with, None where `size` is not linear in it."""
    found: dict[Variable, Size | None] = {}
    if isinstance(size, int):
        return found
    for monomial, coefficient in size.coefficients.items():
        inside = [variable for atom in monomial for variable in variables(atom) if variable in loops]
        if len(inside) == 1 and inside[0] in monomial:
            factor: Size = coefficient
            for atom in monomial:
                factor = factor if atom == inside[0] else factor * atom
            before = found.get(inside[0], 0)
            found[inside[0]] = None if before is None else before + factor
        else:
            found.update(dict.fromkeys(inside))
    return found


def c_text(size: Size) -> str:
    """`size` as a C expression over int64_t names; // and % round down, as the helpers `floor_div` and `floor_mod`."""
    text: dict[Atom, str] = {}
    for atom in atoms_of(size):
        text[atom] = _atom_text(atom, lambda part: _sum_text(part, text))
    return _sum_text(size, text)


def _atom_text(atom: Atom, of: Callable[[Size], str]) -> str:
    if isinstance(atom, Variable):
        return atom.name
    if isinstance(atom, Less):
        return f"({of(atom.left)} < {of(atom.right)})"
    assert isinstance(atom, FloorDiv | Modulo)
    numerator, denominator = of(atom.numerator), of(atom.denominator)
    if lower_bound(atom.denominator) < 1:
        # A size of 0: what is divided by it belongs to no element, but may be computed before the loop that runs 0 times.
        denominator = f"larger({denominator}, 1)"
    if lower_bound(atom.numerator) < 0:
        return f"floor_{'div' if isinstance(atom, FloorDiv) else 'mod'}({numerator}, {denominator})"
    sign = "/" if isinstance(atom, FloorDiv) else "%"
    return f"({_operand(numerator)} {sign} {_operand(denominator)})"


def _operand(text: str) -> str:
    return text if text.replace("_", "a").isalnum() else f"({text})"


def _sum_text(size: Size, text: Mapping[Atom, str]) -> str:
    if isinstance(size, int):
        return str(size)
    parts = [_product_text([text[a] for a in monomial], c) for monomial, c in size.terms.items()]
    parts.sort(key=lambda part: (part.startswith("-"), part))
    if size.constant:
        parts.append(str(size.constant))
    return " + ".join(parts).replace("+ -", "- ")


def _product_text(factors: Sequence[str], coefficient: int) -> str:
    product = " * ".join(factors)
    if abs(coefficient) != 1:
        product = f"{product} * {abs(coefficient)}"
    return f"-{product}" if coefficient < 0 else product
