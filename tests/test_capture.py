"""Captured scheduling calls, and what a replay of them says."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from told import Command, told

import schedulog
from schedulog.capturing import VARIABLE, destination
from schedulog.errors import DatabaseError, ScheduleError, SchedulogError
from schedulog.facts.graph import Graph
from schedulog.facts.json_format import write_graph
from schedulog.facts.notation import read_notation
from schedulog.facts.record import read_record
from schedulog.scheduler.compare import (
    Cause,
    Decision,
    Failure,
    KernelOutcome,
    Outcome,
    ReasonChange,
    compare,
)
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.record.capture import Capture, Captures, GivenRules, add_capture, capture_of
from schedulog.scheduler.record.outcome import attempt, outcome_of, read_outcome, write_outcome
from schedulog.scheduler.replay import Instead, Replay
from schedulog.scheduler.schedule import Scheduler
from schedulog.scheduler.why.cause import causes_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CLASSIC = ROOT / "rules" / "classic"
EXPANDED = (
    "x=load f32[4,8]; s=sum x axis=1; v=expand s to=[4,8]; m=mul x v; n=contiguous m; "
    "w=neg n; t=sum w axis=0; out t"
)
REFUSED = "x=load f32[4,4]; y=load f32[4,4]; p=permute x order=1,0; s=add p y; a=assign x s; out a"


def captured(text: str, path: Path, **given: Any) -> Capture:
    """The call that scheduling a graph in the short notation adds to a new or an old database."""
    schedulog.schedule(read_notation(text), capture=path, **given)
    captures = Captures(path)
    return captures.read(captures.numbers[-1])


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "calls.db"


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return told(capsys)


def changed_pack(folder: Path, file: str, old: str, new: str) -> Path:
    """A copy of the pack `classic` in which one text is another."""
    copy = shutil.copytree(CLASSIC, folder / "classic", dirs_exist_ok=True)
    text = (copy / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (copy / file).write_text(text.replace(old, new), encoding="utf-8")
    return copy


def without_expanded(folder: Path) -> Path:
    text = (CLASSIC / "realize.dl").read_text(encoding="utf-8")
    (clause,) = re.findall(r"^base_realize\(N\) :- viewed\(.*?\)\.\n", text, re.MULTILINE | re.DOTALL)
    return changed_pack(folder, "realize.dl", clause, "")


# What is captured.


def test_a_call_is_captured_with_all_it_was_given_and_all_that_came_of_it(
    database: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.dl"
    text = '%! id: mine/all    %! kind: realize\n%! title: Store sines\nrealize(N) :- op(N, "SIN").\n'
    mine.write_text(text, encoding="utf-8")
    graph = "x=load f32[8]; s=sin x; n=neg s; out n"
    call = captured(
        graph, database, rules=["classic", mine], options={"FUSE_ARANGE": 1}, disable=["classic/contiguous"]
    )
    assert call.given.packs == ("classic",)
    assert [(f.name, f.pack, f.text) for f in call.given.files] == [(mine.as_posix(), "mine", text)]
    assert (call.given.disable, call.engine, call.options) == (
        ("classic/contiguous",),
        "sqlite",
        {"FUSE_ARANGE": 1},
    )
    assert call.rules_sha == load_program(["classic", mine], disable=["classic/contiguous"]).sha
    assert Decision("realize(n1)", "realize", ("mine/all#1",)) in call.outcome.decisions
    assert [(k.output, k.members, k.reads) for k in call.outcome.kernels] == [
        ("n1", ("n1",), ("n0",)),
        ("n2", ("n2",), ("n1",)),
    ]
    assert (call.outcome.bytes_read, call.outcome.bytes_written, call.outcome.failure) == (64, 64, None)
    assert '"data"' not in call.graph


def test_a_rule_file_whose_name_is_no_text_cannot_be_captured(tmp_path: Path) -> None:
    rules = tmp_path / os.fsdecode(b"\xff.dl")
    rules.touch()
    with pytest.raises(DatabaseError) as caught:
        captured(EXPANDED, tmp_path / "calls.db", rules=["classic", rules])
    assert caught.value.code == "SL604" and "is no text" in caught.value.reason


def test_a_refused_graph_is_captured_with_its_error(database: Path) -> None:
    with pytest.raises(ScheduleError) as refused:
        schedulog.schedule(read_notation(REFUSED), capture=database)
    (number,) = Captures(database).numbers
    outcome = Captures(database).read(number).outcome
    assert outcome.failure == Failure("SL313", refused.value.message)
    assert [d.rules for d in outcome.decisions if d.atom.startswith("refused(")] == [
        ("classic/refuse-self#1",)
    ]
    assert outcome.kernels == ()


def test_equal_calls_are_kept_once(database: Path) -> None:
    for options in ({}, {"FUSE_ARANGE": 1}, {}, {"FUSE_ARANGE": 1}):
        captured(EXPANDED, database, options=options)
    captured(EXPANDED.replace("f32[4,8]", "f32[4,16]").replace("to=[4,8]", "to=[4,16]"), database)
    captured(EXPANDED, database, engine="clingo")
    assert len(Captures(database).numbers) == 4


def test_a_call_that_gave_something_else_is_kept_beside(database: Path) -> None:
    call = captured(EXPANDED, database)
    add_capture(replaced(call, Outcome()), database)
    assert len(Captures(database).numbers) == 2


def replaced(call: Capture, outcome: Outcome) -> Capture:
    return Capture(
        call.name, call.nodes, call.graph, call.given, call.rules_sha, call.program, call.engine, call.options, outcome
    )  # fmt: skip


def test_an_outcome_survives_its_text() -> None:
    made = attempt(Scheduler(load_program(["classic"])), read_notation(EXPANDED), {})
    outcome = outcome_of(made)
    assert outcome.decisions and outcome.kernels
    assert read_outcome(write_outcome(outcome)) == outcome
    failed = Outcome(failure=Failure("SL310", "no"))
    assert read_outcome(write_outcome(failed)) == failed


# Where calls are captured to.


def test_a_block_captures_its_own_calls_and_one_call_may_go_elsewhere(tmp_path: Path) -> None:
    outer, inner, own = (tmp_path / f"{name}.db" for name in ("outer", "inner", "own"))
    graph = read_notation(EXPANDED)
    other = threading.Thread(target=lambda: schedulog.schedule(graph, options={"FUSE_ARANGE": 1}))
    with schedulog.capture(outer):
        other.start()
        other.join()
        with schedulog.capture(inner):
            schedulog.schedule(graph)
            schedulog.schedule(graph, capture=own)
        assert destination(None) == outer
    assert destination(None) is None
    assert not outer.exists()
    assert len(Captures(inner).numbers) == len(Captures(own).numbers) == 1


PROGRAM = """
import os, sys, threading
import numpy as np
import schedulog
from schedulog.facts.notation import read_notation
schedulog.Tensor(np.ones(4, np.float32)).sum().numpy()
os.chdir("/")
call = threading.Thread(target=lambda: schedulog.schedule(read_notation("x=load f32[8]; s=sin x; out s")))
call.start(); call.join()
"""


def with_variable(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, VARIABLE: "calls.db", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments], check=False, env=environment, cwd=folder, capture_output=True, text=True
    )


def test_the_variable_captures_any_program(tmp_path: Path) -> None:
    done = with_variable("-c", PROGRAM, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(Captures(tmp_path / "calls.db").numbers) == 2


def test_the_variable_captures_the_command_line(tmp_path: Path) -> None:
    graph = f"{HERE / 'data' / 'recorded.jsonl.gz'}#3"
    done = with_variable("-m", "schedulog", "run", graph, "--no-execute", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    captures = Captures(tmp_path / "calls.db")
    assert captures.read(captures.numbers[0]).options == {"verify": 1}
    done = with_variable("-m", "schedulog", "replay", "calls.db", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "1 call: 1 the same\n")
    assert len(Captures(tmp_path / "calls.db").numbers) == 1


# Several processes.


WRITER = """
import sys
import schedulog
from schedulog.facts.notation import read_notation
path, writer, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for i in range(count):
    schedulog.schedule(read_notation(f"x=load f32[{writer * 1000 + i + 1}]; s=sin x; out s"), capture=path)
    print(i, flush=True)
