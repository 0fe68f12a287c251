"""Rules in pyDatalog's spelling: what is read, what is refused and in which words, as files, texts and functions."""

from __future__ import annotations

import io
import linecache
import os
import runpy
import subprocess
import sys
import types
from pathlib import Path

import pytest

import schedulog
from schedulog.__main__ import main
from schedulog.errors import Place, RuleError, SchedulogError
from schedulog.facts.notation import read_notation
from schedulog.lsp.document import Document
from schedulog.rule_function import datalog_rules
from schedulog.scheduler.engines.sqlite import compile_program
from schedulog.scheduler.language.load import link, load_program
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.language.pydatalog.read import parse_pydatalog
from schedulog.scheduler.language.rule_text import format_rule
from schedulog.scheduler.language.spelling import format_file
from schedulog.scheduler.record.program_text import read_program, write_program

ROOT = Path(__file__).parent.parent
BAD = Path(__file__).parent / "bad" / "pydatalog"
EDGES = "#.decl edge(n: node, user: node)\n#.input edge\n#.decl size(n: node -> s: int)\n#.input size\n"
ROWS = {"edge": [(1, 2), (1, 3), (2, 3)], "size": [(1, 4), (2, 6), (3, 6)]}


def program(text: str) -> Program:
    return link([parse_pydatalog(text, "t.pydl", "t")])


def clauses(text: str) -> list[str]:
    return [format_rule(rule) for rule in parse_pydatalog(text, "t.pydl", "t").rules]


def rows(text: str, relation: str) -> list[tuple[int, ...]]:
    return sorted(compile_program(program(EDGES + text)).evaluate(ROWS, {}).rows(relation))


@pytest.mark.parametrize("name", sorted(path.stem for path in BAD.glob("*.pydl")))
def test_the_exact_text_of_every_mistake(name: str) -> None:
    path = BAD / f"{name}.pydl"
    with pytest.raises(RuleError) as caught:
        link([parse_pydatalog(path.read_text(encoding="utf-8"), path.name, "bad")])
    assert f"{caught.value}\n" == path.with_suffix(".txt").read_text(encoding="utf-8")


def test_five_mistakes_give_five_messages_in_order() -> None:
    text = EDGES + (
        "#.decl p(n: node)\n"
        "p(X) <= (edge(X, Y)\n"
        "p(X) <= edge(X, _), size(X, 1)\n"
        "p(X) <= egde(X, _)\n"
        "p(X) <= ~edge(X, _)\n"
        "p(X) <= size(X, S) & S == 1\n"
    )
    with pytest.raises(RuleError) as caught:
        program(text)
    found = [(e.code, e.where) for e in (caught.value, *caught.value.others)]
    told = [(code, where.line, where.column) for code, where in found if isinstance(where, Place)]
    assert told == [("SL100", 6, 9), ("SL134", 7, 21), ("SL101", 8, 9), ("SL110", 9, 15), ("SL134", 10, 22)]


def test_every_construct() -> None:
    text = (
        "p(X, 'it\\'s') <= q(X, _) & ~r(X, _2) & (X != 3) & (Y == X // 2 + f(X, -1) % 3)\n"
        'p(X, "b") <= (q(X, Y) &  # both\n     (Y not in (1, 2)) & (X in (4, "a")))\n'
        "+p(-0x10, 1_000); +open_('\\u00e9')\n"
        "p(X, Y) <= (X == 1) & (Y == +X - -1)\n"
    )
    assert clauses(text) == [
        'p(X, "it\'s") :- q(X, _), not r(X, _), X != 3, Y = X / 2 + @f(X, -1) \\ 3.',
        'p(X, "b") :- q(X, Y), Y != 1, Y != 2, X = 4.',
        'p(X, "b") :- q(X, Y), Y != 1, Y != 2, X = "a".',
        "p(-16, 1000).",
        'open("é").',
        "p(X, Y) :- X = 1, Y = X - -1.",
    ]


