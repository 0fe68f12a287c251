"""schedulog.diff and `schedulog diff` on a graph: costs, regrouped kernels, causes, results."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from told import Command, told

import schedulog
from schedulog import agreement
from schedulog.errors import ScheduleError, UsageError
from schedulog.facts.graph import Graph
from schedulog.facts.json_format import write_graph
from schedulog.facts.notation import read_notation
from schedulog.scheduler.ablate import Ablation, ablatable
from schedulog.scheduler.compare import Cause
from schedulog.scheduler.edit import without
from schedulog.scheduler.kernels import Schedule
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.measure import Measures, measure
from schedulog.scheduler.record.outcome import attempt
from schedulog.scheduler.schedule import Scheduler
from schedulog.scheduler.what_if import Policy, what_if
from schedulog.verify import Values, executed

ROOT = Path(__file__).resolve().parent.parent
SOFTMAX = """x=load f32[4,8]; m=max x axis=1; w=expand m to=[4,8]; d=sub x w; e=exp d
             s=sum e axis=1; v=expand s to=[4,8]; r=recip v; y=mul e r; out y"""
SHARED = """%! id: mine/shared    %! kind: realize
%! title: Store what two operations read
realize(N) :- computed(N), edge(N, U, _), edge(N, W, _), U != W.
"""
REFUSED = "x=load f32[4,4]; y=load f32[4,4]; p=permute x order=1,0; s=add p y; a=assign x s; out a"
LONG = "x=load f32[6,64]; s=sum x axis=0,1; n=neg s; m=mul n n; out m"
SPLIT = {"SPLIT_REDUCEOP": 1, "split_ratio": 16, "split_parts": 32}


@pytest.fixture(scope="module")
def classic() -> Program:
    return load_program(["classic"])


@pytest.fixture(scope="module")
def shared() -> Program:
    return load_program(["classic"], extra=[("mine.dl", SHARED)])


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """`schedulog diff` in a folder with softmax.json, chain.json and mine.dl."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("softmax", SOFTMAX), ("chain", "x=load f32[8]; n=neg x; out n")):
        (tmp_path / f"{name}.json").write_text(write_graph(read_notation(text)), encoding="utf-8")
    (tmp_path / "mine.dl").write_text(SHARED, encoding="utf-8")

    return told(capsys, "diff")


# What a schedule costs.


def measured(text: str, program: Program) -> Measures:
    made = attempt(Scheduler(program), read_notation(text), {})
    _, schedule = made.result()
    return measure(schedule)


def test_operations_of_several_kernels_are_recomputed(classic: Program, shared: Program) -> None:
    # max 32, sub and exp 32 each in two kernels, sum 32, recip and mul 32 each.
    apart, together = measured(SOFTMAX, classic), measured(SOFTMAX, shared)
    assert (apart.operations, apart.recomputed) == (256, 64)
    assert (together.operations, together.recomputed) == (192, 0)


def test_peak_memory_is_what_is_held_at_once(classic: Program) -> None:
    # m (4 floats) is held until y is made, s (4) joins it, y (32) is a result: 16 + 16 + 128 bytes.
    assert measured(SOFTMAX, classic).peak_bytes == 160
    # a, b and c of 256 bytes each: while b is made a is held, while c is made only b.
    chain = "x=load f32[64]; a=contiguous x; n=neg a; b=contiguous n; m=neg b; c=contiguous m; out c"
    assert measured(chain, classic).peak_bytes == 512


def test_the_memory_of_the_graph_is_there_anyway(classic: Program) -> None:
    found = measured("x=load f32[64]; y=load f32[64]; s=add x y; a=assign x s; out a", classic)
    assert (found.kernels, found.peak_bytes, found.traffic) == (1, 0, 768)


# A difference, and what is responsible.


def test_a_rule_that_is_added(classic: Program, shared: Program) -> None:
    found = schedulog.diff(read_notation(SOFTMAX), classic, shared, device=["numpy"])
    assert (
        str(found)
        == """\
graph: 11 nodes
  kernels   3 -> 4
  traffic   592 B -> 832 B
  read      432 B -> 544 B
  written   160 B -> 288 B
  recompute 64 -> 0 operations   (n4 in 2 -> 1 kernels, n5 in 2 -> 1 kernels)
  peak      160 B -> 272 B
  same      errors none
  results   equal on numpy
  kernels   {n4 n5 n6} + {n4 n5 n8 n9} => {n6} + {n8 n9} + {n4 n5}
  because of mine/shared#1 added
    - member(n6, n1), member(n6, n3), member(n6, n4), member(n6, n5), member(n9, n1), and 3 more   by core/member#2
    - data(n2, n6), data(n2, n9)   by core/data-order#1
    + chosen(n5)   by core/chosen#1
    + realize(n5)   by mine/shared#1
    + stored(n5)   by core/stored#1
    + member(n5, n1), member(n5, n3), member(n5, n4)   by core/member#2
    + member(n5, n5)   by core/member#1
    + 3 more
  0 changes without a responsible rule"""
    )
    assert (found.same, found.worse, found.wrong) == (False, True, False)


