"""The command line: what it prints, and what it exits with."""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from told import Command, told

from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import float32
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.json_format import write_graph
from schedulog.facts.ops import Op

ROOT = Path(__file__).parent.parent


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return told(capsys)


def example() -> Graph:
    memory = Buffer(32, float32, name="x")
    x = build.buffer(memory, (4, 8), label="x")
    largest = build.reduce("MAX", x, (1,), label="largest")
    shifted = build.alu(Op.ADD, x, build.expand(largest, (4, 8)), label="shifted")
    return graph_of([shifted], name="rows", outputs=["y"], inputs={"x": memory}, input_shapes={"x": (4, 8)})


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "rows.json"
    path.write_text(write_graph(example()), encoding="utf-8")
    return path


@pytest.fixture
def array(tmp_path: Path) -> Path:
    path = tmp_path / "x.npy"
    np.save(path, np.arange(32, dtype=np.float32).reshape(4, 8))
    return path


@pytest.fixture
def saved(graph: Path, command: Command) -> Path:
    path = graph.parent / "run.db"
    assert command("run", graph, "--no-execute", "--save", path).status == 0
    return path


def test_run_shows_kernels_and_outputs(graph: Path, array: Path, command: Command) -> None:
    result = command("run", graph, "--input", f"x={array}", "--device", "numpy")
    assert result.status == 0
    assert result.err == ""
    lines = result.out.splitlines()
    assert lines[0] == "rows: 6 nodes, 2 kernels"
    assert lines[1].split() == ["kernel", "computes", "value", "read", "written", "because", "of"]
    assert lines[2].split() == ["k0_reduce_axis", "reduce_axis", "float32[4,1]", "128", "B", "16", "B",
                                "classic/expanded"]  # fmt: skip
    assert lines[6].split() == ["y", "float32", "[4,8]", "7", "62", "34.5", "0"]
    assert lines[-1].endswith(" on numpy")


def test_run_as_json(graph: Path, array: Path, command: Command) -> None:
    found = command("run", graph, "--input", f"x={array}", "--device", "numpy", "--json").json
    assert [kernel["rules"] for kernel in found["kernels"]] == [
        ["classic/expanded"], ["core/store-requested"],
    ]  # fmt: skip
    assert found["outputs"]["y"] == {
        "dtype": "float32", "shape": [4, 8], "min": 7.0, "max": 62.0, "mean": 34.5, "nan": 0,
    }  # fmt: skip
    assert list(found["seconds"]) == ["load", "schedule", "compile", "execute"]
    assert found["device"] == "numpy"


def test_random_inputs_depend_on_the_seed_only(graph: Path, command: Command) -> None:
    def outputs(seed: int) -> Any:
        return command("run", graph, "--random", str(seed), "--device", "numpy", "--json").json["outputs"]

    assert outputs(3) == outputs(3) != outputs(4)


def test_a_switch_and_a_rule_file_change_the_schedule(graph: Path, command: Command) -> None:
    assert len(command("run", graph, "--no-execute", "--json").json["kernels"]) == 2
    less = command("run", graph, "--no-execute", "--json", "--set", "DONT_REALIZE_EXPAND=1")
    assert less.json["options"] == {"verify": 1, "DONT_REALIZE_EXPAND": 1}
    policy = graph.parent / "none.dl"
    policy.write_text(
        '%! id: none/nothing  %! kind: realize\nrealize(N) :- op(N, "NOTHING").\n', encoding="utf-8"
    )
    assert len(command("run", graph, "--no-execute", "--json", "--rules", policy).json["kernels"]) == 1


def test_a_recorded_call(tmp_path: Path, command: Command) -> None:
    source = next((ROOT / "tests" / "data").glob("**/*.jsonl*"), None)
    if source is None:
        pytest.skip("no recorded calls in tests/data")
    assert command("run", f"{source}#0", "--no-execute").status == 0
    missing = command("run", f"{source}#99999999", "--no-execute")
    assert (missing.status, missing.err[:12]) == (1, "error[SL262]")


