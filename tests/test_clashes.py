"""Two rules that give one key two values: what is shown without a graph, and what only a graph shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedulog.__main__ import main
from schedulog.errors import ScheduleError
from schedulog.facts.json_format import read_graph
from schedulog.facts.notation import read_notation
from schedulog.scheduler.engines.strata import stratify
from schedulog.scheduler.language.functional import possible_clashes
from schedulog.scheduler.language.load import link, load_program
from schedulog.scheduler.language.syntax import parse_text
from schedulog.scheduler.rule_check import check_rules
from schedulog.scheduler.schedule import ENGINES, Scheduler, engines

HEAD = """.decl arc(a: node, b: node)
.input arc
.decl size(n: node -> s: int)
.input size
.decl is_reduce(n: node)
.input is_reduce
.function half(n: int) -> int
.decl label(n: node -> name: str)
.decl place(n: node -> p: int)
.decl pair(a: node, b: node -> p: int, q: int)
.open label
.open place
.open pair
"""


def clashes(*rules: str) -> list[tuple[str, str]]:
    program = link([parse_text(HEAD + "\n".join(rules), "t.dl", "t")])
    return [(one.name, other.name) for one, other in possible_clashes(program.rules, program.relations)]


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        (['label(N, "a") :- is_reduce(N).', 'label(N, "b") :- size(N, _).'], [(1, 2)]),
        (['label(N, "a") :- is_reduce(N).', 'label(N, "b") :- size(N, _), not is_reduce(N).'], []),
        (['label(N, "a") :- is_reduce(N).', 'label(N, "a") :- size(N, _).'], []),
        (['label(N, "a") :- size(N, S), S > 4.', 'label(N, "b") :- size(N, T), T <= 4.'], []),
        (['label(N, "a") :- size(N, S), S >= 4.', 'label(N, "b") :- size(N, T), T <= 4.'], [(1, 2)]),
        (["place(N, P) :- arc(N, M), size(M, P)."], [(1, 1)]),
        (["place(N, P) :- size(N, S), P = @half(S)."], []),
        (["place(N, P) :- size(N, S), P = S * 2 + 1."], []),
        (["place(N, C) :- size(N, _), C = #count { M : arc(N, M) }."], []),
        (["place(N, C) :- arc(N, X), C = #count { M : arc(X, M) }."], [(1, 1)]),
        (["place(N, P) :- size(N, P).", "place(N, Q) :- size(N, Q), is_reduce(N)."], []),
        (["place(N, P) :- size(N, P).", "place(N, P) :- place(M, P), arc(M, N)."], [(1, 2), (2, 2)]),
        (["pair(A, B, P, Q) :- arc(A, B), size(A, P), size(B, Q)."], []),
        (["pair(A, B, P, Q) :- arc(A, B), size(A, P), arc(B, C), size(C, Q)."], [(1, 1)]),
    ],
)  # fmt: skip
def test_what_is_shown_without_a_graph(rules: list[str], found: list[tuple[int, int]]) -> None:
    relation = rules[0].partition("(")[0]
    assert clashes(*rules) == [(f"t/{relation}#{a}", f"t/{relation}#{b}") for a, b in found]


def test_facts() -> None:
    text = ".decl limit(name: str -> value: int)\n"
    many = "".join(f'limit("l{i}", {i}).\n' for i in range(5000))
    program = link([parse_text(text + many + 'limit("l7", 8).\n', "t.dl", "t")])
    assert [(a.clause, b.clause) for a, b in possible_clashes(program.rules, program.relations)] == [
        (8, 5001)
    ]


def test_of_the_shipped_rules_few_are_looked_at_again() -> None:
    few = {"home": 1, "last_assign": 1, "onto": 1, "owner": 1, "ready": 1, "runs_on": 1, "target": 1}
    assert stratify(load_program(["classic"])).keys == few


RULES = """.decl template(n: node -> name: str)
% The template of a kernel.
%! id: my/tiled
template(K, "tiled") :- kernel(K), is_reduce(K).
%! id: my/rowwise
template(K, "rowwise") :- kernel(K), size(K, S), S > 16.
"""
GRAPH = "x=load f32[{n},8]; s=sum x axis=1; out s"


@pytest.mark.parametrize("engine", ENGINES)
def test_every_evaluation_looks(engine: str) -> None:
    missing = engines()[engine]
    if missing is not None:
        pytest.skip(missing)
    scheduler = Scheduler(load_program([], extra=[("my.dl", RULES)]), engine)
    assert scheduler.decide(read_notation(GRAPH.format(n=16))).model.count("template") == 1
    with pytest.raises(ScheduleError) as caught:
        scheduler.decide(read_notation(GRAPH.format(n=32)))
    assert str(caught.value) == (
        'error[SL132] `template` has two values for one key: template(2, "rowwise") and template(2, "tiled")\n'
        "  at my.dl:4:1\n"
        '  template(K, "tiled") :- kernel(K), is_reduce(K).\n'
        "  ^^^^^^^^\n"
        "  why: my/rowwise#1 (my.dl:6:1) derives the first, my/tiled#1 (my.dl:4:1) the second\n"
        "  help: exclude the case of the other rule by a condition, or declare the relation without `->`"
    )


def test_a_witness_is_found_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("my.dl").write_text(RULES, encoding="utf-8")
    # None of the small graphs has a reduction of more than 16 results, so nothing is said yet.
    assert check_rules([Path("my.dl")]) == ()
    test = f'%? test "large"   graph: {GRAPH.format(n=32)}   count template == 1.\n'
    Path("my.dl").write_text(RULES + test, encoding="utf-8")
    assert main(["check", "my.dl"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("error[SL132] `template` has two values for one key: template(2, ")
    assert '; witness graph: .schedulog/SL132-template.json (test "large", my.dl:7)\n' in out
    graph = read_graph(Path(".schedulog/SL132-template.json").read_text(encoding="utf-8"), "w")
    with pytest.raises(ScheduleError, match="two values for one key"):
        Scheduler(load_program(["./my.dl"])).decide(graph)


def test_relations_of_one_file_are_looked_at_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "my.dl"
    path.write_text(
        ".decl one(n: node -> m: node)\none(N, M) :- edge(N, M, _).\n"
        ".decl two(n: node -> m: node)\ntwo(N, M) :- edge(M, N, _).\n"
        '.decl three(n: node -> s: str)\nthree(N, "a") :- one(N, _).\nthree(N, "b") :- two(N, _), not one(N, _).\n',
        encoding="utf-8",
    )
    found = check_rules([path], tmp_path / "w")
    assert [(f.code, f.message.split("`")[1]) for f in found] == [("SL132", "one"), ("SL132", "two")]
    assert sorted(p.name for p in (tmp_path / "w").iterdir()) == ["SL132-one.json", "SL132-two.json"]
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "cannot be written" in check_rules([path], tmp_path / "file")[0].reason