def test_the_same_rules_make_no_difference(classic: Program) -> None:
    found = schedulog.diff(read_notation(SOFTMAX), "classic", classic)
    assert found.same and not found.worse
    assert str(found).splitlines()[1:] == [
        "  same      kernels 3, traffic 592 B, read 432 B, written 160 B, recompute 64, peak 160 B, errors none",
        "  no difference",
    ]


def test_a_condition_that_is_dropped_is_the_cause(classic: Program) -> None:
    turned = read_notation("x=load f32[4,8]; m=mul x x; v=permute m order=1,0; n=neg v; out n")
    found = schedulog.diff(turned, classic, without(classic, ["classic/expanded:4"])).changes
    assert found.regrouped[0].after == (("n4",), ("n2",))
    assert found.difference.causes == (Cause("rule", "classic/expanded#1", "changed"),)
    assert found.untraced == 0


def test_nodes_keep_their_names_where_a_reduction_is_split(classic: Program) -> None:
    whole = without(classic, ["classic/split-reduction"])
    found = schedulog.diff(read_notation(LONG), classic, whole, options=SPLIT).changes
    assert found.difference.causes == (Cause("rule", "classic/split-reduction#1", "removed"),)
    assert found.untraced == 0
    assert found.regrouped[0].before == (("n2.2",),)
    removed = {change.atom for change in found.difference.decisions if change.change == "removed"}
    assert {"split(n2, 2, 32)", "realize(n2.2)"} <= removed
    # The second step is what n2 was: it is in the kernel of n4 on both sides.
    assert not any("n2," in atom or "n2)" in atom for atom in removed - {"split(n2, 2, 32)"})


def test_a_switch_that_splits_is_the_cause(classic: Program) -> None:
    found = schedulog.diff(read_notation(LONG), classic, classic, options_after=SPLIT, device="numpy")
    causes = found.changes.difference.causes
    assert {cause.name for cause in causes} == {"SPLIT_REDUCEOP=1", "split_ratio=16", "split_parts=32"}
    assert [(r.device, r.wrong, r.skipped) for r in found.results] == [("numpy", "", "")]


def test_an_error_is_part_of_the_answer(classic: Program) -> None:
    found = schedulog.diff(
        read_notation(REFUSED), classic, classic, options_after={"copy_on_hazard": 1}, device="numpy"
    )
    lines = str(found).splitlines()
    assert lines[1] == "  results   not compared on numpy: an error ended the scheduling"
    assert lines[2].startswith("  error    error[SL313] self-assign: n6 assign float32[4,4] (a) reads n0 ")
    assert lines[2].endswith(" -> -")
    assert lines[3] == "           because of option copy_on_hazard=1 added"
    assert found.changes.before is None and not found.worse
    back = schedulog.diff(read_notation(REFUSED), classic, classic, options={"copy_on_hazard": 1},
                          options_after={"copy_on_hazard": 0})  # fmt: skip
    assert back.worse


def test_a_switch_outside_its_range_is_refused(classic: Program) -> None:
    with pytest.raises(UsageError) as error:
        schedulog.diff(read_notation(SOFTMAX), classic, classic, options_after={"kernel_nodes": 0})
    assert error.value.code == "SL731"


# Results.


def spoiled(schedule: Schedule, device: str, inputs: Any) -> Values:
    """An execution that goes wrong where there are four kernels."""
    found = executed(schedule, device, inputs)
    off = 0.5 if len(schedule.kernels) == 4 else 0.0
    return replace(
        found, outputs={name: np.asarray(a + np.float32(off)) for name, a in found.outputs.items()}
    )


def test_wrong_results_are_told_with_the_side_to_blame(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agreement, "executed", spoiled)
    told = command("softmax.json", "--with", "mine.dl", "--device", "numpy", "--fail-on", "wrong")
    assert told.status == 1
    (line,) = (line for line in told.out.splitlines() if "WRONG" in line)
    assert line.startswith("  results   WRONG on numpy: after y is 0.")
    assert line.endswith(", at element 0")
    fine = command(
        "softmax.json", "--drop", "classic/stored-for-itself", "--device", "numpy", "--fail-on", "wrong"
    )
    assert fine.status == 0


