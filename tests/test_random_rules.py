"""A sample of random rule sets: each ends in right numbers or a clear error. tests/random_rules.py tries any number."""

from __future__ import annotations

import pytest
from random_rules import beside, random_rules, subjects, try_set

from schedulog.errors import RuleError, ScheduleError
from schedulog.facts.notation import read_notation
from schedulog.scheduler.engines.engine import Limits
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.schedule import Scheduler

GRAPHS = 3


def test_random_rules_are_right_or_refused() -> None:
    found = [try_set(seed, GRAPHS, "numpy") for seed in range(1, 11)]
    assert [line for one in found for line in one.bad] == []
    assert all(one.ends.total() == len(subjects(GRAPHS)) == GRAPHS for one in found)
    assert sum(one.ends["right"] for one in found) > 5 * GRAPHS


def test_a_seed_gives_one_rule_set_and_nineteen_in_twenty_are_well_formed() -> None:
    texts = [random_rules(seed, beside(seed)) for seed in range(1, 4)]
    assert texts == [random_rules(seed, beside(seed)) for seed in range(1, 4)]
    for seed, text in enumerate(texts, 1):
        assert load_program(beside(seed), extra=[("random.dl", text)]).rules
    with pytest.raises(RuleError):
        load_program((), extra=[("random.dl", random_rules(0))])


CROSS = """
.decl pair(a: node, b: node)
pair(A, B) :- computed(A), computed(B).
"""


def test_a_product_of_nodes_names_rule_and_relation() -> None:
    chain = "; ".join(f"v{i + 1}=neg v{i}" for i in range(300))
    graph = read_notation(f"v0=load f32[4]; {chain}; out v300")
    program = load_program((), extra=[("mine.dl", CROSS)])
    with pytest.raises(ScheduleError) as caught:
        Scheduler(program, limits=Limits(growth=2, least_rows=1_000)).decide(graph)
    assert caught.value.code == "SL140"
    assert caught.value.message.startswith("pair: not finished")
    assert caught.value.reason.startswith("rule mine/pair#1 ")
