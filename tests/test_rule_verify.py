"""`schedulog verify`: graphs at random and all small ones, what breaks made small, and the rungs that rules reach."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from schedulog.__main__ import main
from schedulog.errors import ScheduleError
from schedulog.facts.notation import read_notation
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.rungs import keep, rungs
from schedulog.scheduler.schedule import Scheduler
from schedulog.trials.draw import draw_recipe
from schedulog.trials.ladder import Effort, Findings, try_rules
from schedulog.trials.minimal import minimal
from schedulog.trials.recipe import Recipe, Sample, Step
from schedulog.trials.shrink import shrink
from schedulog.trials.small import small_recipes
from schedulog.trials.trial import Trials, joined
from schedulog.verify import difference

SWINGS = """.decl odd(n: node)
%! id: my/odd    %! kind: helper
odd(N) :- computed(N), op(N, "EXP"), not realize(N).
%! id: my/store-odd    %! kind: realize
realize(N) :- odd(N).
%! id: my/sums    %! kind: realize
realize(N) :- is_reduce(N).
%? test "a sum"   graph: x=load f32[8]; s=sum x axis=0; out s   holds realize(s).
"""
ENDLESS = ".decl up(i: int)\nup(0).\nup(J) :- up(I), J = I + 1.\n"
NEVER = '%! id: my/never    %! kind: realize\nrealize(N) :- op(N, "THREEFRY").\n'


@pytest.fixture
def rules(tmp_path: Path) -> Any:
    def write(text: str) -> str:
        path = tmp_path / "mine.dl"
        path.write_text(text)
        return str(path)

    return write


def silent(_what: str, _done: int, _all: int) -> None:
    """Nobody watches."""


def tried(*disable: str, packs: Sequence[str] = ("classic",), **effort: int) -> Findings:
    """What trials of packs find, on numpy, with rules of core left out."""
    program = load_program(packs, disable=disable)
    ids = sorted({rule.id for rule in program.rules})
    return try_rules(program, ids, ["numpy"], Effort(**effort), silent)


def test_every_drawn_graph_is_one_and_a_seed_gives_it_again() -> None:
    texts = [str(draw_recipe(Random(seed))) for seed in range(300)]
    assert texts == [str(draw_recipe(Random(seed))) for seed in range(300)]
    operations = set()
    for seed in range(300):
        recipe = draw_recipe(Random(seed))
        assert recipe.made.graph.outputs == recipe.wanted
        operations |= {step.op for step in recipe.steps}
    assert {
        "sum",
        "pad",
        "expand",
        "assign",
        "cast",
        "copy",
        "contiguous",
        "bind",
        "buffer_view",
    } <= operations


def test_all_small_graphs_each_once() -> None:
    counts = [len(list(small_recipes(most))) for most in (1, 2, 3, 4)]
    assert counts == [5, 45, 479, 6332]
    shown = {str(recipe) for recipe in small_recipes(1)}
    assert shown == {
        "x=load f32[2,2]; v1=exp x; out v1",
        "x=load f32[2,2]; v1=sum x axis=1; out v1",
        "x=load f32[2,2]; v1=flip x axis=0; out v1",
        "x=load f32[2,2]; v1=pad x by=(0,0),(1,0); out v1",
        "x=load f32[2,2]; v1=mul x x; out v1",
    }
    for recipe in small_recipes(3):
        assert recipe.made.graph.nodes


def test_joined_schedules_give_what_each_gives() -> None:
    trials = Trials(load_program(["classic"]), ["numpy"])
    recipes = [recipe for i, recipe in enumerate(small_recipes(3)) if i % 60 == 0]
    schedules = [trials.decide(Sample(recipe)).schedule for recipe in recipes]
    whole = joined([schedule for schedule in schedules if schedule is not None])
    assert len(whole.kernels) == sum(len(s.kernels) for s in schedules if s is not None) > 9
    assert difference(whole, "numpy") == ""


def test_core_and_classic_stand_the_trials() -> None:
    found = tried(graphs=60)
    assert found.counterexample is None
    assert found.ran + found.refused == 60
    assert found.fired["core/version-order"] and found.fired["classic/expanded"]
    assert found.rung("realize", "classic/expanded", tested=True, failing=False) == 2
    assert found.rung("realize", "classic/expanded", tested=True, failing=True) == 0


@pytest.mark.parametrize(
    ("rule", "packs", "code"),
    [
        ("core/version-order", (), "SL323"),
        ("core/kept-before", (), "SL323"),
        ("core/copy-own-target", (), "SL323"),
        ("core/reads-aside", (), "SL311"),
        ("core/store-requested", (), "SL322"),
    ],
)
def test_a_missing_guard_of_core_is_found_on_a_small_graph(
    rule: str, packs: tuple[str, ...], code: str
) -> None:
    bad = tried(rule, packs=packs, graphs=150, seed=1).counterexample
    assert bad is not None and bad.fault.key == ("error", code)
    assert len(bad.sample.recipe.steps) <= 5
    assert Trials(load_program(["classic"]), ["numpy"]).fault(bad.sample) is None


def test_a_window_read_after_its_memory_is_overwritten_is_refused_without_rules_too() -> None:
    text = "x=load f32[1]; y=load f32[1]; w=buffer_view x f32[1]; b=add w 3; a=assign x y; out a, b"
    scheduler = Scheduler(load_program(["classic"], disable=["core/version-order"]))
    with pytest.raises(ScheduleError, match=r"after k1_assign: .* has overwritten it") as caught:
        scheduler.schedule(scheduler.decide(read_notation(text)))
    assert caught.value.code == "SL323"


def test_wrong_numbers_are_found_where_no_check_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedulog.scheduler.schedule.check_kernels", lambda schedule: None)
    bad = tried("core/version-order", packs=(), graphs=60, seed=1).counterexample
    assert bad is not None and bad.fault.kind == "wrong"
    assert bad.fault.text.startswith("on numpy ")
    assert "assign" in str(bad.sample.recipe) and len(bad.sample.recipe.steps) <= 6
    names = {step.name for step in bad.sample.recipe.steps}
    assert len(bad.kernels) >= 2
    told = [{*kernel.members, *kernel.reads} for kernel in bad.kernels]
    assert all(found and found <= names for found in told)


def test_an_endless_rule_is_found(rules: Any) -> None:
    program = load_program([rules(ENDLESS)])
    bad = try_rules(program, ["mine/up"], ["numpy"], Effort(graphs=2), silent).counterexample
    assert bad is not None and (bad.fault.kind, bad.fault.code) == ("endless", "SL140")
    assert bad.culprits == ("mine/up#1", "mine/up#2")


def test_shrinking_keeps_what_breaks() -> None:
    steps = (
        Step("x", "load", ("f32[4,5]",)),
        Step("y", "load", ("f32[4,5]",)),
        Step("v1", "exp", ("x",)),
        Step("v2", "sum", ("v1",), "axis=1"),
        Step("v3", "expand", ("v2",), "to=[4,5]"),
        Step("v4", "add", ("v3", "y")),
    )
    sample = Sample(Recipe(steps, ("v4", "v1")), {"kernel_nodes": 3})
    found = shrink(sample, lambda s: "=sum" in str(s.recipe))
    assert str(found.recipe) == "x=load f32[1,1]; a=sum x axis=1; out a"
    assert not found.options


def test_minimal_is_one_minimal() -> None:
    assert minimal(list(range(40)), lambda kept: {3, 17, 38} <= set(kept)) == [3, 17, 38]
    assert minimal([1, 2], lambda kept: True) == []
    assert minimal([7], lambda kept: 7 in kept) == [7]
    assert minimal(list("abcdef"), lambda kept: len(kept) > 3) == list("cdef")


def test_the_command_tells_and_saves_a_counterexample(
    rules: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, saved = rules(SWINGS), str(tmp_path / "mine_test.dl")
    assert main(["verify", path, "--device", "numpy", "--save-counterexample", saved]) == 1
    out = capsys.readouterr().out
    assert "error[SL143] atoms neither true nor false on a graph that has a schedule" in out
    assert "needed for it: my/odd#1, my/store-odd#1" in out
    assert "my/sums       realize     1" in out
    text = Path(saved).read_text()
    title, graph, claim = text.splitlines()
    assert title == 'test "counterexample: atoms neither true nor false"'
    assert re.fullmatch(r"  graph: (\w)=(load|const 2) f32\[1[,1]*\]; (\w)=exp \1; out \3", graph)
    assert claim == "  result ~ numpy."
    assert text in out
    assert "% kernel" not in out  # atoms that stay open: there is no schedule
    assert main(["test", path, "--engine", "sqlite"]) == 1
    assert "result ~ numpy" in capsys.readouterr().out


def test_a_rule_that_never_fires_is_unproved(rules: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", rules(NEVER), "--device", "numpy", "--graphs", "3"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"my/never  realize     0 .* unproved: it fired on none of \d+ graphs", out)


def test_a_limit_of_time_is_told(rules: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = rules("%! id: my/sums    %! kind: realize\nrealize(N) :- is_reduce(N).\n")
    asked = ["verify", path, "--device", "numpy", "--seconds", "0", "--json"]
    assert main(asked) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["late"] and found["rules"][0]["verdict"].endswith("(limit: 0 s)")


def test_the_exhaustive_part_passes_or_says_how_far(rules: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = rules("%! id: my/sums    %! kind: realize\nrealize(N) :- is_reduce(N).\n")
    asked = ["verify", path, "--device", "numpy", "--graphs", "8", "--exhaustive", "2", "--json"]
    assert main(asked) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["small_graphs"] == {"run": 45, "all": 45, "operations": 2}
    assert found["rules"][0]["rung"] == 2 and found["rules"][0]["small"] > 10


def test_an_unknown_rule_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "classic/expandet"]) == 1
    assert "error[SL716] no rule is called `classic/expandet`" in capsys.readouterr().err


def test_rungs_are_kept_for_the_rules_as_they_are(rules: Any, tmp_path: Path) -> None:
    path = rules(SWINGS)
    program = load_program([path])
    assert rungs(program)["my/sums"] == 0
    assert keep(program, {"my/sums": 2}, {"graphs": 9}) == [tmp_path / "verified.json"]
    assert rungs(load_program([path]))["my/sums"] == 2
    assert rungs(load_program([path, "classic"]))["my/sums"] == 2
    rules(SWINGS.replace("is_reduce(N)", "is_reduce(N), computed(N)"))
    assert rungs(load_program([path]))["my/sums"] == 0
    rules("% a comment changes nothing\n" + SWINGS)
    assert rungs(load_program([path]))["my/sums"] == 2
    (tmp_path / "verified.json").write_text("{}")
    assert rungs(load_program([path]))["my/sums"] == 0


def test_the_recorded_rungs_of_core_and_classic_are_those_of_all_rules_or_out_of_date() -> None:
    found = set(rungs(load_program(["core", "classic"])).values())
    if found == {0}:
        warnings.warn(
            "rungs out of date: schedulog verify core classic --exhaustive 4 --record", stacklevel=1
        )
    assert found == {0} or min(found) >= 2
