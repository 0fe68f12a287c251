"""The rules of a rule set as a list: what kind each is, where it stands, and how far it was tried."""

from __future__ import annotations

from dataclasses import dataclass

from schedulog.scheduler.language.program import Program
from schedulog.scheduler.rungs import rungs


@dataclass(frozen=True, slots=True)
class Listed:
    """One rule. `version` is that of its pack, "" without one; `rung` is explained at `schedulog.scheduler.rungs`."""

    id: str
    kind: str
    status: str
    title: str
    pack: str
    version: str
    clauses: int
    file: str
    line: int
    rung: int

    @property
    def place(self) -> str:
        """`file:line`"""
        return f"{self.file}:{self.line}"


def rule_list(program: Program) -> list[Listed]:
    """The rules of a program by id; the place is that of the first clause."""
    clauses: dict[str, int] = {}
    for rule in program.rules:
        clauses[rule.id] = clauses.get(rule.id, 0) + 1
    places = {rule.id: rule.place for rule in reversed(program.rules)}
    reached = rungs(program)
    return [
        Listed(
            i.id, i.kind, i.status, i.title, i.pack, program.versions.get(i.pack, ""), clauses[i.id],
            places[i.id].file, places[i.id].line, reached[i.id],
        )
        for i in program.infos.values() if i.id in clauses
    ]  # fmt: skip
