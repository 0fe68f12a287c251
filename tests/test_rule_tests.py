"""The runner of rule tests: what it reads, what it says when something does not hold, and mutants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from schedulog.errors import RuleError, SchedulogError, UsageError
from schedulog.facts.json_format import write_graph
from schedulog.facts.notation import read_notation
from schedulog.scheduler.kernels import Schedule
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.mutants import judge
from schedulog.scheduler.rule_snapshots import baseline, read_snapshots, write_snapshots
from schedulog.scheduler.rule_tests import RuleTestResult, own_tests, run_rule_tests, shuffled, suites
from schedulog.verify import differences

RULES = """.decl far(n: node, size: int)
% A value that another reads through an EXP.
%! id: my/far    %! kind: realize    %! title: Two steps away
far(N, S) :- edge(N, U, _), op(U, "EXP"), edge(U, _, _), size(N, S).
"""
GRAPH = "graph: x=load f32[8]; e=exp x; f=neg e; g=exp f; out g"


def run(
    tmp_path: Path, test: str, seeds: Sequence[int] = (), engines: Sequence[str] = ("sqlite",)
) -> list[RuleTestResult]:
    path = tmp_path / "my.dl"
    path.write_text(RULES + test, encoding="utf-8")
    return run_rule_tests(["classic", path], engines, select="my.dl", seeds=seeds, execute=differences)


def failures(tmp_path: Path, assertions: str) -> list[str]:
    results = run(tmp_path, f'%? test "one"   {GRAPH}\n%?   {assertions}\n')
    return [result.message for result in results if not result.passed]


@pytest.mark.parametrize(
    "assertion",
    [
        "holds far(x, 8).",
        "holds far(x, _).",
        'holds op(e, "EXP").',
        "holds far(x, 8). by my/far.",
        "holds far(x, 8). by my/far#1.",
        "holds realize(g). by classic/stored-for-itself.",
        "not far(e, _).",
        "not far(x, 9).",
        'not op(e, "UNHEARD").',
        "set far == {(x, 8)}.",
        "set far == {(_, 8)}.",
        "set realize == {g}.",
        "set cut == {}.",
        "count edge == 3.",
        "count edge(x, _, _) == 1.",
        "kernels == 1.",
        "kernels == {{e, f, g}}.",
        "result ~ numpy.",
        "bytes <= 64.",
        "bytes == 64.",
        "blocked far(e, 8) at my/far:2.",
        "blocked far(e, 8) at my/far#1:2.",
        "blocked far(e, _) at my/far:1.",
        "todo blocked far(g, 8) at my/far:2.",
        "todo kernels == 2.",
        "todo error SL310.",
        "holds far(n0, 8).",
    ],
)
def test_what_holds_passes(tmp_path: Path, assertion: str) -> None:
    assert failures(tmp_path, assertion) == []


@pytest.mark.parametrize(
    ("assertion", "message"),
    [
        ("holds op(e, \"ADD\").", 'it does not hold; op is {(x, "BUFFER"), (e, "EXP"), (f, "NEG"), (g, "EXP")}'),
        ("bytes <= 63.", "there are 64: {{e, f, g}}"),
        ("bytes == 65.", "there are 64: {{e, f, g}}"),
        ("set far == {(e, 8)}.", "it is {(x, 8)}; too much: {(x, 8)}; missing: {(e, 8)}"),
        ("set far == {}.", "it is {(x, 8)}; too much: {(x, 8)}"),
        ("count edge == 4.", "there are 3: {(x, e, view0), (e, f, view0), (f, g, view0)}"),
        ("kernels == 2.", "there are 1: {{e, f, g}}"),
        ("kernels == {{e}, {f, g}}.", "they are {{e, f, g}}"),
        ("order e before g.", "e is no kernel: {{e, f, g}}"),
        ("order g before g.", "they run as {{e, f, g}}"),
        ("error SL310.", "no error: {{e, f, g}}"),
        ("todo kernels == 1.", "it holds now: remove `todo`"),
        ("holds realize(g). by classic/forced.", "realize(g) is derived by classic/stored-for-itself#1"),
        ("holds far(x, 8). by my/far#1. holds edge(x, e, _). by my/far.", "edge(x, e, view0) is derived by no rule"),
    ],
)  # fmt: skip
def test_what_fails_says_what_holds_instead(tmp_path: Path, assertion: str, message: str) -> None:
    assert failures(tmp_path, assertion) == [message]


def test_what_does_not_hold_is_told_with_the_nearest_rules(tmp_path: Path) -> None:
    place = f"{tmp_path.as_posix()}/my.dl:4:1"
    near = f'my/far#1 ({place}) fails 1: edge(N, U, _), or 2: op(U, "EXP")'
    assert failures(tmp_path, "holds far(e, 8).") == [f"it does not hold; far is {{(x, 8)}}\n{near}"]
    assert failures(tmp_path, "blocked far(e, 8) at my/far:3.") == [
        f"it does not hold for another reason\n{near}"
    ]
    # Size 9 would hold without the condition on the size, but for e the operation is wrong too.
    two = f'my/far#1 ({place}) fails 1: edge(N, U, _) and 4: size(N, S), or 2: op(U, "EXP") and 4: size(N, S)'
    assert failures(tmp_path, "holds far(e, 9).") == [f"it does not hold; far is {{(x, 8)}}\n{two}"]
    (message,) = failures(tmp_path, "blocked far(x, 8) at my/far:2.")
    assert message.startswith("it holds:\nfar(x, 8)  [my/far#1, ")


def test_blocked_by_an_aggregate_and_by_what_a_condition_supplies(tmp_path: Path) -> None:
    rules = """.decl wide(n: node, c: int)
