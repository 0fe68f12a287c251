"""Answers to questions that are not about one fact, as text with the proofs below, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping

import typer

from schedulog.cli.output import print_json
from schedulog.cli.source import tell_assumed
from schedulog.scheduler.schedule import Decisions
from schedulog.scheduler.why.answer import Answer
from schedulog.scheduler.why.proof_text import proof_lines, proof_record
from schedulog.scheduler.why.question import names


def print_answer(
    answer: Answer, decisions: Decisions, assumed: Mapping[str, int], *, depth: int, as_json: bool
) -> None:
    """Print an answer; `depth` is how many levels of its proofs are written out."""
    writer = names(decisions)
    if as_json:
        proofs = [proof_record(proof, writer) for proof in answer.proofs]
        print_json(answer.record() | {"proofs": proofs, "assumed": dict(assumed)})
        return
    tell_assumed(assumed)
    typer.echo("\n".join(answer.lines()))
    for proof in answer.proofs:
        typer.echo("\n".join(proof_lines(proof, writer, depth, described=False)))