def test_sql_answers_tables_json_and_names(saved: Path, command: Command) -> None:
    assert command("sql", saved, "select count(*) as n from kernel").out == "n\n2\n"
    found = command("sql", saved, "select name, members from kernel", "--json").json
    assert found == {"columns": ["name", "members"], "rows": [["k0_reduce_axis", 2], ["k1_add", 3]]}
    assert "classic/expanded" in command("sql", saved, "who-realizes").out
    assert command("sql", saved, "compare", "--param", "old=1", "--param", "new=1").status == 0


def test_sql_reads_a_query_from_standard_input(saved: Path) -> None:
    result = python(["sql", str(saved), "--json"], input="select 1 as a;\n")
    assert json.loads(result.stdout) == {"columns": ["a"], "rows": [[1]]}


def test_the_commands_of_the_prompt_are_arguments_too(saved: Path, command: Command) -> None:
    table = command("sql", saved, ".tables").out.splitlines()
    assert [line.split()[:2] for line in table[:2]] == [["table", "kind"], ["buffer", "table"]]
    of_rules = command("sql", saved, ".tables rel_").out.split()[1:]
    assert "rel_realize" in of_rules and all(name.startswith("rel_") for name in of_rules)
    assert table[-1] == f"rel_*           {len(of_rules)} relations of the rules: .tables rel_ lists them"
    assert table[-2].split() == ["unfused", "view"]
    whole = command("sql", saved, ".tables", "--json").json["rows"]
    assert [name for name, kind in whole if kind == "relation"] == of_rules
    schema = command("sql", saved, ".schema member").out.splitlines()
    assert [line.split()[:2] for line in schema[:2]] == [["column", "type"], ["run_id", "integer"]]
    assert schema[1].endswith("the run")
    missing = command("sql", saved, ".schema kernle").err
    assert missing == "error[SL605] there is no table `kernle`\n  help: did you mean `kernel`?\n"
    found = command("sql", saved, ".queries", "--json").json
    assert found["columns"] == ["query", "answers"]
    assert "kernels" in [name for name, _ in found["rows"]]
    assert command("sql", saved, ".quit").out == ""
    wrong = command("sql", saved, ".tabels")
    assert (wrong.status, wrong.err.splitlines()) == (
        1,
        [
            "error[SL605] there is no command `.tabels`",
            "  help: a SELECT, the name of a query, .queries, .tables [PREFIX], .schema TABLE or .quit",
        ],
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".tables kernel\n", ["table", "kernel", "kernel_buffer"]),
        ("select count(*) as n\nfrom kernel;\nselect 7 as m;\n", ["n", "2", "m", "7"]),
        ("select 1 as a", ["a", "1"]),
        ("select ';' as a;\n.quit\nselect 2 as b", ["a", ";"]),
    ],
)
def test_standard_input_may_hold_several_queries(text: str, expected: list[str], saved: Path) -> None:
    result = python(["sql", str(saved)], input=text)
    assert [line.strip() for line in result.stdout.splitlines()][: len(expected)] == expected
    assert result.stderr == ""


def test_an_empty_standard_input_is_wrong_use(saved: Path) -> None:
    result = python(["sql", str(saved)], input=" \n")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("error[SL700] ")


def test_the_prompt_goes_on_after_a_wrong_query(
    saved: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = iter(["selec 1", ".queries", ".tables", "", "select 40 + 2 as n;", ".quit"])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(lines))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    result = command("sql", saved)
    assert result.status == 0
    assert "error[SL605]" in result.err
    assert "who-realizes" in result.out
    assert "kernel_buffer" in result.out
    assert result.out.endswith("n\n42\n")


def test_why_of_a_graph_and_of_a_saved_run_is_one_text(graph: Path, saved: Path, command: Command) -> None:
    first, second = (
        command("why", graph, 'base_realize("largest")'),
        command("why", saved, "base_realize(n2)"),
    )
    assert first.status == second.status == 0
    assert first.out == second.out
    lines = first.out.splitlines()
    assert lines[0] == "n2 reduce_axis float32[4,1] (largest)"
    assert lines[1] == "base_realize(n2)"
    assert lines[2].startswith("`- classic/expanded#1  classic/realize.dl:")
    assert lines[2].endswith('"a view shows more elements than n2 has"')
    assert any(line.startswith("   |- viewed(n2, v") for line in lines)
    assert any(line.endswith("   of the graph") for line in lines)


