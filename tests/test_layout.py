"""The one spelling of rule files: what it looks like, and that it changes no meaning and loses no comment."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedulog.__main__ import main
from schedulog.errors import RuleError
from schedulog.scheduler.language.layout import WIDTH, format_text
from schedulog.scheduler.language.program import Rule
from schedulog.scheduler.language.rule_text import format_rule
from schedulog.scheduler.language.syntax import parse_text

ROOT = Path(__file__).parent.parent

BEFORE = """\n
// A remark.
.decl   foo(a:node,b : int->c:int)// The sentence.
%!id:my/x  title : "a  b: c"
%!  why: foo
%?test "one"   graph: x=load f32[8]; out x
foo( X,Y,N ) :-!q(X,Y),//why
  Y>= - 3 , // 2 of
  % own
  N=#count{U,V:edge(N,U,V)},X = Y%2+ -3*(4-Y) ,@f( X,Y )!=1 .   // end


.input   foo
q(1). q(2).   % two
"""
AFTER = """% A remark.
.decl foo(a: node, b: int -> c: int)  % The sentence.
%! id: my/x    %! title: "a  b: c"
%! why: foo
%? test "one"   graph: x=load f32[8]; out x
foo(X, Y, N) :- not q(X, Y),  %why
                Y >= -3,  % 2 of
                % own
                N = #count { U, V : edge(N, U, V) }, X = Y % 2 + -3 * (4 - Y), @f(X, Y) != 1.  % end

.input foo
q(1).
q(2).  % two
"""
LONG = """cut(K) :- members_of_a_kernel(K, Count), limit("kernel_nodes", Most), Count > Most, not forced_store(K), other(K).
malformed(N, "sees another number of elements than it has") :- option("verify", 1), alike(N), size(N, S), S > 1.
.function compose(inner_view_of_the_two: view, outer_view_of_the_two: view, and_how_they_come_together: int) -> view
"""
WRAPPED = """cut(K) :- members_of_a_kernel(K, Count), limit("kernel_nodes", Most), Count > Most,
          not forced_store(K), other(K).
malformed(N, "sees another number of elements than it has") :-
    option("verify", 1), alike(N), size(N, S), S > 1.
.function compose(inner_view_of_the_two: view, outer_view_of_the_two: view,
                  and_how_they_come_together: int) -> view
