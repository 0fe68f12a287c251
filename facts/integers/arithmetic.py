"""Sums and products of integer expressions, in canonical form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from schedulog.facts.integers import divide
from schedulog.facts.integers.expr import Atom, Less, Modulo, Monomial, Polynomial, Size

Terms = Mapping[Monomial, int]


def add(a: Size, b: Size) -> Size:
    """The sum."""
    if isinstance(a, int):
        a, b = b, a
    if isinstance(a, int):
        return a + b
    if isinstance(b, int):
        return a if b == 0 else polynomial(a.coefficients, a.constant + b)
    terms = dict(a.coefficients)
    for monomial, coefficient in b.coefficients.items():
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
    return polynomial({m: c * factor for m, c in a.coefficients.items()}, a.constant * factor)


def multiply(a: Size, b: Size) -> Size:
    """The product, multiplied out."""
    if isinstance(b, int):
        return scale(a, b)
    if isinstance(a, int):
        return scale(b, a)
    terms = {m: c * b.constant for m, c in a.coefficients.items()} if b.constant else {}
    if a.constant:
        _accumulate(terms, ((m, c * a.constant) for m, c in b.coefficients.items()))
    for left, c in a.coefficients.items():
        _accumulate(terms, ((times(left, right), c * d) for right, d in b.coefficients.items()))
    return gather({m: c for m, c in terms.items() if c}, a.constant * b.constant)


def times(left: Monomial, right: Monomial) -> Monomial:
    """The product of two monomials; a comparison counts once, as 0 and 1 are their own squares."""
    atoms = sorted((*left, *right), key=lambda atom: atom.place)
    if any(isinstance(atom, Less) for atom in atoms):
        return tuple(a for i, a in enumerate(atoms) if i == 0 or not isinstance(a, Less) or a != atoms[i - 1])
    return tuple(atoms)


def without(monomial: Monomial, k: int) -> Monomial:
    """The monomial without its k-th atom."""
    return monomial[:k] + monomial[k + 1 :]


def term(monomial: Monomial, coefficient: int) -> Size:
    """coefficient * monomial."""
    return polynomial({monomial: coefficient}, 0) if monomial else coefficient


def polynomial(terms: Terms, constant: int) -> Size:
    """The value of terms without zeros: an int, an atom or a Polynomial."""
    if not terms:
        return constant
    if constant == 0 and len(terms) == 1:
        [(monomial, coefficient)] = terms.items()
        if coefficient == 1 and len(monomial) == 1:
            return monomial[0]
    return Polynomial(terms, constant)


def gather(terms: Terms, constant: int) -> Size:
    """The value of terms without zeros in which quotients and remainders of one division may meet.

    k*(x % d) + k*d*(x // d) becomes k*x, and k*(x % d) + k*d*((x // d) % e) becomes k*(x % (d*e)).
    """
    while len(terms) > 1 and (pair := _joinable(terms)) is not None:
        remainder, quotient, joined = pair
        rest = {m: c for m, c in terms.items() if m not in (remainder, quotient)}
        if isinstance(joined, int):
            constant += joined
        else:
            constant += joined.constant
            _accumulate(rest, joined.coefficients.items())
        terms = {m: c for m, c in rest.items() if c}
    return polynomial(terms, constant)


def _joinable(terms: Terms) -> tuple[Monomial, Monomial, Size] | None:
    """Two of the terms and what they make together."""
    for monomial, coefficient in terms.items():
        for k, atom in enumerate(monomial):
            if isinstance(atom, Modulo) and isinstance(atom.denominator, int):
                others = without(monomial, k)
                found = _quotient(terms, atom, others, coefficient * atom.denominator)
                if found is not None:
                    return monomial, found[0], found[1] * term(others, coefficient)
    return None


def _quotient(terms: Terms, remainder: Modulo, others: Monomial, wanted: int) -> tuple[Monomial, Size] | None:
    """The term `wanted * others * q`, where q is the quotient to `remainder`, and what the two were made from."""
    quotient = remainder.quotient
    if isinstance(quotient, Atom):
        exact = times(others, (quotient,))
        if terms.get(exact) == wanted:
            return exact, remainder.numerator
    for monomial, coefficient in terms.items():
        if coefficient == wanted and len(monomial) == len(others) + 1:
            for k, atom in enumerate(monomial):
                if isinstance(atom, Modulo) and atom.numerator == quotient and without(monomial, k) == others:
                    return monomial, divide.modulo(
                        remainder.numerator, remainder.denominator * atom.denominator
                    )
    return None


def _accumulate(terms: dict[Monomial, int], more: Iterable[tuple[Monomial, int]]) -> None:
    for monomial, coefficient in more:
        terms[monomial] = terms.get(monomial, 0) + coefficient


def common_factor(terms: Terms) -> int:
    """The greatest common divisor of the coefficients."""
    return math.gcd(*terms.values())


def bounds(terms: Terms, constant: int) -> tuple[int, int]:
    """The least and the greatest value, each monomial taken by itself."""
    low = high = constant
    for monomial, coefficient in terms.items():
        first = monomial[0]
        least, most = (first.min, first.max) if len(monomial) == 1 else _monomial_bounds(monomial)
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
