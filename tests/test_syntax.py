"""Rule text: what is read, how it is written back, and how packs are put together."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedulog.errors import Place, RuleError
from schedulog.rules import pack_names
from schedulog.scheduler.language.load import link, load_program
from schedulog.scheduler.language.program import (
    Aggregate,
    Arithmetic,
    Atom,
    Call,
    Compare,
    Const,
    Expr,
    Literal_,
    Program,
    Rule,
    RuleInfo,
    Var,
)
from schedulog.scheduler.language.rule_file import pack_of
from schedulog.scheduler.language.rule_text import format_rule
from schedulog.scheduler.language.syntax import ParsedFile, parse_text

NOWHERE = Place("", 1)

SAMPLE = """% double.dl: when must a reduction be stored?
%! pack: my                 %! requires: core>=0.3

.decl edge(from: node, to: node)
% `to` reads `from`.
.input edge
.decl is_reduce(n: node)   % The node reduces.
.input is_reduce
% How many elements a node has,
% counted once.
.decl size(n: node -> elements: int)

.input size
.function half(n: int) -> int
% Half of a number.
.decl realize(n: node)

%! id: my/double     %! kind: realize  status: stable
%! title: Store a reduction that another reads    priority: -3
%! why: "{A}: read  by {B}"   %! alias: my/old-double   alias: my/older
%! refuse 2: "{B} is: no reduction"
realize(A) :- is_reduce(A), edge(A, B), % the reader
    is_reduce(B).
