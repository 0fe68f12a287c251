"""`schedulog why`: the reasons for a fact, an operand, a kernel or a set, of a graph or of a saved run."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from schedulog.cli.answer import print_answer
from schedulog.cli.decided import decisions_of
from schedulog.cli.output import print_json, working
from schedulog.cli.run import AsJson, Options, Rules
from schedulog.cli.source import Constants, Dims, Shapes, WhichRun, bindings, tell_assumed
from schedulog.errors import UsageError
from schedulog.scheduler.why.answer import Answer
from schedulog.scheduler.why.ask import explain
from schedulog.scheduler.why.one_kernel import OneKernelAnswer
from schedulog.scheduler.why.proof import DEPTH
from schedulog.scheduler.why.proof_text import proof_lines, proof_record
from schedulog.scheduler.why.question import names, why

_QUESTION: Final = (
    "A fact: realize(n12), stored('conv1'), data(_, n7); or an operand: 'n3 -> n5', two nodes: 'one_kernel(n3, n5)', "
    "a kernel: 'kernel k3', a relation: realize."
)


def why_command(
    source: Annotated[str, typer.Argument(metavar="GRAPH_OR_DB", help="A graph, or a saved run.")],
    question: Annotated[str, typer.Argument(help=_QUESTION)],
    depth: Annotated[int, typer.Option(min=1, help="Levels to write out.")] = DEPTH,
    every: Annotated[bool, typer.Option("--all", help="All derivations, not only the shortest.")] = False,
    run: WhichRun = None,
    rules: Rules = None,
    dim: Dims = None,
    shape: Shapes = None,
    const: Constants = None,
    set_: Options = None,
    as_json: AsJson = False,
) -> None:
    """Say why something holds: the rules, down to the facts of the graph.

    Of a fact, an operand that is fused or not, a kernel, or two nodes in one kernel; of a relation, which rules give its facts.
    """
    with working(f"asking {source}"):
        decisions, assumed = decisions_of(source, run, rules, bindings(dim, shape, const), set_)
        answer = explain(decisions, question, every=every)
        proof = why(decisions, question, every=every) if answer is None else None
    _check_holds(answer)
    if answer is not None:
        print_answer(answer, decisions, assumed, depth=depth, as_json=as_json)
    elif proof is not None and as_json:
        print_json(proof_record(proof, names(decisions)) | {"assumed": dict(assumed)})
    elif proof is not None:
        tell_assumed(assumed)
        typer.echo("\n".join(proof_lines(proof, names(decisions), depth)))


def _check_holds(answer: Answer | None) -> None:
    if isinstance(answer, OneKernelAnswer) and not answer.holds:
        raise UsageError("SL714", f"{answer.fact} does not hold", where=", ".join(answer.nodes),
                         help=f"ask for what keeps them apart: schedulog whynot GRAPH_OR_DB '{answer.fact}'")  # fmt: skip
