"""Which rules support what was derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import float32
from schedulog.facts.graph import graph_of
from schedulog.facts.ops import Op
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.engines.sqlite import compile_program
from schedulog.scheduler.language.load import link, load_program
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.language.syntax import parse_text
from schedulog.scheduler.schedule import Decisions, Scheduler
from schedulog.scheduler.why.support import derivations, kernel_reasons, supports

RULES = """
.decl edge(a: node, b: node)
.input edge
.decl start(a: node)
.input start
.decl lucky(n: int)
.decl reach(a: node)
%! id: t/start  %! kind: realize
reach(A) :- start(A).
%! id: t/step  %! kind: realize
reach(B) :- reach(A), edge(A, B).
.decl lonely(a: node)
%! id: t/lonely  %! kind: forbid
lonely(A) :- edge(A, _), not reach(A).
lonely(B) :- edge(_, B), not reach(B).
%! id: t/lucky  %! kind: fuse
lucky(7).
lucky(N) :- N = #count { A : reach(A) }, N > 2.
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return link([parse_text(RULES, "t.dl", "t")])


def model_of(program: Program, edges: list[tuple[int, int]], starts: list[int]) -> Model:
    return compile_program(program).evaluate({"edge": edges, "start": [(s,) for s in starts]})


@dataclass
class Held:
    kept: dict[str, list[tuple[int, ...]]]

    def rows(self, relation: str) -> list[tuple[int, ...]]:
        return self.kept[relation]


def copied(model: Model) -> Model:
    """The same model as another engine would hand it over: rows, and nothing else."""
    counts = {name: model.count(name) for name in model.program.relations}
    held = Held({name: model.rows(name) for name in counts})
    return Model(model.program, model.symbols, held, counts, model.functions, model.statistics, {})


def test_every_rule_of_a_row_is_named(program: Program) -> None:
    found = supports(model_of(program, [(0, 1), (1, 0), (2, 3)], [0]))
    assert found["reach"] == {(0,): ("t/start#1", "t/step#1"), (1,): ("t/step#1",)}
    assert found["lonely"] == {(2,): ("t/lonely#1",), (3,): ("t/lonely#2",)}
    assert found["lucky"] == {(7,): ("t/lucky#1",)}


def test_ways_are_counted(program: Program) -> None:
    found = derivations(model_of(program, [(0, 2), (1, 2), (5, 0), (5, 1)], [0, 1]))
    assert found["t/step#1"] == {(2,): 2}
    assert found["t/lonely#1"] == {(5,): 2}
    assert found["t/lucky#2"] == {(3,): 1}


def test_only_the_wanted_kinds(program: Program) -> None:
    assert set(supports(model_of(program, [(0, 1)], [0]), ("forbid",))) == {"lonely"}


def test_an_older_model_is_still_explained(program: Program) -> None:
    compiled = compile_program(program)
    first = compiled.evaluate({"edge": [(0, 1)], "start": [(0,)]})
    compiled.evaluate({"edge": [(4, 5)], "start": [(4,)]})
    assert supports(first)["reach"] == {(0,): ("t/start#1",), (1,): ("t/step#1",)}


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12),
    st.lists(st.integers(0, 6), max_size=3),
)
def test_rows_of_any_engine_give_the_same(edges: list[tuple[int, int]], starts: list[int]) -> None:
    model = model_of(link([parse_text(RULES, "t.dl", "t")]), sorted(set(edges)), sorted(set(starts)))
    assert supports(copied(model)) == supports(model)
    assert derivations(copied(model)) == derivations(model)
    for relation, rows in supports(model).items():
        assert set(rows) == set(model.rows(relation))


def test_every_decision_of_a_graph_has_a_rule() -> None:
    decisions = softmax()
    found = supports(decisions.model)
    for relation in ("realize", "stored", "member", "base_realize", "to_store"):
        assert set(found[relation]) == set(decisions.model.rows(relation)), relation


def test_kernels_know_what_asked_for_them() -> None:
    decisions = softmax()
    reasons = named(kernel_reasons(decisions.model), decisions)
    assert reasons["out"] == ("core/store-requested",)
    assert reasons["max"] == ("classic/expanded",)
    assert set(kernel_reasons(decisions.model)) == {k for (k,) in decisions.model.rows("kernel")}


def softmax() -> Decisions:
    x = build.buffer(Buffer(32, float32, name="x"), (4, 8))
    largest = build.reduce("MAX", x, (1,))
    shifted = build.alu(Op.ADD, x, build.expand(largest, (4, 8)))
    return Scheduler(load_program(["classic"])).decide(graph_of([shifted]))


def named(reasons: Mapping[int, tuple[str, ...]], decisions: Decisions) -> dict[str, tuple[str, ...]]:
    ops = {"ADD": "out", "REDUCE_AXIS": "max"}
    return {ops[decisions.graph.nodes[k].op.value]: ids for k, ids in reasons.items()}
