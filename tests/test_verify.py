"""Verification: what is no schedule is refused, with the node, the rule and the stage named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import schedulog
from schedulog.errors import GraphError, ScheduleError
from schedulog.facts import build, dtype
from schedulog.facts.buffer import Buffer
from schedulog.facts.extract import Intern, Row
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.node import CopyArg, Node, ReduceArg, node
from schedulog.facts.notation import read_notation
from schedulog.facts.ops import Op
from schedulog.facts.simplify import Simplified, simplify
from schedulog.facts.view import ViewStack
from schedulog.scheduler.kernels import Kernel, OrderEdge, Read, Schedule
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.schedule import Scheduler
from schedulog.scheduler.verify.kernels import check_kernels
from schedulog.scheduler.verify.simplified import check_simplified

CHAIN = "x=load f32[8]; e=exp x; c=contiguous e; f=neg c; out f"
REUSED = "x=load f32[8]; e=neg x; a=assign x e; f=sin x; out a, f"
TWICE = "x=load f32[8]; y=load f32[8]; e=neg y; a=assign x e; f=sin y; b=assign a f; out b"


def rules_file(folder: Path, text: str) -> Path:
    path = folder / "mine.dl"
    path.write_text(text)
    return path


def refused(action: Callable[[], object]) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        action()
    return caught.value


def schedule(text: str) -> Schedule:
    return schedulog.schedule(read_notation(text), options={"verify": 1, "copy_on_hazard": 1}).schedule


def refused_kernels(schedule: Schedule) -> tuple[str, str]:
    error = refused(lambda: check_kernels(schedule))
    assert error.code == "SL323"
    assert error.where == f"{schedule.graph.name}, stage kernels"
    return error.message, error.reason


def reordered(given: Schedule, order: list[int]) -> Schedule:
    """The kernels in another order, numbered anew, without edges."""
    kernels = tuple(replace(given.kernels[old], index=new) for new, old in enumerate(order))
    return replace(given, kernels=kernels, edges=())


def with_kernel(given: Schedule, index: int, changed: Kernel) -> Schedule:
    return replace(given, kernels=(*given.kernels[:index], changed, *given.kernels[index + 1 :]))


def decided_with(graph: Graph, relation: str, rows: list[tuple[int, ...]]) -> ScheduleError:
    """The error for decisions of which these rows are part, as a rule that goes wrong would derive them."""
    scheduler = Scheduler(load_program(["classic"]))

    def edit(facts: Mapping[str, list[Row]], intern: Intern) -> Mapping[str, list[Row]]:
        return {**facts, relation: rows}

    return refused(lambda: scheduler.schedule(scheduler.decide(graph, {"verify": 1}, edit)))


def test_a_stored_view() -> None:
    graph = read_notation("x=load f32[8]; e=exp x; t=reshape e to=[2,4]; f=neg t; out f")
    error = decided_with(graph, "stored", [(2,)])
    assert str(error) == (
        "error[SL322] n2 view float32[2,4] (t) is stored, though nothing is computed there\n"
        "  at graph, stage decisions\n"
        "  why: it breaks core/spec-stored\n"
        "  help: `schedulog why` shows the rules behind each fact; a policy derives `realize` and leaves the rest to core"
    )


def test_strangers_in_kernels() -> None:
    graph = read_notation("x=load f32[8]; e=exp x; f=neg x; out e, f")
    error = decided_with(graph, "member", [(1, 2), (2, 1)])
    assert error.code == "SL322"
    assert error.message == "n1 exp float32[8] (e) is computed in a kernel that does not need it"
    assert "core/spec-member-wanted; also" in error.reason
    assert (
        "n2 neg float32[8] (f) is stored, and computed again in another kernel (core/spec-member-once)"
        in error.reason
    )


@pytest.mark.parametrize(
    ("rule", "message", "broken"),
    [
        (
            "core/store-requested",
            "n2 neg float32[8] (f) was requested, and no kernel makes it",
            "core/spec-requested",
        ),
        ("core/kernel", "n2 neg float32[8] (f) was requested, and no kernel makes it", "core/spec-requested"),
        (
            "core/input",
            "n0 buffer float32[8] (x) is needed by a kernel that neither computes nor reads it",
            "core/spec-read",
        ),
    ],
)
def test_a_rule_set_without_a_rule_that_it_needs(
    rule: str, message: str, broken: str, tmp_path: Path
) -> None:
    nothing = rules_file(tmp_path, "% No policy.\n")
    graph = read_notation("x=load f32[8]; e=exp x; f=neg e; out f")
    options = {"verify": int(broken == "core/spec-read")}
    error = refused(lambda: schedulog.schedule(graph, rules=[nothing], disable=[rule], options=options))
    assert (error.code, error.message) == ("SL322", message)
    assert broken in error.reason


def test_an_assign_to_a_computed_value_cannot_be_made() -> None:
    x = build.buffer(Buffer(8, dtype.float32, "CPU", "x"))
    with pytest.raises(GraphError) as caught:
        node(Op.ASSIGN, (build.alu(Op.EXP, x, label="e"), build.alu(Op.NEG, x)), label="a")
    assert str(caught.value) == (
        "error[SL214] cannot assign to <EXP float32[8]>\n"
        "  why: only memory can be written to\n"
        "  help: assign to a tensor that is realized"
    )


def test_kernels_that_run_too_early() -> None:
    message, reason = refused_kernels(reordered(schedule(CHAIN), [1, 0]))
    assert message == "k1_neg: n3 neg float32[8] (f) reads n2 contiguous float32[8] (c) before it is made"
    assert reason == "it breaks kernels/order"


def test_kernels_with_the_wrong_number() -> None:
    given = schedule(CHAIN)
    message, reason = refused_kernels(replace(given, kernels=given.kernels[::-1], edges=()))
    assert message == "k1_neg: n3 neg float32[8] (f) is number 1 and runs as number 0"
    assert "k0_contiguous: n2 contiguous float32[8] (c) is number 0 and runs as number 1" in reason


def test_a_kernel_that_lacks_an_input() -> None:
    given = schedule(CHAIN)
    message, reason = refused_kernels(with_kernel(given, 0, replace(given.kernels[0], reads={})))
    assert message == (
        "k0_contiguous: n2 contiguous float32[8] (c) needs n0 buffer float32[8] (x), which it neither computes nor reads"
    )
    assert reason == "it breaks kernels/complete"


def test_a_kernel_that_computes_more_than_its_members() -> None:
    given = schedule(CHAIN)
    last = given.kernels[1]
    deeper = replace(last, reads={given.graph.nodes[0]: Read(1, ViewStack.of_shape((8,)))})
    message, reason = refused_kernels(with_kernel(given, 1, deeper))
    assert (
        message == "k1_neg: n3 neg float32[8] (f) computes n2 contiguous float32[8] (c), which is no member"
    )
    assert "n1 exp float32[8] (e), which is no member (kernels/members)" in reason


def test_a_read_of_an_argument_that_is_not_there() -> None:
    given = schedule(CHAIN)
    wrong = {n: replace(read, argument=5) for n, read in given.kernels[1].reads.items()}
    message, _ = refused_kernels(with_kernel(given, 1, replace(given.kernels[1], reads=wrong)))
    assert message == "k1_neg: n3 neg float32[8] (f) reads argument 5 of 2"


def test_edges_that_go_back() -> None:
    given = schedule(CHAIN)
    back = OrderEdge(1, 0, "data", given.kernels[0].buffers[0])
    message, reason = refused_kernels(replace(given, edges=(*given.edges, back)))
    assert message == "k0_contiguous runs before kernel 1, for which it waits (data of n2)"
    assert reason == "it breaks kernels/edges"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"buffer": None}, "n3 neg float32[8] (f) (f) has no storage"),
        (
            {"buffer": Buffer(8, dtype.float32, "CPU", "z")},
            "n3 neg float32[8] (f) (f) lies in memory that nothing makes",
        ),
        ({"view": ViewStack.of_shape((2, 4))}, "n3 neg float32[8] (f) (f) is seen in another shape"),
    ],
)
def test_results_that_are_nowhere(change: dict[str, object], message: str) -> None:
    given = schedule(CHAIN)
    changed = replace(given, results=(replace(given.results[0], **change),))  # type: ignore[arg-type]
    assert refused_kernels(changed) == (message, "it breaks kernels/results")


def test_a_constant_needs_no_storage() -> None:
    assert schedule("x=load f32[8]; c=const 2 f32[8]; e=exp x; out c, e").results[0].buffer is None


def test_a_reader_after_the_overwrite() -> None:
    given = schedule(REUSED)
    assert [k.kind for k in given.kernels] == ["store", "assign"]
    message, reason = refused_kernels(reordered(given, [1, 0]))
    assert message == (
        "k0_sin: n3 sin float32[8] (f) reads n0 buffer float32[8] (x) after k1_assign: n2 assign float32[8] (a) has "
        "overwritten it"
    )
    assert reason == "it breaks kernels/contents"


def test_a_reader_of_elements_that_are_not_overwritten_may_come_later() -> None:
    given = schedule(
        "x=load f32[8]; l=shrink x to=(0,4); r=shrink x to=(4,8); u=load f32[4]; a=assign l u; f=sin r; out a, f"
    )
    order = [k.index for k in sorted(given.kernels, key=lambda k: k.kind != "assign")]
    check_kernels(reordered(given, order))


def test_a_reader_of_what_an_assign_wrote_may_come_after_an_overwrite_beside_it() -> None:
    # Seen in a row, the columns that a wrote may seem to have those between them that b writes.
    given = schedule(
        "x=load f32[3,4]; l=shrink x to=(0,3),(0,1); r=shrink x to=(0,3),(1,4); u=load f32[3,3]; v=load f32[3,1]; "
        "a=assign r u; p=pad a by=(0,0),(1,0); q=reshape p to=[12]; b=assign l v; e=neg q; out e, b"
    )
    assert [k.output.op for k in given.kernels] == ["ASSIGN", "ASSIGN", "NEG"]
    check_kernels(given)


def test_overwrites_in_the_wrong_order() -> None:
    given = schedule(TWICE)
    message, reason = refused_kernels(reordered(given, [1, 0]))
    assert (
        message == "k0_assign: n3 assign float32[8] (a) overwrites what n5 assign float32[8] (b) is to leave"
    )
    assert reason.startswith("it breaks kernels/overwrites")


def test_a_copy_of_another_content() -> None:
    text = "x=load f32[8]; r=flip x axis=0; e=neg r; a=assign x e; y=load f32[8]; s=flip y axis=0; g=neg s; b=assign y g; out a, b"
    given = schedule(text)
    copies = [k.buffers[0] for k in given.kernels if not k.members]
    assert len(copies) == 2
    last = given.kernels[-1]
    swapped = tuple(
        copies[0] if buffer is copies[1] else copies[1] if buffer is copies[0] else buffer
        for buffer in last.buffers
    )
    _, reason = refused_kernels(with_kernel(given, last.index, replace(last, buffers=swapped)))
    assert reason == "it breaks kernels/copies"


def test_an_assign_that_reads_other_elements_of_its_target() -> None:
    given = schedule("x=load f32[8]; r=flip x axis=0; e=neg r; a=assign x e; out a")
    assign = given.kernels[-1]
    in_place = {n: Read(0, read.view) for n, read in assign.reads.items()}
    message, reason = refused_kernels(with_kernel(given, assign.index, replace(assign, reads=in_place)))
    assert message.endswith("reads other elements of n0 buffer float32[8] (x) than the one it writes")
    assert reason == "it breaks kernels/own-target"


def simplified(graph: Graph, *roots: Node) -> Simplified:
    return replace(simplify(graph), graph=graph_of(roots))


def test_a_simplifier_that_loses_an_output() -> None:
    graph = read_notation("x=load f32[8]; e=exp x; out e, x")
    check_simplified(graph, simplify(graph))
    error = refused(lambda: check_simplified(graph, simplified(graph, graph.sink.src[0])))
    assert str(error) == (
        "error[SL321] n2 sink void[] requests other outputs after simplification\n"
        "  at graph, stage simplified\n"
        "  why: it breaks simplify/outputs\n"
        "  help: report the graph: the simplifier must keep what a graph means"
    )


def test_a_simplifier_that_changes_a_type() -> None:
    x = build.buffer(Buffer(8, dtype.float32, "CPU", "x"))
    graph = graph_of([build.alu(Op.EXP, x, label="e")])
    error = refused(lambda: check_simplified(graph, simplified(graph, build.cast(x, dtype.float64))))
    assert error.message == "n1 exp float32[8] (e) (out0) became <CAST float64[8]>"


def test_a_simplifier_that_leaves_marks() -> None:
    x = build.buffer(Buffer(8, dtype.float32, "CPU", "x"))
    marked = node(Op.DETACH, (node(Op.COPY, (x,), CopyArg("CPU")),))
    graph = graph_of([marked])
    error = refused(lambda: check_simplified(graph, simplified(graph, marked)))
    assert error.message == "n1 copy float32[8] copies to where its source is"
    assert error.reason == (
        "it breaks simplify/copies; also n2 detach float32[8] is left, though it computes nothing (simplify/marks)"
    )


def test_a_sum_of_no_numbers() -> None:
    x = build.buffer(Buffer(8, dtype.void, "CPU", "x"))
    graph = graph_of([node(Op.REDUCE_AXIS, (x,), ReduceArg("ADD", (0,)))])
    error = refused(lambda: schedulog.schedule(graph))
    assert (error.code, error.message) == ("SL320", "n1 reduce_axis void[1] reduces what is no number")


@pytest.mark.parametrize(
    ("relation", "row", "message"),
    [
        ("member", (1, 0), "n1 exp float32[8] (e) is no member of its own kernel"),
        ("version", (1, 3, 0), "n1 exp float32[8] (e) has a place in the order, and no output needs it"),
        ("version", (3, 3, 1), "n1 exp float32[8] (e) is a content, and lies nowhere"),
        ("kept_before", (0, 3), "n0 buffer float32[8] (x) is wanted as a copy, and none is made"),
        ("snapshot", (1,), "n1 exp float32[8] (e) is a content, and lies nowhere"),
    ],
)
def test_rows_that_do_not_go_together(relation: str, row: Row, message: str) -> None:
    scheduler = Scheduler(load_program(["classic"]))
    graph = read_notation("x=load f32[8]; e=exp x; f=neg e; a=assign x f; out a")
    decided = scheduler.decide(graph, {}, lambda facts, intern: {**facts, relation: [row]})
    error = refused(lambda: scheduler.schedule(decided))
    assert (error.code, error.message) == ("SL322", message)


def test_a_mistake_in_the_assembly_is_not_taken_for_missing_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("schedulog.scheduler.assemble.storage_of", broken)
    with pytest.raises(KeyError, match="a bug"):
        schedule("x=load f32[8]; e=exp x; out e")


def test_a_copy_aside_names_the_rule_that_asks_for_it() -> None:
    scheduler = Scheduler(load_program(["classic"]))
    graph = read_notation("x=load f32[8]; e=neg x; a=assign x e; k=add a x; out k")
    kernels = scheduler.schedule(scheduler.decide(graph, {"copy_on_hazard": 1})).kernels
    assert [(k.name, k.rules) for k in kernels if not k.members] == [("k0_keep", ("core/snapshot",))]
