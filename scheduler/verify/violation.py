"""What a check found wrong, and the error it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from schedulog.errors import ScheduleError

Stage = Literal["graph", "simplified", "decisions", "kernels"]
"""What is looked at: the graph given, the graph simplified, what the rules decided, the kernels in running order."""

_CODES: Final = MappingProxyType(
    {"graph": "SL320", "simplified": "SL321", "decisions": "SL322", "kernels": "SL323"}
)
_HELP: Final = MappingProxyType(
    {
        "graph": "mend the graph where it is made",
        "simplified": "report the graph: the simplifier must keep what a graph means",
        "decisions": "`schedulog why` shows the rules behind each fact; a policy derives `realize` and leaves the rest to core",
        "kernels": "report the graph and the rules: decisions that pass their checks must give kernels that do",
    }
)
_SHOWN: Final = 5
"""Violations that one error lists."""


@dataclass(frozen=True, slots=True)
class Violation:
    """`node`, described in the user's words, breaks the rule called `rule`; `what` goes on from the node's description.

    `why` says more about it, and `help` the way out, where more is known than the stage.
    """

    node: str
    what: str
    rule: str
    why: str = ""
    help: str = ""

    def __str__(self) -> str:
        return f"{self.node} {self.what} ({self.rule})"


def refuse(stage: Stage, violations: Sequence[Violation], where: str) -> None:
    """Raise ScheduleError SL320 to SL323, by stage, unless there are no violations. `where` names the graph."""
    if not violations:
        return
    first, *others = violations
    shown = [f"also {violation}" for violation in others[: _SHOWN - 1]]
    more = [f"and {len(violations) - _SHOWN} more"] if len(violations) > _SHOWN else []
    raise ScheduleError(
        _CODES[stage],
        f"{first.node} {first.what}",
        where=f"{where}, stage {stage}",
        reason="; ".join([*filter(None, (f"it breaks {first.rule}", first.why)), *shown, *more]),
        help=first.help or _HELP[stage],
    )
