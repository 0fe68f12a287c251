"""Any question about decisions: the answer, whatever the question is about."""

from __future__ import annotations

from typing import assert_never

from schedulog.scheduler.schedule import Decisions
from schedulog.scheduler.why.answer import Answer
from schedulog.scheduler.why.edge import explain_edge
from schedulog.scheduler.why.fact_set import explain_set, explain_set_misses
from schedulog.scheduler.why.kernel import explain_kernel
from schedulog.scheduler.why.one_kernel import explain_together
from schedulog.scheduler.why.placement import Placement
from schedulog.scheduler.why.subject import OfKernel, OfRelation, Operand, Together, subject_of


def explain(
    decisions: Decisions, question: str, *, negated: bool = False, every: bool = False
) -> Answer | None:
    """The answer to a question that is not about a fact; None for a question about a fact.

    `n3 -> n5`, `one_kernel(n3, n5)`, `kernel k3`, or the name of a relation. `negated`: why further facts of a relation do
    not hold; what else is asked about says itself whether it holds. `every`: with all derivations in the proofs.

    Raises UsageError: SL713, SL715, SL721, SL723 as `subject_of`, SL722 a kernel that is not there.
    """
    match subject_of(question, decisions.model.program, Placement(decisions)):
        case None:
            return None
        case Operand() as operand:
            return explain_edge(operand, decisions, every=every)
        case Together() as pair:
            return explain_together(pair, decisions, every=every)
        case OfKernel() as kernel:
            return explain_kernel(kernel, decisions, every=every)
        case OfRelation() as relation:
            return explain_set_misses(relation, decisions) if negated else explain_set(relation, decisions)
        case other:
            assert_never(other)