%? test "two"   graph: x
%?   holds realize(a).
%? test "three"
realize(A) :- is_reduce(A), size(A, S), @half(S) > 10.
realize(A) :- edge(A, _), edge(_, A), !is_reduce(A).
.decl other(n: node)
other(A) :- realize(A).
realize(A) :- other(A), edge(A, A).
"""


def parsed(text: str) -> ParsedFile:
    """A file that must parse."""
    found = parse_text(text, "t.dl", "t")
    assert found.errors == ()
    return found


def body(text: str) -> tuple[object, ...]:
    """The body items of one rule `p(X) :- ...`."""
    return parsed(f"p(X) :- {text}.").rules[0].body


def test_ids_and_clauses() -> None:
    names = [rule.name for rule in parsed(SAMPLE).rules]
    assert names == ["my/double#1", "my/double#2", "my/double#3", "my/other#1", "my/realize#1"]


def test_header_and_tests() -> None:
    (info,) = parsed(SAMPLE).headers
    assert info == RuleInfo(
        id="my/double",
        pack="my",
        kind="realize",
        title="Store a reduction that another reads",
        status="stable",
        priority=-3,
        why="{A}: read  by {B}",
        place=info.place,
        tests=info.tests,
        alias=("my/old-double", "my/older"),
        refusals=((2, "{B} is: no reduction"),),
    )
    assert [(test.title, test.text, test.place.line) for test in info.tests] == [
        ("two", ' test "two"   graph: x\n   holds realize(a).', 24),
        ("three", ' test "three"', 26),
    ]


def test_declarations() -> None:
    found = parsed(SAMPLE)
    docs = {relation.name: relation.doc for relation in found.relations}
    assert docs["edge"] == "`to` reads `from`."
    assert docs["is_reduce"] == "The node reduces."
    assert docs["size"] == "How many elements a node has, counted once."
    assert [relation.key for relation in found.relations] == [None, None, 1, None, None]
    (half,) = found.functions
    assert (half.name, half.arguments[0].type, half.result, half.doc) == (
        "half",
        "int",
        "int",
        "Half of a number.",
    )


def test_text_and_place_of_a_rule() -> None:
    rule = parsed(SAMPLE).rules[0]
    assert rule.text == "realize(A) :- is_reduce(A), edge(A, B), % the reader\n    is_reduce(B)."
    last = rule.body[2]
    assert isinstance(last, Literal_)
    assert (str(last.place), last.place.width) == ("t.dl:23:5", len("is_reduce"))


def test_literals() -> None:
    x = Var("X")
    assert body('q(X, _, -3, "a\\"b"), not q(_), ! q(X)') == (
        Literal_(Atom("q", (x, Var("_1"), Const(-3), Const('a"b')), NOWHERE)),
        Literal_(Atom("q", (Var("_2"),), NOWHERE), negated=True),
        Literal_(Atom("q", (x,), NOWHERE), negated=True),
    )


def test_expressions_group_as_in_arithmetic() -> None:
    x = Var("X")
    expected = Arithmetic("-", Arithmetic("+", Const(1), Arithmetic("*", x, Const(2))), Call("f", (x,)))
    assert body("X = 1 + X * 2 - @f(X)") == (Compare("=", x, expected, NOWHERE),)
    assert body("X = -(X)") == (Compare("=", x, Arithmetic("-", Const(0), x), NOWHERE),)


@pytest.mark.parametrize(("sign", "op"), [("/", "//"), ("//", "//"), ("\\", "%"), ("%", "%")])
@pytest.mark.parametrize("right", ["2", "Y", "(Y)", "@f(Y)", "-2"])
def test_both_spellings_of_division_and_modulo(sign: str, op: str, right: str) -> None:
    for blank in ("", " "):
        (item,) = body(f"X = Y{blank}{sign}{blank}{right}")
        assert isinstance(item, Compare) and isinstance(item.right, Arithmetic)
        assert item.right.op == op


@pytest.mark.parametrize("sign", ["%", "//", "%%", "///"])
def test_comments_are_not_taken_for_operators(sign: str) -> None:
    plain = parsed("p(X) :- q(X, Y), Y = X, X > 2.\np(1).").rules
    text = (
        f"{sign} 3 things\np(X) {sign} The head\n :- q(X, Y), {sign} 2\n Y = X {sign} Why so\n"
        f", X > 2 {sign} 2 of them\n.{sign} end\n p(1). {sign} 5"
    )
    assert parsed(text).rules == plain


def test_a_sign_of_a_comment_in_a_string_is_text() -> None:
    assert parsed('p("50% // a"). % x').rules[0].head.terms == (Const("50% // a"),)


def test_aggregates() -> None:
    (item,) = body("N = #sum { S, M : member(K, M), size(M, S), S > 0 }")
    assert isinstance(item, Aggregate)
    assert (item.op, item.result, item.terms, len(item.body)) == ("sum", Var("N"), (Var("S"), Var("M")), 3)
    assert body("#max { S : size(_, S) } = N")[0] == body("N = #max { S : size(_, S) }")[0]


def test_line_endings_do_not_matter() -> None:
    for ending in ("\r\n", "\r"):
        found = parsed(SAMPLE.replace("\n", ending))
        assert found.rules == parsed(SAMPLE).rules and found.headers == parsed(SAMPLE).headers


NAMES = st.sampled_from(["p", "q", "long_name2"])
TERMS = st.one_of(
    st.sampled_from([Var("X"), Var("Y2"), Var("Long_name")]),
    st.integers(-(2**63), 2**63 - 1).map(Const),
    st.text(max_size=6).filter(lambda text: "\r" not in text).map(Const),
)
OPERATORS = st.sampled_from(["+", "-", "*", "//", "%"])
EXPRESSIONS: st.SearchStrategy[Expr] = st.recursive(
    TERMS,
    lambda inner: st.one_of(
        st.builds(Arithmetic, OPERATORS, inner, inner),
        st.builds(Call, NAMES, st.lists(inner, min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=8,
)
ATOMS = st.builds(Atom, NAMES, st.lists(TERMS, min_size=1, max_size=3).map(tuple), st.just(NOWHERE))
LITERALS = st.builds(Literal_, ATOMS, st.booleans())
COMPARISONS = st.builds(
    Compare, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), EXPRESSIONS, EXPRESSIONS, st.just(NOWHERE)
)
PARTS = st.one_of(LITERALS, COMPARISONS)
AGGREGATES = st.builds(
    Aggregate,
    st.sampled_from(["count", "sum", "min", "max"]),
    st.just(Var("N")),
    st.lists(TERMS, min_size=1, max_size=2).map(tuple),
    st.lists(PARTS, min_size=1, max_size=3).map(tuple),
    st.just(NOWHERE),
)
BODIES = st.tuples(st.lists(PARTS, max_size=3), st.lists(AGGREGATES, max_size=1)).map(
    lambda two: (*two[0], *two[1])
)
RULES = st.builds(Rule, st.just("t/r"), st.just(1), ATOMS, BODIES, st.just(NOWHERE), st.just(""))


@settings(max_examples=150, deadline=None)
@given(RULES)
def test_a_rule_written_and_read_is_the_same_rule(rule: Rule) -> None:
    (again,) = parsed(format_rule(rule)).rules
    assert (again.head, again.body) == (rule.head, rule.body)
    assert format_rule(again) == format_rule(rule)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="pX_1(),.:-%!?\"@#={}<>+/\\ \n'ab", max_size=60))
def test_any_text_gives_rules_or_errors(text: str) -> None:
    found = parse_text(text, "t.dl", "t")
    assert all(error.code.startswith("SL1") and isinstance(error.where, Place) for error in found.errors)
    assert str([str(error) for error in found.errors])


def linked(*texts: str) -> Program:
    """The program of some texts, each a file."""
    return link([parse_text(text, f"{index}.dl", "t") for index, text in enumerate(texts)])


def test_the_order_of_files_does_not_matter() -> None:
    files = [
        parse_text(text, name, "t") for name, text in (("a", ".decl p(n: int)\np(1).\n"), ("b", "p(2).\n"))
    ]
    one, other = link(files), link(files[::-1])
    assert one == other
    assert [(rule.name, rule.place.file) for rule in one.rules] == [("t/p#1", "a"), ("t/p#2", "b")]


def test_the_hash_is_of_the_meaning() -> None:
    head = ".decl p(n: int, m: int)\n.decl q(n: int)\nq(1).\n"
    rules = ["p(X, Y) :- q(X), q(Y), X < Y.\n", "p(X, X) :- q(X), not p(X, _).\n"]
    one = linked(head + "".join(rules)).sha
    assert linked(f"% c\n{head}{rules[1]}{rules[0]}").sha == one
    assert linked(f"{head}p(X, Y) :- X < Y, q(X), q(Y). % d\n{rules[1]}").sha == one
    assert linked(head + rules[0]).sha != one
    assert linked(head + rules[0].replace("<", "<=") + rules[1]).sha != one


def test_disabled_rules_are_dropped_after_the_checks() -> None:
    files = [
        parse_text(
            ".decl p(n: int)\n.decl q(n: int)\n%! id: t/one  alias: t/uno\nq(1).\np(N) :- q(N).\n",
            "a.dl",
            "t",
        )
    ]
    for name in ("t/one", "t/uno"):
        program = link(files, disable=[name])
        assert [rule.id for rule in program.rules] == ["t/p"]
        assert "t/one" not in program.infos
    assert link(files, disable=["t/one"]).sha != link(files).sha


def test_unused_inputs_are_no_finding() -> None:
    program = linked(".decl p(n: int)\n.input p\n.decl q(n: int)\n.decl r(n: int)\nr(1).\n")
    assert [(warning.code, warning.message) for warning in program.warnings] == [
        ("SL151", "relation `q` is declared and never used")
    ]


def test_files_and_folders_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "one.dl").write_text("\ufeff.decl mine_one(n: int)\nmine_one(1).\n", encoding="utf-8")
    (tmp_path / "deep" / "two.dl").write_text("mine_one(2).\n", encoding="utf-8")
    (tmp_path / "one_test.dl").write_text("not a rule", encoding="utf-8")
    program = load_program([tmp_path, tmp_path / "one.dl"], extra=[("Your Rules.dl", "mine_one(3).\n")])
    pack = pack_of(tmp_path.name)
    mine = [rule for rule in program.rules if rule.head.relation == "mine_one"]
    assert sorted(rule.id for rule in mine) == sorted(
        [f"{pack}/mine-one", f"{pack}/mine-one", "your-rules/mine-one"]
    )
    assert sorted(rule.head.terms[0] == Const(3) for rule in mine) == [False, False, True]


def test_missing_files_and_packs_are_told_with_all_else(tmp_path: Path) -> None:
    with pytest.raises(RuleError) as caught:
        load_program(["clasic", tmp_path / "absent.dl"], extra=[("x.dl", "nothing_known(1).")])
    assert sorted(error.code for error in (caught.value, *caught.value.others)) == ["SL101", "SL107", "SL108"]
    assert "did you mean `classic`?" in str(caught.value)


def test_shipped_packs_load_without_findings() -> None:
    assert {"core", "classic"} <= set(pack_names())
    for pack in pack_names():
        assert load_program([pack]).rules


def test_clingo_reads_written_rules() -> None:
    ast = pytest.importorskip("clingo.ast")
    for rule in load_program(["classic"]).rules:
        statements: list[object] = []
        ast.parse_string(format_rule(rule), statements.append)
        assert len(statements) == 2, rule.name


def test_a_large_file_is_read() -> None:
    lines = [".decl p(n: int)\np(0).\n", *(f"p(X) :- p(Y), X = Y + {i}, X < {i + 9}.\n" for i in range(2000))]
    program = linked("".join(lines))
    assert program.rules[-1].name == "t/p#2001"