"""


def writers(database: Path, counts: list[int]) -> list[subprocess.Popen[str]]:
    return [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(database), str(i), str(count)],
            env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True,
        )
        for i, count in enumerate(counts)
    ]  # fmt: skip


def test_processes_lose_nothing_and_one_that_is_killed_leaves_whole_calls(database: Path) -> None:
    processes = writers(database, [50, 50, 50, 100_000])
    doomed = processes.pop()
    assert doomed.stdout is not None
    told = [int(line) for line in islice(doomed.stdout, 20)]
    doomed.kill()
    told += [int(line) for line in doomed.stdout.read().split("\n")[:-1]]
    doomed.wait()
    assert doomed.returncode == -signal.SIGKILL
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    captures = Captures(database)
    calls = [captures.read(number) for number in captures.numbers]
    sizes = {call.outcome.kernels[0].bytes_written // 4 for call in calls}
    assert len(sizes) == len(calls)
    assert {w * 1000 + i + 1 for w in range(3) for i in range(50)} <= sizes
    assert {3000 + i + 1 for i in told} <= sizes
    assert all(not Replay(Instead())(call).decisions for call in calls[::40])


def test_what_a_dead_writer_left_behind_is_cleaned_up(database: Path) -> None:
    captured(EXPANDED, database)
    program = f"""
