"""What an evaluation costs, clause by clause: counts that are exact, hints, limits, and the command."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from told import Command, told

from schedulog.facts.graph import Graph
from schedulog.facts.notation import read_notation
from schedulog.run import schedule
from schedulog.scheduler.engines.engine import Limits
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.profile import ClauseProfile, Profile, profile
from schedulog.scheduler.schedule import Scheduler, engines

CHAIN = "x=load f32[8]; a=exp x; b=neg a; c=sin b; out c"
REACH = """.decl reach(n: node, m: node)
%! id: my/reach    %! title: What a node leads to
reach(A, B) :- parent(B, A), computed(A).
reach(A, C) :- reach(A, B), parent(C, B).
"""


def graph(text: str) -> Graph:
    return read_notation(text)


def steps(count: int) -> str:
    """So many operations, each of the one before."""
    return "; ".join(["n0=load f32[8]", *(f"n{i + 1}=neg n{i}" for i in range(count))])


def program(text: str) -> Program:
    return load_program([], extra=[("my.dl", text)])


def clause(found: Profile, name: str) -> ClauseProfile:
    return next(c for c in found.clauses if c.rule.name == name)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return told(capsys, "profile")


def test_counts_of_a_recursion() -> None:
    found = profile(graph(CHAIN), program(REACH))
    # reach is (a, b), (b, c), and then (a, c).
    one, two = clause(found, "my/reach#1"), clause(found, "my/reach#2")
    assert (one.rounds, one.fired, one.new_facts) == (1, 2, 2)
    # The first round meets the two pairs as new rows, the second the third one.
    assert (two.rounds, two.tried, two.fired, two.new_facts) == (2, 4, 1, 1)
    (order,) = two.orders
    assert [(s.number, s.text, s.met) for s in order.steps] == [
        ("1", "reach(A, B)", 3),
        ("2", "parent(C, B)", 1),
    ]
    assert order.starts_from_new_rows and not one.orders[0].starts_from_new_rows
    assert found.rows["reach"] == 3


def test_a_profile_decides_what_an_evaluation_decides() -> None:
    wanted = graph("x=load f32[64,64]; s=sum x axis=1; e=exp s; r=expand e to=[64,64]; f=mul x r; out f")
    rules = load_program(["classic"])
    found = profile(wanted, rules)
    assert found.decisions is not None
    plain = Scheduler(rules).decide(wanted).model
    assert {name: found.decisions.model.rows(name) for name in rules.relations} == {
        name: plain.rows(name) for name in rules.relations
    }
    assert found.rows == {name: plain.count(name) for name in found.rows}
    assert sum(c.rounds for c in found.clauses) <= found.statements == plain.statistics.statements
    assert found.rounds == plain.statistics.rounds


def test_a_graph_that_is_rewritten_on_the_way_counts_twice() -> None:
    wanted = graph("x=load f32[1048576]; s=sum x axis=0; out s")
    found = profile(wanted, load_program(["classic"]), options={"SPLIT_REDUCEOP": 1})
    assert found.decisions is not None and found.decisions.before is not None
    assert clause(found, "core/computed#1").rounds == 2


def test_what_stands_inside_aggregates_is_counted() -> None:
    text = (
        ".decl uses(n: node, c: int)\n%! id: my/uses    %! title: Uses\n"
        "uses(N, C) :- computed(N), C = #count { M : parent(M, N) }.\n"
    )
    found = profile(graph(CHAIN), program(text))
    (order,) = clause(found, "my/uses#1").orders
    # Of a, b and c two have a user.
    assert [(s.number, s.met) for s in order.steps] == [("1", 3), ("2", None), ("2.1", 2)]


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        (
            "far(A, C) :- parent(B, A), far(B, C).",
            "make it left-recursive: `far` should hand on its first argument, and the other conditions change the last",
        ),
        ("far(A, C) :- far(A, B), far(B, C).", "make it linear: it joins `far` with itself, "),
        (
            "far(A, B) :- computed(A), computed(B), A != B.",
            "every row of `computed` meets every row of `computed` (",
        ),
        ("far(A, C) :- far(A, B), parent(C, B).", ""),
    ],
)
def test_hints(rule: str, hint: str) -> None:
    text = (
        f".decl far(n: node, m: node)\n%! id: my/far    %! title: Far\nfar(A, B) :- parent(B, A).\n{rule}\n"
    )
    found = profile(graph(f"{steps(60)}; out n60"), program(text))
    hints = clause(found, "my/far#2").hints
    assert [h[: len(hint)] for h in hints] == ([hint] if hint else [])


def test_another_condition_to_start_from() -> None:
    text = ".decl odd(n: node)\n%! id: my/odd    %! title: Odd\nodd(N) :- computed(N), is_reduce(N).\n"
    wanted = graph(f"{steps(1100)}; s=sum n1100 axis=0; out s")
    assert clause(profile(wanted, program(text)), "my/odd#1").hints == (
        "write condition 2 first: the join then looks at 2 rows instead of 1102",
    )


def test_an_aggregate_that_is_counted_for_every_row() -> None:
    text = (
        ".decl uses(n: node, c: int)\n%! id: my/uses    %! title: Uses\n"
        "uses(N, C) :- parent(_, N), C = #count { M : parent(M, N) }.\n"
    )
    users = "; ".join(f"k{i}=const {i} f32[8]; w{i}=add a k{i}" for i in range(40))
    outs = ", ".join(f"w{i}" for i in range(40))
    found = profile(graph(f"x=load f32[8]; a=exp x; {users}; out {outs}"), program(text))
    (hint,) = clause(found, "my/uses#1").hints
    assert hint.startswith("`#count` is computed again for every row of `parent` that it looks at (17")


def test_rules_without_end_are_shown_up_to_there(tmp_path: Path, command: Command) -> None:
    text = (
        ".decl far(n: node, d: int)\n%! id: my/far    %! title: Far\n"
        "far(N, 0) :- computed(N).\nfar(N, D) :- far(N, C), D = C + 1.\n"
    )
    found = profile(graph(CHAIN), program(text), limits=Limits(rounds=20))
    assert found.error is not None and found.decisions is None
    assert (found.error.code, found.error.message) == (
        "SL140",
        "far: not finished after 20 rounds; no partial answer is returned",
    )
    culprit = clause(found, "my/far#2")
    assert (culprit.rounds, culprit.tried, culprit.fired, culprit.new_facts) == (20, None, None, 60)
    assert found.rows["far"] == 63
    path, here = tmp_path / "my.dl", tmp_path / "g.json"
    path.write_text(text, encoding="utf-8")
    schedule_text(here)
    status, out, err = command(here, "--rules", path, "--max-rounds", "20")
    assert status == 1
    assert next(line.split()[3:] for line in out.splitlines() if line.startswith("my/far#2  ")) == [
        "20",
        "-",
        "-",
        "60",
    ]
    assert err.splitlines()[0] == f"error[SL140] {found.error.message}"


def schedule_text(path: Path) -> None:
    from schedulog.facts.json_format import write_graph

    path.write_text(write_graph(graph(CHAIN)), encoding="utf-8")


@pytest.mark.parametrize(
    "engine", [name for name, missing in engines().items() if missing is None and name != "sqlite"]
)
def test_other_engines_tell_totals(engine: str) -> None:
    found = profile(graph(CHAIN), program(REACH), engine)
    assert (found.engine, found.clauses, found.components, found.error) == (engine, (), (), None)
    assert found.rows["reach"] == 3 and found.ms > 0


def test_the_command(tmp_path: Path, command: Command) -> None:
    path, rules, saved = tmp_path / "g.json", tmp_path / "my.dl", tmp_path / "run.db"
    schedule_text(path)
    rules.write_text(REACH, encoding="utf-8")
    status, out, err = command(path, "--rules", rules, "--top", "3", "--save", saved)
    assert status == 0
    lines = out.splitlines()
    assert lines[2].split() == ["clause", "ms", "%", "rounds", "tried", "fired", "new"]
    assert len([line for line in lines if line.startswith("  order  ")]) == 3
    assert next(line.split()[0] for line in lines if " more" in line).isdigit()
    assert err == f"\nsaved: {saved}   (schedulog sql {saved} dear-rules)\n"
    record = json.loads(command(path, "--rules", rules, "--json")[1])
    reach = next(c for c in record["clauses"] if c["rule"] == "my/reach" and c["clause"] == 2)
    assert (reach["fired"], reach["new_facts"], reach["orders"][0]["steps"][1]["text"]) == (
        reach["new_facts"], reach["new_facts"], "parent(C, B)",
    )  # fmt: skip
    assert record["error"] is None and record["rows"]["reach"] == 3
    with closing(sqlite3.connect(saved)) as database:
        query = (
            "select tried, fired, new_facts, ms > 0 from rule_stat where rule_id = 'my/reach' and clause = 2"
        )
        assert database.execute(query).fetchall() == [(reach["tried"], reach["fired"], reach["new_facts"], 1)]


def test_a_run_that_was_not_profiled_has_no_costs() -> None:
    run = schedule(graph(CHAIN))
    assert run.sql("select distinct tried, fired, new_facts, ms from rule_stat") == [(None, None, None, None)]


def test_other_engines_say_so(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "g.json"
    schedule_text(path)
    status, out, _ = command(path, "--engine", "clingo")
    if engines()["clingo"] is None:
        assert status == 0
        assert "clingo does not work clause by clause; the sqlite engine tells more" in out


def test_what_ended_the_evaluation_stands_in_the_one_record(tmp_path: Path, command: Command) -> None:
    path, rules = tmp_path / "g.json", tmp_path / "grow.dl"
    schedule_text(path)
    rules.write_text(
        ".decl far(n: node, i: int)\n% Grows.\nfar(N, 0) :- size(N, _).\nfar(N, J) :- far(N, I), J = I + 1.\n",
        encoding="utf-8",
    )
    status, out, err = command(path, "--rules", rules, "--max-rounds", "5", "--json")
    assert (status, err, json.loads(out)["error"]["code"]) == (1, "", "SL140")