"""


def test_the_one_spelling() -> None:
    assert format_text(BEFORE, "t.dl") == AFTER


def test_long_lines_are_broken_between_conditions() -> None:
    assert format_text(LONG, "t.dl") == WRAPPED
    assert format_text(WRAPPED, "t.dl") == WRAPPED


def test_line_endings_and_byte_order_mark() -> None:
    assert format_text("\ufeffp(1).\r\n\r\n\r\n\r\n% c  \r\np(2).", "t.dl") == "p(1).\n\n% c\np(2).\n"
    assert format_text("", "t.dl") == ""


def test_a_comment_never_becomes_a_header() -> None:
    assert (
        format_text("//! id: a/b\n//? test\np(1). //! x\n", "t.dl") == "//! id: a/b\n//? test\np(1).  //! x\n"
    )


@pytest.mark.parametrize("path", sorted((ROOT / "rules").rglob("*.dl")), ids=lambda path: path.name)
def test_the_shipped_rules_are_in_it(path: Path) -> None:
    if path.name.endswith("_test.dl"):
        pytest.skip("tests beside rules are no rule text")
    text = path.read_text(encoding="utf-8")
    assert format_text(text, path.as_posix()) == text


NAMES = st.sampled_from(["p", "q1", "long_name"])
VALUES = st.sampled_from(["X", "_", "Long_variable", "1", "-2", '"a % b"', '"//"'])
EXPRESSIONS = st.recursive(
    VALUES.filter(lambda value: value != "_"),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/\\%"), inner).map(lambda p: f"{p[0]} {p[1]} {p[2]}"),
        st.tuples(inner, inner).map(lambda p: f"@f({p[0]}, {p[1]})"),
        inner.map(lambda one: f"({one})"),
    ),
    max_leaves=6,
)
ATOMS = st.tuples(NAMES, st.lists(VALUES, min_size=1, max_size=3)).map(lambda p: f"{p[0]}({', '.join(p[1])})")
ITEMS = st.one_of(
    ATOMS,
    ATOMS.map(lambda atom: f"not {atom}"),
    ATOMS.map(lambda atom: f"! {atom}"),
    st.tuples(EXPRESSIONS, st.sampled_from(["=", "!=", "<", ">="]), EXPRESSIONS).map(" ".join),
    st.tuples(st.sampled_from(["count", "sum"]), ATOMS).map(lambda p: f"N = #{p[0]} {{ X : {p[1]} }}"),
)
CLAUSES = st.tuples(ATOMS, st.lists(ITEMS, max_size=7)).map(
    lambda p: f"{p[0]} :- {' , '.join(p[1])} ." if p[1] else f"{p[0]} ."
)
OTHERS = st.sampled_from([
    "% plain", "//  slashes", "%! id: a/b  title: \"x  y: z\"", "%? test \"t\"", "%?   holds p(x).",
    ".decl p(a: node,b: int ->c: int)", ".input p", "", "\n", "% 2 of them",
])  # fmt: skip
BLANKS = st.lists(
    st.sampled_from([" ", "  ", "\t", "\n  ", " % note\n ", " // why\n  ", "\n % own\n "]), min_size=1
)


@st.composite
def files(draw: st.DrawFn) -> str:
    """Statements and comments in lines, with blanks and comments wherever the sample has a blank."""
    parts: list[str] = []
    for part in draw(st.lists(st.one_of(CLAUSES, OTHERS), max_size=6)):
        if part[:1].isalpha():
            blanks = draw(BLANKS)
            pieces = re.split(r' (?=(?:[^"]*"[^"]*")*[^"]*$)', part)
            part = "".join(
                piece + (blanks[i % len(blanks)] if i + 1 < len(pieces) else "")
                for i, piece in enumerate(pieces)
            )
        parts.append(part)
    return "\n".join(parts)


def meaning(rules: tuple[Rule, ...]) -> list[str]:
    return [f"{rule.name} {format_rule(rule)}" for rule in rules]


def notes(text: str) -> list[str]:
    """The words of plain comments, in order."""
    return re.findall(r"\b(?:plain|slashes|note|why|own|of them)\b", text)


@settings(max_examples=100, deadline=None)
@given(files())
def test_nothing_is_lost_and_a_second_time_changes_nothing(text: str) -> None:
    before = parse_text(text, "t.dl", "t")
    try:
        after = format_text(text, "t.dl")
    except RuleError:
        assert any(error.code not in ("SL106", "SL117", "SL118") for error in before.errors)
        return
    again = parse_text(after, "t.dl", "t")
    assert meaning(again.rules) == meaning(before.rules)
    assert [r.columns for r in again.relations] == [r.columns for r in before.relations]
    assert again.headers == before.headers
    assert notes(after) == notes(text)
    assert format_text(after, "t.dl") == after
    assert "\n\n\n" not in after and not after.startswith("\n")


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="pX_1(),.:-%!?\"@#={}<>+/\\ \n'ab", max_size=60))
def test_any_text_that_reads_is_written_the_same(text: str) -> None:
    try:
        after = format_text(text, "t.dl")
    except RuleError:
        return
    assert meaning(parse_text(after, "t.dl", "t").rules) == meaning(parse_text(text, "t.dl", "t").rules)
    assert format_text(after, "t.dl") == after


def test_lines_fit_where_they_can() -> None:
    body = ", ".join(f"some_condition_{i}(X, Y)" for i in range(40))
    lines = format_text(f"head(X, Y) :- {body}.", "t.dl").splitlines()
    assert max(map(len, lines)) <= WIDTH and len(lines) == 14
    assert all(line.startswith(" " * 14 + "some") for line in lines[1:])


def test_a_large_statement_takes_its_time_only_once() -> None:
    body = ", ".join(f"q(X, {i})" for i in range(50_000))
    assert format_text(f"p(X) :- {body}.", "t.dl").count("q(X") == 50_000


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = main(["fmt", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ugly, neat, bad = (tmp_path / name for name in ("a.dl", "b.dl", "c.dl"))
    ugly.write_text("p(1) .\r\n", encoding="utf-8", newline="")
    neat.write_text("p(1).\n", encoding="utf-8")
    (tmp_path / "a_test.dl").write_text("test   is no rule", encoding="utf-8")
    name = ugly.as_posix()
    assert run(capsys, tmp_path, "--check") == (
        1,
        f"{name} would change\n1 file would change, 1 as they should be\n",
        "",
    )
    status, out, err = run(capsys, tmp_path, "--diff")
    assert (status, err) == (1, "1 file would change, 1 as they should be\n")
    assert out == f"--- {name}\n+++ {name}\n@@ -1 +1 @@\n-p(1) .\n+p(1).\n"
    assert ugly.read_bytes() == b"p(1) .\r\n"
    assert run(capsys, tmp_path) == (0, f"{name} changed\n1 file changed, 1 as they should be\n", "")
    assert ugly.read_bytes() == b"p(1).\n"
    assert run(capsys, tmp_path, "--check") == (0, "0 files would change, 2 as they should be\n", "")
    bad.write_text("p(1\n", encoding="utf-8")
    status, out, err = run(capsys, tmp_path)
    assert (status, out) == (1, "0 files changed, 2 as they should be, 1 with mistakes\n")
    assert (
        err.startswith("error[SL100] the clause does not end\n")
        and bad.read_text(encoding="utf-8") == "p(1\n"
    )
    assert run(capsys, tmp_path / "absent.dl")[0] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.dl", "a_test.dl", "b.dl", "c.dl"]


def test_as_a_filter(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("p( 1 )."))
    assert run(capsys, "-") == (0, "p(1).\n", "")


def test_a_file_that_cannot_be_replaced_stays_and_leaves_nothing_beside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    ugly = tmp_path / "a.dl"
    ugly.write_bytes(b"p(1) .")
    monkeypatch.setattr("os.replace", full)
    status, _, err = run(capsys, ugly)
    assert status == 2 and "error[SL709] cannot write" in err and "why: No space left on device" in err
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.dl", b"p(1) .")]
