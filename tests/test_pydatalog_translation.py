"""Rule files in pyDatalog's spelling and back: nothing is lost, and pyDatalog itself takes what is written."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedulog.errors import RuleError
from schedulog.facts.notation import read_notation
from schedulog.rules import pack_names
from schedulog.scheduler.engines.sqlite import compile_program
from schedulog.scheduler.engines.strata import strong_components
from schedulog.scheduler.language.check_names import atoms
from schedulog.scheduler.language.layout import format_text
from schedulog.scheduler.language.load import link, load_program
from schedulog.scheduler.language.program import Aggregate, BodyItem, Literal_, Program, Rule
from schedulog.scheduler.language.pydatalog.names import is_kept, meant, written
from schedulog.scheduler.language.pydatalog.read import parse_pydatalog
from schedulog.scheduler.language.rule_text import format_atom, format_item, format_rule
from schedulog.scheduler.language.sources import read_sources
from schedulog.scheduler.language.spelling import format_file, translate
from schedulog.scheduler.language.syntax import ParsedFile, parse_text
from schedulog.scheduler.language.variables import calls, parts
from schedulog.scheduler.schedule import Scheduler

FILES = [
    (file.pack, file.name.removeprefix(f"{file.pack}/"), file.text)
    for file in read_sources(pack_names(), [], core=False).files
]
CHILD = Path(__file__).with_name("pydatalog_child.py")


def meaning(parsed: ParsedFile) -> list[Any]:
    """What a file says, without places; conditions in their order."""
    tests = [(t.title, t.text) for info in (*parsed.headers, *parsed.plain) for t in info.tests]
    about = [(i.id, i.kind, i.title, i.status, i.why, i.refusals, i.allow) for i in parsed.headers]
    rules = [f"{rule.name} {format_rule(rule)}" for rule in parsed.rules]
    marks = [(mark.kind, mark.name) for mark in parsed.marks]
    return [rules, about, tests, marks, parsed.relations, parsed.functions, parsed.requires]


@pytest.mark.parametrize(("pack", "name", "text"), FILES, ids=[f"{pack}/{name}" for pack, name, _ in FILES])
def test_every_rule_file_goes_there_and_back(pack: str, name: str, text: str) -> None:
    there = translate(text, name, "pydatalog")
    read = parse_pydatalog(there, name, pack)
    assert not read.errors
    assert meaning(read)[:4] == meaning(parse_text(text, name, pack))[:4]
    assert format_file(there, "it.pydl") == there
    back = translate(there, "it.pydl", "datalog")
    assert format_text(back, name) == back
    assert meaning(parse_text(back, name, pack))[:4] == meaning(parse_text(text, name, pack))[:4]
    # Division and its rest have two spellings in rule files; all else is the same text, comments and empty lines too.
    same = re.compile(r"(?<=[A-Za-z)] )(?://|%)(?= [A-Z])")
    signs = {"//": "/", "%": "\\"}
    assert back == "".join(
        line if line.startswith("%") else same.sub(lambda found: signs[found[0]], line)
        for line in text.splitlines(keepends=True)
    )


def test_the_translated_rules_are_the_same_program() -> None:
    files = [parse_pydatalog(translate(t, n, "pydatalog"), f"{p}/{n}", p) for p, n, t in FILES]
    assert link(files).sha == load_program(pack_names()).sha


# Random rules ---------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["p", "q1", "open", "open_", "len", "len_", "sum__", "print", "class", "in"])
VARIABLES = st.sampled_from(["X", "Y", "None", "True", "Exception", "X_"])
CONSTANTS = st.sampled_from(["1", "-2", "0", '"a % b"', '"//"', '"\\"\\\\\\n#"', '"é"'])
TERMS = st.one_of(VARIABLES, CONSTANTS, st.just("_"))
VALUES = st.one_of(VARIABLES, CONSTANTS)
EXPRESSIONS = st.recursive(
    VALUES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/\\"), inner).map(lambda p: f"{p[0]} {p[1]} {p[2]}"),
        st.tuples(NAMES, inner, inner).map(lambda p: f"@{p[0]}({p[1]}, {p[2]})"),
        inner.map(lambda one: f"({one})"),
        inner.map(lambda one: f"-({one})"),
    ),
    max_leaves=6,
)
ATOMS = st.tuples(NAMES, st.lists(TERMS, min_size=1, max_size=3)).map(lambda p: f"{p[0]}({', '.join(p[1])})")
PARTS = st.one_of(
    ATOMS,
    ATOMS.map(lambda atom: f"not {atom}"),
    st.tuples(EXPRESSIONS, st.sampled_from(["=", "!=", "<", ">="]), EXPRESSIONS).map(" ".join),
)
FOLDS = st.tuples(
    st.sampled_from(["count", "sum", "min", "max"]),
    st.lists(st.sampled_from(["U", "V", "1", '"a"', "X"]), min_size=1, max_size=3),
    st.lists(PARTS, max_size=2),
).map(lambda p: f"N = #{p[0]} {{ {', '.join(p[1])} : {', '.join(['q1(U, V, X)', *p[2]])} }}")
HEADS = st.tuples(NAMES, st.lists(VALUES, min_size=1, max_size=3)).map(lambda p: f"{p[0]}({', '.join(p[1])})")
CLAUSES = st.tuples(HEADS, st.lists(st.one_of(PARTS, PARTS, FOLDS), max_size=6)).map(
    lambda p: f"{p[0]} :- {', '.join(p[1])}." if p[1] else f"{p[0]}."
)
OTHERS = st.sampled_from([
    "% plain", "%! id: a/b    %! title: \"x  y: #! z: 1\"", "%? test \"t\"", "%?   holds p(x).", "// slashes",
    "%! id: a/c", ".decl p(a: node, b: int -> c: int)  % its sentence", ".input p", "", "%.decl none(n: node)",
    "% .input p", "%! why: \"#count\"", "%# sharp", "%? ", "// ! mark", "p(1).  % beside", ".function f(a: int) -> int",
    "p(X) :- q1(X),  % in\n  % own\n  X > 1.  % end",
])  # fmt: skip


def loose(parsed: ParsedFile) -> list[Any]:
    """What a file says, with the conditions of each rule and each aggregate in any order."""
    rules = [
        (rule.name, format_atom(rule.head), sorted(_in_any_order(item) for item in rule.body))
        for rule in parsed.rules
    ]
    return [rules, *meaning(parsed)[1:4]]


def _in_any_order(item: BodyItem) -> str:
    if isinstance(item, Aggregate):
        item = replace(item, body=tuple(sorted(item.body, key=format_item)))
    return format_item(item)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(CLAUSES, OTHERS), max_size=6).map("\n".join))
def test_random_rules_go_there_and_back(text: str) -> None:
    before = parse_text(text, "t", "t")
    try:
        there = translate(text, "t.dl", "pydatalog")
    except RuleError as error:
        codes = {error.code, *(other.code for other in error.others)}
        assert codes <= {found.code for found in before.errors}
        return
    read = parse_pydatalog(there, "t", "t")
    # What is unbound in the rules is unbound there: that is for the checks, not for the reader.
    assert [e for e in read.errors if e.code not in ("SL118",)] == []
    assert loose(read) == loose(before)
    assert format_file(there, "t.pydl") == there
    back = translate(there, "t.pydl", "datalog")
    assert loose(parse_text(back, "t", "t")) == loose(before)
    words = re.compile(r"plain|slashes|sentence|sharp|mark|beside|\bown|\bend\b|\bin\b(?=\n)|none|input p")
    assert words.findall(back) == words.findall(text)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="pX_1(),.&~<=+-#!?\"'[]{}:;@\\ \n#abé", max_size=60))
def test_any_text_is_read_without_an_accident(text: str) -> None:
    try:
        after = format_file(text, "t.pydl")
    except RuleError:
        return
    assert format_file(after, "t.pydl") == after
    assert loose(parse_pydatalog(after, "t", "t")) == loose(parse_pydatalog(text, "t", "t"))


@given(st.from_regex(r"(len|sum|open|in|p|rank|running_sum|None|X)_{0,3}", fullmatch=True))
def test_every_name_has_a_spelling_of_its_own(name: str) -> None:
    assert not is_kept(written(name)) and meant(written(name)) == name


# pyDatalog itself -----------------------------------------------------------------------------------------------


def ask(given: dict[str, Any], seconds: float = 100.0) -> dict[str, list[list[Any]]]:
    """What pyDatalog gives, in a process of its own: it may hang, and takes no signal."""
    done = subprocess.run(
        [sys.executable, str(CHILD)],
        check=False,
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, list[list[Any]]] = json.loads(done.stdout)
    return answer


def test_pydatalog_itself_loads_every_translated_rule() -> None:
    functions = [written(name) for name in load_program(pack_names()).functions]
    assert (
        ask(
            {
                "texts": [translate(text, name, "pydatalog") for _, name, text in FILES],
                "functions": functions,
                "facts": {},
                "ask": [],
            }
        )
        == {}
    )


def plain_relations(program: Program) -> list[str]:
    """Relations that pyDatalog can be asked for: below them no recursion but of a relation through itself, no function."""
    reads: dict[str, set[str]] = {}
    for rule in program.rules:
        reads.setdefault(rule.head.relation, set()).update(atom.relation for atom in list(atoms(rule))[1:])
    bad = {rule.head.relation for rule in program.rules if _calls(rule) or _negates_itself(rule)}
    for part in strong_components(sorted(program.relations), lambda name: sorted(reads.get(name, ()))):
        below = {other for name in part for other in reads.get(name, ())} - set(part)
        if len(part) > 1 or below & bad:
            bad |= set(part)
    return sorted(reads.keys() - bad)


def _calls(rule: Rule) -> bool:
    return any(True for item in rule.body for part in parts(item) for _ in calls(part))


def _negates_itself(rule: Rule) -> bool:
    return any(
        isinstance(item, Literal_) and item.negated and item.atom.relation == rule.head.relation
        for item in rule.body
    )


GRAPH = "x=load f32[4,4]; s=sum x axis=1; a=neg s; r=sum s axis=0; b=exp s; m=add a b; out m, r"


@pytest.mark.parametrize(
    ("packs", "some"),
    [
        (("core",), {"member", "input", "oversized", "crosses", "cut", "stored", "limit"}),
        (("core", "classic"), {"first_stop", "followed", "gives_up", "readings", "only_reader", "limit"}),
    ],
    ids=["core", "classic"],
)
def test_pydatalog_itself_derives_the_rows_that_sqlite_does(packs: tuple[str, ...], some: set[str]) -> None:
    program = load_program(packs)
    asked = plain_relations(program)
    assert some <= set(asked)
    graph = read_notation(GRAPH, "test")
    model = Scheduler(program).decide(graph, {"kernel_nodes": 2}).model

    def rows(name: str) -> list[list[Any]]:
        kinds = [column.type for column in program.relations[name].columns]
        return [
            [model.symbols.value(*pair) for pair in zip(row, kinds, strict=True)] for row in model.rows(name)
        ]

    derived = {rule.head.relation for rule in program.rules}
    given = {
        "texts": [translate(text, name, "pydatalog") for pack, name, text in FILES if pack in packs],
        "functions": [written(name) for name in program.functions],
        "facts": {written(name): rows(name) for name in program.relations if name not in derived},
        "widths": {written(name): relation.arity for name, relation in program.relations.items()},
        "ask": [written(name) for name in asked],
    }
    found = ask(given)
    assert sum(map(bool, found.values())) >= 20
    for name in asked:
        assert sorted(map(repr, found[written(name)])) == sorted(map(repr, rows(name))), name


def test_both_columns_of_the_manual_say_the_same() -> None:
    page = (Path(__file__).parent.parent / "docs" / "pydatalog.md").read_text(encoding="utf-8")
    pairs = re.findall(r"^\| [A-Za-z ]+ \| `([^`]+)` \| `([^`]+)` \|$", page, re.MULTILINE)
    assert len(pairs) == 10
    for datalog, pydatalog in pairs:
        one, other = parse_text(f"{datalog}\n", "t", "t"), parse_pydatalog(f"{pydatalog}\n", "t", "t")
        assert [e.message for e in one.errors] == [e.message for e in other.errors]
        assert meaning(one)[:4] == meaning(other)[:4]
        assert [r.columns for r in one.relations] == [r.columns for r in other.relations]


def test_the_programs_of_the_manual_are_right() -> None:
    page = (Path(__file__).parent.parent / "docs" / "pydatalog.md").read_text(encoding="utf-8")
    first, second, third, _ = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    for text in (first, second + "#.decl shared(n: node)\n", third):
        assert format_file(text, "t.pydl") == text
        assert load_program(["classic"], extra=[("manual.pydl", text)]).warnings == ()


AGGREGATED = """
.decl edge(n: int, u: int)
.decl node(n: int -> s: int)
edge(1, 2).  edge(1, 3).  edge(2, 3).  edge(2, 4).  node(1, 7).  node(2, 7).  node(3, -1).  node(4, 5).
.decl f(n: int, a: int)
f(N, C) :- node(N, _), C = #count { U : edge(N, U) }.
.decl g(n: int, a: int)
g(N, C) :- node(N, _), C = #count { U, S : edge(N, U), node(U, S), S > N }, C < 2.
.decl h(n: int, a: int)
h(N, S) :- node(N, _), S = #sum { T, U : edge(N, U), node(U, T) }.
.decl i(n: int, a: int)
i(N, D) :- node(N, _), M = #min { S : edge(N, U), node(U, S) }, L = #max { S, U : edge(N, U), node(U, S) },
           D = L - M.
