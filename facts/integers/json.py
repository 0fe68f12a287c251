"""Symbolic integers as JSON: an int, a variable object, or an expression in prefix form."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from schedulog.errors import GraphError
from schedulog.facts.integers.compare import less
from schedulog.facts.integers.divide import quotient, remainder
from schedulog.facts.integers.expr import (
    Atom,
    FloorDiv,
    Modulo,
    Size,
    Variable,
    atoms,
    lower_bound,
    upper_bound,
)

Operation = Callable[[Any, Any], Any]


def to_json(size: Size) -> Any:
    """An int, `{"var", "min", "max"[, "val"]}`, or `{"expr": prefix form, "min", "max"}`.

    The operations of the prefix form are ADD and MUL (two or more operands), IDIV and MOD (rounding down) and CMPLT.
    """
    if isinstance(size, int | Variable):
        return _prefix(size, {})
    done: dict[Atom, Any] = {}
    for atom in atoms(size):
        done[atom] = _atom(atom, done)
    return {"expr": _prefix(size, done), "min": size.min, "max": size.max}


def _atom(atom: Atom, done: Mapping[Atom, Any]) -> Any:
    if isinstance(atom, Variable):
        return _prefix(atom, {})
    name = "IDIV" if isinstance(atom, FloorDiv) else "MOD" if isinstance(atom, Modulo) else "CMPLT"
    return [name, *(_prefix(child, done) for child in atom.children)]


def _prefix(size: Size, done: Mapping[Atom, Any]) -> Any:
    if isinstance(size, int):
        return size
    if isinstance(size, Variable):
        record: dict[str, Any] = {"var": size.name, "min": size.min, "max": size.max}
        return record if size.value is None else record | {"val": size.value}
    terms: list[Any] = []
    for monomial, coefficient in size.terms.items():
        factors = [done[atom] for atom in monomial] + ([coefficient] if coefficient != 1 else [])
        terms.append(factors[0] if len(factors) == 1 else ["MUL", *factors])
    if size.constant:
        terms.append(size.constant)
    return terms[0] if len(terms) == 1 else ["ADD", *terms]


def from_json(obj: Any) -> Size:
    """What `to_json` wrote. Raises GraphError: SL222 for anything else, SL223 for a variable with crossed bounds, SL224
    for a division by what is always 0.

    IDIV and MOD round down, CMPLT is 0 or 1; a "text" in an expression is for people and not read.
    """
    return _parse(obj)


def parse_record(obj: Any) -> Size:
    """A size of a recorded tinygrad graph, whose expressions have the same form. Raises as `from_json`.

    The recorded IDIV rounds down too: it comes from Python's `//` in shape arithmetic.
    """
    return _parse(obj)


_OPERATIONS: Final[Mapping[str, Operation]] = {
    "ADD": operator.add,
    "MUL": operator.mul,
    "IDIV": quotient,
    "MOD": remainder,
    "CMPLT": less,
}


def _malformed(obj: object, reason: str) -> GraphError:
    text = str(obj)
    return GraphError("SL222", f"{text[:80]} is not a symbolic integer", reason=reason)


def _parse(obj: Any) -> Size:
    root = obj["expr"] if isinstance(obj, dict) and "expr" in obj else obj
    values: list[Size] = []
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        part, ready = stack.pop()
        if not isinstance(part, list):
            values.append(_leaf(part))
        elif ready:
            _reduce(part, values)
        else:
            _check(part)
            stack.append((part, True))
            stack.extend((operand, False) for operand in reversed(part[1:]))
    return values[0]


def _check(part: list[Any]) -> None:
    if not part or not isinstance(part[0], str) or part[0] not in _OPERATIONS:
        raise _malformed(part, f"an operation is one of {', '.join(_OPERATIONS)}")
    if len(part) < 3 or (len(part) > 3 and part[0] not in ("ADD", "MUL")):
        raise _malformed(part, f"{len(part) - 1} operands")


def _reduce(part: list[Any], values: list[Size]) -> None:
    count = len(part) - 1
    operands = values[-count:]
    del values[-count:]
    result = operands[0]
    for operand in operands[1:]:
        if part[0] in ("IDIV", "MOD") and lower_bound(operand) == upper_bound(operand) == 0:
            raise GraphError("SL224", f"division by 0 in {str(part)[:80]}", reason="it has no value")
        result = _OPERATIONS[part[0]](result, operand)
    values.append(result)


def _leaf(obj: Any) -> Size:
    if isinstance(obj, int) and not isinstance(obj, bool):
        return obj
    if isinstance(obj, dict) and isinstance(obj.get("var"), str):
        numbers = [obj.get("min"), obj.get("max"), obj.get("val", obj.get("min"))]
        if all(isinstance(n, int) and not isinstance(n, bool) for n in numbers):
            return Variable(obj["var"], obj["min"], obj["max"], obj.get("val"))
    raise _malformed(obj, 'expected an int, {"var", "min", "max"} or {"expr"}')
