"""Saving to a file that others use too, that is damaged, or that is something else."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from schedulog.errors import DatabaseError, SchedulogError
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import float32
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.json_format import write_graph
from schedulog.facts.ops import Op
from schedulog.run import Run, schedule
from schedulog.scheduler.record import run_file
from schedulog.scheduler.record.database import VERSION, add_run, open_database
from schedulog.scheduler.record.run_file import check_destination
from schedulog.scheduler.record.run_record import RunRecord

ROOT = Path(__file__).parent.parent


def example() -> Graph:
    x = build.buffer(Buffer(32, float32, name="x"), (4, 8))
    return graph_of([build.alu(Op.SQRT, build.reduce("ADD", x, (1,)))])


@pytest.fixture(scope="module")
def run() -> Run:
    return schedule(example())


@pytest.fixture
def saved(run: Run, tmp_path: Path) -> Path:
    run.save(tmp_path / "run.db", label="first")
    return tmp_path / "run.db"


def labels(path: Path) -> list[str]:
    connection = open_database(path)
    try:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        return [label for (label,) in connection.execute("select label from run order by run_id")]
    finally:
        connection.close()


def refusal(run: Run, path: Path, *, append: bool = False) -> DatabaseError:
    with pytest.raises(DatabaseError) as early:
        check_destination(path, append=append)
    with pytest.raises(DatabaseError) as caught:
        run.save(path, append=append)
    assert (early.value.code, str(early.value)) == (caught.value.code, str(caught.value))
    return caught.value


def child(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], cwd=ROOT, text=True, stdout=subprocess.PIPE
    )


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize(
    "content",
    [b'{"format": "schedulog-graph"}', b"x", b"precious " * 999, b"\0" * 4096, b"SQLite format 3\0"],
)
def test_no_other_file_is_replaced(content: bytes, append: bool, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(content)
    error = refusal(run, path, append=append)
    assert error.code == "SL613"
    assert error.message == f"{path} exists and is not a run database"
    assert error.help == "give another name or remove it"
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["model.json"]


@pytest.mark.parametrize("append", [False, True])
def test_no_database_of_another_program_is_replaced(append: bool, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("create table precious (a)")
    connection.close()
    before = path.read_bytes()
    assert refusal(run, path, append=append).code == "SL613"
    assert path.read_bytes() == before


@pytest.mark.parametrize("append", [False, True])
def test_a_folder_is_no_place(append: bool, run: Run, tmp_path: Path) -> None:
    assert refusal(run, tmp_path, append=append).code == "SL613"


def test_a_device_is_not_replaced(run: Run) -> None:
    assert refusal(run, Path(os.devnull)).code == "SL613"
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("append", [False, True])
def test_an_empty_file_is_filled(append: bool, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    path.touch()
    run.save(path, append=append, label="first")
    assert labels(path) == ["first"]


@pytest.mark.parametrize("append", [False, True])
def test_a_damaged_file_is_one_clear_error(append: bool, run: Run, saved: Path) -> None:
    content = saved.read_bytes()
    saved.write_bytes(content[: len(content) // 2])
    error = refusal(run, saved, append=append)
    assert (error.code, error.message) == ("SL602", f"{saved} is damaged")
    assert error.help == "nothing was changed; give another name or remove it"
    assert saved.read_bytes() == content[: len(content) // 2]


def test_another_version_is_replaced_but_nothing_is_added_to_it(run: Run, saved: Path) -> None:
    connection = sqlite3.connect(saved)
    connection.execute(f"pragma user_version = {VERSION + 1}")
    connection.close()
    assert refusal(run, saved, append=True).code == "SL603"
    run.save(saved, label="second")
    assert labels(saved) == ["second"]


def test_a_relation_with_other_columns_has_no_place_beside_the_saved_one(saved: Path) -> None:
    one = "classic", ".decl mine(n: node)\nmine(N) :- computed(N)."
    two = "classic", ".decl mine(n: node, m: node)\nmine(N, N) :- computed(N)."
    schedule(example(), rules=one).save(saved, append=True, label="second")
    before = saved.read_bytes()
    with pytest.raises(DatabaseError) as caught:
        schedule(example(), rules=two).save(saved, append=True)
    assert str(caught.value) == (
        "error[SL607] the relation mine has other columns in the runs of this file\n"
        "  why: n there, n, m here\n"
        "  help: save to a new file"
    )
    assert (labels(saved), saved.read_bytes()) == (["first", "second"], before)


def test_saving_again_replaces_and_gives_the_room_back(run: Run, saved: Path) -> None:
    size = saved.stat().st_size
    for label in "abcdef":
        run.save(saved, append=True, label=label)
    assert labels(saved) == ["first", *"abcdef"]
    assert saved.stat().st_size > 1.5 * size
    run.save(saved, label="last")
    assert labels(saved) == ["last"]
    assert saved.stat().st_size <= size


SAVER = """
import sys, schedulog
run = schedulog.schedule(schedulog.load(sys.argv[1]))
print("ready", flush=True)
for i in range(int(sys.argv[4])):
    run.save(sys.argv[2], append=True, label=f"{sys.argv[3]}{i}")
    print("saved", flush=True)
