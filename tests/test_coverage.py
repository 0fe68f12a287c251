"""What the tests of rules cover: needed clauses, decisive conditions, mutants; and the command that tells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from told import Command, told

from schedulog.__main__ import main
from schedulog.errors import RuleError
from schedulog.scheduler.coverage import Coverage, coverage
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.mutants import Judge, judge
from schedulog.scheduler.rule_tests import suites

FAR = """.decl far(n: node, size: int)
%! id: my/far    %! title: Two steps away
far(N, S) :- edge(N, U, _), op(U, "EXP"), edge(U, _, _), size(N, S).
"""
GRAPH = "graph: x=load f32[8]; e=exp x; f=neg e; g=exp f; out g"


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return told(capsys, "coverage")


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.dl"
    path.write_text(text, encoding="utf-8")
    return path


def covered(folder: Path, text: str) -> Coverage:
    return coverage(suites([written(folder, text)]))


def test_what_one_positive_test_shows(tmp_path: Path) -> None:
    found = covered(tmp_path, f'{FAR}%? test "one"   {GRAPH}   holds far(x, 8).\n')
    (clause,) = found.clauses
    # far(x, 8) is the one row. Nodes and sizes for which one condition alone fails: far(e, 8) would follow without op;
    # nothing is kept out by the edges, and any other size by the last condition.
    assert (clause.tests, clause.fired, clause.sole, clause.refused) == (1, 1, 1, 0)
    assert str(clause) == ("my/far#1  fired 1  sole 1  refused 0  conditions 4/4 decisive")
    assert [(k.number, k.text) for k in clause.conditions][1] == (2, 'op(U, "EXP")')


def test_a_condition_that_decides_nowhere(tmp_path: Path) -> None:
    text = (
        "%! id: my/sums    %! kind: realize    %! title: Sums\n"
        "realize(N) :- computed(N), is_reduce(N), not memory(N).\n"
        '%? test "one"   graph: x=load f32[8]; s=sum x axis=0; e=exp s; out e   holds realize(s).\n'
    )
    found = covered(tmp_path, text)
    # A reduction is computed and is no memory: only the second condition tells s from e.
    assert str(found).splitlines() == [
        "my/sums#1  fired 1  sole 1  refused 0  conditions 1/3 decisive  not decisive: 1,3",
        "1 test, 1 clause, 1 needed; 3 conditions, 1 decisive; 50.0 %",
    ]


@pytest.mark.parametrize(
    ("claim", "refused"),
    [
        ("not realize(e).", 1),
        ("set realize == {s}.", 1),
        ("count realize == 1.", 1),
        ("blocked realize(e) at my/sums:2.", 1),
        ("not realize(x).", 0),
        ("holds realize(s).", 0),
        ("not forced_store(s).", 0),
        ("todo not realize(s).", 0),
    ],
)
def test_tests_that_refuse_a_row_of_a_clause(tmp_path: Path, claim: str, refused: int) -> None:
    text = (
        "%! id: my/sums    %! kind: realize    %! title: Sums\nrealize(N) :- computed(N), is_reduce(N).\n"
        f'%? test "one"   graph: x=load f32[8]; s=sum x axis=0; e=exp s; out e   {claim}\n'
    )
    (clause,) = covered(tmp_path, text).clauses
    assert clause.refused == refused


def test_rows_that_another_clause_or_the_test_gives_are_nobodys_sole(tmp_path: Path) -> None:
    text = (
        "%! id: my/both    %! kind: realize    %! title: Both\n"
        "realize(N) :- is_reduce(N).\n"
        'realize(N) :- computed(N), dtype(N, "float32").\n'
        '%? test "one"   graph: x=load f32[8]; s=sum x axis=0; e=exp s; f=neg e; out f   given: realize(f)\n'
        "%?   count realize == 3.\n"
    )
    one, two = covered(tmp_path, text).clauses
    assert (one.fired, one.sole) == (1, 0)
    assert (two.fired, two.sole) == (3, 1)


def test_a_condition_that_keeps_a_calculation_from_failing_decides(tmp_path: Path) -> None:
    text = (
        ".decl given_size(n: node, size: int)\n.open given_size\n"
        ".decl share(n: node, part: int)\n%! id: my/share    %! title: Part\n"
        "share(N, P) :- given_size(N, S), S != 0, P = 8 // S.\n"
        '%? test "one"   graph: x=load f32[8]; e=exp x; out e   given: given_size(e, 0)   count share == 0.\n'
    )
    (clause,) = covered(tmp_path, text).clauses
    # The equation is a definition: it is not among the conditions that can decide.
    assert [(k.number, k.decisive) for k in clause.conditions] == [(1, True), (2, True)]


def test_an_aggregate_that_gives_a_value_is_no_condition(tmp_path: Path) -> None:
    text = (
        ".decl busy(count: int)\n%! id: my/busy    %! title: Many operations\n"
        'busy(N) :- option("LOOK", 1), N = #count { P : computed(P) }, N > 1.\n'
        '%? test "few"    graph: x=load f32[8]; e=exp x; out e   set: LOOK=1   not busy(_).\n'
        '%? test "off"    graph: x=load f32[8]; e=exp x; f=neg e; out f   not busy(_).\n'
        '%? test "many"   graph: x=load f32[8]; e=exp x; f=neg e; out f   set: LOOK=1   holds busy(2).\n'
    )
    (clause,) = covered(tmp_path, text).clauses
    assert (clause.tests, clause.fired, clause.sole, clause.refused) == (1, 1, 1, 2)
    assert [(k.number, k.decisive) for k in clause.conditions] == [(1, True), (3, True)]


def test_what_is_declared_never_to_decide_is_not_counted(tmp_path: Path, command: Command) -> None:
    text = (
        "%! id: my/sums    %! kind: realize    %! title: Sums\n%! equivalent: #1:1 a reduction is computed\n"
        "realize(N) :- computed(N), is_reduce(N).\n"
        '%? test "one"   graph: x=load f32[8]; s=sum x axis=0; e=exp s; out e   set realize == {s}.\n'
    )
    path = written(tmp_path, text)
    assert coverage(suites([path])).percent == 100.0
    status, out, _ = command("--mutants", path)
    assert (status, out.splitlines()) == (0, [
        f"{path.as_posix()}:3:1: my/sums#1:1 without `computed(N)`: the same: a reduction is computed",
        "3 mutants, 0 survived, 1 the same; 100.0 % noticed",
    ])  # fmt: skip


def test_declarations_that_are_not_true(tmp_path: Path, command: Command) -> None:
    text = (
        "%! id: my/sums    %! kind: realize    %! title: Sums\n%! equivalent: #1:2 really\n"
        "realize(N) :- computed(N), is_reduce(N).\n"
        '%? test "one"   graph: x=load f32[8]; s=sum x axis=0; e=exp s; out e   set realize == {s}.\n'
    )
    path = written(tmp_path, text)
    status, out, _ = command("--mutants", path)
    name = path.as_posix()
    assert status == 1
    assert (
        "error[SL165] my/sums#1:2 is declared equivalent, and a test notices it\n"
        f"  at {name}:3:1\n  realize(N) :- computed(N), is_reduce(N).\n  ^^^^^^^\n"
        f'  why: {name}:4:1 "one" fails without it\n'
        "  help: take the declaration out of the header"
    ) in out
    (suite,) = suites([written(tmp_path, text.replace("#1:2", "#2:1"))])
    with pytest.raises(RuleError) as caught:
        next(judge(suite))
    assert str(caught.value).splitlines()[0] == "error[SL164] my/sums has no mutant `#2:1`"
    assert caught.value.help == "its mutants: #1, #1:1, #1:2"
    with pytest.raises(RuleError) as caught:
        load_program([written(tmp_path, text.replace("#1:2 really", "the second"))])
    assert (caught.value.code, caught.value.message) == ("SL118", "`the second` names no mutant and a reason")


def test_the_command(tmp_path: Path, command: Command) -> None:
    path = written(
        tmp_path,
        f'{FAR}%? test "one"   {GRAPH}   holds far(x, 8).\n%? test "two"   {GRAPH}   count far == 1.\n',
    )
    line = "my/far#1  fired 2  sole 2  refused 1  conditions 4/4 decisive"
    assert command(path) == (
        0,
        f"{line}\n2 tests, 1 clause, 1 needed; 4 conditions, 4 decisive; 100.0 %\n",
        "",
    )
    status, out, _ = command(path, "-k", "one", "--json")
    record = json.loads(out)
    assert (status, record["tests"], record["percent"]) == (0, 1, 100.0)
    assert record["clauses"][0]["conditions"][1] == {
        "condition": 2, "text": 'op(U, "EXP")', "decisive": True, "equivalent": None
    }  # fmt: skip
    status, _, err = command(path, "-k", "three")
    assert (status, err.splitlines()[0]) == (1, "error[SL161] no rule test is selected")
    assert command(path, "--min", "100")[0] == 0
    assert command(path, "--verbose")[0] == command(path, "--jobs", "2")[0] == 2


def test_too_little_is_covered(tmp_path: Path, command: Command) -> None:
    path = written(tmp_path, f'{FAR}far(N, 1) :- op(N, "SIN").\n%? test "one"   {GRAPH}   holds far(x, 8).\n')
    assert command(path, "--min", "80")[0] == 0
    assert command(path, "--min", "90")[0] == 1


def test_mutants_that_survive(tmp_path: Path, command: Command) -> None:
    text = f'{FAR}%? test "one"   {GRAPH}   holds far(x, 8).\n'
    path = written(tmp_path, text)
    name = path.as_posix()
    survivors = [
        f"{name}:3:1: my/far#1:1 without `edge(N, U, _)`: survived",
        f'{name}:3:1: my/far#1:2 without `op(U, "EXP")`: survived',
        f"{name}:3:1: my/far#1:3 without `edge(U, _, _)`: survived",
        "4 mutants, 3 survived, 0 the same; 25.0 % noticed",
    ]
    # The rule is experimental: what survives is told, and is no failure.
    status, out, _ = command("--mutants", path)
    assert (status, out.splitlines()) == (0, survivors)
    assert command("--mutants", path, "--min", "50")[0] == 1
    status, out, _ = command("--mutants", "--verbose", path)
    first = 'my/far#1 dropped (`far(N, S) :- edge(N, U, _), op(U, "EXP"), edge(U, _, _), size(N, S).`)'
    assert out.splitlines()[0] == f'{name}:3:1: {first}: noticed by {name}:4:1 "one"'
    written(tmp_path, text.replace("%! title", "%! status: stable    %! title"))
    assert command("--mutants", path)[0] == 1


def test_the_tests_of_the_readme_notice_every_mutant_of_its_rule(tmp_path: Path, command: Command) -> None:
    text = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
    path = tmp_path / "mine.dl"
    path.write_text(text.partition("```prolog\n")[2].partition("```")[0], encoding="utf-8")
    assert command("--mutants", path, "--min", "100") == (
        0,
        "3 mutants, 0 survived, 0 the same; 100.0 % noticed\n",
        "",
    )


def test_mutants_in_several_processes_are_the_same(tmp_path: Path, command: Command) -> None:
    path = written(tmp_path, f'{FAR}%? test "one"   {GRAPH}   set far == {{(x, 8)}}.\n')
    one, two = (command("--mutants", "--json", "--jobs", jobs, path) for jobs in ("1", "2"))
    assert one == two
    record = json.loads(one[1])
    assert [mutant["mutant"] for mutant in record["mutants"]] == [
        "my/far#1",
        "my/far#1:1",
        "my/far#1:2",
        "my/far#1:3",
    ]
    assert record["percent"] == 100.0


def test_every_clause_of_the_shipped_packs_is_needed_by_some_test() -> None:
    found = coverage(suites(["core"]))
    assert [clause.rule.name for clause in found.clauses if not clause.sole] == []
    assert found.percent > 98


@pytest.mark.parametrize("pack", ["core", "classic"])
def test_a_sample_of_the_mutants_of_the_shipped_packs(pack: str) -> None:
    """All of them take longer; `.ci/run` runs those."""
    judging = Judge(suites([pack])[0])
    ids = ("core/member", "core/limit", "classic/parts", "classic/padded")
    sample = [mutant for mutant in judging.mutants if mutant.rule.id in ids]
    assert len(sample) > 3
    assert [verdict.name for verdict in map(judging.verdict, sample) if verdict.survived] == []


def test_tests_that_end_with_an_error_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "halves.dl"
    test = '%? test "{}"   graph: x=load f32[8,8]; s=sum x axis=1; n=neg s; out n\n%?   {}\n'
    path.write_text(
        "%! id: my/halves    %! kind: realize    %! title: Halves\nrealize(R) :- is_reduce(R), size(R, S), 8 // (S - S) > 2.\n"
        + test.format("wrong", "holds realize(s).") + test.format("meant", "error SL131."),
        encoding="utf-8",
    )  # fmt: skip
    assert main(["coverage", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    said = "ended with error[SL131] rule my/halves#1: integer arithmetic has no right result"
    assert lines[1:] == [
        f"{path.as_posix()}:3 {said}",
        "2 tests, 1 of them ended with an error, 1 clause, 0 needed; 3 conditions, 0 decisive; 0.0 %",
    ]
    assert main(["coverage", str(path), "--json"]) == 0
    assert [e["code"] for e in json.loads(capsys.readouterr().out)["ended"]] == ["SL131"]
