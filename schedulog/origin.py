"""Where in the user's program an operation was asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import PurePath
from typing import Final, TypeVar

from schedulog.errors import GraphError

T = TypeVar("T")
_PACKAGE: Final = __name__.partition(".")[0]


def caller() -> str:
    """ "file.py:line" of the innermost running frame that is not this package's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    return f"{PurePath(frame.f_code.co_filename).name}:{frame.f_lineno}"


def placed(operation: str, make: Callable[[str], T]) -> T:
    """What `make` gives for the label "file.py:line operation". A GraphError it raises gets that place."""
    place = caller()
    try:
        return make(f"{place} {operation}")
    except GraphError as error:
        raise GraphError(
            error.code, error.message, where=place, reason=error.reason, help=error.help
        ) from None