"""


def test_no_run_is_lost_when_several_processes_append(tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text(write_graph(example()), encoding="utf-8")
    path = tmp_path / "run.db"
    children = [child(SAVER, tmp_path / "g.json", path, name, 3) for name in "abcd"]
    assert [(c.communicate(timeout=60)[0].count("saved"), c.returncode) for c in children] == [(3, 0)] * 4
    assert sorted(labels(path)) == sorted(f"{name}{i}" for name in "abcd" for i in range(3))
    assert sorted(os.listdir(tmp_path)) == ["g.json", "run.db"]


def test_no_run_is_lost_when_several_threads_append(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    threads = [
        threading.Thread(target=run.save, args=(path,), kwargs={"append": True, "label": str(i)})
        for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(labels(path)) == sorted(map(str, range(8)))


def test_killed_processes_leave_whole_files(tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text(write_graph(example()), encoding="utf-8")
    path, told = tmp_path / "run.db", 0
    for i in range(3):
        children = [child(SAVER, tmp_path / "g.json", path, name, 999) for name in "ab"]
        for c in children:
            assert c.stdout is not None
            for _ in range(2 + i):
                c.stdout.readline()
        for c in children:
            c.send_signal(signal.SIGKILL)
            assert c.stdout is not None
            told += 1 + i + c.stdout.read().count("saved")
            c.wait(60)
        # Each may have died after a run was saved and before it said so.
        assert told <= len(labels(path)) <= told + 2 * (i + 1)


TORN = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("pragma cache_size = 1")
connection.execute("begin immediate")
connection.execute("update run set label = 'torn'")
connection.execute("update rule set text = text || hex(zeroblob(2000))")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("append", [None, False, True])
def test_the_old_content_comes_back_after_a_write_that_was_cut_off(
    append: bool | None, run: Run, saved: Path
) -> None:
    before = saved.read_bytes()
    assert child(TORN, saved).wait(30) == -signal.SIGKILL
    assert saved.read_bytes() != before
    if append is not None:
        run.save(saved, append=append, label="second")
    assert labels(saved) == {None: ["first"], False: ["second"], True: ["first", "second"]}[append]


def test_what_a_removed_file_left_beside_is_no_part_of_a_new_one(run: Run, saved: Path) -> None:
    assert child(TORN, saved).wait(30) == -signal.SIGKILL
    saved.unlink()
    assert Path(f"{saved}-journal").exists()
    run.save(saved, label="new")
    assert labels(saved) == ["new"]


@pytest.mark.parametrize("append", [False, True])
def test_a_full_disk_changes_nothing(append: bool, run: Run, saved: Path) -> None:
    before, (soft, hard) = saved.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) if append else 20_000, hard))
    try:
        with pytest.raises(DatabaseError) as caught:
            run.save(saved, append=append)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (caught.value.code, caught.value.message) == ("SL604", f"cannot write {saved}")
    assert saved.read_bytes() == before
    assert labels(saved) == ["first"]
    assert os.listdir(saved.parent) == [saved.name]


def test_a_full_disk_leaves_no_new_file(run: Run, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(DatabaseError, match="cannot write"):
            run.save(tmp_path / "run.db")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == []


def test_a_process_that_does_not_end_its_writing_is_told(
    run: Run, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_file, "PATIENCE", 0.0)
    other = sqlite3.connect(saved, isolation_level=None)
    other.execute("begin immediate")
    with pytest.raises(DatabaseError) as caught:
        run.save(saved, append=True)
    other.close()
    assert caught.value.code == "SL604"
    assert caught.value.reason == "another process has been writing to it for 0 seconds"


def test_a_reader_sees_the_old_runs_until_the_new_one_is_whole(
    run: Run, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def watched(connection: sqlite3.Connection, record: RunRecord) -> None:
        add_run(connection, record)
        seen.append(labels(saved))

    monkeypatch.setattr(run_file, "add_run", watched)
    run.save(saved, append=True, label="second")
    assert (seen, labels(saved)) == ([["first"]], ["first", "second"])


def test_without_links_a_new_file_is_made_in_its_place(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    run.save(tmp_path / "run.db", label="first")
    assert labels(tmp_path / "run.db") == ["first"]
    assert os.listdir(tmp_path) == ["run.db"]


@pytest.mark.parametrize(
    ("place", "reason"), [("none/run.db", "No such file or directory"), ("file/run.db", "Not a directory")]
)
def test_a_missing_folder_is_told_before_the_work(place: str, reason: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for tell in run.save, check_destination:
        with pytest.raises(SchedulogError) as caught:
            tell(tmp_path / place)
        assert (caught.value.code, caught.value.reason) == ("SL604", reason)


def test_a_name_that_is_no_text_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with pytest.raises(DatabaseError) as caught:
        run.save(path, label=os.fsdecode(b"\xff"))
    assert (caught.value.code, caught.value.reason) == ("SL604", "a name in it is no text: '\\udcff'")
    assert os.listdir(tmp_path) == []
