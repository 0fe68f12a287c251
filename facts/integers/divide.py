"""Floor division and remainder of integer expressions, simplified as far as the bounds allow.

Each rewrite states the identity it rests on. All are exact for integers and rounding down, whatever the values of
the variables within their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from schedulog.errors import GraphError
from schedulog.facts.integers import arithmetic
from schedulog.facts.integers.expr import Expr, FloorDiv, Modulo, Monomial, Size, lower_bound, upper_bound

# Of how many values a function is tabulated to see whether it is linear, and how often a symbolic divisor is taken out.
_FEW: Final = 8
_STEPS: Final = 64


def floor_div(numerator: Size, denominator: Size) -> Size:
    """`numerator // denominator`, rounded down. Raises GraphError SL224 if the denominator can be 0."""
    _check_denominator(denominator)
    return _quotient_of(numerator, denominator)


def quotient(index: Size, size: Size) -> Size:
    """`index // size`, rounded down, for a size that may be 0, where the result means nothing: nothing has an index then.

    Raises GraphError SL224 for a size that can be negative.
    """
    _check_size(size)
    return 0 if size == 0 else _quotient_of(index, size)


def remainder(index: Size, size: Size) -> Size:
    """`index % size`, for sizes as `quotient` takes them. Raises GraphError SL224 for a size that can be negative."""
    _check_size(size)
    return 0 if size == 0 else _remainder_of(index, size)


def _quotient_of(numerator: Size, denominator: Size) -> Size:
    if isinstance(denominator, int):
        if isinstance(numerator, int):
            return numerator // denominator
        return _floor_div(numerator, denominator) if denominator > 0 else _floor_div(-numerator, -denominator)
    if denominator.max < 0:
        return _quotient_of(-numerator, -denominator)
    return _symbolic_floor_div(numerator, denominator)


def modulo(numerator: Size, denominator: Size) -> Size:
    """`numerator % denominator`, with the sign of the denominator. Raises GraphError SL224 if that can be 0."""
    _check_denominator(denominator)
    return _remainder_of(numerator, denominator)


def _remainder_of(numerator: Size, denominator: Size) -> Size:
    if isinstance(denominator, int):
        if isinstance(numerator, int):
            return numerator % denominator
        return _modulo(numerator, denominator) if denominator > 0 else -_modulo(-numerator, -denominator)
    if denominator.max < 0:
        return -_remainder_of(-numerator, -denominator)
    return _symbolic_modulo(numerator, denominator)


def _check_denominator(denominator: Size) -> None:
    if lower_bound(denominator) <= 0 <= upper_bound(denominator):
        raise GraphError(
            "SL224",
            f"division by {denominator}",
            reason="the denominator can be 0",
            help="give the variables in it bounds that exclude 0",
        )


def _check_size(size: Size) -> None:
    if lower_bound(size) < 0:
        _check_denominator(size)


def _floor_div(n: Size, d: int) -> Size:
    whole: Size = 0
    while not isinstance(n, int) and d > 1 and n.min // d != n.max // d:
        out, rest = _whole_multiples(n, d)
        if out != 0:  # (d*a + b) // d == a + b // d
            whole, n = whole + out, rest
            continue
        shorter = _shorter_floor_div(n, d)
        if shorter is None:
            return whole + _last_floor_div(n, d)
        n, d = shorter
    return whole + (n if d == 1 else lower_bound(n) // d)


def _shorter_floor_div(n: Expr, d: int) -> tuple[Size, int] | None:
    """(m, e) with n // d == m // e and e < d, or None."""
    factor = math.gcd(d, arithmetic.common_factor(n.coefficients))
    if factor > 1:  # (g*p + c) // (g*e) == (p + c // g) // e
        return _shrunk(n, factor), d // factor
    split = _without_carry(n, d)
    if split is None:
        return None
    part, _, factor = split  # (g*p + r) // (g*e) == p // e where 0 <= r < g
    return part, d // factor


