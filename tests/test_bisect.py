"""`schedulog bisect`: the smallest set of clauses, and the first decision, that break a graph."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from schedulog.__main__ import main
from schedulog.errors import UsageError
from schedulog.facts.json_format import write_graph
from schedulog.facts.notation import read_notation
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.schedule import Scheduler
from schedulog.trials.bisect import first_decision, smallest_rules
from schedulog.trials.condition import Made, any_break, error_code, kernel_count, make, wrong_numbers

GRAPH = "x=load f32[8]; a=exp x; b=neg a; c=exp b; d=neg c; e=sin d; out e"
RULES = """.decl odd(n: node)
%! id: my/odd    %! kind: helper
odd(N) :- computed(N), op(N, "SIN"), not realize(N).
%! id: my/store-odd    %! kind: realize
realize(N) :- odd(N).
%! id: my/exps    %! kind: realize    %! why: "{N} is an exp"
realize(N) :- op(N, "EXP").
%! id: my/negs    %! kind: realize
realize(N) :- op(N, "NEG").
%! id: my/sums    %! kind: realize
realize(N) :- is_reduce(N).
"""
STORES = "\n".join(RULES.splitlines()[5:]) + "\n"


@pytest.fixture
def files(tmp_path: Path) -> Any:
    def write(rules: str, graph: str = GRAPH) -> tuple[str, str]:
        one, other = tmp_path / "g.json", tmp_path / "mine.dl"
        one.write_text(write_graph(read_notation(graph)))
        other.write_text(rules)
        return str(one), str(other)

    return write


def counted(text: str) -> Any:
    condition = kernel_count(text)
    assert condition is not None
    return condition


def test_the_clauses_of_an_error(files: Any) -> None:
    _, rules = files(RULES)
    graph, condition = read_notation(GRAPH), error_code("SL120")
    found = smallest_rules(load_program([rules]), lambda p: condition(make(Scheduler(p), graph, {})))
    assert (found.broken, found.clauses, found.among) == ("error SL120", ("my/odd#1", "my/store-odd#1"), 5)


def test_the_first_decision_and_its_neighbour(files: Any) -> None:
    _, rules = files(STORES)
    graph, program = read_notation(GRAPH), load_program([rules])
    found = first_decision(program, graph, {}, counted("> 3"))
    assert (found.number, found.among) == (3, 4)
    assert found.decision is not None and found.decision.relation == "realize"
    assert graph.nodes[found.decision.row[0]].label == "c"
    assert first_decision(program, graph, {}, counted("> 0")).number == 0


def test_decisions_are_those_of_the_rewritten_graph_where_reductions_are_split() -> None:
    graph = read_notation("x=load f32[64]; e=exp x; s=sum e axis=0; n=neg s; out n")
    program = load_program(
        [], extra=[("mine.dl", "split(R, 0, 8) :- is_reduce(R).\nrealize(R) :- is_reduce(R).\n")]
    )
    assert kernels(program, graph) == 3
    found = first_decision(program, graph, {}, counted("> 2"))
    assert (found.number, found.among) == (2, 2)


def kernels(program: Any, graph: Any) -> int:
    schedule = make(Scheduler(program), graph, {}).schedule
    assert schedule is not None
    return len(schedule.kernels)


def test_what_does_not_break_is_told(files: Any) -> None:
    _, rules = files(STORES)
    program, graph = load_program([rules]), read_notation(GRAPH)
    with pytest.raises(UsageError) as caught:
        smallest_rules(program, lambda p: counted("> 9")(make(Scheduler(p), graph, {})))
    assert str(caught.value) == (
        "error[SL727] nothing is broken\n  at bisect\n"
        "  why: under all the rules (3 clauses beside core) the graph does not break in the way that is asked about\n"
        "  help: --error, --wrong, --kernels and --check say what counts as broken; --set gives the switches of the run"
    )
    with pytest.raises(UsageError, match="nothing is broken"):
        first_decision(program, graph, {}, counted("> 9"))


def test_what_counts_as_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(Scheduler(load_program(())), read_notation(GRAPH), {})
    assert counted("==1")(made) == "kernels == 1" and counted("< 1")(made) == ""
    assert kernel_count("about 5") is None
    assert any_break(["numpy"])(made) == wrong_numbers(["numpy"])(made) == error_code("SL120")(made) == ""
    failed = Made(None, UsageError("SL120", "no"))
    assert any_break(["numpy"])(failed) == error_code("SL120")(failed) == "error SL120"
    assert wrong_numbers(["numpy"])(failed) == counted("> 0")(failed) == error_code("SL140")(failed) == ""
    monkeypatch.setattr("schedulog.trials.condition.difference", lambda schedule, device: "b is 1, not 2")
    assert any_break(["numpy"])(made) == wrong_numbers(["numpy"])(made) == "wrong numbers on numpy"


def test_the_command_tells_clauses_with_places(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    graph, rules = files(RULES)
    assert main(["bisect", graph, "--rules", rules]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("error SL120: 2 of 5 clauses beside core are needed (")
    assert [line.split()[:2] for line in out[3:]] == [
        ["my/odd#1", f"{rules}:3"],
        ["my/store-odd#1", f"{rules}:5"],
    ]


def test_the_command_tells_a_decision_with_its_proof(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    graph, rules = files(STORES)
    assert main(["bisect", graph, "--rules", rules, "--decisions", "--kernels", "> 3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("kernels > 3: decision 3 of 4 breaks it, those before it do not\n\nrealize(")
    assert "[my/exps#1, " in out
    assert main(["bisect", graph, "--rules", rules, "--decisions", "--kernels", "> 3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["number"], found["decisions"], found["decision"]["relation"]) == (3, 4, "realize")


def test_a_command_judges_a_file_of_the_rules(
    files: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, rules = files(STORES)
    graph = str(Path(graph).rename(tmp_path / "a graph; touch {rules} $(touch here).json"))
    judge = tmp_path / "judge.py"
    judge.write_text(
        "import sys, pathlib\n"
        "rules, graph = map(pathlib.Path, sys.argv[1:])\n"
        "sys.exit(graph.is_file() and '\"NEG\"' in rules.read_text())\n"
    )
    command = f"{sys.executable} {judge} {{rules}} {{graph}}"
    assert main(["bisect", graph, "--rules", rules, "--check", command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [clause["name"] for clause in found["clauses"]] == ["my/negs#1"]
    assert found["broken"] == "the command fails"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--wrong", "--error", "SL120"], "give one of them"),
        (["--kernels", "many"], "`many` is not of the form '> 5'"),
        (["--decisions", "--check", "true"], "decisions are no rules"),
        (["--error", "SL999"], "there is no error code `SL999`"),
        (["--check", " "], "the command is empty"),
        (["--check", "no-such-command {rules}"], "the shell cannot run `no-such-command {rules}`"),
    ],
)
def test_wrong_use(files: Any, options: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    graph, rules = files(STORES)
    assert main(["bisect", graph, "--rules", rules, *options]) == 2
    assert told in capsys.readouterr().err


def test_rules_that_do_not_end_are_given_up_soon(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    counting = ".decl up(n: int)\n%! id: my/up    %! kind: helper\nup(0) :- computed(_).\nup(M) :- up(N),\n   M = N + 1.\n"
    graph, rules = files(
        RULES + counting + "%! id: my/tops    %! kind: realize\nrealize(N) :- computed(N), up(3).\n"
    )
    assert main(["bisect", graph, "--rules", rules, "--error", "sl140"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("error SL140: 2 of 8 clauses beside core are needed")
    assert "up(M) :- up(N), M = N + 1." in told
