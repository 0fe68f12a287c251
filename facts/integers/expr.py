"""Integer expressions: polynomials over variables, floor divisions, remainders and comparisons.

Every expression has a content digest: equality and hashing cost the same however large the expression is, and the
digest is the same in every process.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final

from schedulog.errors import GraphError

_ASSIGN: Final = object.__setattr__


class Expr:
    """An integer that is not known yet, between `min` and `max`. Immutable.

    It is the sum of `constant` and of the `terms`, which map monomials (sorted tuples of atoms) to coefficients, in a
    fixed order; `coefficients` are the terms in any order, which costs less. `identity` is the digest.

    + - * // % take ints and expressions on either side and give an int where the result is known; // and % round
    down. Sums and products are canonical: `x + 1 - 1` equals `x`.
    """

    __slots__ = ()

    identity: bytes
    min: int
    max: int
    constant: int
    coefficients: Mapping[Monomial, int]
    _hash: int

    @property
    def terms(self) -> Mapping[Monomial, int]:
        """The coefficient of each monomial, in the order in which they are shown."""
        return self.coefficients

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __bool__(self) -> bool:
        raise TypeError(f"{self} has no truth value: ask with less() or equal(), or by its min and max")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Expr) and self.identity == other.identity)

    def __add__(self, other: Size) -> Size:
        if not isinstance(other, int | Expr):
            return NotImplemented
        return arithmetic.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Size) -> Size:
        if not isinstance(other, int | Expr):
            return NotImplemented
        return arithmetic.add(self, -other)

    def __rsub__(self, other: Size) -> Size:
        return arithmetic.add(-self, other)

    def __neg__(self) -> Size:
        return arithmetic.scale(self, -1)

    def __mul__(self, other: Size) -> Size:
        if not isinstance(other, int | Expr):
            return NotImplemented
        return arithmetic.multiply(self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        if not isinstance(other, int | Expr):
            return NotImplemented
        return divide.floor_div(self, other)

    def __rfloordiv__(self, other: Size) -> Size:
        return divide.floor_div(other, self)

    def __mod__(self, other: Size) -> Size:
        if not isinstance(other, int | Expr):
            return NotImplemented
        return divide.modulo(self, other)

    def __rmod__(self, other: Size) -> Size:
        return divide.modulo(other, self)

    def __str__(self) -> str:
        return symbolic_text.render(self)

    __repr__ = __str__


class Atom(Expr):
    """What monomials are made of: a variable, a floor division, a remainder or a comparison.

    `children` are the expressions it is made of, `label` is the name of the first variable in it.
    """

    __slots__ = ("_hash", "children", "coefficients", "identity", "label", "max", "min")

    children: tuple[Size, ...]
    label: str
    constant = 0

    def __getattr__(self, name: str) -> Any:
        # Filled at the first use: an atom that holds itself waits for the cycle collector.
        if name != "coefficients":
            raise AttributeError(name)
        _ASSIGN(self, "coefficients", {(self,): 1})
        return self.coefficients

    @property
    def place(self) -> tuple[bool, int, str, bytes]:
        """Where the atom stands in a monomial, and the monomial in a sum: variables first, by name."""
        return not isinstance(self, Variable), len(self.label), self.label, self.identity

    def _fill(self, children: tuple[Size, ...], content: bytes, label: str, low: int, high: int) -> None:
        _ASSIGN(self, "children", children)
        identity = blake2b(content, digest_size=16).digest()
        _ASSIGN(self, "identity", identity)
        _ASSIGN(self, "_hash", _number(identity))
        _ASSIGN(self, "label", label)
        _ASSIGN(self, "min", low)
        _ASSIGN(self, "max", high)


class Variable(Atom):
    """An integer known by name, at least `min` and at most `max`; `value` is what it is bound to, or None.

    Serves for symbolic sizes and for loop indices. Variables are equal if all four agree. Raises GraphError SL223 if
    the bounds cross, the value is outside them, or one is no integer.
    """

    __slots__ = ("name", "value")

    name: str
    value: int | None

    def __init__(self, name: str, min: int, max: int, value: int | None = None) -> None:
        if not (type(min) is type(max) is int and (value is None or type(value) is int)):
            min, max = _whole(name, min), _whole(name, max)
            value = None if value is None else _whole(name, value)
        if min > max or (value is not None and not min <= value <= max):
            raise GraphError(
                "SL223",
                f"variable {name} between {min} and {max}"
                + ("" if value is None else f" with value {value}"),
                reason="a variable needs min <= value <= max",
            )
        _ASSIGN(self, "name", name)
        _ASSIGN(self, "value", value)
        self._fill((), repr((name, min, max, value)).encode(), name, min, max)

    def __repr__(self) -> str:
        value = "" if self.value is None else f", value={self.value}"
        return f"Variable({self.name!r}, min={self.min}, max={self.max}{value})"

    @property
    def unbound(self) -> Variable:
        """The variable without its value."""
        return self if self.value is None else Variable(self.name, self.min, self.max)

    def bind(self, value: int) -> Variable:
        """The variable with a value. Raises GraphError SL223 if that is outside the bounds."""
        return Variable(self.name, self.min, self.max, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Variable, (self.name, self.min, self.max, self.value)


def _whole(name: str, given: object) -> int:
    try:
        return operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        raise GraphError("SL223", f"variable {name} with {given!r}", reason="a size is an integer") from None


class _Pair(Atom):
    """An operation on two expressions."""

    __slots__ = ()

    def _join(self, sign: bytes, left: Size, right: Size, low: int, high: int) -> None:
        self._fill((left, right), sign + _name(left) + _name(right), _first_label((left, right)), low, high)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.children


class FloorDiv(_Pair):
    """`numerator // denominator`, rounded down, in lowest terms. Made by `//`; the denominator is positive.

    A denominator that is the size of an axis may be 0 (see `quotient`); the value means nothing then.
    """

    __slots__ = ()

    def __init__(self, numerator: Size, denominator: Size) -> None:
        divisors = (max(1, lower_bound(denominator)), max(1, upper_bound(denominator)))
        ends = [n // d for n in (lower_bound(numerator), upper_bound(numerator)) for d in divisors]
        self._join(b"/", numerator, denominator, min(ends), max(ends))

    @property
    def numerator(self) -> Size:
        """What is divided."""
        return self.children[0]

    @property
    def denominator(self) -> Size:
        """What it is divided by, at least 1 where the value means anything."""
        return self.children[1]


class Modulo(_Pair):
    """`numerator % denominator`, at least 0, in lowest terms. Made by `%`; the denominator is as that of FloorDiv."""

    __slots__ = ("_quotient",)

    _quotient: Size

    def __init__(self, numerator: Size, denominator: Size) -> None:
        high = max(1, upper_bound(denominator)) - 1
        if lower_bound(numerator) >= 0:
            high = min(high, upper_bound(numerator))
        self._join(b"%", numerator, denominator, 0, high)

    @property
    def numerator(self) -> Size:
        """What is divided."""
        return self.children[0]

    @property
    def denominator(self) -> Size:
        """What it is divided by, at least 1 where the value means anything."""
        return self.children[1]

    def __getattr__(self, name: str) -> Any:
        if name == "_quotient":
            _ASSIGN(self, name, divide.quotient(self.numerator, self.denominator))
            return self._quotient
        return super().__getattr__(name)

    @property
    def quotient(self) -> Size:
        """`numerator // denominator`, which with the remainder gives the numerator back."""
        return self._quotient


class Less(_Pair):
    """1 where `left < right`, else 0. Made by `less` where the bounds do not decide it."""

    __slots__ = ()

    def __init__(self, left: Size, right: Size) -> None:
        self._join(b"<", left, right, 0, 1)

    @property
    def left(self) -> Size:
        """The side that is to be smaller."""
        return self.children[0]

    @property
    def right(self) -> Size:
        """The side that is to be greater."""
        return self.children[1]


class Polynomial(Expr):
    """A sum of monomials with coefficients and a constant. Made by arithmetic."""

    __slots__ = ("_hash", "_terms", "coefficients", "constant", "identity", "max", "min")

    _terms: Mapping[Monomial, int]

    def __init__(self, coefficients: Mapping[Monomial, int], constant: int) -> None:
        _ASSIGN(self, "coefficients", coefficients)
        _ASSIGN(self, "constant", constant)

    def __getattr__(self, name: str) -> Any:
        # Filled at the first use: most intermediate sums are neither compared nor bounded nor shown.
        match name:
            case "identity":
                _ASSIGN(self, name, _digest(self.coefficients, self.constant))
            case "_hash":
                _ASSIGN(self, name, _number(self.identity))
            case "min" | "max":
                low, high = arithmetic.bounds(self.coefficients, self.constant)
                _ASSIGN(self, "min", low)
                _ASSIGN(self, "max", high)
            case "_terms":
                _ASSIGN(self, name, _in_order(self.coefficients))
            case _:
                raise AttributeError(name)
        return getattr(self, name)

    @property
    def terms(self) -> Mapping[Monomial, int]:
        """The coefficient of each monomial, in the order in which they are shown."""
        return self._terms

    def __reduce__(self) -> tuple[Any, ...]:
        return Polynomial, (dict(self.coefficients), self.constant)


Size = int | Expr
Monomial = tuple[Atom, ...]


def lower_bound(size: Size) -> int:
    """The least value `size` can take, as far as interval arithmetic tells."""
    return size if isinstance(size, int) else size.min


def upper_bound(size: Size) -> int:
    """The greatest value `size` can take, as far as interval arithmetic tells."""
    return size if isinstance(size, int) else size.max


def _name(size: Size) -> bytes:
    # No spelling is the beginning of another, so joined spellings are unambiguous.
    return b"i%d;" % size if isinstance(size, int) else b"e" + size.identity


def _number(identity: bytes) -> int:
    # Not hash(identity), which differs between processes.
    return hash(int.from_bytes(identity[:8], "little"))


def _first_label(sizes: tuple[Size, ...]) -> str:
    labels = (atom.label for s in sizes if not isinstance(s, int) for m in s.coefficients for atom in m)
    return min(labels, key=lambda label: (len(label), label), default="")


def _digest(terms: Mapping[Monomial, int], constant: int) -> bytes:
    parts = [b"%d:%d;" % (len(m), c) + b"".join([a.identity for a in m]) for m, c in terms.items()]
    return blake2b(b"+%d;" % constant + b"".join(sorted(parts)), digest_size=16).digest()


def _in_order(terms: Mapping[Monomial, int]) -> Mapping[Monomial, int]:
    if len(terms) == 1:
        return terms
    return dict(sorted(terms.items(), key=lambda term: (len(term[0]), [atom.place for atom in term[0]])))


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


# Operators are methods of the classes above and are made from them; by the time one is called, all are there.
from schedulog.facts.integers import arithmetic, divide
from schedulog.facts.integers import text as symbolic_text