import os, sqlite3
c = sqlite3.connect({str(database)!r}, isolation_level=None)
c.execute("pragma cache_size = 1"); c.execute("begin immediate")
c.execute("delete from capture")
c.executemany("insert into text values (?, ?)", ((str(i), "x" * 3000) for i in range(200)))
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", program], check=False)
    assert Path(f"{database}-journal").exists()
    assert [Captures(database).read(n).nodes for n in Captures(database).numbers] == [9]


# Comparing outcomes.


def kernel(output: str, *members: str, reads: tuple[str, ...] = (), size: int = 4) -> KernelOutcome:
    return KernelOutcome(output, members, reads, size, size, ())


def test_compare_names_every_difference() -> None:
    before = Outcome(
        (
            Decision("fused(n1)", "fuse", ("p/f#1",)),
            Decision("realize(n2)", "realize", ("p/a#1",)),
            Decision("realize(n3)", "realize", ("p/a#1",)),
        ),
        (kernel("n2", "n1", "n2"), kernel("n3", "n3"), kernel("n4", "n4"), kernel("n5", "n5")),
    )
    after = Outcome(
        (Decision("realize(n3)", "realize", ("p/b#1",)), Decision("realize(n9)", "realize", ("p/b#1",))),
        (kernel("n5", "n5"), kernel("n3", "n2", "n3"), kernel("n4", "n4"), kernel("n9", "n9", size=8)),
    )
    found = compare(before, after)
    assert [(c.atom, c.change, c.rules) for c in found.decisions] == [
        ("realize(n2)", "removed", ("p/a#1",)),
        ("realize(n9)", "added", ("p/b#1",)),
        ("fused(n1)", "removed", ("p/f#1",)),
    ]
    assert found.reasons == (ReasonChange("realize(n3)", ("p/a#1",), ("p/b#1",)),)
    assert [(c.output, c.before is None, c.after is None) for c in found.kernels] == [
        ("n2", False, True),
        ("n3", False, False),
        ("n9", True, False),
    ]
    assert found.order == (("n3", "n4", "n5"), ("n5", "n3", "n4"))
    assert not found.same


def test_other_reasons_for_the_same_are_no_difference() -> None:
    one = Outcome((Decision("realize(n1)", "realize", ("p/a#1",)),), (kernel("n1", "n1"),))
    two = Outcome((Decision("realize(n1)", "realize", ("p/b#1",)),), (kernel("n1", "n1"),))
    assert compare(one, two).same
    assert compare(one, two).reasons


