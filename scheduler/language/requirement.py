"""What a pack asks of another: `core`, `core>=0.3`, `classic>=1.2,<2`. Versions are numbers with dots."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

PACK_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")
VERSION: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){0,5}")

_REQUIREMENT: Final = re.compile(r"([a-z0-9][a-z0-9_-]*)\s*((?:(?:>=|<=|==|!=|<|>)\s*[0-9.]+\s*,?\s*)*)")
_BOUND: Final = re.compile(r"(>=|<=|==|!=|<|>)\s*([0-9.]+)")
_HOLDS: Final[Mapping[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]]] = MappingProxyType(
    {
        ">=": operator.ge,
        "<=": operator.le,
        "==": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        ">": operator.gt,
    }
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A pack that is asked for, and the bounds of its version: ((">=", "0.3"), ("<", "2"))."""

    pack: str
    bounds: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.pack + ",".join(f"{sign}{version}" for sign, version in self.bounds)

    def accepts(self, version: str) -> bool:
        """Whether a version is within the bounds; "" stands for a pack without one, which only no bound accepts."""
        if not version:
            return not self.bounds
        found = _numbers(version)
        return all(_HOLDS[sign](found, _numbers(bound)) for sign, bound in self.bounds)


def read_requirement(text: str) -> Requirement | None:
    """What a text asks for; None if it is no requirement."""
    found = _REQUIREMENT.fullmatch(text.strip())
    if found is None:
        return None
    bounds = tuple((sign, version) for sign, version in _BOUND.findall(found[2]))
    well_formed = all(VERSION.fullmatch(version) for _, version in bounds)
    return Requirement(found[1], bounds) if well_formed else None


def _numbers(version: str) -> tuple[int, ...]:
    """A version as numbers; zeros at its end say nothing (1.0 is 1)."""
    numbers = [int(part) for part in version.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
