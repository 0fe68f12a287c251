"""Symbolic integers as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from schedulog.facts.integers.expr import Atom, FloorDiv, Less, Monomial, Size, Variable, atoms


def render(size: Size) -> str:
    """The expression in Python's notation: evaluating the text gives the value."""
    text: dict[Atom, str] = {}
    for atom in atoms(size):
        text[atom] = _atom_text(atom, text)
    return _sum_text(size, text)


def sizes_text(sizes: Iterable[Size]) -> str:
    """Sizes, such as those of a shape, as a list in that notation."""
    return f"[{', '.join(map(render, sizes))}]"


def _atom_text(atom: Atom, text: Mapping[Atom, str]) -> str:
    if isinstance(atom, Variable):
        return atom.name
    left, right = (_sum_text(child, text) for child in atom.children)
    if isinstance(atom, Less):
        return f"({left} < {right})"
    sign = "//" if isinstance(atom, FloorDiv) else "%"
    return f"{_operand(left)}{sign}{_operand(right)}"


def _operand(text: str) -> str:
    one_word = text.replace("_", "a").isalnum()
    in_parentheses = text.startswith("(") and text.find(")") == len(text) - 1
    return text if one_word or in_parentheses else f"({text})"


def _sum_text(size: Size, text: Mapping[Atom, str]) -> str:
    if isinstance(size, int):
        return str(size)
    products = [_product_text(m, c, text) for m, c in size.terms.items()]
    if size.constant:
        products.append(str(size.constant))
    return " + ".join(products).replace("+ -", "- ")


def _product_text(monomial: Monomial, coefficient: int, text: Mapping[Atom, str]) -> str:
    if len(monomial) == 1 and coefficient == 1:
        return text[monomial[0]]
    factors = [_operand(text[atom]) for atom in monomial]
    if abs(coefficient) != 1:
        factors.append(str(abs(coefficient)))
    return ("-" if coefficient < 0 else "") + "*".join(factors)
