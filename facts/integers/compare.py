"""Comparison of integer expressions: decided by the bounds, or in lowest terms."""

from __future__ import annotations

from schedulog.facts.integers import arithmetic
from schedulog.facts.integers.arithmetic import Terms
from schedulog.facts.integers.expr import Expr, FloorDiv, Less, Size, lower_bound, upper_bound


def equal(a: Size, b: Size) -> bool | None:
    """True if a == b whatever the variables are, False if never, None if that depends on them."""
    difference = a - b
    if isinstance(difference, int):
        return difference == 0
    return False if difference.min > 0 or difference.max < 0 else None


def surely_equal(a: Size, b: Size) -> bool:
    """True if a == b whatever the variables are."""
    return equal(a, b) is True


def maximum(a: Size, b: Size) -> Size:
    """The greater of the two."""
    difference = a - b
    if lower_bound(difference) >= 0:
        return a
    return b if upper_bound(difference) <= 0 else a - less(a, b) * difference


def minimum(a: Size, b: Size) -> Size:
    """The lesser of the two."""
    difference = a - b
    if lower_bound(difference) >= 0:
        return b
    return a if upper_bound(difference) <= 0 else b + less(a, b) * difference


def less(a: Size, b: Size) -> Size:
    """1 if a < b whatever the variables are, 0 if never, else a comparison that is 1 where a < b."""
    difference = a - b
    if isinstance(difference, int):
        return int(difference < 0)
    if difference.max < 0:
        return 1
    if difference.min >= 0:
        return 0
    return _lowest_terms(difference)


def _lowest_terms(n: Expr) -> Size:
    """`n < 0`, without common factors and without terms too small to matter."""
    terms, bound = n.coefficients, -n.constant
    factor = arithmetic.common_factor(terms)
    if factor > 1:  # g*p < c exactly where p < ceil(c / g)
        terms, bound = {m: c // factor for m, c in terms.items()}, -(-bound // factor)
    simpler = _without_small_terms(terms, bound)
    if simpler is None:
        simpler = _without_division(terms, bound)
    return _two_sided(terms, bound) if simpler is None else simpler


def _without_small_terms(terms: Terms, bound: int) -> Size | None:
    """`terms < bound` by large terms alone: g*p + r <= c - 1 exactly where p <= (c - 1 - r) // g, if no r changes it."""
    for factor in sorted({abs(c) for c in terms.values()} - {1}, reverse=True):
        small = arithmetic.polynomial({m: c for m, c in terms.items() if c % factor}, 0)
        last = (bound - 1 - lower_bound(small)) // factor
        if last == (bound - 1 - upper_bound(small)) // factor:
            large = {m: c // factor for m, c in terms.items() if c % factor == 0}
            return less(arithmetic.gather(large, 0), last + 1)
    return None


def _without_division(terms: Terms, bound: int) -> Size | None:
    """`terms < bound` where the only term is x // d or -(x // d): a comparison of x."""
    [(monomial, coefficient), *others] = terms.items()
    quotient = monomial[0]
    if others or len(monomial) > 1 or not isinstance(quotient, FloorDiv):
        return None
    if coefficient == 1:  # x // d < c exactly where x < c*d
        return less(quotient.numerator, quotient.denominator * bound)
    # -(x // d) < c exactly where (1 - c)*d <= x
    return less(quotient.denominator * (1 - bound) - 1, quotient.numerator)


def _two_sided(terms: Terms, bound: int) -> Size:
    """`terms < bound` with every term on the side where its coefficient is positive."""
    left = {m: c for m, c in terms.items() if c > 0}
    right = {m: -c for m, c in terms.items() if c < 0}
    if not left:
        return Less(-bound, arithmetic.polynomial(right, 0))
    if not right:
        return Less(arithmetic.polynomial(left, 0), bound)
    return Less(arithmetic.polynomial(left, max(0, -bound)), arithmetic.polynomial(right, max(0, bound)))