def test_an_error_hides_only_what_was_not_reached() -> None:
    decided = (Decision("realize(n1)", "realize", ("p/a#1",)),)
    whole = Outcome(decided, (kernel("n1", "n1"),))
    undecided = compare(whole, Outcome(failure=Failure("SL120", "undefined")))
    assert undecided.failure_differs and not undecided.same
    assert (undecided.decisions, undecided.kernels) == ((), ())
    refused = compare(
        whole, Outcome((decided[0], Decision("refused(n1)", "forbid", ())), (), Failure("SL310", "no"))
    )
    assert [(c.atom, c.change) for c in refused.decisions] == [("refused(n1)", "added")]
    assert refused.kernels == ()
    assert compare(Outcome(failure=Failure("SL310", "a")), Outcome(failure=Failure("SL310", "a"))).same
    assert not compare(Outcome(failure=Failure("SL310", "a")), Outcome(failure=Failure("SL310", "b"))).same


def test_kernels_and_the_whole_take_the_causes_of_their_decisions() -> None:
    before = Outcome(
        (Decision("realize(n1)", "realize", ()), Decision("member(n1, n0)", "fuse", ())),
        (kernel("n1", "n0"), kernel("n2", "n2")),
    )
    after = Outcome((), (kernel("n2", "n2", "n3"),))
    rule, rest = Cause("rule", "p/a#1", "removed"), Cause("untraced")
    found = compare(before, after).explained({"realize(n1)": (rule,)}, rest)
    assert {c.atom: c.causes for c in found.decisions} == {"realize(n1)": (rule,), "member(n1, n0)": (rest,)}
    assert [(c.output, c.causes) for c in found.kernels] == [("n1", (rule, rest)), ("n2", (rule, rest))]
    assert found.causes == (rule, rest)


# Which change is the cause.


def causes_between(text: str, before: list[str], after: list[str], **options: int) -> dict[str, set[str]]:
    """By atom, the causes of the decisions that differ between two lists of clauses (beside those of `core`)."""
    found = []
    for i, clauses in enumerate((before, after)):
        rules = "".join(
            f"%! id: mine/{name}    %! kind: realize\n%! title: A rule\n{clause}\n"
            for name, _, clause in (c.partition(": ") for c in clauses)
        )
        declared = ".decl a(n: node)\n.open a\n.decl b(n: node)\n.open b\n.decl c(n: node, k: int)\n.open c\n"
        program = load_program([], extra=[("mine.dl", declared + rules)])
        made = attempt(Scheduler(program), read_notation(text), options if i else {})
        assert made.decisions is not None
        found.append((made.decisions, outcome_of(made)))
    (old, one), (new, two) = found
    changes = compare(one, two).decisions
    causes = causes_of(old, new, changes)
    return {c.atom: {str(cause) for cause in causes.get(c.atom, ())} for c in changes if c.atom[0] in "abc("}


CHAIN = "x=load f32[8]; s=sin x; n=neg s; e=exp n; out e"


def test_every_change_has_its_own_cause() -> None:
    base = ['sines: a(N) :- op(N, "SIN").', 'negs: b(N) :- op(N, "NEG").']
    found = causes_between(CHAIN, base, ['sines: a(N) :- op(N, "EXP").'])
    assert found == {
        "a(n1)": {"mine/sines#1 changed"},
        "a(n3)": {"mine/sines#1 changed"},
        "b(n2)": {"mine/negs#1 removed"},
    }


def test_a_cause_is_found_through_other_rules_and_negation() -> None:
    later = ["next: b(N) :- a(M), edge(M, N, _).", "rest: c(N, 1) :- computed(N), not b(N)."]
    found = causes_between(CHAIN, ['sines: a(N) :- op(N, "SIN").', *later], later)
    cause = {"mine/sines#1 removed"}
    assert found == {"a(n1)": cause, "b(n2)": cause, "c(n2, 1)": cause}


def test_a_cause_is_found_through_recursion_and_counting() -> None:
    later = [
        "walk: a(N) :- a(M), edge(M, N, _).",
        "count: c(N, K) :- requested(N), K = #count { M : a(M) }.",
    ]
    found = causes_between(CHAIN, later, [*later, 'sines: a(N) :- op(N, "SIN").'])
    assert set(found) == {"a(n1)", "a(n2)", "a(n3)", "c(n3, 0)", "c(n3, 3)"}
    assert {cause for causes in found.values() for cause in causes} == {"mine/sines#1 added"}
    assert all(found.values())


