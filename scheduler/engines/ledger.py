"""What the statements of an evaluation cost: the entries of a profile."""

from __future__ import annotations

from dataclasses import dataclass, field

from schedulog.scheduler.engines.join_order import Step
from schedulog.scheduler.engines.sql_compile import Statement
from schedulog.scheduler.language.program import Rule

Place = tuple[int, ...]
"""A condition by its index in the body; with two numbers one inside an aggregate; () is the head."""


@dataclass(slots=True)
class Version:
    """One ordered version of a clause: its steps, and what running it cost.

    `runs` counts statements, `seconds` their time, `new` the rows they added. `met` counts, for each scan, the rows that agree
    with what was known before it, in all runs; under () the matches of the whole body. None where it was not counted.
    """

    rule: Rule
    steps: tuple[Step, ...]
    delta: str
    runs: int = 0
    seconds: float = 0.0
    new: int = 0
    met: dict[Place, int] | None = None


@dataclass(slots=True)
class SubLedger:
    """The evaluations of one sub-component; `rounds` of those that ended."""

    evaluations: int = 0
    rounds: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Ledger:
    """What the evaluations of a program cost.

    `versions` by clause name and the condition whose new rows are read (-1: none), as far as they ran; `rows` by relation, of
    the last evaluation.
    """

    versions: dict[tuple[str, int], Version] = field(default_factory=dict)
    subs: dict[int, SubLedger] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Time of all evaluations."""
        return sum(sub.seconds for sub in self.subs.values())

    @property
    def statements(self) -> int:
        """Statements that ran."""
        return sum(version.runs for version in self.versions.values())

    def version(self, statement: Statement) -> Version:
        """The entry of a statement."""
        key = _key(statement)
        if key not in self.versions:
            self.versions[key] = Version(statement.rule, statement.steps, statement.delta)
        return self.versions[key]

    def fastest(self, other: Ledger) -> None:
        """Keep the shorter of the times of two evaluations of one graph."""
        for key, version in self.versions.items():
            version.seconds = min(version.seconds, other.versions[key].seconds)
        for index, sub in self.subs.items():
            sub.seconds = min(sub.seconds, other.subs[index].seconds)

    def add(self, other: Ledger) -> None:
        """Add the evaluation of another graph."""
        for key, version in other.versions.items():
            mine = self.versions.setdefault(key, Version(version.rule, version.steps, version.delta))
            mine.runs += version.runs
            mine.seconds += version.seconds
            mine.new += version.new
        for index, sub in other.subs.items():
            entry = self.subs.setdefault(index, SubLedger())
            entry.evaluations += sub.evaluations
            entry.rounds += sub.rounds
            entry.seconds += sub.seconds
        self.rows = dict(other.rows)


def _key(statement: Statement) -> tuple[str, int]:
    """The clause, and the condition whose new rows a statement reads."""
    return statement.rule.name, statement.steps[0].item if statement.delta else -1
