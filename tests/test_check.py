"""Every code has a bad rule file in tests/bad and the exact text that it gives."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from schedulog.codes import TITLES, title
from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.diagnostic import ordered
from schedulog.scheduler.language.load import link, load_program
from schedulog.scheduler.language.program import Const, Program
from schedulog.scheduler.language.rule_set import merge
from schedulog.scheduler.language.rule_text import format_rule
from schedulog.scheduler.language.syntax import parse_text
from schedulog.scheduler.lint.lint import lint

BAD = Path(__file__).parent / "bad"
CODES = sorted(path.stem for path in BAD.glob("SL1*.dl"))

EDGES = ".decl edge(a: node, b: node)\n.input edge\n.decl size(n: node -> s: int)\n.input size\n"


def program(text: str) -> Program:
    """The program of one text, without the pack `core`."""
    return link([parse_text(text, "t.dl", "t")])


def errors(text: str) -> list[tuple[str, int, int]]:
    """Code, line and column of every error of a text."""
    try:
        program(text)
    except RuleError as error:
        places = [(e.code, e.where) for e in (error, *error.others)]
        return [(code, where.line, where.column) for code, where in places if isinstance(where, Place)]
    return []


def findings(code: str) -> str:
    """The text that the bad file of a code gives: its errors, or else its warnings."""
    path = BAD / f"{code}.dl"
    try:
        if code == "SL107":
            load_program([path])
        disable = ["bad/bg-node"] if code == "SL119" else []
        files = [parse_text(path.read_text(encoding="utf-8"), path.name, "bad")]
        found = link(files, disable=disable).warnings
        warnings = [*found, *ordered(lint(merge(files)[0]))] if code > "SL151" else found
    except RuleError as error:
        return str(error).replace(path.as_posix(), path.name) + "\n"
    return "".join(f"{warning}\n" for warning in warnings)


@pytest.mark.parametrize("code", CODES)
def test_exact_text(code: str) -> None:
    assert f"[{code}]" in findings(code)
    assert findings(code) == (BAD / f"{code}.txt").read_text(encoding="utf-8")


def test_every_rule_code_has_a_bad_file() -> None:
    language = {code for code in TITLES if "SL100" <= code <= "SL119" or "SL150" <= code <= "SL156"}
    assert set(CODES) == language
    assert title("SL110") == "a variable that nothing binds"


def test_five_mistakes_give_five_messages_in_order() -> None:
    text = (
        EDGES
        + ".decl p(n: node)\n"
        + "p(X) :- edge(X, Y) edge(Y, X).\n"
        + "p(X) :- edge(X).\n"
        + "p(X) :- egde(X, _).\n"
        + "p(X) :- not edge(X, _).\n"
        + "p(X) :- size(X, S), X = S.\n"
    )
    found = errors(text)
    assert found == [("SL100", 6, 20), ("SL102", 7, 9), ("SL101", 8, 9), ("SL110", 9, 18), ("SL103", 10, 21)]


def test_errors_of_several_files_are_told_together_whatever_the_order() -> None:
    texts = [("b.dl", "q(1).\n"), ("a.dl", ".decl q(n: int)\nq(one).\nq(1, 2).\n")]
    files = [parse_text(text, name, "t") for name, text in texts]
    told = []
    for order in (files, files[::-1]):
        with pytest.raises(RuleError) as caught:
            link(order)
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert told[0].index("SL106") < told[0].index("SL102")


BODIES = [
    ("p(X, Y) :- edge(X, M), not edge(M, X), size(M, S), T = S + 1, U = T * 2, U > S, size(Y, U).", 0),
    ("p(X, Y) :- size(X, S), T = U - S, U = V, V = 7, size(Y, T), W = @twice(T), W != S.", 0),
    ("p(X, Y) :- size(X, S), C = #count { M : size(M, T), T > D }, D = S + E, E = 4, size(Y, C).", 0),
    ("p(X, Y) :- size(X, S), T = U - S, size(Y, T).", 1),
    ("p(X, Y) :- size(X, S), not edge(Y, X), S > T.", 2),
]


@pytest.mark.parametrize(("clause", "unbound"), BODIES)
def test_binding_does_not_depend_on_the_order_of_the_body(clause: str, unbound: int) -> None:
    generator = random.Random(clause)
    function = ".function twice(n: int) -> int\n"
    rule = parse_text(clause, "t.dl", "t").rules[0]
    merged = _joined(clause.removesuffix(".").split(" :- ")[1].split(", "))
    assert len(merged) == len(rule.body)
    for _ in range(20):
        generator.shuffle(merged)
        text = (
            f"{EDGES}{function}.decl p(x: node, y: node)\n{clause.split(' :- ')[0]} :- {', '.join(merged)}."
        )
        assert [code for code, _, _ in errors(text)] == ["SL110"] * unbound


def _joined(pieces: list[str]) -> list[str]:
    """Pieces that were cut at commas, joined again where parentheses or braces are open."""
    result: list[str] = []
    open_ = 0
    for piece in pieces:
        if open_:
            result[-1] += f", {piece}"
        else:
            result.append(piece)
        open_ += piece.count("(") + piece.count("{") - piece.count(")") - piece.count("}")
    return result


def test_types_go_through_equations_in_any_order() -> None:
    clauses = "p(X) :- Z = Y, Y = S, size(X, S), edge(Z, X).", "p(X) :- edge(Z, X), size(X, S), Y = S, Z = Y."
    for clause in clauses:
        assert {code for code, _, _ in errors(f"{EDGES}.decl p(x: node)\n{clause}")} == {"SL103"}


def test_locals_of_two_aggregates_have_types_of_their_own() -> None:
    text = (
        EDGES + ".decl p(x: node, c: int)\n"
        "p(X, C) :- size(X, _), A = #count { M : edge(X, M) }, B = #sum { M, N : size(N, M) }, C = A + B.\n"
    )
    rule = program(text).rules[0]
    assert "#sum { M_2, N : size(N, M_2) }" in format_rule(rule)


def test_user_types_hold_strings_and_mix_with_nothing() -> None:
    head = ".type axis\n.decl axis_of(n: node, a: axis)\n.open axis_of\n.decl p(n: node)\n"
    assert errors(head + 'p(N) :- axis_of(N, "row").') == []
    assert errors(head + "p(N) :- axis_of(N, 1).") == [("SL103", 5, 20)]
    assert errors(head + "p(N) :- axis_of(N, N).") == [("SL103", 5, 20)]


def test_negation_in_a_cycle_is_allowed() -> None:
    assert errors(f"{EDGES}.decl win(x: node)\nwin(X) :- edge(X, Y), not win(Y).") == []


def test_aggregate_over_a_finished_relation_is_allowed() -> None:
    text = f"{EDGES}.decl p(x: node)\n.decl q(x: node)\nq(X) :- edge(X, _).\n"
    assert (
        errors(text + "p(X) :- q(X), C = #count { Y : q(Y), edge(X, Y) }, C > 1.\np(X) :- p(Y), edge(Y, X).")
        == []
    )


def test_input_and_open_may_stand_in_any_file() -> None:
    declaration = parse_text(".decl p(n: int)\n.decl q(n: int)\nq(N) :- p(N).\n", "b.dl", "t")
    found = link([declaration, parse_text(".input p\n.open q\n", "a.dl", "t")])
    assert found.relations["p"].is_input and found.relations["q"].is_open


def test_a_broken_statement_is_not_told_twice() -> None:
    text = ".decl p(n: int\n.decl q(n: int)\nq(X) :- r(X) X.\np(X) :- q(X), s(X).\n.decl s(n: int)\ns(1).\n"
    assert [code for code, _, _ in errors(text)] == ["SL100", "SL100"]


def test_hostile_nesting_is_refused_not_recursed() -> None:
    deep = "(" * 20_000 + "1" + ")" * 20_000
    for text in (f"p({deep}).", f"p(X) :- X = {'-' * 20_000}1.", f"p(X) :- X = 1{'+1' * 20_000}."):
        assert [code for code, _, _ in errors(".decl p(n: int)\n" + text)] == ["SL100"]
    braces = "X = #count { X : " * 5_000 + "p(X)" + " }" * 5_000
    assert [code for code, _, _ in errors(f".decl p(n: int)\np(X) :- {braces}.")] == ["SL111"]


def test_a_long_integer_is_refused_quickly() -> None:
    assert errors(f".decl p(n: int)\np({'9' * 100_000}).") == [("SL117", 2, 3)]
    assert program(f".decl p(n: int)\np({'0' * 10_000}7).").rules[0].head.terms == (Const(7),)


def test_only_core_derives_what_keeps_schedules_right() -> None:
    mine = "literal(X) :- is_reduce(X).\nrealize(X) :- is_reduce(X).\nstored(X) :- memory(X).\n"
    with pytest.raises(RuleError) as caught:
        load_program([], extra=[("mine.dl", mine)])
    first, *others = (caught.value, *caught.value.others)
    assert [error.code for error in (first, *others)] == ["SL122", "SL122"]
    assert first.message == "a rule derives `literal`, which only core decides"
    assert str(first.where) == "mine.dl:1:1"
    assert first.help.startswith("a policy derives ") and first.help.endswith(", and relations of its own")
    assert "`realize`" in first.help and "`refused`" in first.help and "`stored`" not in first.help