.decl j(n: int)
j(C) :- C = #count { 1 : node(_, _) }.
.decl k(n: int, a: int)
k(N, C) :- node(N, S), C = #sum { 2, U : edge(U, N), not node(U, S), S // 2 != 0 }, 1 = 1, N - S % 3 > -9.
.decl l(n: int, m: int, a: int)
l(N, M, C) :- node(N, _), node(M, _), C = #count { U : edge(N, U), U > M }.
"""


def test_aggregates_are_the_same_in_pydatalog_itself() -> None:
    program = link([parse_text(AGGREGATED, "t.dl", "t")])
    text = translate(AGGREGATED, "t.dl", "pydatalog")
    assert link([parse_pydatalog(text, "t.pydl", "t")]).sha == program.sha
    model = compile_program(program).evaluate({}, {})
    widths = {name: relation.arity for name, relation in program.relations.items()}
    found = ask({"texts": [text], "functions": [], "facts": {}, "widths": widths, "ask": list(widths)})
    for name in widths:
        assert sorted(map(tuple, found[name])) == sorted(model.rows(name)), name
    assert (
        len(found["f"]) == 4
        and len(found["g"]) == 4
        and len(found["l"]) == 16
        and len(found["k"]) == 4
        and found["j"] == [[1]]
    )


NUMBERED = [
    '%! id: my/far    %! kind: helper\n%! refuse 2: "itself"\n',
    "%! id: my/far    %! kind: helper\n%! equivalent: #1:3 there are always two\n",
    '%! id: my/far    %! kind: helper\n%? test "t"  graph: x=load f32[8]; out x\n%?   blocked far(x) at my/far:2.\n',
]


@pytest.mark.parametrize("header", NUMBERED)
def test_a_condition_that_is_named_by_its_number_does_not_move(header: str) -> None:
    first, _, test = header.partition("%? ")
    text = f"{first}far(N) :- size(N, _), N != M, size(M, _).\n" + (f"%? {test}" if test else "")
    with pytest.raises(RuleError) as caught:
        translate(text, "far.dl", "pydatalog")
    assert caught.value.code == "SL134"
    assert caught.value.message == "a condition that needs `M` before it is bound"
    assert "names a condition of this rule by its number" in caught.value.reason
    # Without a number, or in an order that can stay, it is written.
    assert "(N != M)" in translate("far(N) :- size(N, _), N != M, size(M, _).\n", "far.dl", "pydatalog")
    assert "(N != M)" in translate(
        text.replace("N != M, size(M, _)", "size(M, _), N != M"), "far.dl", "pydatalog"
    )
