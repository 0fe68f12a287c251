"""Floor division, remainder and comparison of integer expressions, simplified as far as the bounds allow.

Each rewrite states the identity it rests on. All of them are exact for integers and floor semantics, whatever the
values of the variables within their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from schedulog.errors import GraphError
from schedulog.facts import expr


def bad_bounds(name: str, low: int, high: int, value: int | None) -> GraphError:
    """The error for a variable whose bounds cross or whose value lies outside them."""
    return GraphError(
        "SL223",
        f"variable {name} between {low} and {high}" + ("" if value is None else f" with the value {value}"),
        reason="a variable needs min <= value <= max",
    )


def _check_denominator(denominator: expr.Size) -> None:
    if expr.lower_bound(denominator) <= 0 <= expr.upper_bound(denominator):
        raise GraphError(
            "SL224",
            f"division by {denominator}",
            reason="the denominator can be 0",
            help="give the variable in it a minimum of 1",
        )


def floor_div(numerator: expr.Size, denominator: expr.Size) -> expr.Size:
    """`numerator // denominator`, rounded down. Raises GraphError SL224 if the denominator can be 0."""
    if isinstance(numerator, int) and isinstance(denominator, int) and denominator:
        return numerator // denominator
    _check_denominator(denominator)
    if expr.upper_bound(denominator) < 0:
        return floor_div(-numerator, -denominator)
    if not isinstance(denominator, int):
        return _symbolic_floor_div(numerator, denominator)
    assert not isinstance(numerator, int)
    return _constant_floor_div(numerator, denominator)


def modulo(numerator: expr.Size, denominator: expr.Size) -> expr.Size:
    """`numerator % denominator`, with the sign of the denominator. Raises GraphError SL224 if that can be 0."""
    if isinstance(numerator, int) and isinstance(denominator, int) and denominator:
        return numerator % denominator
    _check_denominator(denominator)
    if expr.upper_bound(denominator) < 0:
        return -modulo(-numerator, -denominator)
    if not isinstance(denominator, int):
        return _symbolic_modulo(numerator, denominator)
    assert not isinstance(numerator, int)
    return _constant_modulo(numerator, denominator)


def _constant_floor_div(n: expr.Expr, d: int) -> expr.Size:
    whole: expr.Size = 0
    while True:
        if d == 1:
            return whole + n
        low, high = n.min // d, n.max // d
        if low == high:
            return whole + low
        out, rest = _whole_multiples(n, d)  # (d*a + b) // d == a + b // d
        whole = whole + out
        if isinstance(rest, int):
            return whole + rest // d
        factor = math.gcd(d, expr.common_factor(rest.terms))
        if factor > 1:  # (g*p + c) // (g*e) == (p + c // g) // e
            n, d = _shrunk(rest, factor), d // factor
            continue
        split = _without_carry(rest, d)
        if split is not None:  # (g*p + r) // (g*e) == p // e where 0 <= r < g
            part, _, factor = split
            if isinstance(part, int):
                return whole + part // (d // factor)
            n, d = part, d // factor
            continue
        return whole + _nested_floor_div(rest, d)


def _nested_floor_div(n: expr.Expr, d: int) -> expr.Size:
    if len(n.terms) == 1:
        [(monomial, coefficient)] = n.terms.items()
        atom = monomial[0]
        if coefficient == 1 and len(monomial) == 1:
            if isinstance(atom, expr.FloorDiv) and isinstance(atom.denominator, int):
                # (x // a + c) // d == (x + c*a) // (a*d)
                return floor_div(atom.numerator + n.constant * atom.denominator, atom.denominator * d)
            if isinstance(atom, expr.Modulo) and n.constant == 0 and _divides(d, atom.denominator):
                # (x % (a*d)) // d == (x // d) % a
                return modulo(floor_div(atom.numerator, d), floor_div(atom.denominator, d))
    return expr.FloorDiv(n, d)


def _divides(d: int, size: expr.Size) -> bool:
    return isinstance(size, int) and size % d == 0


def _constant_modulo(n: expr.Expr, d: int) -> expr.Size:
    rest = _reduced(n, d)
    if isinstance(rest, int):
        return rest % d
    if rest.min // d == rest.max // d:
        return rest - rest.min // d * d
    factor = math.gcd(d, expr.common_factor(rest.terms))
    if factor > 1:  # (g*p + c) % (g*e) == g * ((p + c // g) % e) + c % g
        return modulo(_shrunk(rest, factor), d // factor) * factor + rest.constant % factor
    split = _without_carry(rest, d)
    if split is not None:  # (g*p + r) % (g*e) == g * (p % e) + r where 0 <= r < g
        part, remainder, factor = split
        return modulo(part, d // factor) * factor + remainder
    return expr.Modulo(rest, d)


def _reduced(n: expr.Expr, d: int) -> expr.Size:
    """`n` up to multiples of `d`: coefficients within d of 0, and k*(x % a) as k*x where d divides k*a."""
    result: expr.Size = n.constant % d
    for monomial, coefficient in n.terms.items():
        kept = int(math.fmod(coefficient, d)) if abs(coefficient) < 1 << 52 else coefficient % d
        if not kept:
            continue
        term: expr.Size = expr.polynomial({monomial: kept}, 0)
        for i, atom in enumerate(monomial):
            if isinstance(atom, expr.Modulo) and isinstance(atom.denominator, int):
                if kept * atom.denominator % d == 0:
                    others = expr.polynomial({monomial[:i] + monomial[i + 1 :]: kept}, 0) if len(monomial) > 1 else kept
                    term = _reduced_product(others * atom.numerator, d)
                    break
        result = result + term
    if isinstance(result, int):
        return result
    constant = result.constant
    return result - constant + constant % d


def _reduced_product(product: expr.Size, d: int) -> expr.Size:
    return product % d if isinstance(product, int) else _reduced(product, d)


def _whole_multiples(n: expr.Expr, d: int) -> tuple[expr.Size, expr.Size]:
    """(a, b) with n == d*a + b, the coefficients of b within d of 0, with the signs they had in n."""
    out, rest = {}, {}
    for monomial, coefficient in n.terms.items():
        whole = abs(coefficient) // d * (1 if coefficient > 0 else -1)
        if whole:
            out[monomial] = whole
        if coefficient != whole * d:
            rest[monomial] = coefficient - whole * d
    constant = n.constant // d
    return expr.gather(out, constant), expr.gather(rest, n.constant - constant * d)


def _shrunk(n: expr.Expr, factor: int) -> expr.Size:
    """floor(n / factor) where factor divides every coefficient."""
    return expr.polynomial({m: c // factor for m, c in n.terms.items()}, n.constant // factor)


def _without_carry(n: expr.Expr, d: int) -> tuple[expr.Size, expr.Size, int] | None:
    """(p, r, g) with n == g*p + r, 0 <= r < g and g > 1 a divisor of d; None if there is no such g."""
    for factor in _candidates(n.terms, d):
        large = {m: c // factor for m, c in n.terms.items() if c % factor == 0}
        small = expr.polynomial({m: c for m, c in n.terms.items() if c % factor}, n.constant)
        carry = expr.lower_bound(small) // factor
        if carry == expr.upper_bound(small) // factor:
            return expr.gather(large, carry), small - carry * factor, factor
    return None


def _candidates(terms: Mapping[expr.Monomial, int], d: int) -> Iterator[int]:
    yield from sorted({math.gcd(c, d) for c in terms.values()} - {1}, reverse=True)


def _symbolic_floor_div(n: expr.Size, d: expr.Expr) -> expr.Size:
    whole, rest = _symbolic_division(n, d)
    if expr.lower_bound(rest) >= 0:
        if expr.upper_bound(rest - d) < 0:
            return whole
    elif expr.upper_bound(rest) < 0 and expr.lower_bound(rest + d) >= 0:
        return whole - 1
    return whole + expr.FloorDiv(rest, d)


def _symbolic_modulo(n: expr.Size, d: expr.Expr) -> expr.Size:
    _, rest = _symbolic_division(n, d)
    if expr.lower_bound(rest) >= 0:
        if expr.upper_bound(rest - d) < 0:
            return rest
    elif expr.upper_bound(rest) < 0 and expr.lower_bound(rest + d) >= 0:
        return rest + d
    return expr.Modulo(rest, d)


def _symbolic_division(n: expr.Size, d: expr.Expr) -> tuple[expr.Size, expr.Size]:
    """(q, r) with n == q*d + r: polynomial division by the leading term of d, as far as it goes."""
    leading = max(d.terms, key=lambda m: (len(m), tuple(map(expr.order, m))))
    whole: expr.Size = 0
    for _ in range(64):
        step = _quotient_term(n, leading, d.terms[leading])
        if step is None:
            break
        whole, n = whole + step, n - step * d
    return whole, n


def _quotient_term(n: expr.Size, leading: expr.Monomial, coefficient: int) -> expr.Size | None:
    if isinstance(n, int):
        return None
    for monomial, c in n.terms.items():
        left = list(monomial)
        if c % coefficient == 0 and len(leading) <= len(left):
            try:
                for atom in leading:
                    left.remove(atom)
            except ValueError:
                continue
            return c // coefficient * (expr.polynomial({tuple(left): 1}, 0) if left else 1)
    return None


def rejoin(terms: dict[expr.Monomial, int], constant: int) -> expr.Size:
    """The canonical sum, with k*(x % d) + k*d*(x // d) made k*x and k*(x % d) + k*d*((x // d) % e) made k*(x % (d*e))."""
    for monomial, coefficient in terms.items():
        for i, atom in enumerate(monomial):
            if isinstance(atom, expr.Modulo):
                joined = _partner(terms, monomial, i, coefficient)
                if joined is not None:
                    partner, value = joined
                    rest = {m: c for m, c in terms.items() if m not in (monomial, partner)}
                    others = monomial[:i] + monomial[i + 1 :]
                    scaled = expr.polynomial({others: coefficient}, 0) if others else coefficient
                    return expr.gather(rest, constant) + scaled * value
    return expr.polynomial(terms, constant)


def _partner(
    terms: Mapping[expr.Monomial, int], monomial: expr.Monomial, at: int, coefficient: int
) -> tuple[expr.Monomial, expr.Size] | None:
    atom = monomial[at]
    assert isinstance(atom, expr.Modulo)
    if not isinstance(atom.denominator, int) or len(terms) < 2:
        return None
    wanted = coefficient * atom.denominator
    others = monomial[:at] + monomial[at + 1 :]
    quotient = atom.quotient
    if isinstance(quotient, expr.Atom):
        partner = expr.times(others, (quotient,))
        if terms.get(partner) == wanted:
            return partner, atom.numerator
    for other, c in terms.items():
        if c == wanted and len(other) == len(monomial):
            for j, second in enumerate(other):
                if isinstance(second, expr.Modulo) and second.numerator == quotient:
                    if other[:j] + other[j + 1 :] == others:
                        return other, modulo(atom.numerator, atom.denominator * second.denominator)
    return None


def less(a: expr.Size, b: expr.Size) -> expr.Size:
    """1 if a < b whatever the variables are, 0 if never, else the comparison in lowest terms."""
    difference = a - b
    if isinstance(difference, int):
        return int(difference < 0)
    if difference.max < 0:
        return 1
    if difference.min >= 0:
        return 0
    return _lowest_terms(difference)


def _lowest_terms(n: expr.Expr) -> expr.Size:
    """`n < 0`, with common factors and terms too small to matter removed."""
    terms, bound = n.terms, -n.constant
    factor = expr.common_factor(terms)
    if factor > 1:  # g*p < c exactly where p < ceil(c / g)
        terms, bound = {m: c // factor for m, c in terms.items()}, -(-bound // factor)
    for factor in sorted({abs(c) for c in terms.values()} - {1}, reverse=True):
        small = expr.polynomial({m: c for m, c in terms.items() if c % factor}, 0)
        last = (bound - 1 - expr.lower_bound(small)) // factor
        if last == (bound - 1 - expr.upper_bound(small)) // factor:
            # g*p + r <= c - 1 exactly where p <= (c - 1 - r) // g, the same for every r
            return less(expr.gather({m: c // factor for m, c in terms.items() if c % factor == 0}, 0), last + 1)
    if len(terms) == 1:
        [(monomial, coefficient)] = terms.items()
        atom = monomial[0]
        if len(monomial) == 1 and isinstance(atom, expr.FloorDiv):
            if coefficient == 1:  # x // d < c exactly where x < c*d
                return less(atom.numerator, atom.denominator * bound)
            if coefficient == -1:  # -(x // d) < c exactly where (1 - c)*d <= x
                return less(atom.denominator * (1 - bound) - 1, atom.numerator)
    return _two_sided(terms, bound)


def _two_sided(terms: Mapping[expr.Monomial, int], bound: int) -> expr.Size:
    """`terms < bound` with every coefficient positive, on the side where it is."""
    left = {m: c for m, c in terms.items() if c > 0}
    right = {m: -c for m, c in terms.items() if c < 0}
    if not left:
        return expr.Less(-bound, expr.polynomial(right, 0))
    if not right:
        return expr.Less(expr.polynomial(left, 0), bound)
    return expr.Less(expr.polynomial(left, max(0, -bound)), expr.polynomial(right, max(0, bound)))
