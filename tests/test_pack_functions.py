"""The functions of packs: looked at without running them, run where a pack is named, and given values only."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from schedulog import Tensor, schedule
from schedulog.__main__ import main
from schedulog.errors import Place, RuleError, ScheduleError, UsageError
from schedulog.lsp.document import Document
from schedulog.scheduler.language.load import examine, load_program
from schedulog.scheduler.record.database import open_database, saved_decisions
from schedulog.scheduler.rule_tests import run_rule_tests
from schedulog.scheduler.schedule import ENGINES, Scheduler, engines

RULES = """.function wide(size: int) -> int
% 1 if so many elements are many.
.type family
.function family(d: dtype) -> family
% The family of a dtype.
.function area(v: view, name: str) -> int
% Elements that a view shows.
.decl kind(n: node -> f: family)
% The family of the dtype of n.
kind(N, F) :- computed(N), dtype(N, D), F = @family(D).
.decl area(n: node -> a: int)
% The elements of n, counted by a function.
area(N, A) :- whole(N, V), A = @area(V, "x").
%! id: mine/wide-sums    %! kind: realize    %! title: Wide sums are stored
realize(N) :- is_reduce(N), size(N, S), @wide(S) = 1.
%? test "values of every type"   graph: x=load f32[64,8]; s=sum x axis=1; n=neg s; out n
%?   holds realize(s).   set kind == {(s, "small"), (n, "small")}.   holds area(s, 64).   result ~ numpy.
%? test "a narrow sum"   graph: x=load f64[8,8]; s=sum x axis=1; n=neg s; out n
%?   not realize(s).   holds kind(s, "large").
"""
CODE = """from pathlib import Path
Path("ran").touch()

def wide(size):
    return size > 32

def family(d, /, *, sizes={"float64": "large"}):
    return sizes.get(d, "small")

def area(v, *rest):
    assert rest == ("x",)
    found = 1
    for size in v.shape:
        found *= size
    return found
"""
Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.chdir(tmp_path)

    def write(code: str = CODE, rules: str = RULES, functions: str = "functions.py") -> Path:
        folder = Path("mine")
        folder.mkdir(exist_ok=True)
        text = f'name = "mine"\nversion = "1"\nfunctions = "{functions}"\n'
        (folder / "pack.toml").write_text(text, encoding="utf-8")
        (folder / "rules.dl").write_text(rules, encoding="utf-8")
        # A text runs once a process, so that of each test is its own.
        (folder / "functions.py").write_text(f"{code}# {tmp_path}\n", encoding="utf-8")
        return folder

    return write


def one(
    body: str, head: str = "def f(n):", rule: str = "out(N, V) :- size(N, S), V = @f(S)."
) -> tuple[str, str]:
    """Code and rules with one function."""
    rules = (
        f".function f(n: int) -> int\n% Some number.\n.decl out(n: node, v: int)\n% What f gives.\n{rule}\n"
    )
    return f"{head}\n    {body}\n", rules


def sums(rows: int = 64) -> Tensor:
    return Tensor(np.ones((rows, 8))).sum(axis=1) * 2


@pytest.mark.parametrize("engine", ENGINES)
def test_values_go_in_and_come_out(make: Make, engine: str) -> None:
    missing = engines()[engine]
    if missing is not None:
        pytest.skip(missing)
    found = run_rule_tests([make()], [engine], seeds=(1,))
    assert not [str(result) for result in found if not result.passed] and len(found) > 8


def test_code_runs_only_where_a_pack_is_named_and_rules_decide(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make()
    assert examine([folder]).findings == ()
    assert main(["doc", "mine/wide-sums", "--rules", "./mine"]) == 0
    assert main(["rules", "./mine"]) == 0 and main(["fmt", "--check", "mine"]) == 0
    assert Document((folder / "rules.dl").resolve(), RULES).findings() == []
    file = load_program([folder / "rules.dl"])
    assert file.code == () and not Path("ran").exists()
    with pytest.raises(UsageError) as caught:
        Scheduler(file).decide(schedule(sums()).graph)
    assert (caught.value.code, caught.value.message) == (
        "SL701",
        "functions not given: @area, @family, @wide",
    )
    assert not Path("ran").exists()
    schedule(sums(), rules=["classic", folder])
    assert Path("ran").exists()


def test_a_saved_run_is_asked_without_the_code(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make()
    run = schedule(sums(), rules=["classic", folder], capture="calls.db")
    run.save("run.db")
    assert run.sql("select arguments, result from function_value where function in ('wide', 'family')") == [
        ('["float64"]', '"large"'), ("[64]", "1"),
    ]  # fmt: skip
    (folder / "functions.py").write_text("def wide(n):\n    raise SystemExit('never')\n", encoding="utf-8")
    Path("ran").unlink()
    connection = open_database("run.db")
    again = saved_decisions(connection)
    connection.close()
    for relation in ("kind", "area", "realize"):
        assert len(again.model.rows(relation)) == len(run.decisions.model.rows(relation)) > 0
    capsys.readouterr()
    assert main(["why", "run.db", "realize(n2)"]) == 0
    assert "@wide(64) = 1" in capsys.readouterr().out and not Path("ran").exists()
    assert main(["replay", "calls.db"]) == 1
    assert capsys.readouterr().out.startswith("""call 1: graph
  error[SL701] functions not given: @area, @family, @wide
    why: they are not captured with the text of mine
    help: replay with all packs of the call, given by their paths: --rules classic --rules ./my_pack
