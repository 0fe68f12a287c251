"""Graphs near those of the rules' own tests: rules that fire on no graph drawn at random are tried too."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.rule_tests import suites
from schedulog.trials.candidates import Candidates
from schedulog.trials.exactness import crosses_devices, values_of
from schedulog.trials.ladder import Effort, try_rules
from schedulog.trials.mutate import mutated
from schedulog.trials.recipe import read_recipe
from schedulog.trials.seeds import Seeds, read_seeds

WIDE = """.decl axes(r: node -> c: int)
%! id: my/axes    %! kind: helper
axes(R, C) :- is_reduce(R), C = #count { A : reduced(R, A, _) }.
%! id: my/wide    %! kind: realize
realize(R) :- reduce_by(R, "ADD"), axes(R, C), C >= 3.
%? test "three axes"   graph: x=load f32[8,4,4,4]; s=sum x axis=1,2,3; n=neg s; out n
%?   holds realize(s).
%? test "a bad switch"   graph: x=load f32[8]; e=exp x; out e   set: kernel_nodes=0   error SL731.
"""


@pytest.fixture(scope="module")
def seeds() -> Seeds:
    return read_seeds(suites(["core", "classic"]), load_program(["classic"]))


def test_a_text_is_read_as_its_steps() -> None:
    text = (
        "x = load f32[8, 4] device=B\n y=shrink x to=( 0,4 ), (0, 2); n=bind min=1 max=8 value=4; out y , x"
    )
    assert str(read_recipe(text)) == (
        "x=load f32[8,4] device=B; y=shrink x to=(0,4),(0,2); n=bind min=1 max=8 value=4; out y, x"
    )
    with pytest.raises(ValueError, match="no `out`"):
        read_recipe("x=load f32[8]")


def test_a_rule_has_the_seeds_of_its_own_tests(tmp_path: Path) -> None:
    path = tmp_path / "wide.dl"
    path.write_text(WIDE)
    program = load_program([path])
    found = read_seeds(suites([path]), program)
    (seed,) = found.by_rule["my/wide"]
    assert str(seed.recipe) == "x=load f32[8,4,4,4]; s=sum x axis=1,2,3; n=neg s; out n"
    assert [list(pool) for pool in found.of("my/axes")] == [[seed], [seed]]
    watched = ["my/axes", "my/wide"]
    tried = try_rules(program, watched, ["numpy"], Effort(graphs=12), lambda *_: None, found)
    assert tried.counterexample is None and tried.fired["my/wide"] >= 3


def test_a_value_that_a_test_stores_is_asked_for(seeds: Seeds) -> None:
    texts = {str(sample.recipe) for sample in seeds.by_rule["core/blurred"]}
    assert any("e=exp x; e_stored=contiguous e" in text for text in texts)


def test_changed_graphs_can_be_tried_and_a_seed_gives_them_again(seeds: Seeds) -> None:
    recipes = [sample.recipe for sample in seeds.all]
    operations: set[str] = set()
    for number in range(0, len(recipes), 3):
        one, other = (mutated(Random(number), recipes[number], recipes, 4) for _ in range(2))
        assert str(one) == str(other)
        assert one.made.graph.outputs == one.wanted
        if one != recipes[number]:
            assert values_of(one) is not None and not crosses_devices(one)
            operations |= {step.op for step in one.steps}
    assert {"sum", "max", "assign", "pad", "flip", "reshape", "contiguous", "cast", "bitcast"} <= operations


def test_what_devices_round_is_not_compared_nor_cut_to_whole_numbers() -> None:
    kept = "x=load f32[4]; e=neg x; c=cast e i32; out c"
    assert [v.exact for v in values_of(read_recipe(kept)) or ()] == [True, True, True]
    for text in (
        "x=load f32[4]; e=sin x; c=cast e i32; out c",
        "x=load f32[4]; e=sin x; c=cmplt e x; out c",
        "x=load f16[4]; e=sin x; c=cast e f32; out c",
        "x=load i32[4]; e=sin x; out e",
        "x=load f32[4]; e=xor x x; out e",
    ):
        assert values_of(read_recipe(text)) is None


def test_the_rule_that_fired_least_comes_next(seeds: Seeds) -> None:
    program = load_program(["classic"])
    rules = [rule for rule in program.rules if rule.id in ("core/strays", "classic/endangered")]
    candidates = Candidates(program, rules, seeds, Random(0))
    candidates.note(["core/strays"])
    assert [candidates.least() for _ in range(3)] == ["classic/endangered"] * 3
    candidates.note(["classic/endangered"])
    assert candidates.least() == "core/strays"


def test_rules_that_no_random_graph_reaches_fire(seeds: Seeds) -> None:
    rare = ["classic/endangered", "classic/fuse-conv-backward", "classic/taken-back-before", "core/strays"]
    program = load_program(["classic"])
    found = try_rules(program, rare, ["numpy"], Effort(graphs=25), lambda *_: None, seeds)
    assert found.counterexample is None
    assert [rule for rule in rare if not found.fired[rule]] == []
