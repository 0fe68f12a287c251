"""Inputs of an ONNX file that are fixed to values by whoever reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedulog.errors import GraphError
from schedulog.facts.dtype import DType
from schedulog.facts.onnx.file import ELEMENT_TYPES, FileModel, FileValue


def element_type(value: FileValue, file: str) -> DType:
    """The dtype a value is declared with. Raises GraphError (SL244) for one that has no counterpart here."""
    if value.element_type not in ELEMENT_TYPES:
        raise GraphError("SL244", f"`{value.name}` has element type number {value.element_type}",
                         where=file, reason="it has no counterpart here",
                         help=f"supported: {', '.join(d.name for d in ELEMENT_TYPES.values())}")  # fmt: skip
    return ELEMENT_TYPES[value.element_type]


def fixed_values(model: FileModel, constants: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
    """The values of the inputs that are fixed, each of the declared type and shape.

    Arrays must be so already. Numbers and lists are converted where that loses nothing; a single number may stand for
    one element of any rank. Raises GraphError (SL242): no such input, or a value that it cannot have.
    """
    declared = {v.name: v for v in model.graph.inputs}
    found = {}
    for name, given in constants.items():
        if name not in declared:
            raise GraphError("SL242", f"{model.file} has no input called `{name}`", where=model.file,
                             help=f"its inputs: {', '.join(sorted(declared)) or 'none'}")  # fmt: skip
        found[name] = _fixed(declared[name], given, model.file)
    return found


def _fixed(value: FileValue, given: ArrayLike, file: str) -> NDArray[Any]:
    expected = element_type(value, file).to_numpy()
    array = given if isinstance(given, np.ndarray) else _converted(value, given, expected, file)
    fits = value.dims is None or (
        len(value.dims) == array.ndim
        and all(not isinstance(d, int) or d == n for d, n in zip(value.dims, array.shape, strict=True))
    )
    if array.dtype != expected or not fits:
        raise _refused(value, f"{array.dtype}{list(array.shape)}", expected, file)
    return array


def _converted(value: FileValue, given: Any, expected: np.dtype[Any], file: str) -> NDArray[Any]:
    """Numbers or lists as an array of the declared type."""
    try:
        plain = np.asarray(given)
        with np.errstate(all="ignore"):
            array = plain.astype(expected)
        kept = plain.dtype.kind in "biuf" and np.array_equal(array, plain, equal_nan=plain.dtype.kind == "f")
    except (TypeError, ValueError, OverflowError):
        raise _refused(value, repr(given), expected, file) from None
    # A decimal number is what its writer means also where no float of that type is it exactly.
    if not kept and not (plain.dtype.kind == "f" and np.isfinite(array).all() and expected.kind not in "biu"):
        raise _refused(value, repr(given), expected, file)
    one = (
        array.size == 1
        and value.dims is not None
        and all(d == 1 or not isinstance(d, int) for d in value.dims)
    )
    return array.reshape((1,) * len(value.dims)) if one and value.dims is not None else array


def _refused(value: FileValue, what: str, expected: np.dtype[Any], file: str) -> GraphError:
    return GraphError("SL242", f"input `{value.name}` cannot be this {what}",
                      where=f"input `{value.name}` of {file}",
                      reason=f"it is declared as {expected}{list(value.dims or ())}",
                      help="give an array of that type and shape")  # fmt: skip
