"""The atoms of an integer expression, walked without recursion."""

from __future__ import annotations

from collections.abc import Iterator

from schedulog.facts.expr import Atom, Size


def atoms(size: Size) -> list[Atom]:
    """Every atom in `size`, each once, parts before what they are part of."""
    done: dict[Atom, None] = {}
    stack: list[tuple[Atom | None, Iterator[Atom]]] = [(None, _atoms_of(size))]
    while stack:
        atom, pending = stack[-1]
        part = next((p for p in pending if p not in done), None)
        if part is not None:
            stack.append((part, parts(part)))
        else:
            stack.pop()
            if atom is not None:
                done[atom] = None
    return list(done)


def parts(atom: Atom) -> Iterator[Atom]:
    """The atoms that `atom` is directly made of."""
    return (part for child in atom.children for part in _atoms_of(child))


def _atoms_of(size: Size) -> Iterator[Atom]:
    return iter(()) if isinstance(size, int) else (atom for monomial in size.terms for atom in monomial)
