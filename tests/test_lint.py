"""Checks that look further than one condition: what is told, and above all what is not."""

from __future__ import annotations

import random
import time

import pytest

from schedulog.rules import pack_names
from schedulog.scheduler.engines.sqlite import compile_program
from schedulog.scheduler.language.equalities import impossible
from schedulog.scheduler.language.load import examine, link
from schedulog.scheduler.language.program import Rule
from schedulog.scheduler.language.rule_set import RuleSet, merge
from schedulog.scheduler.language.syntax import parse_text
from schedulog.scheduler.lint.cover import covers
from schedulog.scheduler.lint.lint import lint
from schedulog.scheduler.mutants import mutants

HEAD = """.decl edge(n: node, user: node, v: view)
.input edge
.decl arc(a: node, b: node)
.input arc
.decl size(n: node -> s: int)
.input size
.decl op(n: node -> name: op)
.input op
.function half(n: int) -> int
"""


def rule_set(text: str) -> RuleSet:
    merged, errors = merge([parse_text(HEAD + text, "t.dl", "t")])
    assert errors == []
    return merged


def codes(text: str) -> list[str]:
    rules = rule_set(text)
    assert link([parse_text(HEAD + text, "t.dl", "t")])
    return [finding.code for finding in lint(rules)]


def clauses(*texts: str) -> tuple[Rule, ...]:
    return rule_set(".decl p(a: node, b: node)\n" + "\n".join(texts)).rules


@pytest.mark.parametrize("pack", pack_names())
def test_the_shipped_rules_have_no_findings(pack: str) -> None:
    found = examine([pack])
    assert [str(finding) for finding in (*found.findings, *lint(found.rules))] == []


COVERED = [
    ("p(A, B) :- arc(A, B).", "p(X, Y) :- arc(X, Y), size(X, 3).", True),
    ("p(A, B) :- arc(A, B).", "p(X, X) :- arc(X, X).", True),
    ("p(A, A) :- arc(A, A).", "p(X, Y) :- arc(X, Y).", False),
    ("p(A, B) :- arc(A, B), size(A, 3).", "p(X, Y) :- arc(X, Y).", False),
    ("p(A, B) :- arc(A, M), arc(N, B).", "p(X, Y) :- arc(X, Z), arc(Z, Y).", True),
    ("p(A, B) :- arc(A, M), arc(M, B).", "p(X, Y) :- arc(X, Z), arc(W, Y).", False),
    ("p(A, B) :- arc(A, B), not arc(B, A).", "p(X, Y) :- arc(X, Y), not arc(Y, _).", True),
    ("p(A, B) :- arc(A, B), not arc(B, _).", "p(X, Y) :- arc(X, Y), not arc(Y, X).", False),
    ("p(A, B) :- arc(A, B), size(A, S), S > 3.", "p(X, Y) :- arc(X, Y), size(X, T), T >= 4.", True),
    ("p(A, B) :- arc(A, B), size(A, S), S >= 4.", "p(X, Y) :- arc(X, Y), size(X, T), T > 2.", False),
    ("p(A, B) :- arc(A, B), size(A, S), S != 3.", "p(X, Y) :- arc(X, Y), size(X, T), 3 > T.", True),
    ("p(A, B) :- arc(A, B), size(A, S), 9 > S.", "p(X, Y) :- arc(X, Y), size(X, T), T = 7.", True),
    ("p(A, B) :- arc(A, B), size(A, S), S < 9.", "p(X, Y) :- arc(X, Y), size(X, T), T != 7.", False),
    ("p(A, B) :- arc(A, B), A != B.", "p(X, Y) :- arc(X, Y), Y != X.", True),
    ("p(A, B) :- arc(A, B), size(A, S), @half(S) = 2.", "p(X, Y) :- arc(X, Y), size(X, T), @half(T) = 2.", True),
    ("p(A, B) :- arc(A, B), size(A, S), @half(S) = 2.", "p(X, Y) :- arc(X, Y), size(X, T), @half(T) = 3.", False),
    (
        "p(A, B) :- arc(A, B), C = #count { U : edge(A, U, _) }, C > 1.",
        "p(X, Y) :- arc(X, Y), D = #count { W : edge(X, W, _) }, D > 2.",
        True,
    ),
    # The second counts readers through one view only, which may be fewer.
    (
        "p(A, B) :- arc(A, B), C = #count { U : edge(A, U, V) }, C < 3.",
        "p(X, Y) :- arc(X, Y), edge(X, _, E), D = #count { W : edge(X, W, E) }, D < 3.",
        False,
    ),
    (
        "p(A, B) :- arc(A, B), C = #count { U, V : arc(A, U), arc(B, V) }, C < 3.",
        "p(X, Y) :- arc(X, Y), D = #count { U, U : arc(X, U), arc(Y, U) }, D < 3.",
        False,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "wanted"), COVERED)
