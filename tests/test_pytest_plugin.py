"""The pytest plugin, seen from a project that uses it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RULES = """.decl far(n: node, size: int)
%! id: my/far    %! title: Two steps away
far(N, S) :- edge(N, U, _), op(U, "EXP"), edge(U, _, _), size(N, S).
%? test "holds"   graph: x=load f32[8]; e=exp x; f=neg e; out f   set far == {(x, 8)}.   result ~ numpy.
"""
FAILING = (
    '%? test "fails"   graph: x=load f32[8]; e=exp x; f=neg e; out f\n%?  count far == 1.   kernels == 2.\n'
)
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def pytest_in(tmp_path: Path) -> Run:
    """Runs pytest in a folder of its own, with the plugin and nothing of this project's settings."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        # Where schedulog is installed the plugin comes by itself, and naming it again changes nothing.
        command = [sys.executable, "-m", "pytest", "-p", "schedulog.pytest_plugin", "-p", "no:cacheprovider"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(
            [*command, *arguments],
            check=False,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


def test_rule_files_are_test_files(tmp_path: Path, pytest_in: Run) -> None:
    (tmp_path / "mine.dl").write_text(RULES + FAILING, encoding="utf-8")
    (tmp_path / "mine_test.dl").write_text(
        'test "beside"\n  graph: x=load f32[8]; e=exp x; f=neg e; out f\n  holds far(x, 8).\n',
        encoding="utf-8",
    )
    (tmp_path / "plain.dl").write_text("no rule and no test", encoding="utf-8")
    result = pytest_in("-v", "--schedulog-engines", "sqlite,pydatalog")
    assert result.returncode == 1
    lines = [line.split(" ")[0:2] for line in result.stdout.splitlines() if "::" in line and "[" in line]
    assert ["mine.dl::holds[sqlite]", "PASSED"] in lines
    assert ["mine.dl::fails[pydatalog]", "FAILED"] in lines
    assert ["mine_test.dl::beside[sqlite]", "PASSED"] in lines
    assert "2 failed, 4 passed" in result.stdout
    assert (
        f"{tmp_path.as_posix()}/mine.dl:6:23: kernels == 2\n    there are 1: {{{{e, f}}}}\n" in result.stdout
    )
    assert "count far" not in result.stdout.split("FAILURES")[1]
    assert "Traceback" not in result.stdout and "runtest" not in result.stdout


def test_mistakes_in_rules_end_the_collection_of_their_file(tmp_path: Path, pytest_in: Run) -> None:
    (tmp_path / "mine.dl").write_text(RULES.replace("size(N", "siez(N"), encoding="utf-8")
    result = pytest_in()
    assert result.returncode == 2
    assert "error[SL101] unknown relation `siez`" in result.stdout


def test_a_folder_that_is_a_pack(tmp_path: Path, pytest_in: Run) -> None:
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "one.dl").write_text(RULES, encoding="utf-8")
    (folder / "two.dl").write_text(
        "%! requires: classic\n.decl farther(n: node)\nfarther(N) :- far(N, _).\n"
        '%? test "two"   graph: x=load f32[8]; e=exp x; f=neg e; out f   set farther == {x}.   set realize == {f}.\n',
        encoding="utf-8",
    )
    assert pytest_in().returncode == 2
    (tmp_path / "pytest.ini").write_text("[pytest]\nschedulog_packs = rules\n", encoding="utf-8")
    assert "2 passed" in pytest_in().stdout


def test_the_fixture(tmp_path: Path, pytest_in: Run) -> None:
    (tmp_path / "mine.dl").write_text(RULES.partition("%?")[0], encoding="utf-8")
    (tmp_path / "test_mine.py").write_text(
        """import pytest
from schedulog.errors import RuleError, ScheduleError

def test_holds(schedulog_rules):
    case = schedulog_rules("mine.dl").decide("x=load f32[8]; e=exp x; f=neg e; out f", given="realize(e)")
    case.check("holds far(x, 8).  result ~ numpy.")
    assert case.rows("far") == {("x", "8")}
    assert case.kernels == [{"e"}, {"f"}]
    with pytest.raises(RuleError):
        case.rows("fur")

def test_text_and_options(schedulog_rules):
    rules = schedulog_rules("classic", ".decl far(n: node)\\nfar(N) :- realize(N), option(\\"FUSE_ARANGE\\", 1).\\n")
    graph = "x=load f32[8]; e=exp x; f=neg e; out f"
    assert rules.decide(graph).rows("far") == set()
    assert rules.decide(graph, FUSE_ARANGE=1).rows("far") == {("f",)}
    assert rules.decide(graph, FUSE_ARANGE=1).options == {"FUSE_ARANGE": 1}

def test_fails(schedulog_rules):
    schedulog_rules("mine.dl", engine="pydatalog").decide("x=load f32[8]; out x").check("count far == 1.  kernels == 1.  kernels == 0.")
""",
        encoding="utf-8",
    )
    result = pytest_in("-q")
    assert "1 failed, 2 passed" in result.stdout, result.stdout
    assert "count far == 1: there are 0: {}" in result.stdout
    assert "kernels == 1: there are 0: {}" in result.stdout
    assert "kernels == 0:" not in result.stdout


def test_the_plugin_alone_loads_nothing_of_the_package(pytest_in: Run) -> None:
    code = (
        "import schedulog.pytest_plugin, sys; print([m for m in sys.modules if m.startswith('schedulog.')])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout == "['schedulog.pytest_plugin']\n"


def test_a_file_of_a_pack_is_tested_with_its_pack(pytest_in: Run, tmp_path: Path) -> None:
    pack = tmp_path / "mine"
    (pack / "tests").mkdir(parents=True)
    (pack / "pack.toml").write_text(
        'name = "my"\nversion = "1"\nrequires = ["classic"]\nfunctions = "f.py"\n', encoding="utf-8"
    )
    (pack / "f.py").write_text("def two(n):\n    return 2 * n\n", encoding="utf-8")
    (pack / "far.dl").write_text(RULES, encoding="utf-8")
    double = ".function two(n: int) -> int\n.decl double(n: node, d: int)\ndouble(N, D) :- far(N, S), D = @two(S).\n"
    (pack / "double.dl").write_text(double, encoding="utf-8")
    (pack / "tests" / "double_test.dl").write_text(
        'test "twice"   graph: x=load f32[8]; e=exp x; f=neg e; out f\n  set double == {(x, 16)}.\n',
        encoding="utf-8",
    )
    result = pytest_in("mine/tests/double_test.dl", "mine/far.dl")
    assert result.returncode == 0 and "2 passed" in result.stdout, result.stdout
