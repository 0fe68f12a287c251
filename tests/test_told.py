"""What is told about nodes, rules and proofs in a line or two, alike on the command line and from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import schedulog
from schedulog import schedule
from schedulog.__main__ import main
from schedulog.cli.output import fitted
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


def test_lines_are_fitted_without_parting_a_fact() -> None:
    line = "    - member(n31, n26), member(n31, n27), and 9 more   by core/member#2"
    assert fitted(line, 46) == [
        "    - member(n31, n26), member(n31, n27), and",
        "        9 more   by core/member#2",
    ]
    assert fitted("  kernels   {n30 n31} + {n65 n66}", 24) == ["  kernels   {n30 n31} +", "      {n65 n66}"]
    assert fitted("", 40) == [""]
    assert fitted(line, 100) == [line]


def test_a_brief_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rules = tmp_path / "g.json", tmp_path / "mine.dl"
    path.write_text(write_graph(graph()), encoding="utf-8")
    rules.write_text("realize(R) :- is_reduce(R).\n", encoding="utf-8")
    assert main(["diff", str(path), "--with", str(rules), "--brief"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [str(path), "  kernels   1 -> 2"]
    assert lines[-1] == "  5 decisions and 2 kernels changed"
    assert not any(line.startswith("  because of") for line in lines)


def test_a_rule_that_names_a_node_is_told_what_to_write() -> None:
    numbered, bare = schedulog.load_rules("realize(n357).\n").check()
    assert (numbered.code, bare.code) == ("SL103", "SL106")
    assert numbered.help == (
        'rules say what holds of a node and name none: realize(N) :- op(N, "EXP"), size(N, 8); '
        "tests name theirs, in `given:`"
    )
    assert (
        bare.help == "`n357` is a name for questions to one graph; a variable begins with a capital: `N357`"
    )