%! id: my/wide
wide(N, C) :- requested(N), C = #count { U : edge(U, N, _) }, C > 1.
.decl next(n: node, c: int)
%! id: my/next
next(N, C) :- size(N, S), T = S + 1, C = T * 2, C < 10.
"""
    test = f'%? test "one"   {GRAPH}   {{}}\n'
    path = tmp_path / "my.dl"
    for claim in (
        "blocked wide(g, _) at my/wide:3.",
        "blocked wide(g, 2) at my/wide:2.",
        "blocked next(e, 18) at my/next:4.",
    ):
        path.write_text(rules + test.format(claim), encoding="utf-8")
        assert [r.message for r in run_rule_tests([path], select="my.dl")] == [""]


def test_snapshots(tmp_path: Path) -> None:
    test = f'%? test "one"   {GRAPH}   snapshot far, edge.\n'
    (result,) = run(tmp_path, test)
    wanted = "far {(x, 8)}\nedge {(x, e, _), (e, f, _), (f, g, _)}\nkernels {{e, f, g}}\nbytes 64"
    assert result.snapshot == wanted
    assert (result.passed, result.message) == (False, f"no baseline, accept it with --accept:\n{wanted}")
    path = baseline(result.test, tmp_path)
    assert path == tmp_path / "my.expected"
    write_snapshots(path, {"one": wanted, "another": "kernels {}"})
    assert path.read_text(encoding="utf-8") == f"# another\nkernels {{}}\n\n# one\n{wanted}\n"
    assert read_snapshots(path) == {"one": wanted, "another": "kernels {}"}
    assert [r.message for r in run(tmp_path, test, seeds=(1, 2), engines=("sqlite", "pydatalog"))] == [
        ""
    ] * 10
    write_snapshots(path, {"one": wanted.replace("64", "60")})
    (result,) = run(tmp_path, test)
    assert result.message == (
        "it changed; --accept takes it over\n far {(x, 8)}\n edge {(x, e, _), (e, f, _), (f, g, _)}\n"
        " kernels {{e, f, g}}\n-bytes 60\n+bytes 64"
    )
    write_snapshots(path, {})
    assert not path.exists()


def test_a_fact_that_should_not_hold_is_explained(tmp_path: Path) -> None:
    (message,) = failures(tmp_path, "not far(x, 8).")
    assert message.startswith("it holds:\nfar(x, 8)  [my/far#1, ")
    assert 'op(e, "EXP")' in message


def test_each_assertion_has_its_own_place(tmp_path: Path) -> None:
    test = f'%? test "one"   {GRAPH}   holds far(e, 8).\n%?   count cut == 0.   kernels == 2.\n'
    results = run(tmp_path, test)
    assert [(r.place.line, r.place.column, r.passed) for r in results] == [
        (5, 74, False),
        (6, 6, True),
        (6, 24, False),
    ]
    assert str(results[2]).endswith("my.dl:6:24: one (sqlite): kernels == 2: there are 1: {{e, f, g}}")


def test_a_graph_of_several_lines_with_settings(tmp_path: Path) -> None:
    test = """%? test "many lines"
