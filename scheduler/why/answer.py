"""Answers to questions that are not about one fact, and what they have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from schedulog.scheduler.html.fragment import Text, fragment
from schedulog.scheduler.why.proof import Proof
from schedulog.scheduler.why.refusals import Storing


class Answer(ABC):
    """An answer. `proofs` are those of the facts it rests on."""

    __slots__ = ()

    proofs: tuple[Proof, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return fragment("", Text(str(self)))

    @abstractmethod
    def lines(self) -> Iterator[str]:
        """The answer as text, without the proofs."""

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """The answer as a JSON object, without the proofs."""


def storing_lines(clauses: Sequence[Storing]) -> Iterator[str]:
    """Why a value is stored: each clause with the condition that says most."""
    for clause in clauses:
        yield f"   {clause}"
        if clause.condition:
            yield f"      condition {clause.condition}: {clause.condition_text}"


def storing_record(clause: Storing) -> dict[str, Any]:
    """A clause because of which a value is stored, for JSON."""
    return {
        "rule": clause.rule.id,
        "clause": clause.rule.clause,
        "place": f"{clause.rule.place.file}:{clause.rule.place.line}",
        "condition": clause.condition or None,
        "text": clause.condition_text,
        "word": clause.word,
        "reason": clause.reason,
    }


def kernels_text(kernels: Sequence[str]) -> str:
    """`the kernel of n3`, `the kernels of n3 and n5`."""
    if len(kernels) == 1:
        return f"the kernel of {kernels[0]}"
    shown = list(kernels[:6]) + ([f"{len(kernels) - 6} more"] if len(kernels) > 6 else [])
    return f"the kernels of {', '.join(shown[:-1])} and {shown[-1]}"
