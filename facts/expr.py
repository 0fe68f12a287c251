"""Integer expressions in canonical form: polynomials over variables, floor divisions, remainders and comparisons.

Equal polynomials are equal objects-by-value: `x + 1 - 1` is `x`. Every expression has a content digest, so equality
and hashing cost the same however large the expression is, and the digest does not depend on the process.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

from schedulog.facts import divide

_ASSIGN: Final = object.__setattr__


class Expr:
    """An integer that is not known yet, with exact bounds `min` and `max`. Immutable.

    `terms` maps each monomial (a sorted tuple of atoms) to its coefficient; `constant` is the rest. + - * // % take
    ints and expressions on either side, // and % round down, and a result that is known is an int.
    """

    __slots__ = ("identity",)

    identity: bytes

    @property
    def terms(self) -> Mapping[Monomial, int]:
        raise NotImplementedError

    @property
    def constant(self) -> int:
        raise NotImplementedError

    @property
    def min(self) -> int:
        raise NotImplementedError

    @property
    def max(self) -> int:
        raise NotImplementedError

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __bool__(self) -> bool:
        raise TypeError(f"{self} has no truth value: ask with less() or equal(), or by its min and max")

    def __hash__(self) -> int:
        return hash(self.identity)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Expr) and self.identity == other.identity

    def __add__(self, other: Size) -> Size:
        return add(self, other)

    def __radd__(self, other: Size) -> Size:
        return add(self, other)

    def __sub__(self, other: Size) -> Size:
        return add(self, -other)

    def __rsub__(self, other: Size) -> Size:
        return add(-self, other)

    def __neg__(self) -> Size:
        return scale(self, -1)

    def __mul__(self, other: Size) -> Size:
        return multiply(self, other)

    def __rmul__(self, other: Size) -> Size:
        return multiply(self, other)

    def __floordiv__(self, other: Size) -> Size:
        return divide.floor_div(self, other)

    def __rfloordiv__(self, other: Size) -> Size:
        return divide.floor_div(other, self)

    def __mod__(self, other: Size) -> Size:
        return divide.modulo(self, other)

    def __rmod__(self, other: Size) -> Size:
        return divide.modulo(other, self)

    def __repr__(self) -> str:
        from schedulog.facts.symbolic import render

        return render(self)


class Atom(Expr):
    """What polynomials are made of: a variable, a floor division, a remainder or a comparison."""

    __slots__ = ("max", "min")

    min: int
    max: int

    @property
    def terms(self) -> Mapping[Monomial, int]:
        return {(self,): 1}

    @property
    def constant(self) -> int:
        return 0

    @property
    def children(self) -> tuple[Size, ...]:
        """The expressions this atom is made of."""
        return ()

    def _fill(self, identity: bytes, low: int, high: int) -> None:
        _ASSIGN(self, "identity", blake2b(identity, digest_size=16).digest())
        _ASSIGN(self, "min", low)
        _ASSIGN(self, "max", high)


class Variable(Atom):
    """An integer known by its name, between `min` and `max`, both included; `value` is what it is bound to, if it is.

    Serves for symbolic sizes and for loop indices. Variables are equal if all four agree.
    """

    __slots__ = ("name", "value")

    name: str
    value: int | None

    def __init__(self, name: str, min: int, max: int, value: int | None = None) -> None:
        if min > max or (value is not None and not min <= value <= max):
            raise divide.bad_bounds(name, min, max, value)
        _ASSIGN(self, "name", name)
        _ASSIGN(self, "value", value)
        self._fill(repr((name, min, max, value)).encode(), min, max)

    @property
    def unbound(self) -> Variable:
        """The variable without its value."""
        return self if self.value is None else Variable(self.name, self.min, self.max)

    def bind(self, value: int) -> Variable:
        """The variable with a value, which has to be within its bounds (else GraphError SL223)."""
        return Variable(self.name, self.min, self.max, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Variable, (self.name, self.min, self.max, self.value)


class _Division(Atom):
    """A numerator over a positive denominator."""

    __slots__ = ("denominator", "numerator")

    numerator: Size
    denominator: Size

    @property
    def children(self) -> tuple[Size, ...]:
        return (self.numerator, self.denominator)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.numerator, self.denominator)


class FloorDiv(_Division):
    """`numerator // denominator`, rounded down, not simplified further. Made by `//`."""

    __slots__ = ()

    def __init__(self, numerator: Size, denominator: Size) -> None:
        _ASSIGN(self, "numerator", numerator)
        _ASSIGN(self, "denominator", denominator)
        ends = [
            n // d
            for n in (lower_bound(numerator), upper_bound(numerator))
            for d in (lower_bound(denominator), upper_bound(denominator))
        ]
        self._fill(b"/" + _name(numerator) + _name(denominator), min(ends), max(ends))


class Modulo(_Division):
    """`numerator % denominator`, between 0 and denominator - 1, not simplified further. Made by `%`."""

    __slots__ = ("_quotient",)

    _quotient: Size

    def __init__(self, numerator: Size, denominator: Size) -> None:
        _ASSIGN(self, "numerator", numerator)
        _ASSIGN(self, "denominator", denominator)
        high = upper_bound(denominator) - 1
        if lower_bound(numerator) >= 0:
            high = min(high, upper_bound(numerator))
        self._fill(b"%" + _name(numerator) + _name(denominator), 0, high)

    @property
    def quotient(self) -> Size:
        """`numerator // denominator`, which together with the remainder gives the numerator back."""
        try:
            return self._quotient
        except AttributeError:
            _ASSIGN(self, "_quotient", divide.floor_div(self.numerator, self.denominator))
            return self._quotient


class Less(Atom):
    """1 where `left < right`, else 0; undecided by the bounds. Made by `less`."""

    __slots__ = ("left", "right")

    left: Size
    right: Size

    def __init__(self, left: Size, right: Size) -> None:
        _ASSIGN(self, "left", left)
        _ASSIGN(self, "right", right)
        self._fill(b"<" + _name(left) + _name(right), 0, 1)

    @property
    def children(self) -> tuple[Size, ...]:
        return (self.left, self.right)

    def __reduce__(self) -> tuple[Any, ...]:
        return Less, (self.left, self.right)


class Polynomial(Expr):
    """A sum of monomials with coefficients and a constant. Made by arithmetic, never by hand."""

    __slots__ = ("_range", "constant", "terms")

    terms: Mapping[Monomial, int]
    constant: int
    _range: tuple[int, int]

    def __init__(self, terms: Mapping[Monomial, int], constant: int) -> None:
        _ASSIGN(self, "terms", terms)
        _ASSIGN(self, "constant", constant)

    def __getattr__(self, name: str) -> Any:
        # Only reached for a slot that is not filled yet: most intermediate sums are never compared nor bounded.
        if name == "identity":
            _ASSIGN(self, name, _polynomial_identity(self.terms, self.constant))
            return self.identity
        if name == "_range":
            _ASSIGN(self, name, _bounds(self.terms, self.constant))
            return self._range
        raise AttributeError(name)

    @property
    def min(self) -> int:
        return self._range[0]

    @property
    def max(self) -> int:
        return self._range[1]

    def __reduce__(self) -> tuple[Any, ...]:
        return Polynomial, (dict(self.terms), self.constant)


Size = int | Expr
Monomial = tuple[Atom, ...]


def lower_bound(size: Size) -> int:
    """The least value `size` can take."""
    return size if isinstance(size, int) else size.min


def upper_bound(size: Size) -> int:
    """The greatest value `size` can take."""
    return size if isinstance(size, int) else size.max


def _name(size: Size) -> bytes:
    # A prefix-free spelling, so that joined spellings are unambiguous.
    return b"i%d;" % size if isinstance(size, int) else b"e" + size.identity


def _polynomial_identity(terms: Mapping[Monomial, int], constant: int) -> bytes:
    parts = [b"%d:%d;" % (len(m), c) + b"".join([a.identity for a in m]) for m, c in terms.items()]
    return blake2b(b"+%d;" % constant + b"".join(sorted(parts)), digest_size=16).digest()


def _bounds(terms: Mapping[Monomial, int], constant: int) -> tuple[int, int]:
    low = high = constant
    for monomial, coefficient in terms.items():
        least, most = (monomial[0].min, monomial[0].max) if len(monomial) == 1 else _monomial_bounds(monomial)
        if coefficient < 0:
            least, most = most, least
        low += coefficient * least
        high += coefficient * most
    return low, high


def _monomial_bounds(monomial: Monomial) -> tuple[int, int]:
    low, high = 1, 1
    for atom in dict.fromkeys(monomial):
        least, most = _power_bounds(atom.min, atom.max, monomial.count(atom))
        ends = (low * least, low * most, high * least, high * most)
        low, high = min(ends), max(ends)
    return low, high


def _power_bounds(low: int, high: int, exponent: int) -> tuple[int, int]:
    ends = (low**exponent, high**exponent)
    if exponent % 2 == 0 and low < 0 < high:
        return 0, max(ends)
    return min(ends), max(ends)


def add(a: Size, b: Size) -> Size:
    """The sum."""
    if isinstance(a, int):
        a, b = b, a
    if isinstance(a, int):
        return a + b
    if isinstance(b, int):
        return a if b == 0 else polynomial(a.terms, a.constant + b)
    terms = dict(a.terms)
    for monomial, coefficient in b.terms.items():
        total = terms.get(monomial, 0) + coefficient
        if total:
            terms[monomial] = total
        else:
            del terms[monomial]
    return gather(terms, a.constant + b.constant)


def scale(a: Size, factor: int) -> Size:
    """The product with an int."""
    if isinstance(a, int):
        return a * factor
    if factor == 1:
        return a
    if factor == 0:
        return 0
    return polynomial({m: c * factor for m, c in a.terms.items()}, a.constant * factor)


def multiply(a: Size, b: Size) -> Size:
    """The product, multiplied out."""
    if isinstance(b, int):
        return scale(a, b)
    if isinstance(a, int):
        return scale(b, a)
    terms = {m: c * b.constant for m, c in a.terms.items()} if b.constant else {}
    if a.constant:
        _accumulate(terms, ((m, c * a.constant) for m, c in b.terms.items()))
    for left, c in a.terms.items():
        _accumulate(terms, ((times(left, right), c * d) for right, d in b.terms.items()))
    return gather({m: c for m, c in terms.items() if c}, a.constant * b.constant)


def times(left: Monomial, right: Monomial) -> Monomial:
    """The product of two monomials; a comparison counts once, as 0 and 1 are their own squares."""
    atoms = sorted((*left, *right), key=order)
    if any(type(atom) is Less for atom in atoms):
        return tuple(a for i, a in enumerate(atoms) if i == 0 or type(a) is not Less or a != atoms[i - 1])
    return tuple(atoms)


def order(atom: Atom) -> tuple[int, str, bytes]:
    """The place of an atom in a monomial and of a monomial in a text: variables first, by name."""
    if isinstance(atom, Variable):
        return 0, atom.name, atom.identity
    return 1, "", atom.identity


def _accumulate(terms: dict[Monomial, int], more: Iterable[tuple[Monomial, int]]) -> None:
    for monomial, coefficient in more:
        terms[monomial] = terms.get(monomial, 0) + coefficient


def polynomial(terms: Mapping[Monomial, int], constant: int) -> Size:
    """The canonical value of terms that hold no zero: an int, an atom or a Polynomial."""
    if not terms:
        return constant
    if constant == 0 and len(terms) == 1:
        [(monomial, coefficient)] = terms.items()
        if coefficient == 1 and len(monomial) == 1:
            return monomial[0]
    return Polynomial(terms, constant)


def gather(terms: dict[Monomial, int], constant: int) -> Size:
    """The canonical value of terms where quotients and remainders of one division may have met."""
    for monomial in terms:
        for atom in monomial:
            if type(atom) is Modulo:
                return divide.rejoin(terms, constant)
    return polynomial(terms, constant)


def common_factor(terms: Mapping[Monomial, int]) -> int:
    """The greatest common divisor of the coefficients, 0 for no terms."""
    return math.gcd(*terms.values())
