"""Questions about operands, kernels, nodes in one kernel and relations; and all derivations of a fact."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest

import schedulog
from schedulog.__main__ import main
from schedulog.errors import UsageError
from schedulog.facts.json_format import write_graph
from schedulog.facts.notation import read_notation
from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.engines.sqlite import compile_program
from schedulog.scheduler.language.load import link, load_program
from schedulog.scheduler.language.program import Atom, Column, Literal_, Program, Relation, Rule
from schedulog.scheduler.language.syntax import parse_text
from schedulog.scheduler.schedule import Decisions, Scheduler
from schedulog.scheduler.why.answer import Answer
from schedulog.scheduler.why.ask import explain
from schedulog.scheduler.why.edge import EdgeAnswer
from schedulog.scheduler.why.fact_set import SetAnswer, SetMissAnswer
from schedulog.scheduler.why.kernel import KernelAnswer
from schedulog.scheduler.why.one_kernel import OneKernelAnswer
from schedulog.scheduler.why.placement import Placement
from schedulog.scheduler.why.proof import Absence, Proof
from schedulog.scheduler.why.question import why

GRAPH = "x=load f32[8,8]; e=exp x; s=sum e axis=1; t=expand s to=[8,8]; h=mul e t; g=neg s; out g, h"
# n0 x, n1 a view of it, n2 e, n3 s, n4 g, n5 t, n6 h


@cache
def classic() -> Program:
    return load_program(["classic"])


@cache
def decided(text: str = GRAPH) -> Decisions:
    return Scheduler(classic()).decide(read_notation(text))


def answer(question: str, text: str = GRAPH, *, negated: bool = False) -> Answer:
    found = explain(decided(text), question, negated=negated)
    assert found is not None
    return found


def test_an_operand_that_is_fused() -> None:
    found = answer("n2 -> n3")
    assert isinstance(found, EdgeAnswer)
    assert (found.state, found.kernels, found.copies) == ("fused", ("n3",), ("n3", "n6"))
    assert [(p.relation, p.row) for p in found.proofs] == [("member", (3, 2))]
    assert list(found.lines())[2:] == [
        "n2 -> n3: fused. Nothing stores n2, so it is computed with n3 in the kernel of n3",
        "n2 is computed 2 times, in the kernels of n3 and n6",
    ]


def test_an_operand_that_is_not_fused() -> None:
    found = answer("'s' -> h")
    assert isinstance(found, EdgeAnswer)
    assert [(p.relation, p.row) for p in found.proofs] == [("stored", (3,))]
    text = list(found.lines())
    assert text[2] == "n3 -> n6: not fused. n3 is stored, and loaded for n6 in the kernel of n6"
    assert text[3].startswith("   classic/expanded#1  classic/realize.dl:")
    assert text[3].endswith("recompute: a view shows more elements than n3 has")
    assert text[4:] == [
        "      condition 4: @shows_more(V, W) = 1",
        "   32 bytes less would be moved if n3 were computed there",
    ]
    assert found.record()["stored_by"][0]["word"] == "recompute"


def test_operands_that_are_memory_or_constant() -> None:
    text = "x=load f32[8]; c=const 2.0 f32[8]; m=mul x c; out m"
    states = {line for q in ("x -> m", "c -> m") for line in answer(q, text).lines() if "->" in line}
    assert {line.partition(": ")[2] for line in states} == {
        "n0 is memory, read by the kernel of n2",
        "n1 is a constant in the code of the kernel of n2",
    }


def test_two_nodes_in_one_kernel() -> None:
    found = answer("one_kernel(n2, n3)")
    assert isinstance(found, OneKernelAnswer)
    assert (found.holds, found.kernels, found.way) == (True, ("n3",), ("n2 -> n3",))
    assert [(p.relation, p.row) for p in found.proofs] == [("member", (3, 2)), ("member", (3, 3))]


def test_two_nodes_that_a_stored_value_keeps_apart() -> None:
    found = answer('one_kernel(e, "g")')
    assert isinstance(found, OneKernelAnswer)
    assert not found.holds
    assert [(cut.node, cut.edges) for cut in found.cuts] == [("n3", ("n3 -> n4",))]
    assert [cut.node for cut in found.repair] == ["n3"]
    assert list(found.lines())[-1] == "Smallest repair: do not store n3: drop classic/expanded#1"


def test_a_cut_that_no_policy_can_change_says_so() -> None:
    text = "x=load f32[8]; e=exp x; h=neg e; out e, h"
    assert list(answer("one_kernel(e, h)", text).lines())[-1] == (
        "Smallest repair: do not store n1: drop core/store-requested#1 "
        "(core/store-requested#1: no policy changes that)"
    )


def test_two_nodes_of_which_no_value_is_made() -> None:
    found = answer("one_kernel(g, h)")
    assert isinstance(found, OneKernelAnswer)
    assert (found.cuts, found.repair, found.proofs) == ((), (), ())
    assert list(found.lines())[-1] == "No value is made of both, and a kernel computes one value."


def test_a_kernel() -> None:
    for question in ("kernel k0", "kernel(k0)", "kernel k0_reduce_axis"):
        found = answer(question)
        assert isinstance(found, KernelAnswer)
        assert (found.kernel, found.members) == ("k0_reduce_axis", ("n1", "n2", "n3"))
        assert [loaded.node for loaded in found.loads] == ["n0"]
        assert [clause.rule.name for clause in found.clauses] == ["classic/expanded#1"]
        assert [(p.relation, p.row) for p in found.proofs] == [("stored", (3,))]


def test_the_kernel_of_a_copy_kept_aside() -> None:
    text = "x=load f32[4]; y=load f32[4]; e=exp x; a=assign x y; f=add a e; out a, f   "
    decisions = Scheduler(classic()).decide(read_notation(text), {"copy_on_hazard": 1})
    if not decisions.derived.snapshots:
        text = "x=load f32[4]; y=load f32[4]; a=assign x y; f=add a x; out f"
        decisions = Scheduler(classic()).decide(read_notation(text), {"copy_on_hazard": 1})
    assert decisions.derived.snapshots
    found = explain(decisions, "kernel k0")
    assert isinstance(found, KernelAnswer)
    assert [p.relation for p in found.proofs] == ["snapshot"]
    assert "copies an old content aside" in "\n".join(found.lines())


def test_a_relation_by_rule() -> None:
    found = answer("base_realize")
    assert isinstance(found, SetAnswer)
    assert [(s.rule, s.facts, s.alone) for s in found.clauses] == [
        ("classic/forced#1", 2, 2),
        ("classic/expanded#1", 1, 1),
    ]
    assert (found.facts, found.given) == (("base_realize(n3)", "base_realize(n4)", "base_realize(n6)"), 0)
    assert found.bytes == 32 + 32 + 256


def test_a_relation_of_the_graph() -> None:
    found = answer("requested")
    assert isinstance(found, SetAnswer)
    assert (found.clauses, found.given) == ((), 2)


def test_what_keeps_further_facts_out_of_a_relation() -> None:
    text = "x=load f32[4,8]; m=mul x x; v=permute m order=1,0; n=neg v; out n"
    found = answer("base_realize", text, negated=True)
    assert isinstance(found, SetMissAnswer)
    kept = {(k.rule, k.condition): k.near for k in found.conditions}
    assert kept["classic/expanded#1", 4] == ("base_realize(n2)",)
    assert found.read == ("forced_store", "padded", "parent", "unsafe", "unsafe_op", "viewed")


@pytest.mark.parametrize(
    ("question", "code", "message"),
    [
        ("n0 -> n6", "SL721", "n6 does not read n0"),
        ("n2 -> n1", "SL721", "n1 does not read n2"),
        ("n99 -> n1", "SL713", "there is no node n99"),
        (f"n{'9' * 5000} -> n1", "SL713", f"there is no node n{'9' * 5000}"),
        ("n007 -> n1", "SL721", "n1 does not read n7"),
        ("kernel k9", "SL722", "there is no kernel k9"),
        ("one_kernel(x, e)", "SL723", "no kernel computes n0"),
        ("one_kernel(n2, n7)", "SL723", "no kernel computes n7"),
        ("one_kernel(n2, nobody)", "SL713", "no node has the label `nobody`"),
    ],
)
def test_questions_about_what_is_not_there(question: str, code: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        answer(question)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_the_text_of_an_error_about_an_operand() -> None:
    with pytest.raises(UsageError) as caught:
        answer("n0 -> n5")
    assert str(caught.value).splitlines() == [
        "error[SL721] n5 does not read n0",
        "  at n0 buffer float32[64] (x), n5 view float32[8,8] (t)",
        "  why: n5 is a view, a way to look at n3; n0 is read by n2",
        "  help: ask one_kernel(a, b) about nodes further apart",
    ]


def test_a_fact_is_no_other_question() -> None:
    assert explain(decided(), "realize(n3)") is None
    assert explain(decided(), "one_kernel(n3)") is None
    assert explain(decided(), "realise") is None


STEPS = ("add v{i} v{j}", "exp v{i}", "contiguous v{i}", "permute v{i} order=1,0", "sum v{i} axis=1")


def random_graph(steps: list[tuple[str, int, int]]) -> str:
    lines = ["v0=load f32[4,4]"]
    for n, (step, i, j) in enumerate(steps, 1):
        text = step.format(i=i % n, j=j % n)
        lines += (
            [f"r{n}={text}", f"v{n}=expand r{n} to=[4,4]"] if step.startswith("sum") else [f"v{n}={text}"]
        )
    lines.append(f"e=exp v{len(steps)}")
    return "; ".join([*lines, f"out e, v{len(steps)}" if len(steps) % 2 else "out e"])


@cache
def sparing() -> Scheduler:
    """classic and core, but what is in `spared` is not stored."""
    program = classic()
    spared = Relation("spared", (Column("n", "node"),), program.rules[0].place, is_input=True)
    rules = tuple(
        _spared(rule) if rule.head.relation in ("realize", "forced_store") else rule for rule in program.rules
    )
    return Scheduler(replace(program, relations=program.relations | {"spared": spared}, rules=rules))


def _spared(rule: Rule) -> Rule:
    denied = Literal_(Atom("spared", rule.head.terms, rule.place), negated=True)
    return replace(rule, body=(*rule.body, denied))


def test_without_the_named_cuts_two_nodes_are_in_one_kernel() -> None:
    assert sum(_repaired(random.Random(seed)) for seed in range(12)) > 20


def _with_spared(
    spared: list[Row], rows: Mapping[str, list[Row]], _: Callable[[str], int]
) -> Mapping[str, list[Row]]:
    return {**rows, "spared": spared}


def _repaired(rng: random.Random) -> int:
    """How many pairs of nodes of a graph at random were apart and are in one kernel without the cuts that were named."""
    tried = 0
    steps = [(rng.choice(STEPS), rng.randrange(13), rng.randrange(13)) for _ in range(rng.randint(3, 13))]
    graph = read_notation(random_graph(steps))
    decisions = Scheduler(classic()).decide(graph)
    place = Placement(decisions)
    made = [n for n in range(len(graph.nodes)) if place.is_made(place.base(n))]
    for _ in range(6):
        a, b = rng.choice(made), rng.choice(made)
        found = explain(decisions, f"one_kernel(n{a}, n{b})")
        assert isinstance(found, OneKernelAnswer)
        a, b = place.base(a), place.base(b)
        assert found.holds == any({a, b} <= set(members) for members in decisions.derived.members.values())
        if found.holds or not found.repair:
            continue
        assert {cut.node for cut in found.cuts} & {cut.node for cut in found.repair}
        spared: list[Row] = [(int(cut.node[1:]),) for cut in found.repair]
        tried += 1
        again = sparing().decide(graph, edit=partial(_with_spared, spared))
        assert any({a, b} <= set(members) for members in again.derived.members.values())
    return tried


def replay(proof: Proof, model: Model) -> None:
    """Every derivation rests on true atoms and true absences, and on nothing that rests on its own fact."""
    for step in proof.walk():
        assert model.has(step.relation, step.row)
        for other in step.others:
            assert (other.relation, other.row) == (step.relation, step.row)
            assert (other.rule, other.premises) != (step.rule, step.premises)
        below = [part for part in step.premises if isinstance(part, Proof)]
        assert step.height == (1 + max((part.height for part in below), default=0) if step.premises else 0)
        assert (step.relation, step.row) not in {(part.relation, part.row) for part in first_proofs(below)}
        for part in step.premises:
            if isinstance(part, Absence):
                assert not any(fits(part.row, row) for row in model.rows(part.relation))


def first_proofs(proofs: list[Proof]) -> list[Proof]:
    """The proofs below some, each by its first derivation."""
    seen: dict[int, Proof] = {}
    stack = list(proofs)
    while stack:
        proof = stack.pop()
        if id(proof) not in seen:
            seen[id(proof)] = proof
            stack += [part for part in proof.premises if isinstance(part, Proof)]
    return list(seen.values())


def fits(pattern: tuple[int | None, ...], row: Row) -> bool:
    return all(want in (None, got) for want, got in zip(pattern, row, strict=True))


PATHS = """
.decl e(a: int, b: int)
.input e
.decl path(a: int, b: int)
path(X, Y) :- e(X, Y).
path(X, Z) :- path(X, Y), e(Y, Z).
path(X, Z) :- e(X, Y), path(Y, Z).
"""


def ways(model: Model, goal: Row) -> set[tuple[str, int]]:
    """The derivations of a path: the clause, and the node between (-1: none), if they need no cycle through it."""
    edges, found = set(model.rows("e")), set[tuple[str, int]]()
    a, b = goal
    if goal in edges:
        found.add(("t/path#1", -1))
    nodes = {n for edge in edges for n in edge}
    for n in nodes:
        if (n, b) in edges and provable(edges, (a, n), goal):
            found.add(("t/path#2", n))
        if (a, n) in edges and provable(edges, (n, b), goal):
            found.add(("t/path#3", n))
    return found


def provable(edges: set[Row], goal: Row, without: Row) -> bool:
    """Whether a path follows when one fact is not to be used (naive evaluation)."""
    known = set(edges) - {without}
    while True:
        more = {(a, d) for a, b in known for c, d in edges if b == c}
        more |= {(a, d) for a, b in edges for c, d in known if b == c}
        fresh = more - known - {without}
        if not fresh:
            return goal in known
        known |= fresh


@pytest.mark.parametrize("seed", range(15))
def test_all_derivations_of_a_fact_are_found_and_each_is_a_proof(seed: int) -> None:
    rng = random.Random(seed)
    edges = sorted({(rng.randrange(5), rng.randrange(5)) for _ in range(rng.randint(2, 9))})
    model = compile_program(link([parse_text(PATHS, "t.dl", "t")])).evaluate({"e": edges})
    for row in model.rows("path"):
        proof = model.why("path", row, every=True)
        replay(proof, model)
        got = [_way(one) for one in (proof, *proof.others)]
        assert len(got) == len(set(got))
        assert set(got) == ways(model, row)
        assert proof.more == 0


def _way(proof: Proof) -> tuple[str, int]:
    rows: Mapping[str, Row] = {part.relation: part.row for part in proof.premises if isinstance(part, Proof)}
    return proof.rule, {"t/path#1": -1, "t/path#2": rows["e"][0], "t/path#3": rows["e"][1]}[proof.rule]


def test_all_derivations_of_the_decisions_of_graphs_are_proofs() -> None:
    rng = random.Random(1)
    asked = others = 0
    for _ in range(6):
        steps = [(rng.choice(STEPS), rng.randrange(9), rng.randrange(9)) for _ in range(9)]
        model = Scheduler(classic()).decide(read_notation(random_graph(steps))).model
        for relation in ("stored", "member", "reach", "group", "unsafe"):
            for row in model.rows(relation)[:8]:
                proof = model.why(relation, row, every=True)
                replay(proof, model)
                asked, others = asked + 1, others + sum(len(step.others) for step in proof.walk())
    assert asked > 50
    assert others > 20


def test_derivations_that_are_left_out_are_counted() -> None:
    text = ".decl e(a: int)\n.input e\n.decl any(n: int)\nany(0) :- e(_).\n"
    model = compile_program(link([parse_text(text, "t.dl", "t")])).evaluate({"e": [(i,) for i in range(50)]})
    proof = model.why("any", (0,), every=True)
    assert (len(proof.others), proof.more) == (20, 29)
    lines = proof.render(model.decode).splitlines()
    assert lines[0] == "any(0)  [t/any#1, t.dl:4:1], and 29 more"
    assert lines[2] == "or any(0)  [t/any#1, t.dl:4:1]"


def test_one_derivation_has_no_others() -> None:
    proof = why(decided(), "stored(n3)", every=True)
    assert [step.others for step in proof.walk()] == [()] * len(list(proof.walk()))
    assert why(decided(), "stored(n3)").more is None


def test_a_run_answers() -> None:
    run = schedulog.schedule(read_notation(GRAPH), simplify=False)
    assert str(run.explain("n2 -> n3")).splitlines()[2].startswith("n2 -> n3: fused.")
    assert str(run.explain("base_realize", negated=True)).startswith("base_realize: 3 facts. Conditions")
    assert "n2 -&gt; n3: fused" in run.explain("n2 -> n3")._repr_html_()
    assert run.why("stored(n3)", all=True).more == 0
    with pytest.raises(UsageError) as caught:
        run.explain("realize(n3)")
    assert (caught.value.code, caught.value.message) == (
        "SL710",
        "`realize(n3)` asks about no operand, kernel or relation",
    )


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "g.json"
    path.write_text(write_graph(read_notation(GRAPH)), encoding="utf-8")
    return str(path)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_the_answer_stands_above_its_proof(graph: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "why", graph, "n3 -> n6", "--depth", "1").splitlines()
    assert lines[2] == "n3 -> n6: not fused. n3 is stored, and loaded for n6 in the kernel of n6"
    assert lines[6] == "stored(n3)"
    assert lines[7].startswith("`- core/stored#1")
    found = json.loads(told(capsys, "why", graph, "n3 -> n6", "--json"))
    assert (found["state"], found["bytes_lost"]) == ("stored", 32)
    assert found["stored_by"][0]["text"] == "@shows_more(V, W) = 1"
    assert found["proofs"][0]["steps"][0]["fact"] == "stored(n3)"


def test_all_derivations_are_written_one_below_the_other(
    graph: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = told(capsys, "why", graph, "chosen(n6)", "--all").splitlines()
    assert lines[1] == "chosen(n6)   2 derivations"
    assert [line[:14] for line in lines if "core/chosen" in line] == ["|- core/chosen", "`- core/chosen"]
    found = json.loads(told(capsys, "why", graph, "chosen(n6)", "--all", "--json"))
    clauses = [(s["rule"], s["clause"]) for s in found["steps"] if s["fact"] == "chosen(n6)"]
    assert sorted(clauses) == [("core/chosen", 1), ("core/chosen-by-force", 1)]
    assert found["steps"][0]["more"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "help"),
    [
        (("why", "one_kernel(e, g)"), "SL714", "schedulog whynot GRAPH_OR_DB 'one_kernel(n2, n4)'"),
        (("whynot", "one_kernel(e, s)"), "SL718", "schedulog why GRAPH_OR_DB 'one_kernel(n2, n3)'"),
        (("whynot", "e -> s"), "SL718", "schedulog why GRAPH_OR_DB 'n2 -> n3'"),
        (("whynot", "kernel k1"), "SL718", "schedulog why GRAPH_OR_DB 'kernel k1_neg'"),
    ],
)
def test_the_other_command_is_named(
    graph: str, arguments: tuple[str, str], code: str, help: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, question = arguments
    assert main([command, graph, question]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error[{code}] ")
    assert error.rstrip().endswith(help)


def test_whynot_names_what_keeps_two_nodes_apart(graph: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "whynot", graph, "one_kernel(e, g)")
    assert "Smallest repair: do not store n3: drop classic/expanded#1\n" in text
    found = json.loads(told(capsys, "whynot", graph, "one_kernel(e, g)", "--json"))
    assert (found["holds"], [cut["node"] for cut in found["repair"]]) == (False, ["n3"])
    assert told(capsys, "whynot", graph, "n3 -> n6").splitlines()[2].startswith("n3 -> n6: not fused.")
    assert json.loads(told(capsys, "whynot", graph, "base_realize", "--json"))["facts"] == 3


def test_refusals_can_be_left_out_of_a_saved_run(
    graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = str(tmp_path / "run.db")
    for switch, count in (("--refusals", 2), ("--no-refusals", 0)):
        told(capsys, "run", graph, "--no-execute", "--save", saved, switch)
        found = json.loads(told(capsys, "sql", saved, "select count(*) from refusal", "--json"))
        assert found["rows"] == [[count]]
    assert main(["run", graph, "--no-execute", "--no-refusals"]) == 2
