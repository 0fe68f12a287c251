"""The switches of a rule set, set at random."""

from __future__ import annotations

from random import Random

from schedulog.scheduler.given import known_switches, least_values, switches
from schedulog.scheduler.language.program import Program


def draw_options(program: Program, generator: Random) -> dict[str, int]:
    """Some of the switches that the rules ask about: on, or as a limit so low that small graphs reach it.

    `verify` is left alone: trials always ask for all checks.
    """
    least = least_values(program)
    limits = set(switches(program, "default_limit"))
    found: dict[str, int] = {}
    for name in sorted(known_switches(program)):
        if name == "verify" or generator.random() < 0.6:
            continue
        lowest = least.get(name, 0)
        found[name] = lowest + generator.choice((0, 1, 2, 4, 8)) if name in limits else 1
    return found