def test_why_stops_at_the_depth(graph: Path, command: Command) -> None:
    assert "more to open: --depth 5" in command("why", graph, "stored(n2)", "--depth", "1").out


def test_why_as_json_is_one_flat_list(graph: Path, command: Command) -> None:
    found = command("why", graph, "base_realize(n2)", "--json").json
    assert found["fact"] == found["steps"][0]["fact"] == "base_realize(n2)"
    assert found["steps"][0]["rule"] == "classic/expanded"
    proved = {step["fact"] for step in found["steps"]}
    assert {p["text"] for step in found["steps"] for p in step["premises"] if p["kind"] == "fact"} <= proved


def test_devices_and_rules_are_listed(command: Command) -> None:
    assert any(line.split()[:2] == ["numpy", "available"] for line in command("devices").out.splitlines())
    assert {"name", "available", "reason", "default"} == set(command("devices", "--json").json[0])
    rules = {rule["id"]: rule for rule in command("rules", "--json").json}
    assert rules["core/store-copy"]["clauses"] == 2
    assert rules["core/store-copy"]["file"] == "core/kernel.dl"
    assert "core/store-copy" in command("rules").out


def test_public_names(graph: Path) -> None:
    import schedulog

    assert sorted(schedulog.__all__) == dir(schedulog)
    for name in schedulog.__all__:
        assert not isinstance(getattr(schedulog, name), ModuleType), name
    assert schedulog.schedule(schedulog.load(graph)).sql("select count(*) from kernel") == [(2,)]
    with pytest.raises(AttributeError, match="no attribute 'loda'"):
        _ = schedulog.loda


def test_version(command: Command) -> None:
    assert command("--version").out.startswith("schedulog ")


def bad_rules(folder: Path) -> list[str]:
    (folder / "bad.dl").write_text("realize(N) :- nothing_like_it(N).\n", encoding="utf-8")
    return ["run", str(folder / "rows.json"), "--rules", str(folder / "bad.dl")]


