"""`schedulog test`: what is run, what is told, and the snapshots it takes over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from told import Command, told

RULES = """.decl far(n: node, size: int)
%! id: my/far    %! title: Two steps away
far(N, S) :- edge(N, U, _), op(U, "EXP"), edge(U, _, _), size(N, S).
"""
GRAPH = "graph: x=load f32[8]; e=exp x; f=neg e; g=exp f; out g"


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return told(capsys, "test")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.dl"
    path.write_text(
        f'{RULES}%? test "one"   {GRAPH}\n%?   holds far(x, 8).   kernels == 2.   result ~ numpy.\n'
        f'%? test "two"   {GRAPH}   count far == 1.\n',
        encoding="utf-8",
    )
    return path


def test_every_failure_is_told_with_its_own_line(mine: Path, command: Command) -> None:
    status, out, err = command(mine, "--engine", "sqlite")
    assert (status, err) == (1, "")
    place = f"{mine.as_posix()}:5:25"
    told = (
        f'error[SL163] "one" fails on sqlite: kernels == 2\n  at {place}\n'
        "  %?   holds far(x, 8).   kernels == 2.   result ~ numpy.\n"
        "                          ^^^^^^^^^^^^\n  why: there are 1: {{e, f, g}}\n\n"
    )
    assert out == (told + "2 tests, 9 checks, 1 failure (sqlite)\n")


def test_a_failure_on_all_engines_says_so(mine: Path, command: Command) -> None:
    status, out, _ = command(mine, "-k", "one", "--no-execute")
    assert (status, out.splitlines()[0]) == (1, 'error[SL163] "one" fails on every engine: kernels == 2')


def test_selected_tests_on_every_engine(mine: Path, command: Command) -> None:
    status, out, _ = command(mine, "-k", "two")
    assert status == 0
    assert out.startswith("1 test, 9 checks, 0 failures (sqlite, pydatalog, clingo")
    status, _, err = command(mine, "-k", "three")
    assert (status, err.splitlines()[0]) == (1, "error[SL161] no rule test is selected")


def test_json(mine: Path, command: Command) -> None:
    status, out, _ = command(mine, "--engine", "sqlite", "--no-execute", "--format", "json")
    found = json.loads(out)
    assert (status, found["tests"], found["checks"], found["failures"]) == (1, 2, 8, 1)
    assert found["results"][1] == {
        "test": "one",
        "file": mine.as_posix(),
        "line": 5,
        "column": 25,
        "assertion": "kernels == 2",
        "engine": "sqlite",
        "shuffled": None,
        "passed": False,
        "message": "there are 1: {{e, f, g}}",
    }


def test_rules_are_checked_first(mine: Path, command: Command) -> None:
    mine.write_text(mine.read_text(encoding="utf-8") + "far(N, S) :- siez(N, S).\n", encoding="utf-8")
    status, out, _ = command(mine)
    assert status == 1
    assert out.startswith("error[SL101] unknown relation `siez`")
    assert out.endswith("\n\n1 error (schedulog explain CODE says more)\n")


def test_a_wrong_use(mine: Path, command: Command) -> None:
    status, _, err = command(mine, "--engine", "souffle")
    assert (status, err.splitlines()[0]) == (2, "error[SL703] unknown engine `souffle`")
    assert command(mine, "--format", "xml")[0] == 2


def test_snapshots_are_taken_over_and_reviewed(mine: Path, command: Command) -> None:
    text = f'{RULES}%? test "kept"   {GRAPH}   snapshot far.\n'
    mine.write_text(text, encoding="utf-8")
    expected = mine.with_suffix(".expected")
    status, out, _ = command(mine, "--engine", "sqlite")
    assert (status, "no baseline, accept it with --accept" in out, expected.exists()) == (1, True, False)
    status, out, err = command(mine, "--engine", "sqlite", "--accept")
    assert (status, out) == (0, "1 test, 3 checks, 0 failures (sqlite)\n")
    accepted = "# kept\nfar {(x, 8)}\nkernels {{e, f, g}}\nbytes 64\n"
    assert expected.read_text(encoding="utf-8") == accepted
    assert err.startswith(f"accepted {expected.as_posix()}\n") and "+far {(x, 8)}" in err
    assert command(mine, "--engine", "sqlite")[0] == 0
    mine.write_text(text.replace('"EXP"', '"NEG"').replace("kept", "new"), encoding="utf-8")
    assert command(mine, "--engine", "sqlite", "-k", "new", "--accept")[0] == 0
    assert expected.read_text(encoding="utf-8") == accepted + "\n" + accepted.replace("kept", "new").replace("x, 8", "e, 8")  # fmt: skip
    assert command(mine, "--engine", "sqlite", "--accept")[0] == 0
    assert expected.read_text(encoding="utf-8").startswith("# new\n")
    assert "kept" not in expected.read_text(encoding="utf-8")


def test_packs_that_a_file_asks_for_are_loaded_and_not_tested(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "mine.dl"
    path.write_text(
        "%! requires: classic\n.decl owned_too(n: node)\nowned_too(N) :- owner(N, _).\n"
        '%? test "one"   graph: x=load f32[8]; s=sum x axis=0; n=neg s; out n   set owned_too == {n}.\n',
        encoding="utf-8",
    )
    status, out, _ = command(path, "--engine", "sqlite")
    assert (status, out) == (0, "1 test, 3 checks, 0 failures (sqlite)\n")


def test_without_a_path_the_own_folder_is_tested(
    mine: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mine.parent)
    with monkeypatch.context() as patched:
        patched.setattr("schedulog.cli.check.pack_names", lambda: ["core"])
        _, _, err = command("-k", "nothing of this name", "--engine", "sqlite")
    assert err.splitlines()[0] == (
        "testing core: this takes minutes (give a path to test your rules, -k TEXT selects)"
    )
    own = Path("schedulog_rules")
    own.mkdir()
    mine.rename(own / "mine.dl")
    status, out, err = command("-k", "two", "--engine", "sqlite")
    assert (status, err) == (0, "testing ./schedulog_rules (--all: every pack too)\n")
    assert out == "1 test, 3 checks, 0 failures (sqlite)\n"
    status, out, err = command(
        "--all", "-k", "mine.dl", "--engine", "sqlite", "--no-execute", "--format", "json"
    )
    assert (json.loads(out)["tests"], err) == (2, "")
    assert command("--all", own)[0] == 2
