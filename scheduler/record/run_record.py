"""What one scheduling leaves to be saved, and how it can be scheduled again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schedulog.scheduler.kernels import Schedule
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.schedule import Decisions

if TYPE_CHECKING:
    from schedulog.scheduler.profile import Profile


@dataclass(frozen=True, eq=False)
class RunRecord:
    """One scheduled graph.

    `timings` holds, by device, the seconds of each kernel in its last execution; `rewrites` the simplifier's steps as
    (rule, before, after). `refusals`: whether to say of each operand that is not fused which rules keep it apart;
    `profile`: what the evaluation of the rules cost, clause by clause.
    """

    program: Program
    engine: str
    options: Mapping[str, int]
    decisions: Decisions
    schedule: Schedule
    timings: Mapping[str, Sequence[float]] = field(default_factory=dict)
    label: str = ""
    rewrites: Sequence[tuple[str, str, str]] = ()
    refusals: bool = True
    profile: Profile | None = None