def test_covered(one: str, other: str, wanted: bool) -> None:
    assert covers(*clauses(one, other)) is wanted


def test_what_is_covered_derives_nothing_new() -> None:
    """The rows of both clauses over random facts: the covered one's are among the other's."""
    generator = random.Random(5)
    for one, other, wanted in COVERED:
        text = HEAD + ".decl p(a: node, b: node)\n.decl q(a: node, b: node)\n" + one + "\nq" + other[1:]
        compiled = compile_program(link([parse_text(text, "t.dl", "t")]))
        extra = 0
        for _ in range(12):
            arcs = [(generator.randrange(5), generator.randrange(5)) for _ in range(8)]
            edges = [(a, generator.randrange(5), generator.randrange(3)) for a, _ in arcs]
            facts: dict[str, list[tuple[int, ...]]] = {
                "arc": [*arcs],
                "edge": [*edges],
                "size": [(n, generator.randrange(1, 12)) for n in range(5)],
            }
            model = compiled.evaluate(
                {k: sorted(set(v)) for k, v in facts.items()}, {"half": lambda n: n // 2}
            )
            extra += len(set(model.rows("q")) - set(model.rows("p")))
        assert not (wanted and extra), (one, other)


def test_a_rule_without_one_of_its_conditions_covers_it() -> None:
    """Every mutant of a shipped rule derives at least what the rule does, if the condition was no aggregate's."""
    program = examine(["classic"]).program
    assert program is not None
    seen = 0
    for mutant in mutants(program):
        if mutant.condition and "." not in mutant.name.rpartition(":")[2]:
            (shorter,) = (rule for rule in mutant.program.rules if rule.name == mutant.rule.name)
            assert covers(shorter, mutant.rule), mutant.name
            seen += 1
    assert seen > 150


IMPOSSIBLE = [
    ("arc(A, B), A = B, A != B", True),
    ("arc(A, B), A = B, not arc(B, A)", True),
    ("arc(A, B), not arc(B, A)", False),
    ("arc(A, B), size(A, S), size(B, T), A = B, S < T", True),
    ("arc(A, B), size(A, S), size(B, T), S < T", False),
    ('arc(A, B), op(A, "ADD"), op(B, "MUL"), A = B', True),
    ('arc(A, B), op(A, "ADD"), op(B, "MUL")', False),
    ('arc(A, B), op(A, X), X = "ADD", X != "ADD"', True),
    ("arc(A, B), size(A, S), S > 3, 3 >= S", True),
    ("arc(A, B), size(A, S), S >= 3, 3 >= S", False),
    ("arc(A, B), size(A, S), T = S, T < 3, S > 2", True),
    ("arc(A, B), size(A, S), S = 4, S < 4", True),
    ("arc(A, B), size(A, S), X = @half(S), Y = @half(S), X != Y", True),
    ("arc(A, B), size(A, S), size(B, T), X = @half(S), Y = @half(T), X != Y", False),
    ("arc(A, B), C = #count { U : arc(A, U) }, D = #count { V : arc(A, V) }, C != D", True),
    ("arc(A, B), C = #count { U : arc(A, U) }, D = #count { V : arc(B, V) }, C != D", False),
    ("arc(A, B), size(A, S), S = S + 1", False),
    ("arc(A, B), size(A, S), X = (S + 1) * 2, Y = (S + 1) * 2, X < Y", True),
]  # fmt: skip


@pytest.mark.parametrize(("body", "wanted"), IMPOSSIBLE)
def test_impossible(body: str, wanted: bool) -> None:
    rules = rule_set(f".decl p(a: node, b: node)\np(A, B) :- {body}.\n")
    (rule,) = rules.rules
    generator = random.Random(body)
    for _ in range(5):
        shuffled = generator.sample(rule.body, len(rule.body))
        assert impossible(shuffled, rules.relations) is wanted


@pytest.mark.parametrize(
    ("rule", "ends"),
    [
        ("far(N, D) :- far(M, C), arc(M, N), D = C + 1.", False),
        ("far(N, D) :- far(M, C), arc(M, N), D = C + 1, D < 100.", True),
        ("far(N, D) :- far(M, C), arc(M, N), D = C + 1, 100 > C.", True),
        ("far(N, D) :- far(M, C), arc(M, N), D = C + 1, D > 0.", False),
        ("far(N, D) :- far(M, C), arc(M, N), D = C - 1, D > 0.", True),
        ("far(N, D) :- far(M, C), arc(M, N), D = C + 1, size(_, D).", True),
        ("far(N, D) :- far(M, C), arc(M, N), size(_, C), D = C + 1.", True),
        ("far(N, D) :- far(M, C), arc(M, N), D = C + 1, D < C.", False),
        ("far(N, D) :- far(M, C), arc(M, N), D = C + 1, size(N, S), D < S.", True),
        ("far(N, D) :- far(M, C), arc(M, N), E = @half(C), D = E.", False),
        ("far(N, D) :- far(M, C), edge(M, N, _), D = C + 1.", True),
        ("far(N, D) :- far(M, C), edge(N, M, _), D = C + 1.", True),
        ("far(N, D) :- far(M, C), later(M, N), D = C + 1.", True),
        ("far(N, D) :- far(M, C), either(M, N), D = C + 1.", False),
        ("far(N, D) :- far(N, C), edge(N, _, _), D = C + 1.", False),
        ("far(N, D) :- far(M, C), edge(M, N, _), D = C + 1.\nfar(N, C) :- far(M, C), edge(N, M, _).", False),
        ("far(N, D) :- far(M, C), edge(M, N, _), D = C + 1.\nfar(N, C) :- far(M, C), edge(M, N, _).", True),
        ("far(N, D) :- other(N, C), D = C + 1.\n.decl other(n: node, d: int)\nother(N, C) :- far(N, C).", False),
        ("far(N, C) :- far(M, C), arc(M, N).", True),
        ("far(N, D) :- arc(N, M), size(M, C), D = C + 1.", True),
    ],
)  # fmt: skip
def test_ending(rule: str, ends: bool) -> None:
    text = f"""{HEAD}.decl far(n: node, d: int)
far(N, S) :- size(N, S).
.decl later(n: node, m: node)
later(N, M) :- edge(N, U, _), edge(U, M, _), edge(N, M, _).
.decl either(n: node, m: node)
either(N, M) :- edge(N, M, _).
either(N, M) :- arc(N, M).
{rule}
"""
    merged, errors = merge([parse_text(text, "t.dl", "t")])
    assert errors == []
    assert [f.code for f in lint(merged) if f.code == "SL153"] == ([] if ends else ["SL153"])


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("arc(A, M), arc(M, B)", []),
        ("arc(A, _), arc(_, B)", ["SL154"]),
        ("arc(A, _), size(B, S), S < 9", ["SL154"]),
        ('arc(A, _), op(B, "ADD")', []),
        ("arc(A, _), few(_), arc(A, B)", []),
        ("arc(A, M), size(M, S), size(B, S)", []),
    ],
)
def test_joins(body: str, found: list[str]) -> None:
    assert codes(f".decl few(i: int)\n.open few\n.decl p(a: node, b: node)\np(A, B) :- {body}.\n") == found


def test_many_rules_are_checked_in_time() -> None:
    same = "".join(f"p(X) :- size(X, {i}), arc(X, _).\n" for i in range(3000))
    wide = "".join(f"q(X) :- arc(X, Y{i}), size(Y{i}, S), S > {i}.\n" for i in range(300))
    rules = rule_set(f".decl p(n: node)\n.decl q(n: node)\n{same}{wide}")
    begin = time.process_time()
    found = [finding.code for finding in lint(rules)]
    assert found == ["SL152"] * 299
    assert time.process_time() - begin < 20
