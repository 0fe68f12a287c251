"""`schedulog check`: what it finds, in every form it is told in, and when it looks again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from schedulog.__main__ import main
from schedulog.cli.check import changes, watched
from schedulog.errors import Place, RuleError
from schedulog.scheduler.rule_check import check_rules

BAD = """.decl foo(n: node)
foo(N) :- egde(N, _, _).
foo(N) :- edge(N, _).
foo(N) :- op(N, ADD).
foo(N) :- not edge(N, _, _).
foo(N) :- size(N, S), op(S, _), X = S.
"""
TEXT = """error[SL101] unknown relation `egde`
  at {file}:2:11
  foo(N) :- egde(N, _, _).
            ^^^^
  help: did you mean `edge`? It is declared at core/model.dl:61:7

error[SL102] `edge` has 3 arguments, not 2
  at {file}:3:11
  foo(N) :- edge(N, _).
            ^^^^
  why: declared at core/model.dl:61:7: edge(n: node, user: node, v: view)

error[SL106] bare name `ADD`
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad one.dl"
    path.write_text(BAD.replace("ADD", "add"), encoding="utf-8")
    return path


def test_five_mistakes_in_one_run(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "check", bad)
    assert (status, err) == (1, "")
    assert out.startswith(TEXT.format(file=bad.as_posix()).replace("ADD", "add"))
    assert out.endswith("\n\n5 errors, 1 warning (schedulog explain CODE says more)\n")


def test_json(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "check", bad, "--format", "json")
    found = json.loads(out)
    assert (status, found["errors"], found["warnings"]) == (1, 5, 1)
    assert [(f["code"], f["line"], f["column"]) for f in found["findings"]] == [
        ("SL101", 2, 11), ("SL102", 3, 11), ("SL106", 4, 17), ("SL110", 5, 20), ("SL103", 6, 26), ("SL150", 6, 33),
    ]  # fmt: skip
    assert found["findings"][0] == {
        "code": "SL101",
        "severity": "error",
        "title": "an unknown relation",
        "message": "unknown relation `egde`",
        "file": bad.as_posix(),
        "line": 2,
        "column": 11,
        "width": 4,
        "help": "did you mean `edge`? It is declared at core/model.dl:61:7",
    }


def test_sarif(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "check", bad, "--format", "sarif")
    (log,) = json.loads(out)["runs"]
    assert (status, log["tool"]["driver"]["name"]) == (1, "schedulog")
    rules = [rule["id"] for rule in log["tool"]["driver"]["rules"]]
    for result in log["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    first, last = log["results"][0], log["results"][-1]
    assert (first["level"], last["level"]) == ("error", "warning")
    physical: Any = first["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == f"file://{bad.parent.as_posix()}/bad%20one.dl"
    assert physical["region"] == {"startLine": 2, "startColumn": 11, "endColumn": 15}


def test_github(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "check", bad, "--format", "github")
    first, *_, last = out.splitlines()
    assert status == 1
    assert first == (
        f"::error file={bad.as_posix()},line=2,col=11,endColumn=14,title=SL101::unknown relation `egde`"
        "%0Ahelp: did you mean `edge`? It is declared at core/model.dl:61:7"
    )
    assert last.startswith("::warning ") and last.endswith("title=SL150::variable `X` is used once%0Ahelp: write `_` if that is meant")  # fmt: skip


def test_nothing_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "check") == (0, "no findings\n", "")
    assert run(capsys, "check", "classic", "--format", "github") == (0, "", "")
    (tmp_path / "schedulog_rules").mkdir()
    (tmp_path / "schedulog_rules" / "mine.dl").write_text("foo(1).\n", encoding="utf-8")
    status, out, _ = run(capsys, "check")
    assert status == 1
    assert out.startswith("error[SL101] unknown relation `foo`\n  at schedulog_rules/mine.dl:1:1\n")


def test_a_wrong_use_is_no_finding(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "check", bad, "--format", "xml")
    assert (status, "`xml` is none of text, json, sarif, github" in err) == (2, True)
    status, _, err = run(capsys, "check", "core", "--watch")
    assert (status, "there is no file to watch" in err) == (2, True)


def test_packs_that_a_file_asks_for_are_loaded(tmp_path: Path) -> None:
    path = tmp_path / "mine.dl"
    path.write_text("%! requires: classic\nrealize(N) :- owner(N, _).\n", encoding="utf-8")
    assert check_rules([path]) == ()
    path.write_text("%! requires: clasic\nrealize(N) :- is_reduce(N).\n", encoding="utf-8")
    assert [finding.code for finding in check_rules([path])] == ["SL108"]


def test_mistakes_in_tests_are_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, beside = tmp_path / "mine.dl", tmp_path / "mine_test.dl"
    path.write_text(
        "realize(N) :- is_reduce(N).\n%? test \"one\"  graph: x=load f32[8]; out x   hold realize(x).\n"
        "%? test \"two\"  graph: x=load f32[8]; out y   holds realize(x).\n",
        encoding="utf-8",
    )  # fmt: skip
    beside.write_text('test "three"  graph: x=load f32[8]; out x   kernels = 1.\n', encoding="utf-8")
    found = check_rules([path])
    assert [(f.code, str(f.where)) for f in found] == [
        ("SL160", f"{path.as_posix()}:2:46"),
        ("SL252", f"{path.as_posix()}:3:42"),
        ("SL160", f"{beside.as_posix()}:1:53"),
    ]
    assert all(type(f) is RuleError and isinstance(f.where, Place) and not f.others for f in found)
    assert run(capsys, "check", beside)[1] == run(capsys, "check", path)[1]


def test_watching_sees_changed_new_and_vanished_files(tmp_path: Path) -> None:
    one, two = tmp_path / "one.dl", tmp_path / "two.dl"
    one.write_text("a", encoding="utf-8")
    steps: Iterator[Callable[[], object]] = iter([
        lambda: None,
        lambda: one.write_text("ab", encoding="utf-8"),
        lambda: os.utime(one, ns=(1, 1)),
        lambda: two.write_text("c", encoding="utf-8"),
        lambda: (tmp_path / "other.txt").write_text("d", encoding="utf-8"),
        lambda: one.unlink(),
    ])  # fmt: skip

    def sleep(_: float) -> None:
        next(steps)()

    seen = [sorted(p.name for p in state) for state in islice(changes(watched([[tmp_path]]), sleep), 5)]
    assert seen == [["one.dl"], ["one.dl"], ["one.dl"], ["one.dl", "two.dl"], ["two.dl"]]
    assert next(steps, None) is None