def truncated_graph(folder: Path) -> list[str]:
    text = (folder / "rows.json").read_text(encoding="utf-8")
    (folder / "half.json").write_text(text[: len(text) // 2], encoding="utf-8")
    return ["run", str(folder / "half.json")]


def binary_graph(folder: Path) -> list[str]:
    (folder / "binary.json").write_bytes(b"\xff\xfe\x00")
    return ["run", str(folder / "binary.json")]


def corrupt_onnx(folder: Path) -> list[str]:
    (folder / "bad.onnx").write_bytes(b"no protobuf at all")
    return ["run", str(folder / "bad.onnx")]


def truncated_record(folder: Path) -> list[str]:
    content = gzip.compress(b'{"graph": []}\n' * 5000)
    (folder / "calls.jsonl.gz").write_bytes(content[: len(content) // 2])
    return ["run", f"{folder}/calls.jsonl.gz#4999"]


def strange_record(folder: Path) -> list[str]:
    (folder / "calls.jsonl").write_text('{"graph": [{"op": "ADD"}]}\n', encoding="utf-8")
    return ["run", f"{folder}/calls.jsonl"]


def misshapen_input(folder: Path) -> list[str]:
    np.save(folder / "small.npy", np.zeros((4, 7), np.float32))
    return ["run", str(folder / "rows.json"), "--input", f"x={folder}/small.npy"]


def corrupt_input(folder: Path) -> list[str]:
    (folder / "bad.npy").write_bytes(b"no array")
    return ["run", str(folder / "rows.json"), "--input", f"x={folder}/bad.npy"]


def unknown_input(folder: Path) -> list[str]:
    np.save(folder / "y.npy", np.zeros((4, 8), np.float32))
    return ["run", str(folder / "rows.json"), "--random", "0", "--input", f"y={folder}/y.npy"]


def with_graph(*arguments: str) -> Callable[[Path], list[str]]:
    return lambda folder: [arguments[0], str(folder / "rows.json"), *arguments[1:]]


def no_database(folder: Path) -> list[str]:
    (folder / "text.db").write_text("this is no database" * 99, encoding="utf-8")
    return ["sql", str(folder / "text.db"), "kernels"]


def over_the_model(folder: Path) -> list[str]:
    return ["run", str(folder / "rows.json"), "--no-execute", "--save", str(folder / "rows.json")]


def empty_folder(folder: Path) -> list[str]:
    (folder / "rules").mkdir(exist_ok=True)
    return ["run", str(folder / "rows.json"), "--rules", f"{folder}/rules"]


BAD = [
    (bad_rules, "SL101", 1),
    (truncated_graph, "SL230", 1),
    (binary_graph, "SL260", 1),
    (corrupt_onnx, "SL241", 1),
    (truncated_record, "SL260", 1),
    (strange_record, "SL263", 1),
    (misshapen_input, "SL531", 1),
    (corrupt_input, "SL533", 1),
    (unknown_input, "SL532", 1),
    (no_database, "SL602", 1),
    (with_graph("run"), "SL530", 1),
    (with_graph("run", "--random", "0", "--device", "abacus"), "SL500", 1),
    (with_graph("run", "--rules", "klassik"), "SL108", 1),
    (with_graph("run", "--dim", "N=1"), "SL264", 1),
    (with_graph("why", "realize(n1)"), "SL714", 1),
    (with_graph("why", "realise(n2)"), "SL711", 1),
    (with_graph("run", "--engine", "prolog"), "SL703", 2),
    (with_graph("run", "--set", "FUSE_ARANG=1"), "SL706", 2),
    (with_graph("why", "realize(n2)", "--set", "FUSE_ARANG=1"), "SL706", 2),
    (with_graph("run", "--set", "FUSE_ARANGE"), "SL700", 2),
    (with_graph("run", "--set", "FUSE_ARANGE=yes"), "SL700", 2),
    (with_graph("run", "--no-such-option"), "SL700", 2),
    (with_graph("run", "--random", "-1"), "SL700", 2),
    (with_graph("run", "--random", "one"), "SL700", 2),
    (with_graph("run", "--dim", "N=-1"), "SL700", 2),
    (with_graph("run", "--dim", "N=all"), "SL700", 2),
    (with_graph("run", "--shape", "x=1,-3"), "SL700", 2),
    (with_graph("run", "--shape", "x"), "SL700", 2),
    (with_graph("run", "--shape", "x=2"), "SL264", 1),
    (with_graph("run", "--const", "x=one"), "SL700", 2),
    (with_graph("run", "--const", "x=none.npy"), "SL533", 1),
    (with_graph("run", "--append"), "SL700", 2),
    (with_graph("run", "--label", "mine"), "SL700", 2),
    (with_graph("run", "--set", "kernel_nodes=0"), "SL731", 2),
    (with_graph("run", "--set", "kernel_nodes=-1"), "SL731", 2),
    (with_graph("run", "--set", f"kernel_nodes={10**30}"), "SL731", 2),
    (over_the_model, "SL613", 1),
    (empty_folder, "SL107", 1),
    (lambda folder: ["run", f"{folder}/none.onnx"], "SL260", 1),
    (lambda folder: ["run", f"{folder}/rows.txt"], "SL261", 1),
    (lambda folder: ["why", f"{folder}/none.db", "realize(n2)"], "SL601", 1),
    (lambda folder: ["fly"], "SL700", 2),
    (lambda folder: ["run"], "SL700", 2),
]


@pytest.mark.parametrize(
    ("make", "code", "status"), BAD, ids=[f"{code}-{i}" for i, (_, code, _) in enumerate(BAD)]
)
def test_bad_input_is_one_clear_error(
    make: Callable[[Path], list[str]], code: str, status: int, graph: Path, command: Command
) -> None:
    arguments = make(graph.parent)
    result = command(*arguments)
    assert result.status == status
    assert result.err.startswith(f"error[{code}] ")
    assert "Traceback" not in result.err
    as_json = command(*arguments, "--json")
    assert as_json.status == status
    assert as_json.json["error"]["code"] == code
    assert as_json.err == ""


def test_all_mistakes_of_a_rule_file_are_told(graph: Path, command: Command) -> None:
    bad = graph.parent / "bad.dl"
    bad.write_text("realize(N) :- nothing_like_it(N).\nrealize(N, M) :- op(N, M).\n", encoding="utf-8")
    found = command("run", graph, "--rules", bad, "--json").json["error"]
    assert (found["code"], found["line"], [other["code"] for other in found["others"]]) == (
        "SL101",
        1,
        ["SL102"],
    )


def test_decisions_are_saved_although_inputs_are_missing(graph: Path, command: Command) -> None:
    path = graph.parent / "run.db"
    assert command("run", graph, "--save", path).status == 1
    assert command("sql", path, "select count(*) as n from kernel").out == "n\n2\n"


def test_a_full_disk_is_told(graph: Path, saved: Path, command: Command) -> None:
    before, (soft, hard) = saved.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        result = command("run", graph, "--no-execute", "--save", saved)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert result.status == 1
    assert result.err.startswith("error[SL604] cannot write ")
    assert saved.read_bytes() == before


def test_a_limit_can_be_set(graph: Path, command: Command) -> None:
    result = command("run", graph, "--no-execute", "--json", "--set", "kernel_nodes=1")
    assert result.json["options"] == {"verify": 1, "kernel_nodes": 1}


def test_without_a_compiler_numpy_runs_and_says_so(
    graph: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    result = command("run", graph, "--random", "0")
    assert result.status == 0
    assert result.err == (
        "running on numpy, the slow reference: no C compiler was found (tried cc, gcc, clang); "
        "install gcc or clang, or set CC\n"
    )
    assert " on numpy" in result.out


def test_a_bug_is_called_one(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("schedulog.runtimes.devices", broken)
    result = command("devices")
    assert result.status == 3
    assert result.err.startswith("error[SL900] KeyError: 'a bug'\n")
    assert "Traceback" not in result.err
    monkeypatch.setenv("SCHEDULOG_DEBUG", "1")
    assert "Traceback" in command("devices").err


def python(arguments: list[str], input: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "schedulog", *arguments], cwd=ROOT, input=input, text=True,
        capture_output=True, check=False,
    )  # fmt: skip


CHILD = """
import os, sys, time
import schedulog.cli.app
from schedulog.__main__ import main
def slow(*_):
    print("ready", flush=True)
    time.sleep(60)
if sys.argv[1] == "run":
    import schedulog.scheduler.record.database as database
    database.relation_rows = slow
else:
    print("ready", flush=True)
sys.exit(main(sys.argv[1:]))
"""


def interrupted(arguments: list[str]) -> int:
    """Start a child, send it Ctrl-C once it is busy, and give its exit status."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, *arguments],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    while "ready" not in child.stdout.readline():
        assert child.poll() is None
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=30)
    assert "Traceback" not in err
    return child.returncode


def test_ctrl_c_while_saving_leaves_the_old_file(graph: Path, saved: Path) -> None:
    before, files = saved.read_bytes(), sorted(os.listdir(saved.parent))
    assert interrupted(["run", str(graph), "--no-execute", "--save", str(saved)]) == 130
    assert saved.read_bytes() == before
    assert sorted(os.listdir(saved.parent)) == files


ENDLESS = """
.decl pair(a: int, b: int)
pair(A, B) :- position(_, A), position(_, B).
.decl many(a: int)
many(A) :- pair(A, B), pair(B, C), pair(C, D), pair(D, E), pair(E, F), pair(F, G), pair(G, H), A + H < 0.
"""


def test_ctrl_c_ends_a_rule_without_end(tmp_path: Path) -> None:
    (tmp_path / "endless.dl").write_text(ENDLESS, encoding="utf-8")
    x = build.buffer(Buffer(4, float32, name="x"), (4,))
    for _ in range(60):
        x = build.alu(Op.ADD, x, x)
    (tmp_path / "g.json").write_text(write_graph(graph_of([x])), encoding="utf-8")
    arguments = ["why", str(tmp_path / "g.json"), "computed(n1)", "--rules", "classic", "--rules"]
    assert interrupted([*arguments, str(tmp_path / "endless.dl")]) == 130


HIT = """
import os, signal, sys
class Hit:
    def find_spec(self, name, path, target=None):
        if name == sys.argv[-1]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Hit())
from schedulog.__main__ import main
sys.exit(main(sys.argv[1:-1]))
"""


@pytest.mark.parametrize(
    "module",
    ["schedulog.cli.app", "typer", "numpy", "schedulog.run", "sqlite3", "schedulog.facts.json_format"],
)
def test_ctrl_c_during_an_import_brings_no_traceback(module: str, graph: Path) -> None:
    arguments = [sys.executable, "-c", HIT, "run", str(graph), "--no-execute", module]
    child = subprocess.run(arguments, cwd=ROOT, text=True, capture_output=True, check=False)
    assert (child.returncode, child.stderr) == (130, "")


def test_nothing_slow_is_imported_before_ctrl_c_is_heard() -> None:
    code = "import sys, schedulog.__main__; print(*{'typing', 'json', 'dataclasses', 'typer', 're'} & sys.modules.keys())"
    child = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, text=True, capture_output=True, check=True
    )
    assert child.stdout == "\n"


def test_ctrl_c_ends_a_query_without_end(saved: Path) -> None:
    endless = "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t"
    assert interrupted(["sql", str(saved), endless]) == 130


def test_a_closed_pipe_is_no_bug(saved: Path) -> None:
    many = "with recursive t(n) as (select 1 union all select n + 1 from t limit 200000) select n from t"
    child = subprocess.Popen(
        [sys.executable, "-m", "schedulog", "sql", str(saved), many], cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None and child.stderr is not None
    child.stdout.readline()
    child.stdout.close()
    assert child.stderr.read() == b""
    assert child.wait(30) == 141


@pytest.fixture
def onnx_model(tmp_path: Path) -> Path:
    onnx = pytest.importorskip(
        "onnx", reason="the onnx package is not installed: pip install schedulog[onnx]"
    )
    helper = onnx.helper
    made = helper.make_graph(
        [helper.make_node("Mul", ["x", "k"], ["y"])],
        "scaled",
        [helper.make_tensor_value_info("x", 1, ["batch", 3]), helper.make_tensor_value_info("k", 1, [])],
        [helper.make_tensor_value_info("y", 1, None)],
    )
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_a_size_that_the_file_leaves_open_is_told(onnx_model: Path, command: Command) -> None:
    note = "note: the file leaves the size batch open; it is taken as 1 (--dim batch=... sets it)\n"
    assert command("run", onnx_model, "--no-execute").err == note
    assert command("run", onnx_model, "--no-execute", "--dim", "batch=4").err == ""
    assert command("why", onnx_model, "memory(_)").err == note
    as_json = command("run", onnx_model, "--no-execute", "--json")
    assert (as_json.err, as_json.json["graph"]["assumed"]) == ("", {"batch": 1})
    bound = command("run", onnx_model, "--no-execute", "--json", "--shape", "x=4,3").json
    assert (bound["graph"]["assumed"], bound["kernels"][0]["shape"]) == ({}, "[4,3]")


def test_an_input_is_fixed_to_a_number_or_a_file(onnx_model: Path, tmp_path: Path, command: Command) -> None:
    np.save(tmp_path / "k.npy", np.float32(0.5))
    for value in ("0.5", f"{tmp_path}/k.npy"):
        found = command("run", onnx_model, "--random", "0", "--const", f"k={value}", "--json").json
        assert found["graph"]["inputs"] == ["x"]
        assert found["outputs"]["y"]["shape"] == [1, 3]
    refused = command("run", onnx_model, "--const", "k=1,2")
    assert refused.err.startswith("error[SL242] input `k` cannot be this ")


def test_a_picture_is_not_written_over_its_graph(graph: Path, command: Command) -> None:
    before = graph.read_bytes()
    result = command("graph", graph, "-o", graph)
    assert (result.status, result.err.splitlines()[0]) == (1, f"error[SL720] cannot write {graph}")
    assert graph.read_bytes() == before


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_output_that_cannot_be_written_is_told(as_json: list[str], unbuffered: str, graph: Path) -> None:
    """On stderr also with --json: there is no other place for it."""
    command = [sys.executable, "-m", "schedulog", "run", str(graph), "--no-execute", *as_json]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        child = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert child.returncode == 1
    assert child.stderr == (
        "error[SL719] the output cannot be written\n  at standard output\n  why: No space left on device\n"
        "  help: make room, or send it to another place\n"
    )


def test_an_error_that_json_output_does_not_take_is_told_beside(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "schedulog", "sql", str(tmp_path / "none.db"), ".tables", "--json"]
    with open("/dev/full", "w") as full:
        child = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert child.returncode == 1 and child.stderr.startswith("error[SL601]") and "Errno" not in child.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_is_one_that_nobody_wants(closed: str, graph: Path, tmp_path: Path) -> None:
    saved = tmp_path / "run.db"
    command = f"{sys.executable} -m schedulog run {graph} --no-execute --save {saved} {closed}"
    child = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (child.returncode, child.stderr) == (0, "") and saved.read_bytes().startswith(b"SQLite format 3")


def test_characters_that_an_output_cannot_encode_are_written_by_their_number(tmp_path: Path) -> None:
    x = build.buffer(Buffer(4, float32, name="x"), (4,))
    path = tmp_path / "g.json"
    path.write_text(write_graph(graph_of([build.alu(Op.ADD, x, x)], name="\u2192 \xe9")), encoding="utf-8")
    command = [sys.executable, "-m", "schedulog", "run", str(path), "--no-execute"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}

    def output(*options: str) -> str:
        child = subprocess.run(
            [*command, *options], cwd=ROOT, env=environment, capture_output=True, check=True
        )
        return child.stdout.decode("latin-1")

    assert output().startswith("\\u2192 \xe9: 3 nodes")
    assert json.loads(output("--json"))["graph"]["name"] == "\u2192 \xe9"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_command_that_is_asked_to_end_leaves_no_compiler(
    number: int, status: int, graph: Path, tmp_path: Path
) -> None:
    pid, compiler = tmp_path / "pid", tmp_path / "cc"
    compiler.write_text(
        f'#!/bin/sh\ncase "$*" in *--version*) echo fake;; *probe*) exec cc "$@";; *) echo $$ > {pid}; sleep 60;; esac\n'
    )
    compiler.chmod(0o755)
    environment = {**os.environ, "CC": str(compiler), "SCHEDULOG_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "schedulog", "run", str(graph), "--random", "0", "--device", "c"]
    child = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not pid.exists() or not pid.read_text().strip():
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.02)
    child.send_signal(number)
    _, said = child.communicate(timeout=30)
    assert (child.returncode, said) == (status, b"")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert not list((tmp_path / "cache").glob("*build-*"))


def test_names_of_a_graph_do_not_reach_the_terminal_as_orders(tmp_path: Path, command: Command) -> None:
    memory = Buffer(4, float32, name="x")
    x = build.buffer(memory, (4,))
    path = tmp_path / "g.json"
    total = build.alu(Op.ADD, x, x, label="a\x1b[2J\nb")
    graph = graph_of([total], name="\x1b[31m\nred", outputs=["\x1b]0;title\x07"], inputs={"x": memory})
    path.write_text(write_graph(graph), encoding="utf-8")
    said = command("run", path, "--random", "0").out + command("why", path, "stored(n1)").out
    assert "\x1b" not in said and "\x07" not in said
    assert "\\x1b[31m red: " in said and "\\x1b]0;title\\x07" in said and "(a\\x1b[2J b)" in said
