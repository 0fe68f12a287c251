"""`schedulog whynot`: what keeps a fact from holding, an operand from being fused, two nodes out of one kernel."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Final

import typer

from schedulog.cli.answer import print_answer
from schedulog.cli.decided import decisions_of
from schedulog.cli.output import print_json, working
from schedulog.cli.run import AsJson, Options, Rules
from schedulog.cli.source import Constants, Dims, Shapes, WhichRun, bindings, tell_assumed
from schedulog.errors import UsageError
from schedulog.scheduler.why.answer import Answer
from schedulog.scheduler.why.ask import explain
from schedulog.scheduler.why.edge import EdgeAnswer
from schedulog.scheduler.why.kernel import KernelAnswer
from schedulog.scheduler.why.one_kernel import OneKernelAnswer
from schedulog.scheduler.why.whynot import Miss, WhyNot, whynot

_QUESTION: Final = (
    "A fact that does not hold: realize(n12), stored('conv1'); or an operand: 'n3 -> n5', two nodes: 'one_kernel(n3, n5)', "
    "a relation: realize."
)


def whynot_command(
    source: Annotated[str, typer.Argument(metavar="GRAPH_OR_DB", help="A graph, or a saved run.")],
    question: Annotated[str, typer.Argument(help=_QUESTION)],
    limit: Annotated[int, typer.Option(min=1, help="Clauses to show, nearest first.")] = 5,
    depth: Annotated[int, typer.Option(min=1, help="Levels of proofs to write out.")] = 3,
    run: WhichRun = None,
    rules: Rules = None,
    dim: Dims = None,
    shape: Shapes = None,
    const: Constants = None,
    set_: Options = None,
    as_json: AsJson = False,
) -> None:
    """Say why something does not hold, and the smallest repairs.

    Of a fact: which rules could derive it, and the conditions that fail. Of an operand that is not fused, or two nodes that are
    not in one kernel: where they are cut, and by which rules. Of a relation: which single conditions keep further facts out.
    """
    with working(f"asking {source}"):
        decisions, assumed = decisions_of(source, run, rules, bindings(dim, shape, const), set_)
        answer = explain(decisions, question, negated=True)
        missing = whynot(decisions, question) if answer is None else None
    _check_fails(answer)
    if answer is not None:
        print_answer(answer, decisions, assumed, depth=depth, as_json=as_json)
    elif missing is not None and as_json:
        print_json(_record(missing, limit) | {"assumed": dict(assumed)})
    elif missing is not None:
        tell_assumed(assumed)
        typer.echo("\n".join(missing.lines(limit)))


def _check_fails(answer: Answer | None) -> None:
    """Refuse a question about what holds. Raises UsageError SL718."""
    held = ""
    if isinstance(answer, OneKernelAnswer) and answer.holds:
        held = answer.fact
    elif isinstance(answer, EdgeAnswer) and answer.state != "stored":
        held = f"{answer.producer} -> {answer.consumer}"
    elif isinstance(answer, KernelAnswer):
        held = f"kernel {answer.kernel}"
    if held:
        raise UsageError(
            "SL718", f"{held} holds", help=f"ask for its reasons: schedulog why GRAPH_OR_DB '{held}'"
        )


def _record(answer: WhyNot, limit: int) -> dict[str, Any]:
    """The answer as one JSON object: the `limit` nearest clauses with each largest set of conditions."""
    return {
        "fact": answer.fact,
        "nodes": list(answer.nodes),
        "rival": answer.rival or None,
        "rules": [_miss(miss) for miss in answer.misses[:limit]],
        "more": max(0, len(answer.misses) - limit),
        "others": answer.others,
        "repairs": [asdict(repair) for repair in answer.repairs],
    }


def _miss(miss: Miss) -> dict[str, Any]:
    rule = miss.rule
    return {
        "rule": rule.id,
        "clause": rule.clause,
        "place": f"{rule.place.file}:{rule.place.line}",
        "priority": miss.priority,
        "conditions": len(rule.body),
        "failing": miss.failing,
        "cut": miss.cut,
        "ways": [[asdict(f) | {"id": f"{rule.id}:{f.number}"} for f in way] for way in miss.ways],
    }