def test_an_option_is_a_cause() -> None:
    rules = ['switch: a(N) :- op(N, "SIN"), option("SINES", K), K > 1.', "next: b(N) :- a(M), edge(M, N, _)."]
    found = causes_between(CHAIN, rules, rules, SINES=2)
    assert found == {"a(n1)": {"option SINES=2 added"}, "b(n2)": {"option SINES=2 added"}}


def test_two_causes_of_one_change_are_both_named() -> None:
    both = ['one: a(N) :- op(N, "SIN").', 'two: a(N) :- op(N, "SIN"), computed(N).']
    assert causes_between(CHAIN, both, []) == {"a(n1)": {"mine/one#1 removed", "mine/two#1 removed"}}


def test_renaming_a_rule_changes_nothing() -> None:
    one, two = 'one: a(N) :- op(N, "SIN").', 'two: a(N) :- op(N, "SIN").'
    assert causes_between(CHAIN, [one], [two]) == {}


# Replaying.


def recorded(step: int) -> Iterator[tuple[Graph, dict[str, int]]]:
    with gzip.open(HERE / "data" / "recorded.jsonl.gz") as file:
        for line in islice(file, 0, None, step):
            record = json.loads(line)
            flags = {name: int(value) for name, value in record["flags"].items()}
            yield read_record(record, record["case"]).graph, flags


