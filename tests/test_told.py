"""What is told about nodes, rules and proofs in a line or two, alike on the command line and from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import schedulog
from schedulog import schedule
from schedulog.__main__ import main
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import float32
from schedulog.facts.graph import Graph, graph_of, in_short
from schedulog.facts.json_format import write_graph
from schedulog.facts.ops import Op

LONG = "a/Max;a/Max;" + "b/" * 50


def graph() -> Graph:
    x = build.buffer(Buffer(8, float32, name="x"))
    return graph_of([build.alu(Op.NEG, build.reduce("ADD", x, (0,), label=LONG), label=LONG)])


@pytest.mark.parametrize(
    ("whole", "short"),
    [
        ("n1 max f32[8] (X/Max;X/Max)", "n1 max f32[8] (X/Max)"),
        ("n1 max f32[8]", "n1 max f32[8]"),
        ("n1 max f32[(N + 1)] (a (b))", "n1 max f32[(N + 1)] (a (b))"),
        (f"n1 max f32[8] ({'a' * 80})", f"n1 max f32[8] ({'a' * 80})"),
        (f"n1 max f32[8] ({'a' * 81})", f"n1 max f32[8] ({'a' * 79}…)"),
    ],
)
def test_names_of_nodes_are_cut(whole: str, short: str) -> None:
    assert in_short(whole) == short


@pytest.mark.parametrize("question", ["stored(n2)", "n1 -> n2", "one_kernel(n1, n2)"])
def test_python_and_the_command_line_say_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], question: str
) -> None:
    path = tmp_path / "g.json"
    path.write_text(write_graph(graph()), encoding="utf-8")
    run = schedule(schedulog.load(path))
    assert main(["why", str(path), question]) == 0
    shown = capsys.readouterr().out
    if question.startswith("stored"):
        assert str(run.why(question)) + "\n" == shown
        assert run.why(question).tree(1).endswith("more to open: --depth 5")
    else:
        assert shown.startswith(str(run.explain(question)))
    assert "a/Max;a" not in shown and LONG not in shown
    assert main(["why", str(path), question, "--json"]) == 0
    assert LONG in str(json.loads(capsys.readouterr().out)["nodes"])


def test_a_rule_is_told_in_a_few_lines() -> None:
    rules = schedulog.load_rules(
        "classic",
        """
%! id: mine/sums    %! kind: realize    %! title: Sums are stored    %! why: "{R} adds"
realize(R) :- is_reduce(R).
%? test "a sum"   graph: x=load f32[8]; s=sum x axis=0; n=neg s; out n   holds realize(s).
""",
    )
    assert str(rules["mine/sums"]) == (
        "mine/sums  Sums are stored\n  realize, experimental, <text 1>:2\n  why: {R} adds\n  tests: a sum"
    )
    assert repr(rules["mine/sums"]) == "<RuleInfo mine/sums: Sums are stored>"
