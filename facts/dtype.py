"""Element types: what one number of a tensor is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

import ml_dtypes
import numpy as np

from schedulog.errors import GraphError

Kind = Literal["void", "bool", "int", "uint", "float"]


@dataclass(frozen=True, slots=True)
class DType:
    """An element type: its name (numpy's spelling), kind and width in bits. Images carry their (height, width, 4)."""

    name: str
    kind: Kind
    bits: int
    image: tuple[int, ...] | None = None

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return (self.bits + 7) // 8

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self.name,)

    def to_numpy(self) -> np.dtype[Any]:
        """The numpy type that holds this one; bfloat16 comes from ml_dtypes, images are their base type.

        Raises GraphError (SL201) for void, which has no values.
        """
        if self.kind == "void":
            raise GraphError("SL201", "void has no values", reason="a SINK carries no number")
        if self.name == "bfloat16":
            half: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
            return half
        if self.image is not None:
            return np.dtype(np.float16 if self.bits == 16 else np.float32)
        return np.dtype(self.name)

    def minimum(self) -> int | float | bool:
        """The identity of MAX: the smallest value, -inf for floats."""
        if self.kind == "float":
            return float("-inf")
        if self.kind == "int":
            return int(-(1 << (self.bits - 1)))
        return False if self.kind == "bool" else 0


void = DType("void", "void", 0)
bool_ = DType("bool", "bool", 8)
int8 = DType("int8", "int", 8)
int16 = DType("int16", "int", 16)
int32 = DType("int32", "int", 32)
int64 = DType("int64", "int", 64)
uint8 = DType("uint8", "uint", 8)
uint16 = DType("uint16", "uint", 16)
uint32 = DType("uint32", "uint", 32)
uint64 = DType("uint64", "uint", 64)
float16 = DType("float16", "float", 16)
bfloat16 = DType("bfloat16", "float", 16)
float32 = DType("float32", "float", 32)
float64 = DType("float64", "float", 64)

SCALARS: tuple[DType, ...] = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
)  # fmt: skip


_IMAGE: Final = re.compile(r"image([fh])\[([0-9]{1,18}),([0-9]{1,18}),([0-9]{1,18})\]")


def unsigned(width: int) -> DType:
    """The unsigned integer of 1, 2, 4 or 8 bytes."""
    return {1: uint8, 2: uint16, 4: uint32, 8: uint64}[width]


def image(base: Literal["half", "float"], shape: tuple[int, ...]) -> DType:
    """An image type over `shape` = (height, width, 4), with half or float elements."""
    bits = 16 if base == "half" else 32
    return DType(f"image{base[0]}[{','.join(map(str, shape))}]", "float", bits, shape)


def named(name: str) -> DType:
    """The type called `name` ("float32", "bool", "imagef[4,8,4]"). Raises GraphError (SL202) if there is none."""
    for candidate in (*SCALARS, void):
        if candidate.name == name:
            return candidate
    found = _IMAGE.fullmatch(name)
    if found is not None:
        return image("half" if found[1] == "h" else "float", tuple(map(int, found.groups()[1:])))
    raise GraphError(
        "SL202",
        f"unknown dtype `{name}`",
        help="known: " + ", ".join(d.name for d in SCALARS) + ", imagef[h,w,4]",
    )


def from_numpy(dtype: np.dtype[Any]) -> DType:
    """The type of a numpy array. Raises GraphError (SL202) for types that have no counterpart (complex, strings)."""
    for candidate in SCALARS:
        if candidate.to_numpy() == dtype:
            return candidate
    return named(str(dtype))