""")
    make()
    assert main(["replay", "calls.db", "--rules", "classic", "--rules", "./mine"]) == 0
    make(CODE.replace("> 32", "> 64"))
    capsys.readouterr()
    assert main(["replay", "calls.db", "--rules", "classic", "--rules", "./mine"]) == 1
    assert "because of schedulog or a function of mine changed" in capsys.readouterr().out


@pytest.mark.parametrize("engine", ENGINES)
def test_a_function_that_raises(make: Make, engine: str) -> None:
    missing = engines()[engine]
    if missing is not None:
        pytest.skip(missing)
    folder = make(*one("return [][n]"))
    with pytest.raises(ScheduleError) as caught:
        schedule(sums(), rules=["classic", folder], engine=engine, simplify=False)
    assert caught.value.code == "SL130" and str(caught.value.where) == "mine/rules.dl:5:1"
    assert caught.value.message.startswith("rule mine/out#1: @f(")
    assert caught.value.reason.endswith("it raised IndexError: list index out of range (mine/functions.py:2)")
    assert caught.value.reason.startswith("with S = ")


WRONG = [
    ("return 'a'", "it returned 'a', which is no int"),
    ("return 1.0", "it returned 1.0, which is no int"),
    ("return 2 ** 63", "it returned 9223372036854775808, which needs more than 64 bits"),
    ("raise SystemExit(3)", "it raised SystemExit: 3 (mine/functions.py:2)"),
    ("return f(n)", "it raised RecursionError: maximum recursion depth exceeded"),
]


@pytest.mark.parametrize(("body", "reason"), WRONG, ids=[body for body, _ in WRONG])
def test_a_function_that_gives_no_value(make: Make, body: str, reason: str) -> None:
    code, rules = one(body, rule='out(N, V) :- op(N, "CONST"), V = @f(7).')
    with pytest.raises(ScheduleError) as caught:
        schedule(sums(), rules=["classic", make(code, rules)])
    assert (caught.value.code, caught.value.message) == ("SL130", "rule mine/out#1: @f(7) failed")
    assert caught.value.reason.startswith(reason)


def test_a_function_of_strings_gives_one(make: Make) -> None:
    folder = make(CODE.replace('sizes.get(d, "small")', "7"))
    with pytest.raises(ScheduleError) as caught:
        schedule(sums(), rules=["classic", folder])
    assert caught.value.reason == 'with D = "float64" it returned 7, which is no string, as a family is'
    assert caught.value.message == 'rule mine/kind#1: @family("float64") failed'


def test_a_function_that_is_not_pure_is_found_where_verify_is_set(make: Make) -> None:
    folder = make(*one("SEEN.append(n)\n    return len(SEEN)", head="SEEN = []\ndef f(n):"))
    schedule(sums(), rules=["classic", folder])
    with pytest.raises(ScheduleError) as caught:
        schedule(sums(), rules=["classic", folder], options={"verify": 1})
    assert "and " in caught.value.reason and caught.value.reason.endswith("when it was called again")


def test_each_value_is_computed_once(make: Make) -> None:
    calls = "from pathlib import Path\ndef f(n):\n    with Path('calls').open('a') as file:\n        print(n, file=file)\n    return n\n"
    schedule(sums(), rules=["classic", make(calls, one("")[1])])
    found = Path("calls").read_text(encoding="utf-8").split()
    assert len(found) == len(set(found)) > 1


STATIC = [
    ("def g(n):\n    return 1\n", "SL126 mine/rules.dl:1:11: @f is declared, but not in mine/functions.py"),
    ("def f(n, m):\n    return 1\n", "SL126 mine/functions.py:1:1: `f` does not take 1 argument"),
    ("def f(n, *, m):\n    return 1\n", "SL126 mine/functions.py:1:1: `f` does not take 1 argument"),
    ("async def f(n):\n    return 1\n", "SL126 mine/functions.py:1:1: `f` does not take 1 argument"),
    ("f = abs\n", "SL126 mine/rules.dl:1:11: @f is declared, but not in mine/functions.py"),
    ("def f(n):\n  return (1\n", "SL126 mine/functions.py:2:10: the functions of mine are no Python"),
    ("def f(n): return 1\ndef view_size(v): return 1\n",
     "SL126 mine/functions.py:2:1: `view_size` is a function of schedulog's own"),
    ("def f(n): return 1\nx = " + "-" * 100_000 + "1\n", "SL126 mine/functions.py: the functions of mine are no Python"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), STATIC, ids=[code.split("\n")[0] for code, _ in STATIC])
def test_code_that_does_not_fit_is_found_unrun(make: Make, code: str, expected: str) -> None:
    folder = make(code, one("")[1])
    found = [f"{e.code} {e.where}: {e.message}" for e in examine([folder]).findings]
    assert found == [expected]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("f(n: node) -> int", "@f takes a node, which is a number of one graph"),
        ("f(n: int) -> view", "@f cannot make a view"),
    ],
)
def test_functions_see_no_numbers_of_a_graph(make: Make, declared: str, message: str) -> None:
    folder = make(
        one("return 1")[0],
        f'.function {declared}\n% Some number.\n.decl mark(n: node)\n% Marked.\nmark(N) :- op(N, "ADD").\n',
    )
    assert [finding.message for finding in examine([folder]).findings] == [message]


def test_lines_are_counted_as_python_counts_them(make: Make) -> None:
    code = '"""a\x0cb\x1cc\u2028d"""\ndef f(n, m):\n    return 1\n'
    (found,) = examine([make(code, one("")[1])]).findings
    assert isinstance(found.where, Place)
    assert (found.where.line, found.where.text) == (2, "def f(n, m):")


@pytest.mark.parametrize("head", ["", "from __future__ import annotations\n"])
def test_a_file_of_functions_is_a_module_like_others(make: Make, head: str) -> None:
    code = f"{head}from dataclasses import dataclass\n@dataclass\nclass Size:\n    n: int\ndef f(n):\n    return Size(n).n\n"
    run = schedule(sums(), rules=["classic", make(code, one("")[1])])
    assert sorted(run.decisions.model.rows("out")) == sorted(run.decisions.model.rows("size")) != []


def test_modules_in_a_package_that_fails_and_in_other_encodings(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make("", one("")[1], functions="bad_package.f")
    monkeypatch.syspath_prepend(Path.cwd())
    Path("bad_package").mkdir()
    Path("bad_package/__init__.py").write_text("1 / 0\n", encoding="utf-8")
    (found,) = examine([folder]).findings
    assert (found.message, found.reason) == (
        "the functions of mine cannot be read: bad_package.f", "ZeroDivisionError: division by zero"
    )  # fmt: skip
    Path("marked.py").write_bytes(b"\xef\xbb\xbfdef f(n):\r\n    return 1\r\n")
    Path("latin.py").write_bytes(b"# coding: latin-1\n# \xe9\ndef f(n):\n    return 1\n")
    for name in ("marked", "latin"):
        assert examine([make("", one("")[1], functions=name)]).findings == ()


def test_a_file_or_module_that_cannot_be_loaded(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make("import no_such_module\ndef f(n):\n    return 1\n", one("")[1])
    with pytest.raises(RuleError) as caught:
        schedule(sums(), rules=["classic", folder])
    assert str(caught.value) == (
        "error[SL126] the functions of mine cannot be loaded\n"
        "  at mine/functions.py\n"
        "  why: ModuleNotFoundError: No module named 'no_such_module' (mine/functions.py:1)\n"
        "  help: a file of functions only defines; it must load without error"
    )
    for functions, reason in (
        ("other.py", "No such file or directory"),
        ("no_such_module", "there is no module no_such_module"),
    ):
        (found,) = examine([make(functions=functions)]).findings
        assert (found.code, found.message) == ("SL126", f"the functions of mine cannot be read: {functions}")
        assert found.reason == reason
    monkeypatch.syspath_prepend(Path.cwd())
    Path("some_functions.py").write_text("def f(n):\n    return n + 1\n", encoding="utf-8")
    run = schedule(sums(), rules=["classic", make("", one("")[1], functions="some_functions")])
    assert all(value == size + 1 for (_, value), (_, size) in zip(
        sorted(run.decisions.model.rows("out")), sorted(run.decisions.model.rows("size")), strict=True
    ))  # fmt: skip


def test_what_functions_print_is_no_answer(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make(f'print("loaded")\n{CODE.replace("return size > 32", "print(size); return size > 32")}')
    assert main(["test", str(folder), "--engine", "sqlite", "--no-execute", "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["failures"] == 0
    assert captured.err.split()[:2] == ["loaded", "64"]
