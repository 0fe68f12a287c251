"""Proofs: least height, finite through cycles, readable."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from schedulog.errors import UsageError
from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.engines.pydatalog import PydatalogEvaluator
from schedulog.scheduler.engines.sqlite import compile_program
from schedulog.scheduler.language.load import link
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.language.syntax import parse_text
from schedulog.scheduler.why.proof import Absence, Condition, Proof

PATHS = """
.decl e(a: int, b: int)
.input e
.decl path(a: int, b: int)
path(X, Y) :- e(X, Y).
path(X, Z) :- path(X, Y), e(Y, Z).
"""


def program(text: str) -> Program:
    return link([parse_text(text, "why.dl", "why")])


def model_of(text: str, **facts: list[Row]) -> Model:
    return compile_program(program(text)).evaluate(facts, {"double": lambda number: 2 * number})


def premises(proof: Proof) -> list[str]:
    """The names of what a proof rests on, in the order of the rule."""
    return [
        part.text if isinstance(part, Condition) else f"{part.relation}{tuple(part.row)}"
        for part in proof.premises
    ]


def test_text_of_a_proof() -> None:
    text = (
        PATHS
        + """
        .decl op(node: int, op: op)
        .input op
        .decl limit(value: int)
        limit(3).
        .function double(number: int) -> int
        .decl keep(node: int)
        keep(X) :- path(0, X), not path(X, _), op(X, O), O != "ADD", limit(L), N = #count { Y : path(Y, X), Y != X },
                   N < L, D = @double(X), D + 1 > L.
    """
    )
    compiled = compile_program(program(text))
    symbols = compiled.symbols.fork()
    facts: dict[str, list[Row]] = {"e": [(0, 1), (1, 2)], "op": [(2, symbols.intern("MUL"))]}
    model = compiled.evaluate(facts, {"double": lambda number: 2 * number}, symbols)
    assert model.why("keep", (2,)).render(model.decode).splitlines() == [
        "keep(2)  [why/keep#1, why.dl:14:9]",
        "  path(0, 2)  [why/path#2, why.dl:6:1]",
        "    path(0, 1)  [why/path#1, why.dl:5:1]",
        "      e(0, 1)  [given]",
        "    e(1, 2)  [given]",
        "  not path(2, _): absent",
        '  op(2, "MUL")  [given]',
        '  "MUL" != "ADD"',
        "  limit(3)  [why/limit#1, why.dl:11:9]",
        "  2 = #count { Y : path(Y, 2), Y != 2 }",
        "  2 < 3",
        "  4 = @double(2)",
        "  4 + 1 > 3",
    ]


def test_parts_of_a_proof() -> None:
    model = model_of(PATHS, e=[(0, 1), (1, 2)])
    proof = model.why("path", (0, 2))
    assert (proof.relation, proof.row, proof.rule, proof.height) == ("path", (0, 2), "why/path#2", 2)
    assert proof.place is not None and (proof.place.file, proof.place.line) == ("why.dl", 6)
    assert proof.text == "path(X, Z) :- path(X, Y), e(Y, Z)."
    assert premises(proof) == ["path(0, 1)", "e(1, 2)"]
    assert [part.height for part in proof.walk()] == [2, 1, 0, 0]


def test_kinds_of_premises() -> None:
    text = (
        PATHS
        + ".function double(n: int) -> int\n.decl q(a: int)\nq(X) :- e(X, Y), not path(Y, X), @double(X) != 7, X < Y."
    )
    parts = model_of(text, e=[(0, 1)]).why("q", (0,)).premises
    assert isinstance(parts[0], Proof)
    assert parts[1] == Absence("path", (1, 0))
    assert parts[2:] == (Condition("function", "@double(0) != 7"), Condition("comparison", "0 < 1"))


def test_false_and_unknown_atoms() -> None:
    model = model_of(PATHS, e=[(0, 1)])
    for relation, row, code, message in [
        ("path", (1, 0), "SL714", "path(1, 0) is not true"),
        ("path", (0,), "SL712", "path has 2 arguments, not 1"),
        ("road", (0, 1), "SL711", "no relation is called road"),
    ]:
        with pytest.raises(UsageError) as caught:
            model.why(relation, row)
        assert (caught.value.code, caught.value.message) == (code, message)


def distances(edges: list[Row]) -> dict[Row, int]:
    """The number of edges on a shortest path, by its ends."""
    found: dict[Row, int] = {}
    front: set[Row] = set(edges)
    for length in itertools.count(1):
        if not front:
            return found
        found |= dict.fromkeys(front, length)
        front = {(a, d) for a, b in front for c, d in edges if b == c and (a, d) not in found}
    raise AssertionError


@pytest.mark.parametrize("seed", range(12))
def test_heights_are_shortest_paths_through_cycles(seed: int) -> None:
    rng = random.Random(seed)
    edges: list[Row] = [(rng.randrange(9), rng.randrange(9)) for _ in range(rng.randint(3, 22))]
    model = model_of(PATHS, e=edges)
    shortest = distances(edges)
    assert sorted(shortest) == model.rows("path")
    for row, length in shortest.items():
        assert model.why("path", row).height == length


def test_height_of_a_balanced_proof() -> None:
    text = PATHS.replace("path(X, Y), e(Y, Z)", "path(X, Y), path(Y, Z)")
    model = model_of(text, e=[(i, i + 1) for i in range(16)])
    assert [model.why("path", (0, end)).height for end in (1, 2, 3, 4, 5, 8, 9, 16)] == [
        1,
        2,
        3,
        3,
        4,
        4,
        5,
        5,
    ]


def replay(proof: Proof, model: Model) -> None:
    """Every step rests on true atoms of lesser height, and every absence is one."""
    for step in proof.walk():
        assert model.has(step.relation, step.row)
        heights = [part.height for part in step.premises if isinstance(part, Proof)]
        assert step.height == (1 + max(heights, default=0) if step.premises else 0)
        for part in step.premises:
            if isinstance(part, Absence):
                pattern = part.row
                assert not any(
                    all(want in (None, got) for want, got in zip(pattern, row, strict=True))
                    for row in model.rows(part.relation)
                )


def test_every_decision_of_the_grouping_core_has_a_proof() -> None:
    rules = Path(__file__).parents[1] / "bench" / "grouping_core.dl"
    compiled = compile_program(link([parse_text(rules.read_text(encoding="utf-8"), rules.name, "bench")]))
    functions: dict[str, Callable[..., int]] = {
        "compose": lambda inner, outer: outer | (inner & 7),
        "contiguous_size": lambda view: -1 if view & 7 else view >> 3,
        "view_size": lambda view: view >> 3,
        "pads": lambda view: int(bool(view & 2)),
    }
    facts: dict[str, list[Row]] = {
        "node": [(i,) for i in range(8)],
        "edge": [
            (0, 1, 32),
            (1, 2, 32),
            (2, 3, 32),
            (3, 4, 33),
            (1, 5, 32),
            (5, 6, 34),
            (4, 7, 32),
            (6, 7, 32),
        ],
        "reduce": [(1,), (3,), (5,)],
        "pos": [(1, 1), (3, 3), (5, 5)],
        "whole": [(1, 32), (3, 32), (5, 32)],
        "size": [(1, 4), (3, 4), (5, 4)],
        "unsafe_op": [(5,)],
        "output": [(7,)],
    }
    model = compiled.evaluate(facts, functions)
    asked = 0
    for relation in model.program.relations:
        for row in model.rows(relation):
            replay(model.why(relation, row), model)
            asked += 1
    assert model.count("realize") > 1
    assert asked > 60


def test_a_fact_beside_rules_is_its_own_proof() -> None:
    model = model_of(PATHS + "path(7, 7).", e=[(7, 7)], path=[(5, 6)])
    assert model.why("path", (7, 7)).rule == "why/path#3"
    assert model.why("path", (7, 7)).height == 0
    assert model.why("path", (5, 6)).render(model.decode) == "path(5, 6)  [given]"


def test_proof_of_ten_thousand_steps() -> None:
    text = PATHS.replace("path(X, Y) :- e(X, Y).", "path(0, Y) :- e(0, Y).")
    length = 10_000
    model = model_of(text, e=[(i, i + 1) for i in range(length)])
    proof = model.why("path", (0, length))
    assert proof.height == length
    lines = proof.render(model.decode).splitlines()
    assert len([line for line in lines if line.lstrip().startswith("e(")]) == length
    assert lines[0] == f"path(0, {length})  [why/path#2, why.dl:6:1]"
    assert f"{'  ' * 12}path(0, {length - 12})  [see 1]" in lines
    assert f"[1] path(0, {length - 12})  [why/path#2, why.dl:6:1]" in lines
    assert max(map(len, lines)) < 80


def test_shared_parts_are_written_once() -> None:
    text = """
        .decl e(a: int)
        .input e
        .decl both(a: int, level: int)
        .decl one(a: int, level: int)
        .decl two(a: int, level: int)
        both(X, 0) :- e(X).
        one(X, L) :- both(X, L).
        two(X, L) :- both(X, L).
        both(X, M) :- one(X, L), two(X, L), M = L + 1, L < 40.
    """
    model = model_of(text, e=[(1,)])
    proof = model.why("both", (1, 40))
    assert len(list(proof.walk())) == 3 * 40 + 2
    lines = proof.render(model.decode).splitlines()
    assert len(lines) < 500
    assert sum("[shown above]" in line for line in lines) > 10


def test_reasons_do_not_depend_on_the_engine() -> None:
    rules, edges = program(PATHS), [(0, 1), (1, 2), (2, 0), (2, 3)]
    first = compile_program(rules).evaluate({"e": edges})
    with PydatalogEvaluator(rules) as evaluator:
        second = evaluator.evaluate({"e": edges})
    for row in first.rows("path"):
        assert first.why("path", row).render(first.decode) == second.why("path", row).render(second.decode)
