"""`schedulog diff --corpus`: many graphs, broken ones among them, and a comparison that was interrupted."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from told import Command, told

from schedulog.cli import diff_work
from schedulog.cli.diff_work import Question
from schedulog.cli.source import Bindings
from schedulog.facts.json_format import write_graph
from schedulog.facts.notation import read_notation
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import FunctionCode
from schedulog.scheduler.record.file_kind import COMPARISONS, RUNS

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "tests" / "data" / "recorded.jsonl.gz"
EDIT = ("--drop", "classic/stored-for-itself")


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    """Small recorded calls."""
    with gzip.open(RECORDED) as file:
        return sorted(file, key=len)[100:700:40]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCHEDULOG_CACHE", str(tmp_path / "cache"))

    return told(capsys, "diff")


def folder_of_graphs(folder: Path, lines: list[bytes]) -> Path:
    """Two graph files, one of them broken, and a record of which a line is broken and the end is missing."""
    graphs = folder / "graphs"
    (graphs / "below").mkdir(parents=True)
    softmax = (
        "x=load f32[4,8]; m=max x axis=1; w=expand m to=[4,8]; d=sub x w; e=exp d; s=sum e axis=1; out s"
    )
    (graphs / "a.json").write_text(write_graph(read_notation(softmax)), encoding="utf-8")
    (graphs / "below" / "b.json").write_text('{"format": "schedulog-graph"', encoding="utf-8")
    (graphs / "notes.txt").write_text("no graph")
    whole = gzip.compress(b"".join([*lines[:3], b"no json\n", b"\n", *lines[3:]]))
    (graphs / "c.jsonl.gz").write_bytes(whole[:-12])
    return graphs


def test_broken_graphs_are_lines_and_not_the_end(
    command: Command, tmp_path: Path, lines: list[bytes]
) -> None:
    folder_of_graphs(tmp_path, lines[:6])
    status, out, _ = command("--corpus", "graphs", *EDIT)
    assert status == 1
    told = out.splitlines()
    assert told[0].startswith("9 graphs: ") and ", 3 broken; 0 changes without" in told[0]
    assert told[-3].startswith("graphs/below/b.json: error[SL230]")
    assert told[-2] == "graphs/c.jsonl.gz#3: error[SL263] the line is not JSON"
    assert told[-1] == "graphs/c.jsonl.gz: error[SL260] cannot read graphs/c.jsonl.gz"
    assert "the largest changes" in told and "by what is responsible" in told
    record = json.loads(command("--corpus", "graphs", *EDIT, "--json")[1])
    assert (record["summary"]["graphs"], len(record["graphs"]), len(record["broken"])) == (9, 6, 3)
    assert not list((tmp_path / "cache" / "diff").iterdir()), "what is finished is not kept"


def test_processes_give_the_same_answer(command: Command, tmp_path: Path, lines: list[bytes]) -> None:
    Path("calls.jsonl").write_bytes(b"".join(lines[:10]))
    one, two = (command("--corpus", "calls.jsonl", *EDIT, "--jobs", jobs, "--json") for jobs in "12")
    assert one == two


def kept(path: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("select name, body from answer order by name").fetchall()
    finally:
        connection.close()


def test_what_was_answered_is_not_asked_again(
    command: Command, lines: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    whole = diff_work._answer

    def counted(worker: Any, item: Any) -> Any:
        asked.append(item.name)
        return whole(worker, item)

    monkeypatch.setattr(diff_work, "_answer", counted)
    Path("calls.jsonl").write_bytes(b"".join(lines[:4]))
    options = ("--corpus", "calls.jsonl", "--resume", "kept.db", "--jobs", "1")
    first = command(*options, *EDIT)
    assert command(*options, *EDIT) == first
    assert asked == [f"calls.jsonl#{n}" for n in range(4)]
    # Another content, another rule set: each is another question.
    Path("calls.jsonl").write_bytes(b"".join([*lines[:3], lines[5]]))
    command(*options, *EDIT)
    assert asked[4:] == ["calls.jsonl#3"]
    command(*options, "--drop", "classic/expanded")
    assert len(asked) == 9


def test_a_comparison_that_was_killed_goes_on(tmp_path: Path, lines: list[bytes]) -> None:
    (tmp_path / "calls.jsonl").write_bytes(b"".join(lines))
    arguments = [sys.executable, "-m", "schedulog", "diff", "--corpus", "calls.jsonl", *EDIT, "--resume", "kept.db",
                 "--jobs", "1", "--json"]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def started() -> subprocess.Popen[str]:
        return subprocess.Popen(arguments, cwd=tmp_path, env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)  # fmt: skip

    process = started()
    while process.poll() is None and not (tmp_path / "kept.db").exists():
        time.sleep(0.02)
    while process.poll() is None and not kept_or_none(tmp_path / "kept.db"):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    before = kept(str(tmp_path / "kept.db"))
    assert before
    out, _ = started().communicate(timeout=120)
    assert len(json.loads(out)["graphs"]) == len(lines)
    after = kept(str(tmp_path / "kept.db"))
    assert len(after) == len(lines) and set(before) <= set(after)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="processes are found by their group")
def test_processes_end_with_the_one_that_started_them(tmp_path: Path, lines: list[bytes]) -> None:
    (tmp_path / "calls.jsonl").write_bytes(b"".join(lines) * 40)
    arguments = [sys.executable, "-m", "schedulog", "diff", "--corpus", "calls.jsonl", *EDIT, "--resume", "kept.db",
                 "--jobs", "2"]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        arguments, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, start_new_session=True
    )
    while process.poll() is None and not kept_or_none(tmp_path / "kept.db"):
        time.sleep(0.02)
    process.kill()
    # The others hold the pipe too: it ends when all of them are gone.
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL


def kept_or_none(path: Path) -> list[tuple[Any, ...]]:
    """What is kept so far; nothing while the file is being made."""
    try:
        return kept(str(path))
    except sqlite3.OperationalError:
        return []


def test_a_file_of_something_else_keeps_no_comparison(command: Command, lines: list[bytes]) -> None:
    Path("calls.jsonl").write_bytes(lines[0])
    Path("text.db").write_text("a text, and a long one at that\n" * 100)
    connection = sqlite3.connect("other.db")
    connection.execute("create table mine (n)")
    connection.close()
    for name, header in (("later.db", f"{COMPARISONS}; pragma user_version = 9"), ("run.db", str(RUNS))):
        with closing(sqlite3.connect(name)) as connection:
            connection.executescript(f"create table mine (n); pragma application_id = {header}")
    for path, reason in (
        ("text.db", "file is not a database"),
        ("other.db", "it is a SQLite file of another program"),
        ("later.db", "it has version 9 of the table, this schedulog reads 1"),
        ("run.db", "it holds saved runs"),
        ("absent/kept.db", "unable to open database file"),
    ):
        before = Path(path).read_bytes() if Path(path).exists() else b""
        status, out, err = command("--corpus", "calls.jsonl", *EDIT, "--resume", path)
        assert (status, out) == (2, "")
        assert err == (f"error[SL726] cannot keep a comparison in {path}\n  at {path}\n  why: {reason}\n"
                       "  help: give another file with --resume, or remove this one\n")  # fmt: skip
        assert (Path(path).read_bytes() if Path(path).exists() else b"") == before


def test_a_corpus_of_nothing(command: Command, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    assert command("--corpus", "none", *EDIT)[2].startswith("error[SL260] no graphs in none")
    assert command("--corpus", "absent", *EDIT)[2].startswith("error[SL260] no file absent")
    (tmp_path / "a.txt").touch()
    assert command("--corpus", "a.txt", *EDIT)[2].startswith("error[SL261]")


def test_a_bug_that_one_graph_meets_is_a_line(
    command: Command, lines: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(worker: Any, item: Any) -> Any:
        raise IndexError(item.name)

    Path("calls.jsonl").write_bytes(b"".join(lines[:2]))
    monkeypatch.setattr(diff_work._Worker, "graph", broken)
    status, out, _ = command("--corpus", "calls.jsonl", *EDIT, "--jobs", "1")
    assert status == 1
    assert out.splitlines()[-1] == "calls.jsonl#1: error[SL900] IndexError: calls.jsonl#1"


def test_other_functions_of_a_pack_make_another_question() -> None:
    program = load_program(())

    def sha(text: str) -> str:
        code = (FunctionCode("mine", "mine/functions.py", text),)
        return Question(program, replace(program, code=code), {}, {}, Bindings({}, {}, {})).known().sha

    assert sha("def f(a): return 1") == sha("def f(a): return 1") != sha("def f(a): return 2")
