"""The values of a graph under construction: name, shape, type; and how their sizes are written in the notation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedulog.facts.dtype import DType
from schedulog.facts.notation import DTYPES

Size = int | str
"""A known size, or the name of a variable one."""


@dataclass(frozen=True, slots=True)
class Value:
    """A name with its shape and type. `exact`: no device rounds it otherwise; `memory`: a BUFFER or an ASSIGN."""

    name: str
    shape: tuple[Size, ...]
    dtype: str
    exact: bool = False
    memory: bool = False
    device: str = ""

    @property
    def kind(self) -> str:
        return kind_of(self.dtype)

    @property
    def plain(self) -> bool:
        """Whether every size is known."""
        return all(isinstance(s, int) for s in self.shape)


def kind_of(dtype: str) -> str:
    """Whether a type, by its short name, is a truth value (b), a float (f) or an integer (i)."""
    return "b" if dtype == "bool" else "f" if "f" in dtype else "i"


def short_name(dtype: DType) -> str:
    """The name of a type in the notation."""
    return next(name for name, known in DTYPES.items() if known == dtype)


def same(one: Value, other: Value) -> bool:
    return (one.shape, one.dtype, one.device) == (other.shape, other.dtype, other.device)


def fits(shape: tuple[Size, ...], wanted: tuple[Size, ...]) -> bool:
    """Whether a shape is another one, or becomes it when axes of size 1 are repeated."""
    return len(shape) == len(wanted) and all(s in (1, w) for s, w in zip(shape, wanted, strict=True))


def known(shape: tuple[Size, ...]) -> tuple[int, ...]:
    return tuple(s for s in shape if isinstance(s, int))


def shape_text(shape: Sequence[Size]) -> str:
    return f"[{list_text(shape)}]"


def list_text(items: Sequence[Size]) -> str:
    return ",".join(map(str, items))


def pairs_text(pairs: Sequence[tuple[Size, Size]]) -> str:
    return ",".join(f"({a},{b})" for a, b in pairs)