@pytest.fixture(scope="module")
def regression(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some thirty recorded graphs, captured."""
    path = tmp_path_factory.mktemp("regression") / "calls.db"
    with schedulog.capture(path):
        for graph, options in recorded(45):
            try:
                schedulog.schedule(graph, options=options)
            except SchedulogError as refused:
                assert refused.code in ("SL310", "SL313")
    return path


def test_recorded_graphs_replay_the_same(regression: Path, command: Command) -> None:
    count = len(Captures(regression).numbers)
    assert count >= 30
    for options in ([], ["--jobs", "2"]):
        told = command("replay", regression, *options)
        assert (told.status, told.err) == (0, "")
        assert told.out == f"{count} calls: {count} the same\n"


def test_another_engine_decides_the_same(database: Path, command: Command) -> None:
    for text in (EXPANDED, CHAIN):
        captured(text, database)
    for engine in ("clingo", "pydatalog"):
        assert command("replay", database, "--engine", engine).out == "2 calls: 2 the same\n"


def test_a_rule_taken_away_is_the_cause_of_every_change(
    regression: Path, tmp_path: Path, command: Command
) -> None:
    told = command("replay", regression, "--rules", without_expanded(tmp_path), "--json")
    assert told.status == 1
    changed = [call for call in told.json["calls"] if not call["same"]]
    assert len(changed) == told.json["changed"] >= 5
    cause = {"kind": "rule", "name": "classic/expanded#1", "change": "removed"}
    for call in changed:
        assert call["causes"] == [cause]
        assert all(change["causes"] == [cause] for change in (*call["decisions"], *call["kernels"]))
    atoms = [d for call in changed for d in call["decisions"]]
    assert any(d["atom"].startswith("base_realize(") and d["change"] == "removed" for d in atoms)
    assert all(d["rules"] for d in atoms)


def test_of_two_changed_rules_each_has_its_own_changes(database: Path, tmp_path: Path) -> None:
    call = captured("x=load f32[4,8]; s=sum x axis=1; v=expand s to=[4,8]; m=mul x v; n=neg m; c=contiguous n; "
                    "e=exp c; out e", database)  # fmt: skip
    assert [k.output for k in call.outcome.kernels] == ["n2", "n6", "n7"]
    without_expanded(tmp_path)
    text = (tmp_path / "classic" / "realize.dl").read_text()
    (tmp_path / "classic" / "realize.dl").write_text(
        text.replace('op(N, "CONTIGUOUS").', 'op(N, "NOTHING").'), encoding="utf-8"
    )
    difference = Replay(Instead(load_program([tmp_path / "classic"])))(call)
    causes = {c.atom: {cause.name for cause in c.causes} for c in difference.decisions}
    assert causes["realize(n6)"] == {"classic/contiguous#1"}
    assert causes["base_realize(n2)"] == {"classic/expanded#1"}


def test_other_options_are_the_cause(regression: Path, command: Command) -> None:
    told = command("replay", regression, "--set", "DONT_REALIZE_EXPAND=1", "--json")
    assert told.status == 1
    changed = [call for call in told.json["calls"] if not call["same"]]
    causes = {(c["kind"], c["name"]) for call in changed for c in call["causes"]}
    assert causes == {("option", "DONT_REALIZE_EXPAND=1")}


def test_other_code_is_the_cause_where_the_rules_are_the_same(database: Path) -> None:
    call = captured(EXPANDED, database)
    older = Outcome(
        (*call.outcome.decisions[1:], Decision("old(n1)", "realize", ("p/x#1",))), call.outcome.kernels
    )
    difference = Replay(Instead())(replaced(call, older))
    assert {(c.change, c.causes) for c in difference.decisions} == {
        ("added", (Cause("code", "schedulog"),)),
        ("removed", (Cause("code", "schedulog"),)),
    }


def test_an_error_that_vanishes_has_a_cause(database: Path, command: Command) -> None:
    with pytest.raises(ScheduleError):
        schedulog.schedule(read_notation(REFUSED), capture=database)
    told = command("replay", database, "--set", "copy_on_hazard=1")
    assert told.status == 1
    lines = told.out.splitlines()
    assert lines[0] == "call 1: graph"
    assert re.fullmatch(r"  error    error\[SL313\] self-assign: .* -> -", lines[1])
    assert lines[2] == "           because of option copy_on_hazard=1 added"
    assert lines[-1] == "1 call: 0 the same, 1 changed"


REPEATED = "x=load f32[4,1]; e=exp x; v=expand e to=[4,8]; y=load f32[4,8]; m=mul v y; out m"
TEXT = """\
call 1: graph
  kernels  2 -> 1
  read     160 B -> 144 B
  written  144 B -> 128 B
  - kernel n2 {n1 n2}
  ~ kernel n6 {n3 n5 n6} -> {n1 n2 n3 n5 n6}
  because of classic/expanded#1 removed
    - base_realize(n2), chosen(n2), realize(n2), stored(n2), member(n2, n1), and 2 more
    + member(n6, n1), member(n6, n2)

2 calls: 1 the same, 1 changed (kernels 2 -> 1, traffic 304 B -> 272 B)
"""


def test_a_change_is_told_in_a_few_lines(database: Path, tmp_path: Path, command: Command) -> None:
    captured(REPEATED, database)
    captured(CHAIN, database)
    told = command("replay", database, "--rules", without_expanded(tmp_path))
    assert told.status == 1
    assert told.out == TEXT


def test_files_are_replayed_as_they_were_and_packs_as_they_are(database: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.dl"
    mine.write_text('%! id: mine/sines  %! kind: realize\n%! title: Sines\nrealize(N) :- op(N, "SIN").\n')
    call = captured(CHAIN, database, rules=["classic", mine])
    mine.unlink()
    assert Replay(Instead())(call).same
    difference = Replay(Instead(load_program(["classic"])))(call)
    assert {cause.name for cause in difference.causes} == {"mine/sines#1"}


# What cannot be replayed.


def test_calls_that_cannot_be_replayed_are_told_one_by_one(database: Path, command: Command) -> None:
    call = captured(EXPANDED, database)
    gone = GivenRules(("classics",))
    for options, given in ({"a": 1}, gone), ({"b": 1}, call.given), ({"c": 1}, call.given):
        add_capture(
            Capture(call.name, call.nodes, call.graph, given, call.rules_sha, call.program, "sqlite", options,
                    call.outcome), database)  # fmt: skip
    with sqlite3.connect(database) as connection:
        connection.execute("update capture set format = 7, version = '9.0' where capture_id = 3")
        connection.execute("update capture set outcome = graph where capture_id = 4")
    connection.close()
    told = command("replay", database)
    assert told.status == 1
    assert (
        told.out
        == """\
call 2: graph
  error[SL108] unknown rule pack `classics`
    at packs
    help: did you mean `classic`?

call 3: graph
  error[SL610] call 3 was captured by a later schedulog
    at graph
    why: it has format 7, this one reads 1
    help: schedulog 9.0 wrote it

call 4: graph
  error[SL611] call 4 is damaged
    at graph
    why: KeyError: 'failure'
    help: capture it again

4 calls: 1 the same, 3 not replayed
"""
    )
    record = command("replay", database, "--json", "--jobs", "2").json
    assert [call.get("error", {}).get("code") for call in record["calls"]] == [
        None,
        "SL108",
        "SL610",
        "SL611",
    ]
    assert (record["same"], record["changed"], record["not_replayed"]) == (1, 0, 3)


def test_a_bug_that_one_call_meets_does_not_end_the_replay(
    database: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    captured(EXPANDED, database)
    captured(CHAIN, database)
    whole = Replay.__call__

    def broken(self: Replay, call: Capture) -> Any:
        return call.given.packs[9] if call.number == 1 else whole(self, call)

    monkeypatch.setattr(Replay, "__call__", broken)
    told = command("replay", database)
    assert (told.status, told.out.splitlines()[1]) == (
        1,
        "  error[SL900] IndexError: tuple index out of range",
    )
    assert told.out.endswith("2 calls: 1 the same, 1 not replayed\n")


@pytest.mark.parametrize("change", [
    "delete from text", "update text set body = x'00'", "update text set body = 5", "update capture set options = '{'",
    "update capture set options = '[1]'", """update capture set options = '{"FUSE_ARANGE": "x"}'""",
    "update capture set format = 'x'", "alter table capture rename column outcome to other",
])  # fmt: skip
def test_damaged_calls_are_told_as_such(change: str, database: Path, command: Command) -> None:
    captured(EXPANDED, database)
    with sqlite3.connect(database) as connection:
        connection.execute(change)
    connection.close()
    for options in [], ["--set", "FUSE_ARANGE=1"]:
        told = command("replay", database, *options)
        assert told.status == 1 and "error[SL611] call 1 is damaged" in told.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--engine", "prolog"], "SL703"),
        (["--set", "FUSE_ARRANGE=1"], "SL706"),
        (["--jobs", "0"], "SL700"),
        (["--set", "FUSE_ARANGE"], "SL700"),
    ],
)
def test_wrong_use_exits_2(database: Path, command: Command, arguments: list[str], code: str) -> None:
    captured(EXPANDED, database)
    told = command("replay", database, *arguments)
    assert (told.status, told.out) == (2, "")
    assert told.err.startswith(f"error[{code}]")


def test_rules_that_cannot_be_loaded_are_one_error(database: Path, command: Command) -> None:
    captured(EXPANDED, database)
    told = command("replay", database, "--rules", "nowhere.dl")
    assert (told.status, told.out) == (1, "")
    assert told.err.startswith("error[SL107]")


def test_what_is_no_database_of_calls_is_refused(tmp_path: Path) -> None:
    def code(path: Path, call: Callable[[Path], object]) -> str:
        with pytest.raises(DatabaseError) as error:
            call(path)
        return error.value.code

    call = captured(EXPANDED, tmp_path / "calls.db")
    run, text, empty, later = (tmp_path / name for name in ("run.db", "text.db", "empty.db", "later.db"))
    schedulog.schedule(read_notation(EXPANDED)).save(run)
    text.write_text("a text, and a long one at that\n" * 100)
    empty.touch()
    shutil.copy(tmp_path / "calls.db", later)
    with sqlite3.connect(later) as connection:
        connection.execute("pragma user_version = 9")
    connection.close()
    before = run.read_bytes()
    assert [code(p, Captures) for p in (run, text, empty, later)] == ["SL602", "SL602", "SL602", "SL603"]
    other = replaced(call, Outcome())
    assert [code(p, lambda p: add_capture(other, p)) for p in (run, text, later)] == [
        "SL602",
        "SL602",
        "SL603",
    ]
    assert code(tmp_path / "absent" / "calls.db", lambda p: add_capture(other, p)) == "SL604"
    assert code(tmp_path / "absent.db", Captures) == "SL601"
    assert run.read_bytes() == before


def test_our_own_files_are_told_from_each_other(tmp_path: Path, command: Command) -> None:
    calls, run, graph = tmp_path / "calls.db", tmp_path / "run.db", tmp_path / "g.json"
    captured(EXPANDED, calls)
    graph.write_text(write_graph(read_notation(EXPANDED)))
    schedulog.schedule(read_notation(EXPANDED)).save(run)
    before = calls.read_bytes()
    for arguments in (("sql", calls), ("graph", calls), ("why", calls, "n1")):
        told = command(*arguments).err
        assert told.startswith(f"error[SL602] {calls} holds no schedulog runs\n")
        assert "  why: it holds captured calls\n  help: `schedulog replay` reads it\n" in told
    told = command("run", graph, "--no-execute", "--save", calls).err
    assert told.startswith(f"error[SL613] {calls} exists and is not a run database\n")
    assert "  why: it holds captured calls\n" in told
    assert told.endswith("  help: give another name or remove it; `schedulog replay` reads it\n")
    told = command("replay", run).err
    assert told.startswith(f"error[SL602] {run} holds no captured calls\n")
    assert told.endswith("  why: it holds saved runs\n  help: `schedulog sql`, `why` and `graph` read it\n")
    assert calls.read_bytes() == before


def is_running(process: str) -> bool:
    """Not gone, and not only waiting to be asked for its exit status."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


@dataclass
class Running:
    """A replay by two processes that has not ended."""

    database: Path
    process: subprocess.Popen[str]
    workers: list[str]


@pytest.fixture
def running(database: Path) -> Iterator[Running]:
    if not Path("/proc/self/task").is_dir():
        pytest.skip("the processes to wait for stand in /proc")
    long = "x=load f32[8]; " + "".join(f"v{i}=sin {'x' if not i else f'v{i - 1}'}; " for i in range(2000))
    call = captured(f"{long} out v1999", database)
    for i in range(60):
        add_capture(replaced(call, Outcome(failure=Failure("SL310", str(i)))), database)
    process = subprocess.Popen(
        [sys.executable, "-m", "schedulog", "replay", str(database), "--jobs", "2"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    workers: list[str] = []
    while len(workers) < 2 and process.poll() is None:
        time.sleep(0.05)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        workers = [pid for pid in children if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()]
    yield Running(database, process, workers)
    process.kill()


def test_ctrl_c_ends_a_replay_at_once_and_changes_nothing(running: Running) -> None:
    before = running.database.read_bytes()
    running.process.send_signal(signal.SIGINT)
    out, err = running.process.communicate(timeout=60)
    assert (running.process.returncode, out, err) == (130, "", "")
    assert not any(map(is_running, running.workers))
    assert running.database.read_bytes() == before


def test_a_process_that_dies_is_an_error(running: Running) -> None:
    os.kill(int(running.workers[0]), signal.SIGKILL)
    out, err = running.process.communicate(timeout=60)
    assert (running.process.returncode, out) == (1, "")
    assert err.startswith("error[SL612] a process ended while it scheduled\n")


def test_a_long_chain_is_captured_and_replayed(database: Path) -> None:
    text = "x=load f32[8]; " + "".join(f"v{i}=sin {'x' if not i else f'v{i - 1}'}; " for i in range(3_000))
    call = captured(f"{text} out v2999", database)
    assert call.nodes == 3_002
    assert Replay(Instead())(call).same


# The page.


def test_the_examples_of_the_page_are_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the Python block of docs/replay.md, then its commands, and compares what they print."""
    page = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (session,) = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    (rule,) = re.findall(r"```prolog\n(.*?)```", page, re.DOTALL)
    (tmp_path / "mine.dl").write_text(rule, encoding="utf-8")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for name, words in (("python", ""), ("schedulog", " -m schedulog")):
        (tmp_path / name).write_text(f'#!/bin/sh\nexec {sys.executable}{words} "$@"\n')
        (tmp_path / name).chmod(0o755)
    for part in session.split("$ ")[1:]:
        line, _, printed = part.partition("\n")
        done = subprocess.run(
            line, check=False, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert (done.stdout, done.stderr) == (printed, ""), line


def test_capture_of_takes_what_schedule_takes() -> None:
    graph, program = read_notation(EXPANDED), load_program(["classic"])
    call = capture_of(graph, GivenRules(("classic",)), program, "sqlite", {}, Outcome())
    assert (call.name, call.nodes, call.number) == ("graph", len(graph.nodes), 0)
