"""Names of relations, functions and variables in pyDatalog's spelling, where Python and pyDatalog keep some for themselves.

`open` is Python's, so the relation `open` is written `open_`, and `open_` is `open__`. pyDatalog keeps `len_`, so `len`
moves two underscores on. Every name has one spelling, and every spelling but the kept names stands for one name.
"""

from __future__ import annotations

import builtins
import keyword
import re
from typing import Final

AGGREGATES: Final = ("len_", "sum_", "min_", "max_")
"""The aggregates that rules have."""
OTHER_AGGREGATES: Final = ("concat_", "linear_regression_", "mean_", "rank_", "running_sum_", "tuple_")
"""Those that only pyDatalog has."""

_CALLED: Final = (*AGGREGATES, *OTHER_AGGREGATES, "ask", "concat", "format_", "range_", "rank", "running_sum")
_KEPT: Final = frozenset(
    {*keyword.kwlist, *(name for name in dir(builtins) if name[0].isalpha()), *_CALLED}
    | {"copyright", "credits", "exit", "help", "license", "quit"}
)
_NAME: Final = re.compile(r"[a-z]\w*", re.ASCII)
_VARIABLE: Final = re.compile(r"[A-Z]\w*", re.ASCII)


def written(name: str) -> str:
    """How a name of the rules is spelled."""
    return name + "_" * _shift(name.rstrip("_"))


def is_kept(spelled: str) -> bool:
    """Whether Python or pyDatalog uses this spelling for something else."""
    base = spelled.rstrip("_")
    return len(spelled) - len(base) < _shift(base)


def meant(spelled: str) -> str:
    """The name of the rules that a spelling stands for, which must not be a kept one."""
    return spelled[: len(spelled) - _shift(spelled.rstrip("_"))]


def is_name(name: str) -> bool:
    """Whether a relation or a function can have this name."""
    return _NAME.fullmatch(name) is not None


def is_variable(name: str) -> bool:
    """Whether a variable that is not anonymous can have this name."""
    return _VARIABLE.fullmatch(name) is not None


def _shift(base: str) -> int:
    """By how many underscores a name without any at its end is moved."""
    if f"{base}_" in _KEPT:
        return 2
    return 1 if base in _KEPT else 0