def test_a_graph_that_is_too_much_to_run_is_told(command: Command) -> None:
    told = command("softmax.json", "--with", "mine.dl", "--device", "numpy", "--most-work", "255")
    assert "  results   not compared on numpy: 256 element operations, more than --most-work" in told.out


def test_results_that_differ_by_rounding_are_equal(monkeypatch: pytest.MonkeyPatch, classic: Program) -> None:
    def rounded(schedule: Schedule, device: str, inputs: Any) -> Values:
        found = executed(schedule, device, inputs)
        if len(schedule.kernels) != 4:
            return found
        return replace(found, outputs={n: np.nextafter(a, np.float32(9)) for n, a in found.outputs.items()})

    monkeypatch.setattr(agreement, "executed", rounded)
    other = load_program(["classic"], extra=[("mine.dl", SHARED)])
    found = schedulog.diff(read_notation(SOFTMAX), classic, other, device="numpy")
    assert (found.results[0].ulp, found.results[0].equal, found.wrong) == (1, False, False)
    assert "  results   equal on numpy (max 1 ulp)" in str(found)


def test_the_arrays_of_the_graph_stay_as_they_are(classic: Program, shared: Program) -> None:
    x = schedulog.Tensor(np.arange(8, dtype=np.float32))
    found = schedulog.diff(x + 1, classic, shared, device="numpy")
    assert found.results[0].equal
    assert x.numpy().tolist() == list(range(8))


# Rules left out in turn.


def test_rules_of_core_end_in_errors_not_in_wrong_numbers(classic: Program) -> None:
    graph = read_notation(SOFTMAX)
    found = dict(Ablation(Policy(Scheduler(classic)), ablatable(classic, ["core"]))(graph))
    codes = {}
    for rule, trial in found.items():
        if trial is None:
            continue
        assert trial.found.untraced == 0, rule
        error = trial.found.difference.after.failure
        if error is not None:
            codes[rule] = error.code
        else:
            (result,) = agreement.agreements(trial.before.schedule, trial.after.schedule, ["numpy"])
            assert result.equal, rule
    assert codes == {
        "core/computed": "SL323", "core/kernel": "SL322", "core/member": "SL322",
        "core/memory": "SL323", "core/store-requested": "SL322", "core/stored": "SL322",
    }  # fmt: skip


def test_a_rule_that_derives_nothing_is_not_tried(classic: Program) -> None:
    graph = read_notation(SOFTMAX)
    idle = [
        r for r, t in Ablation(Policy(Scheduler(classic)), ablatable(classic, ["classic"]))(graph) if not t
    ]
    assert "classic/fuse-arange" in idle and "classic/stored-for-itself" not in idle
    for rule in idle[::20]:
        edited = Policy(Scheduler(without(classic, [rule])))
        assert what_if(graph, Policy(Scheduler(classic)), edited).found.same, rule


def test_kernels_of_decisions_that_lack_rows_are_refused(classic: Program) -> None:
    scheduler = Scheduler(without(classic, ["core/member"]))
    graph = read_notation(SOFTMAX)
    with pytest.raises(ScheduleError) as error:
        scheduler.schedule(scheduler.decide(graph))
    assert error.value.code == "SL322"


def test_the_table_of_rules_left_out(command: Command) -> None:
    rules = ("expanded", "stored-for-itself", "lone", "added")
    only = [part for rule in rules for part in ("--only", f"classic/{rule}")]
    told = command("softmax.json", "chain.json", "--ablate", *only, "--only", "core/member")
    assert (told.status, told.out) == (0, """\
2 graphs, 5 rules left out in turn; 0 changes without a responsible rule

without                    graphs  decisions  kernels  traffic  recompute  peak   errors
core/member                     2         18  -        0        0          0      2x SL322
classic/stored-for-itself       2         20  -2       -336 B   -64        -32 B  -
classic/expanded                1          8  0        0        0          0      -

1 derive something, and nothing changes without them: classic/lone

1 derive nothing here: classic/added
""")  # fmt: skip
    record = command("softmax.json", "--ablate", "--only", "classic/expanded", "--json").json
    assert [(rule["rule"], rule["decisions"]) for rule in record["rules"]] == [("classic/expanded", 8)]


# The command.