%?   graph: x=load f32[4,4]
%?     s=sum x axis=1
%?     v=reshape s to=[2,2]
%?     t=sum v axis=0
%?     out t
%?   set: FUSE_CONV_BW=1
%?   given: far(s, 3)
%?   set merged == {s}.
%?   holds far(s, 3).
"""
    assert [r.message for r in run(tmp_path, test) if not r.passed] == []


def test_own_tests_an_error(tmp_path: Path) -> None:
    test = '%? test "cycle"  graph: x=load f32[8]; e=neg x; a=assign x e; f=add a x; out f\n%?  error SL310.  error SL311.  kernels == 1.\n'
    results = run(tmp_path, test)
    assert [r.passed for r in results] == [True, False, False]
    assert "the error is error[SL310] cycle" in results[1].message
    assert "error[SL310] cycle" in results[2].message


def test_engines_and_shuffles_run_the_same_tests(tmp_path: Path) -> None:
    results = run(tmp_path, f'%? test "one"   {GRAPH}   holds far(x, 8).\n', (1, 2), ("sqlite", "pydatalog"))
    assert all(r.passed for r in results)
    assert [(r.engine, r.seed) for r in results] == [
        (engine, seed) for engine in ("sqlite", "pydatalog") for seed in (None, 1, 1, 2, 2)
    ]


def test_a_shuffled_program_has_the_same_rules() -> None:
    program = load_program(["classic"])
    other = shuffled(program, 1)
    assert {rule.name for rule in other.rules} == {rule.name for rule in program.rules}
    assert [rule.name for rule in other.rules] != [rule.name for rule in program.rules]
    assert any(
        rule.body != one.body for rule in program.rules for one in other.rules if one.name == rule.name
    )


def test_without_devices_numbers_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "my.dl"
    path.write_text(RULES + f'%? test "one"   {GRAPH}   kernels == 1.   result ~ numpy.\n', encoding="utf-8")
    results = run_rule_tests(["classic", path], select="my.dl")
    assert [r.assertion for r in results] == ["kernels == 1"]


def test_wrong_numbers_are_told(tmp_path: Path) -> None:
    path = tmp_path / "my.dl"
    path.write_text(RULES + f'%? test "one"   {GRAPH}   result ~ numpy.\n', encoding="utf-8")

    def execute(schedule: Schedule) -> dict[str, str]:
        return {"c": f"{schedule.kernels[0].name} is wrong", "numpy": ""}

    (result,) = run_rule_tests(["classic", path], select="my.dl", execute=execute)
    assert (result.passed, result.message) == (False, "on c: k0_exp is wrong")


def test_a_graph_file(tmp_path: Path) -> None:
    graph = read_notation("x=load f32[8]; e=exp x; f=neg e; out f")
    (tmp_path / "g.json").write_text(write_graph(graph), encoding="utf-8")
    results = run(
        tmp_path, '%? test "file"  graph: file g.json   set far == {(x, 8)}.   kernels == {{n1, f}}.\n'
    )
    assert [r.message for r in results] == ["", ""]


def test_a_side_file(tmp_path: Path) -> None:
    (tmp_path / "my_test.dl").write_text(
        f'% about my.dl\ntest "beside"\n  {GRAPH}\n\n  % a remark\n  holds far(e, 8).\n', encoding="utf-8"
    )
    (result,) = run_side(tmp_path)
    assert (result.place.file, result.place.line, result.place.column) == (
        f"{tmp_path.as_posix()}/my_test.dl",
        6,
        3,
    )
    assert not result.passed


def run_side(tmp_path: Path) -> list[RuleTestResult]:
    path = tmp_path / "my.dl"
    path.write_text(RULES, encoding="utf-8")
    return run_rule_tests([path], select="my_test.dl")


@pytest.mark.parametrize(
    ("test", "code", "words"),
    [
        (f'%? test "one"   {GRAPH}   holds fur(x, 8).', "SL101", "did you mean `far`?"),
        (f'%? test "one"   {GRAPH}   holds far(x).', "SL102", "`far` has 2 arguments, not 1"),
        (f'%? test "one"   {GRAPH}   holds far(y, 8).', "SL162", "the graph has no `y`"),
        (f'%? test "one"   {GRAPH}   holds far(x, 8). by my/fur.', "SL119", "did you mean `my/far`?"),
        (f'%? test "one"   {GRAPH}   blocked far(e, 8) at my/far:5.', "SL160", "`my/far` has 4 conditions"),
        (f'%? test "one"   {GRAPH}   blocked far(e, 8) at my/far.', "SL160", "`my/far` has 4 conditions"),
        (f'%? test "one"   {GRAPH}   blocked cut(e) at my/far:1.', "SL160", "`my/far` derives no `cut`"),
        (f'%? test "one"   {GRAPH}   bytes < 5.', "SL160", "`<=` or `==` is expected"),
        (f'%? test "one"   {GRAPH}   snapshot far. snapshot cut.', "SL160", "a second snapshot"),
        (f'%? test "one"   {GRAPH}   snapshot far,.', "SL160", "a relation is expected, not `.`"),
        (f'%? test "one"   {GRAPH}   by my/far.', "SL160", "`by` without a `holds` before it: no other assertion takes it"),
        (f'%? test "one"   {GRAPH}   set far == {{(x, 8)}} by my/far.', "SL160", "`set` takes no `by`, which stands behind `holds ... .`"),
        (f'%? test "one"   {GRAPH}   hold far(x, 8).', "SL160", "did you mean `holds`?"),
        (f'%? test "one"   {GRAPH}   holds far(x, 8)', "SL160", "`.` at the end of the assertion is expected"),
        (f'%? test "one"   {GRAPH}', "SL160", "a test without an assertion"),
        ('%? test "one"   holds far(x, 8).', "SL160", "a test says its graph"),
        ('%? test "one"   graph: x=load f32[8]   holds far(x, 8).', "SL160", "the graph has no `out`"),
        ('%? test "one"   graph: file none.json   kernels == 1.', "SL160", "none.json cannot be read"),
        (f"%? test one   {GRAPH}   kernels == 1.", "SL160", "a test has a title"),
        ('%? test "one"   graph: x=load f32[8]; y=expp x; out y   kernels == 1.', "SL251", "did you mean `exp`?"),
    ],
)  # fmt: skip
def test_mistakes_in_tests(tmp_path: Path, test: str, code: str, words: str) -> None:
    with pytest.raises(RuleError) as caught:
        run(tmp_path, test + "\n")
    assert caught.value.code == code
    assert words in str(caught.value)
    assert "my.dl:5:" in str(caught.value)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(RuleError) as caught:
        run(tmp_path, f'%? test "one"   {GRAPH}   holds a(x).\n%? test "two"   {GRAPH}   holds b(x).\n')
    assert [e.code for e in (caught.value, *caught.value.others)] == ["SL101", "SL101"]


def test_two_snapshots_with_one_title(tmp_path: Path) -> None:
    test = f'%? test "one"   {GRAPH}   snapshot far.\n'
    with pytest.raises(RuleError) as caught:
        run(tmp_path, test + test)
    assert (caught.value.code, caught.value.message) == ("SL160", 'two tests with the title "one"')


def test_no_test_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuleError) as caught:
        run(tmp_path, "")
    assert (caught.value.code, caught.value.where) == ("SL161", "my.dl")


def test_a_line_before_the_first_test_of_a_side_file(tmp_path: Path) -> None:
    (tmp_path / "my_test.dl").write_text("holds far(e, 8).\n", encoding="utf-8")
    with pytest.raises(SchedulogError) as caught:
        run_side(tmp_path)
    assert caught.value.code == "SL160"


def test_a_program_brings_its_own_tests(tmp_path: Path) -> None:
    program = load_program([], extra=[("my.dl", RULES + f'%? test "one"   {GRAPH}   count far == 1.\n')])
    assert [test.title for test in own_tests(program) if test.place.file == "my.dl"] == ["one"]
    (result,) = run_rule_tests(
        program, select=lambda test: test.title == "one" and test.place.file == "my.dl"
    )
    assert result.passed


def test_mutants_that_no_test_notices(tmp_path: Path) -> None:
    path = tmp_path / "my.dl"
    path.write_text(RULES + f'%? test "one"   {GRAPH}   set far == {{(x, 8)}}.\n', encoding="utf-8")
    (suite,) = suites([path])
    found = {v.name: v.killer is not None for v in judge(suite)}
    # Without its fourth condition the rule is unsafe, so that is no mutant.
    assert found == {"my/far#1": True, "my/far#1:1": True, "my/far#1:2": True, "my/far#1:3": True}
    path.write_text(RULES + f'%? test "one"   {GRAPH}   holds far(x, 8).\n', encoding="utf-8")
    (suite,) = suites([path])
    survivors = [v.condition for v in judge(suite) if v.survived]
    assert survivors == ["edge(N, U, _)", 'op(U, "EXP")', "edge(U, _, _)"]


def test_mutants_need_tests_that_pass(tmp_path: Path) -> None:
    path = tmp_path / "my.dl"
    path.write_text(RULES + f'%? test "one"   {GRAPH}   count far == 2.\n', encoding="utf-8")
    (suite,) = suites([path])
    with pytest.raises(UsageError) as caught:
        next(judge(suite))
    assert caught.value.code == "SL708"
