"""A symbolic size as a value: the scalar nodes that compute it from the variables it is made of."""

from __future__ import annotations

from collections.abc import Mapping

from schedulog.facts.build import alu, cast, const
from schedulog.facts.dtype import int64
from schedulog.facts.node import Node, bind
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Atom, FloorDiv, Less, Size, Variable, atoms


def size_value(size: Size) -> Node:
    """The int64 scalar that equals `size`."""
    known: dict[Atom, Node] = {}
    for atom in atoms(size):
        known[atom] = bind(atom, int64) if isinstance(atom, Variable) else _pair(atom, known)
    return _sum(size, known)


def _pair(atom: Atom, known: Mapping[Atom, Node]) -> Node:
    left, right = (_sum(child, known) for child in atom.children)
    if isinstance(atom, Less):
        return cast(alu(Op.CMPLT, left, right), int64)
    return alu(Op.IDIV if isinstance(atom, FloorDiv) else Op.MOD, left, right)


def _sum(size: Size, known: Mapping[Atom, Node]) -> Node:
    if isinstance(size, int):
        return const(size, int64)
    total: Node | None = None
    for monomial, coefficient in size.terms.items():
        product = const(coefficient, int64) if coefficient != 1 else None
        for atom in monomial:
            product = known[atom] if product is None else alu(Op.MUL, product, known[atom])
        assert product is not None
        total = product if total is None else alu(Op.ADD, total, product)
    assert total is not None
    return alu(Op.ADD, total, const(size.constant, int64)) if size.constant else total