def test_places_are_counted_in_characters() -> None:
    (error,) = parse_pydatalog("+p('é', 'ü', x)", "t.pydl", "t").errors
    assert isinstance(error.where, Place) and (error.where.column, error.where.width) == (14, 1)


AGGREGATES = [
    ("(f[N] == len_(U)) <= edge(N, U)", [(1, 2), (2, 1)]),
    ("(f[N] == len_(U)) <= size(N, 6) & edge(N, U)", [(2, 1)]),
    ("(f[N] == len_(U)) <= some(N) & edge(N, U)\n#.decl some(n: node)\nsome(N) <= size(N, _)", [(1, 2), (2, 1)]),
    ("(f[N] == sum_(S, for_each=U)) <= edge(N, U) & size(U, S)", [(1, 12), (2, 6)]),
    ("(f[N] == sum_(S, for_each=S)) <= edge(N, U) & size(U, S)", [(1, 6), (2, 6)]),
    ("(f[N] == min_(S, order_by=S)) <= edge(N, U) & size(U, S)", [(1, 6), (2, 6)]),
    ("(f[N] == max_(S, order_by=(S, U))) <= edge(U, N) & size(U, S)", [(2, 4), (3, 6)]),
    ("(f[N] == sum_(_one, for_each=(U, S))) <= edge(N, U) & size(U, S) & (_one == 1)", [(1, 2), (2, 1)]),
    ("(f[N] == len_(U)) <= edge(N, U)\n(f[N] == 0) <= size(N, _) & ~edge(N, _2)", [(1, 2), (2, 1), (3, 0)]),
    (("#.aggregate g\n(g[N] == len_(U)) <= edge(N, U)\n(g[N] == 0) <= ~edge(N, U)\n"
      "f(N, C) <= size(N, _) & (g[N] == C)"), [(1, 2), (2, 1), (3, 0)]),
    (("#.aggregate g\n(g[N] == min_(S, order_by=S)) <= edge(N, U) & size(U, S)\n"
      "f(N, U) <= size(N, U) & (g[N] == 6)"), [(1, 4), (2, 6)]),
    (("#.aggregate g\n(g[()] == len_(U)) <= edge(N, U)\n(g[()] == 0) <= ~edge(N, U)\n"
      "f(N, U) <= size(N, _) & (g[()] == U)"), [(1, 2), (2, 2), (3, 2)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), AGGREGATES)
def test_aggregates(text: str, expected: list[tuple[int, ...]]) -> None:
    assert rows(f"#.decl f(n: node -> v: int)\n{text}\n", "f") == expected


def test_a_rule_that_depends_on_its_own_refusal() -> None:
    rules = program(EDGES + "#.decl p(n: node)\np(N) <= (size(N, _) &\n         ~p(N))\n")
    with pytest.raises(SchedulogError) as caught:
        compile_program(rules).evaluate(ROWS, {})
    assert caught.value.code == "SL120" and "t.pydl:6:1" in str(caught.value)


def test_what_a_file_says_besides_rules() -> None:
    text = (
        "#! pack: my\n\n# .decl wide(n: node)   # formatters of Python put a blank there\n"
        "#! id: my/wide    #! kind: realize   title: \"a  b: c #! d: e\"\n#! allow: SL150\n"
        "wide(N) <= (size(N,\n    S))\n# ? test \"one\"   graph: x\n#?   holds wide(x).\n## .input wide\n"
    )  # fmt: skip
    read = parse_pydatalog(text, "t.pydl", "t")
    (info,) = read.headers
    assert not read.errors and read.pack == "my" and read.relations[0].doc.startswith("formatters")
    assert (info.id, info.kind, info.title) == ("my/wide", "realize", "a  b: c #! d: e")
    assert [(t.title, t.text, t.place.line) for t in info.tests] == [
        ("one", ' test "one"   graph: x\n   holds wide(x).', 8)
    ]
    # The warning stands on the second line of the rule, and its header accepts it.
    checked = link([parse_pydatalog(EDGES + text, "t.pydl", "t")])
    assert [warning.code for warning in checked.warnings] == []


def test_saved_programs_have_the_rules_in_the_one_spelling() -> None:
    before = program(
        EDGES + "#.decl p(n: node)\np(N) <= (edge(N, U) &\n   size(U, S) &\n (S in (1,\n2))\n)\n"
    )
    places = {rule.name: rule.place for rule in before.rules}
    assert read_program(write_program(before), before.sha, places).rules == before.rules
    assert [rule.text.count("\n") for rule in before.rules] == [4, 4]


def test_the_one_layout() -> None:
    text = "p ( X )<=q(X,Y)&(Y==1+2*( 3 ))  # beside\nlong(X) <= " + " & ".join(
        f"condition_{i}(X)" for i in range(9)
    )
    after = format_file(text, "t.pydl")
    assert after == (
        "p(X) <= q(X, Y) & (Y == 1 + 2 * 3)  # beside\n"
        "long(X) <= (condition_0(X) & condition_1(X) & condition_2(X) & condition_3(X) & condition_4(X) &\n"
        "            condition_5(X) & condition_6(X) & condition_7(X) & condition_8(X))\n"
    )
    assert format_file(after, "t.pydl") == after


@pytest.mark.parametrize("text", [
    f"+p({'-' * 1000}X)", f"(p[X] == len_({'-' * 1000}X)) <= q(X)",
    f"p(X) <= (Y == {'(' * 300}X{')' * 300})", f"p(X) <= (Y == {'-' * 5000}X)", f"p(X) <= {' & '.join(['q(X)'] * 20_000)}",
    f"p(X) <= {'~' * 3000}q(X)", f"+p({'9' * 5000})", "+p('\0')", f"p(X) <= (Y == {'+'.join(['X'] * 100)})",
], ids=["fact", "aggregate", "brackets", "signs", "conditions", "not", "digits", "null", "sum"])  # fmt: skip
def test_what_is_too_much_is_one_error(text: str) -> None:
    (error,) = parse_pydatalog(text + "\n+q(1)\n", "t.pydl", "t").errors
    assert error.code in ("SL100", "SL117", "SL133", "SL134")


def test_many_facts_take_their_time_only_once() -> None:
    assert len(clauses("".join(f"+p({i}, 'a')\n" for i in range(5000)))) == 5000


# Functions ------------------------------------------------------------------------------------------------------

GRAPH = read_notation("x=load f32[8,8]; s=sum x axis=1; a=neg s; b=neg a; out b", "test")


MODULE = '''"""A module of the user's."""
import schedulog

@schedulog.datalog_rules
def wide_sums(
) -> None:
    """Sums of many elements
    are stored."""
    # ! id: my/wide    # ! kind: realize
    # ! title: Store wide sums
    realize(R) <= (is_reduce(R) &  # only sums
                   size(R, S) & (S > 4))
    # ? test "not run"   graph: x=load f32[8]; out x
'''


def test_a_function_is_rules_and_is_never_called(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(MODULE, encoding="utf-8")
    wide_sums = runpy.run_path(str(file))["wide_sums"]
    run = schedulog.schedule(GRAPH, rules=["classic", wide_sums])
    assert f"[my/wide#1, {file}:11:5]" in run.why("realize(n2)").render(run.names.atom)
    assert len(run.kernels) == 2 and len(schedulog.schedule(GRAPH).kernels) == 1
    (info,) = parse_pydatalog(wide_sums.text, wide_sums.name, "t").headers
    assert (info.title, [test.place.line for test in info.tests]) == ("Store wide sums", [13])


def defined(text: str, name: str) -> types.FunctionType:
    """A function as a notebook has it: its text is known to `linecache` only."""
    file = f"<ipython-input-{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, types.FunctionType] = {}
    exec(compile(text, file, "exec"), space)  # noqa: S102
    return space[name]


def test_mistakes_in_a_function_have_its_places() -> None:
    bad = defined("# a cell\ndef bad():\n    realize(R) <= is_reduce(R), size(R, 1)\n", "bad")
    with pytest.raises(RuleError) as caught:
        datalog_rules(bad)
    assert str(caught.value).splitlines()[:2] == [
        "error[SL134] a comma between conditions",
        "  at <ipython-input-bad>.py:3:33",
    ]
    fine = datalog_rules(defined("@(lambda f: f)\ndef fine(): +p(1); +p(2)\n", "fine"))
    assert [format_rule(rule) for rule in parse_pydatalog(fine.text, fine.name, fine.pack).rules] == [
        "p(1).",
        "p(2).",
    ]
    assert fine.pack == "fine"


def test_what_is_no_function_with_rules() -> None:
    space: dict[str, types.FunctionType] = {}
    exec("def lost(): +p(1)", space)  # noqa: S102
    told = {}
    for what in (lambda: None, space["lost"], print, defined("def taking(x): +p(1)\n", "taking")):
        with pytest.raises(RuleError) as caught:
            datalog_rules(what)
        told[getattr(what, "__name__", "")] = str(caught.value).splitlines()[0]
    assert told == {
        "<lambda>": "error[SL129] a lambda has no body with rules",
        "lost": "error[SL129] the text of `lost` cannot be found",
        "print": "error[SL129] `<built-in function print>` has no body with rules",
        "taking": "error[SL129] `taking` is no plain function without parameters",
    }


def test_rules_as_text() -> None:
    text = datalog_rules("realize(N) <= is_reduce(N)\n")
    assert len(schedulog.schedule(GRAPH, rules=["classic", text]).kernels) == 2


# Files ----------------------------------------------------------------------------------------------------------

RULES = """#! id: my/sums    #! kind: realize    #! status: experimental
#! title: Store every sum
realize(N) <= is_reduce(N)
#? test "a sum"   graph: x=load f32[8,8]; s=sum x axis=1; n=neg s; out n
#?   set realize == {s}.   kernels == 2.
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = main(list(map(str, arguments)))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_files_in_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sums.pydl"
    file.write_text(RULES, encoding="utf-8")
    assert run(capsys, "check", file) == (0, "no findings\n", "")
    status, out, _ = run(capsys, "test", file, "--engine", "sqlite")
    assert status == 0 and out.endswith("1 test, 5 checks, 0 failures (sqlite)\n")
    assert run(capsys, "fmt", tmp_path, "--check")[:2] == (0, "0 files would change, 1 as they should be\n")
    assert load_program([tmp_path]).infos["my/sums"].title == "Store every sum"
    assert len(schedulog.schedule(GRAPH, rules=["classic", file]).kernels) == 2
    (tmp_path / "sums_test.dl").write_text(
        'test "no"  graph: x=load f32[8]; out x\n  count realize == 1.\n', "utf-8"
    )
    status, out, _ = run(capsys, "test", file, "--engine", "sqlite")
    assert status == 1 and 'error[SL163] "no" fails on sqlite' in out


def test_translation_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = tmp_path / "sums.pydl", tmp_path / "sums.dl"
    file.write_text(RULES, encoding="utf-8")
    datalog = RULES.replace("#", "%").replace("realize(N) <= is_reduce(N)", "realize(N) :- is_reduce(N).")
    assert run(capsys, "fmt", "--to", "datalog", file) == (0, datalog, "")
    assert run(capsys, "fmt", "--to", "datalog", file, "-o", other) == (
        0,
        f"{other.as_posix()} written\n",
        "",
    )
    assert other.read_text(encoding="utf-8") == datalog
    assert run(capsys, "fmt", "--to", "pydatalog", other) == (0, RULES, "")
    status, out, err = run(capsys, "fmt", "--to", "datalog", file, "-o", other)
    assert (status, out) == (2, "") and err.startswith(f"error[SL709] {other} exists already\n")
    assert run(capsys, "fmt", "--to", "pydatalog", tmp_path)[0] == 2
    assert run(capsys, "fmt", "--to", "pydatalog", tmp_path, "-o", tmp_path / "new")[0] == 2
    assert not (tmp_path / "new").exists()
    other.rename(tmp_path / "more.dl")
    assert run(capsys, "fmt", "--to", "pydatalog", tmp_path, "-o", tmp_path / "new")[0] == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["more.pydl", "sums.pydl"]
    assert run(capsys, "fmt", "--to", "prolog", file)[0] == 2 and run(capsys, "fmt", file, "-o", "x")[0] == 2
    monkeypatch.setattr("sys.stdin", io.StringIO("p(1)."))
    assert run(capsys, "fmt", "--to", "pydatalog", "-") == (0, "+p(1)\n", "")


def test_a_new_rule_in_this_spelling(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "new", "realize", "wide", "--spelling", "pydatalog")[0] == 0
    assert run(capsys, "check", "schedulog_rules")[:2] == (0, "no findings\n")
    assert "realize(N) <= is_reduce(N)\n" in Path("schedulog_rules/wide.pydl").read_text(encoding="utf-8")
    assert run(capsys, "new", "realize", "wide", "--spelling", "prolog")[0] == 2


def test_pytest_collects_them(tmp_path: Path) -> None:
    (tmp_path / "sums.pydl").write_text(RULES, encoding="utf-8")
    (tmp_path / "none.pydl").write_text("realize(N) <= is_reduce(N)\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "schedulog.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "-q",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100
    )
    assert "1 passed" in done.stdout and done.returncode == 0


def test_the_module_is_read_without_running_it(tmp_path: Path) -> None:
    sys.modules.pop("never_imported", None)
    with pytest.raises(RuleError) as caught:
        parsed = parse_pydatalog("import never_imported\nprint(1)\n", "t.pydl", "t")
        raise parsed.errors[0]
    assert caught.value.code == "SL133" and "never_imported" not in sys.modules


def test_in_the_editor(tmp_path: Path) -> None:
    text = (
        "#.decl far(n: node)\n# Far away.\n#! id: my/far    #! kind: helper\n"
        "far(N) <= is_reduce(N) & ~input_(_, N)\nfar(N) <= cutt(N)\n#.in\n#! ki\n"
    )
    document = Document(tmp_path / "x.pydl", text)
    assert [(f.code, f.message) for f in document.findings()] == [
        ("SL101", "unknown relation `cutt`"),
        ("SL100", "unknown directive `.in`"),
        ("SL118", "a header line holds `key: value` pairs"),
    ]
    assert "reads the stored value" in document.hover(3, 28) and "Far away" in document.hover(4, 1)
    assert [place.line for place in document.references(3, 1)] == [4, 5]
    labels = {
        place: {p.label for p in document.completions(*place)} for place in ((3, 10), (5, 4), (6, 5), (1, 5))
    }
    assert {"is_reduce", "input_", "compose"} <= labels[3, 10] and "input" not in labels[3, 10]
    assert ".input" in labels[5, 4] and "kind" in labels[6, 5] and not labels[1, 5]


SIGNS = [
    ("p(X) <= q(X) & not r(X)", "`not` before a condition", "write `~`: `~second(X)`"),
    ("p(X) = q(X)", "`=` assigns in Python", "compare and compute with `==`: `(Y == X + 1)`"),
    ("(p[X] == len(U)) <= e(X, U)", "`len` is a name of Python or pyDatalog itself",
     "the aggregate is `len_`; a relation `len` would be `len__`"),
    ("\n\np(X) <= (q(X)\n  & r(X)])", "this is not Python: closing parenthesis ']' does not match opening parenthesis '('",
     None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "help"), SIGNS, ids=[text.strip() for text, *_ in SIGNS])
def test_messages_name_what_was_written(text: str, message: str, help: str | None) -> None:
    with pytest.raises(RuleError) as caught:
        schedulog.datalog_rules(text)
    assert caught.value.message == message
    assert help is None or caught.value.help == help