def test_several_graphs_are_summed_up(command: Command) -> None:
    told = command("softmax.json", "chain.json", "--with", "mine.dl", "--device", "numpy")
    assert told.status == 1
    assert (
        told.out.partition("\n\n2 graphs")[2]
        == """\
: 0 fewer kernels, 1 more, 1 same, 0 errors; 0 changes without a responsible rule
changed    1 graph, 20 decisions
kernels    4 -> 5
traffic    656 B -> 896 B
recompute  64 -> 0
peak       less for 0, more for 1
results    compared for 2, WRONG for 0
"""
    )


def test_the_example_of_the_page_is_true(command: Command) -> None:
    page = (ROOT / "docs" / "workbench.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```console\n\$ schedulog diff softmax.json (.*?)\n(.*?)```", page, re.DOTALL)
    assert example[0] == "--with mine.dl --execute"
    told = command("softmax.json", "--with", "mine.dl", "--device", "numpy").out
    assert told.replace("equal on numpy", "equal on c, numpy") == example[1]


@pytest.mark.parametrize(
    ("fail_on", "edit", "status"),
    [
        ("any", ["--drop", "classic/stored-for-itself"], 1),
        ("worse", ["--drop", "classic/stored-for-itself"], 0),
        ("worse", ["--with", "mine.dl"], 1),
        ("wrong", ["--with", "mine.dl"], 0),
        ("any", ["--drop", "classic/fuse-arange"], 0),
    ],
)
def test_what_makes_the_exit_status_1(command: Command, fail_on: str, edit: list[str], status: int) -> None:
    assert command("softmax.json", *edit, "--fail-on", fail_on).status == status


def test_json_tells_all_of_it(command: Command) -> None:
    record = command("softmax.json", "--with", "mine.dl", "--json").json
    assert record["summary"]["more_kernels"] == 1 and record["broken"] == []
    (graph,) = record["graphs"]
    assert (graph["before"]["measures"]["kernels"], graph["after"]["measures"]["traffic"]) == (3, 832)
    assert graph["causes"] == [{"kind": "rule", "name": "mine/shared#1", "change": "added"}]
    assert {"atom": "realize(n5)", "kind": "realize", "change": "added", "rules": ["mine/shared#1"],
            "causes": graph["causes"]} in graph["decisions"]  # fmt: skip
    assert graph["repeated"] == [
        {"node": "n4", "before": 2, "after": 1},
        {"node": "n5", "before": 2, "after": 1},
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["softmax.json"], 2, "say what is to change"),
        (["--with", "mine.dl"], 2, "give a graph, or --corpus PATH"),
        (["softmax.json", "--drop", "classic/fuse-arrange"], 2, "did you mean `classic/fuse-arange`?"),
        (["softmax.json", "--ablate", "--only", "clasic"], 2, "did you mean `classic`?"),
        (["softmax.json", "--drop", "a", "--only", "core"], 2, "it limits --ablate"),
        (["softmax.json", "--set-after", "FUSE_ARRANGE=1"], 2, "error[SL706]"),
        (["softmax.json", "--set-after", "kernel_nodes=0"], 2, "error[SL731]"),
        (["softmax.json", "--ablate", "--engine", "prolog"], 2, "error[SL703]"),
        (["softmax.json", "--set-after", "FUSE_ARRANGE=1"], 2, "at --set-after"),
        (["softmax.json", "--ablate", "--device", "cray"], 1, "error[SL500]"),
        (
            ["softmax.json", "--with", "mine.dl", "--device", "null"],
            2,
            "`null` computes no values that could be compared",
        ),
        (["softmax.json", "--with", "mine.dl", "--dim", "N=1"], 1, "error[SL264]"),
        (
            ["softmax.json", "--with", "mine.dl", "--resume", "kept.db"],
            2,
            "it keeps the answers about a --corpus",
        ),
        (["absent.json", "--with", "mine.dl"], 1, "error[SL260] no file absent.json"),
        (["softmax.json", "--with", "absent.dl"], 1, "error[SL107]"),
    ],
)
def test_wrong_use(command: Command, arguments: list[str], status: int, text: str) -> None:
    told = command(*arguments)
    assert (told.status, told.out) == (status, "")
    assert text in told.err


def test_a_graph_of_many_nodes(classic: Program) -> None:
    text = "x=load f32[8]; " + "".join(f"v{i}=sin {'x' if not i else f'v{i - 1}'}; " for i in range(600))
    graph: Graph = read_notation(f"{text} out v599")
    found = schedulog.diff(graph, classic, classic, options_after={"kernel_nodes": 100}).changes
    assert found.after is not None and found.after.kernels == 7
    assert found.untraced == 0 and len(found.regrouped) == 1