def _last_floor_div(n: Expr, d: int) -> Size:
    [(monomial, coefficient), *others] = n.coefficients.items()
    inner = monomial[0]
    if not others and coefficient == 1 and len(monomial) == 1:
        if isinstance(inner, FloorDiv) and isinstance(inner.denominator, int):
            # (x // a + c) // d == (x + c*a) // (a*d)
            return floor_div(inner.numerator + n.constant * inner.denominator, inner.denominator * d)
        if isinstance(inner, Modulo) and n.constant == 0 and _divides(d, inner.denominator):
            # (x % (a*d)) // d == (x // d) % a
            return modulo(floor_div(inner.numerator, d), floor_div(inner.denominator, d))
    line = _line(n, lambda value: value // d)
    return FloorDiv(n, d) if line is None else line


def _divides(d: int, size: Size) -> bool:
    return isinstance(size, int) and size % d == 0


def _line(n: Expr, function: Callable[[int], int]) -> Size | None:
    """function(n) as a linear expression, if n depends on one atom of few values and the results lie on a line."""
    [(monomial, coefficient), *others] = n.coefficients.items()
    atom = monomial[0]
    if others or len(monomial) > 1 or atom.max - atom.min > _FEW:
        return None
    first, *rest = [function(coefficient * v + n.constant) for v in range(atom.min, atom.max + 1)]
    slope = rest[0] - first if rest else 0
    if any(value != first + slope * k for k, value in enumerate(rest, start=1)):
        return None
    return atom * slope + (first - slope * atom.min)


def _modulo(n: Size, d: int) -> Size:
    rest = _reduced(n, d)
    if isinstance(rest, int):
        return rest
    if rest.min // d == rest.max // d:
        return rest - rest.min // d * d
    factor = math.gcd(d, arithmetic.common_factor(rest.coefficients))
    if factor > 1:  # (g*p + c) % (g*e) == g * ((p + c // g) % e) + c % g
        return modulo(_shrunk(rest, factor), d // factor) * factor + rest.constant % factor
    split = _without_carry(rest, d)
    if split is not None:  # (g*p + r) % (g*e) == g * (p % e) + r where 0 <= r < g
        part, remainder, factor = split
        return modulo(part, d // factor) * factor + remainder
    line = _line(rest, lambda value: value % d)
    return Modulo(rest, d) if line is None else line


def _reduced(n: Size, d: int) -> Size:
    """`n` up to multiples of `d`: the constant from 0 up to d, the coefficients between -d and d."""
    while not isinstance(n, int):
        result: Size = n.constant % d
        for monomial, coefficient in n.coefficients.items():
            kept = coefficient - _toward_zero(coefficient, d) * d
            if kept:
                result = result + _opened(monomial, kept, d)
        if result == n:
            return n
        n = result
    return n % d


def _toward_zero(coefficient: int, d: int) -> int:
    return coefficient // d if coefficient >= 0 else -(-coefficient // d)


def _opened(monomial: Monomial, coefficient: int, d: int) -> Size:
    """The product up to multiples of d: k*(x % a) is k*x where d divides k*a."""
    for k, atom in enumerate(monomial):
        if isinstance(atom, Modulo) and _divides(d, atom.denominator * coefficient):
            return atom.numerator * arithmetic.term(arithmetic.without(monomial, k), coefficient)
    return arithmetic.term(monomial, coefficient)


def _whole_multiples(n: Expr, d: int) -> tuple[Size, Size]:
    """(a, b) with n == d*a + b, the coefficients of b between -d and d, with the signs they had in n."""
    out, rest = {}, {}
    for monomial, coefficient in n.coefficients.items():
        whole = _toward_zero(coefficient, d)
        if whole:
            out[monomial] = whole
        if coefficient != whole * d:
            rest[monomial] = coefficient - whole * d
    constant = n.constant // d
    return arithmetic.gather(out, constant), arithmetic.gather(rest, n.constant - constant * d)


def _shrunk(n: Expr, factor: int) -> Size:
    """n // factor, where factor divides every coefficient."""
    return arithmetic.polynomial({m: c // factor for m, c in n.coefficients.items()}, n.constant // factor)


def _without_carry(n: Expr, d: int) -> tuple[Size, Size, int] | None:
    """(p, r, g) with n == g*p + r, 0 <= r < g and g > 1 a divisor of d; None if there is no such g."""
    for factor in sorted({math.gcd(c, d) for c in n.coefficients.values()} - {1}, reverse=True):
        large = {m: c // factor for m, c in n.coefficients.items() if c % factor == 0}
        small = arithmetic.polynomial({m: c for m, c in n.coefficients.items() if c % factor}, n.constant)
        carry = lower_bound(small) // factor
        if carry == upper_bound(small) // factor:
            return arithmetic.gather(large, carry), small - carry * factor, factor
    return None


def _symbolic_floor_div(n: Size, d: Expr) -> Size:
    whole, rest = _taken_out(n, d)
    period = _period(rest, d)
    return whole + (FloorDiv(rest, d) if period is None else period)


def _symbolic_modulo(n: Size, d: Expr) -> Size:
    _, rest = _taken_out(n, d)
    period = _period(rest, d)
    return Modulo(rest, d) if period is None else rest - d * period


def _period(n: Size, d: Expr) -> int | None:
    """n // d where that is 0 or -1 whatever the variables are, else None."""
    if lower_bound(n) >= 0 and upper_bound(n - d) < 0:
        return 0
    return -1 if upper_bound(n) < 0 and lower_bound(n + d) >= 0 else None


def _taken_out(n: Size, d: Expr) -> tuple[Size, Size]:
    """(q, r) with n == q*d + r: polynomial division by the leading term of d, as far as it goes."""
    leading = max(d.coefficients, key=lambda m: (len(m), [atom.place for atom in m]))
    whole: Size = 0
    for _ in range(_STEPS):
        part = _multiple_of(n, leading, d.coefficients[leading])
        if part == 0:
            break
        whole, n = whole + part, n - part * d
    return whole, n


def _multiple_of(n: Size, leading: Monomial, coefficient: int) -> Size:
    """The first term of n that coefficient * leading divides, divided by it; 0 if there is none."""
    if isinstance(n, int):
        return 0
    for monomial, c in n.terms.items():
        rest = _quotient(monomial, leading)
        if rest is not None and c % coefficient == 0:
            return arithmetic.term(rest, c // coefficient)
    return 0


def _quotient(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    rest = list(monomial)
    for atom in divisor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)
