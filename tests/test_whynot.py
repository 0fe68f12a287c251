"""Why a fact does not hold: the largest sets of conditions, what stands against the others, and the repairs."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import schedulog
from schedulog.__main__ import main
from schedulog.errors import UsageError
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import float32
from schedulog.facts.graph import graph_of
from schedulog.facts.json_format import write_graph
from schedulog.facts.notation import read_notation
from schedulog.facts.ops import Op
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.mutants import mutants
from schedulog.scheduler.schedule import Decisions, Scheduler
from schedulog.scheduler.why.question import names
from schedulog.scheduler.why.whynot import WhyNot, whynot

GRAPH = "x=load f32[8,8]; e=exp x; s=sum e axis=1; f=neg s; t=expand s to=[8,8]; h=mul e t; out f, h"
# n0 x, n1 a view of it, n2 e, n3 s, n4 f, n5 t, n6 h

RULES = """
.decl shared(n: node)
shared(N) :- edge(N, U, _), edge(N, W, _), U != W.
.decl fan(n: node, count: int)
fan(N, C) :- computed(N), C = #count { U : edge(N, U, _) }.
.decl free(n: node)
%! id: mine/free  %! priority: 5
free(N) :- computed(N), not shared(N), not is_reduce(N).
.decl wide(n: node, least: int)
wide(N, L) :- fan(N, C), C + 1 > L, L = 3.
.decl counted(n: node)
counted(N) :- computed(N), 3 = C, C = #count { U : edge(N, U, _) }.
.decl both(n: node)
both(N) :- op(N, "EXP"), op(M, "MUL"), edge(N, M, _), not computed(M).
both(N) :- op(N, "NEG"), computed(N).
.decl least(n: node, m: int)
least(N, M) :- computed(N), M = #min { C : fan(N, C), C > 7 }.
.decl kind_of(n: node, kind: int)
kind_of(N, 1) :- computed(N).
"""


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "mine.dl"
    path.write_text(RULES, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def decisions(rules: Path) -> Decisions:
    return Scheduler(load_program(["classic", rules])).decide(read_notation(GRAPH))


def failing(answer: WhyNot) -> Mapping[str, list[tuple[int, ...]]]:
    """By clause, the numbers of the conditions that fail, for each largest set."""
    return {miss.rule.name: [tuple(f.number for f in way) for way in miss.ways] for miss in answer.misses}


def test_a_not_shows_what_blocks_it(decisions: Decisions) -> None:
    answer = whynot(decisions, 'free("e")')
    assert failing(answer) == {"mine/free#1": [(2,)]}
    (failure,) = answer.misses[0].ways[0]
    assert (failure.text, failure.filled) == ("not shared(N)", "not shared(n2)")
    (blocker,) = failure.blockers
    assert (blocker.fact, blocker.rule) == ("shared(n2)", "mine/shared#1")
    assert blocker.premises[2] == "n3 != n6"
    assert [str(repair) for repair in answer.repairs] == [
        "drop condition 2 of mine/free#1",
        "without shared(n2)",
    ]
    assert answer.misses[0].priority == 5


def test_two_conditions_that_fail(decisions: Decisions) -> None:
    answer = whynot(decisions, "free(n3)")
    assert failing(answer) == {"mine/free#1": [(2, 3)]}
    assert [str(repair) for repair in answer.repairs] == [
        "drop conditions 2 and 3 of mine/free#1",
        "without shared(n3) and without is_reduce(n3)",
    ]


def test_a_comparison_shows_what_it_compares(decisions: Decisions) -> None:
    (failure,) = whynot(decisions, "wide(n2, 3)").misses[0].ways[0]
    assert (failure.number, failure.filled, failure.reason) == (2, "2 + 1 > 3", "2 + 1 is 3")


def test_a_function_shows_its_value() -> None:
    graph = read_notation("x=load f32[4,8]; m=mul x x; v=permute m order=1,0; n=neg v; out n")
    answer = whynot(classic().decide(graph), 'base_realize("m")')
    (expanded,) = (miss for miss in answer.misses if miss.rule.id == "classic/expanded")
    (failure,) = expanded.ways[0]
    assert (failure.number, failure.text) == (4, "@shows_more(V, W) = 1")
    assert re.fullmatch(r"@shows_more\(v\d+, v\d+\) is 0", failure.reason)
    assert "drop condition 4 of classic/expanded#1" in [str(repair) for repair in answer.repairs]
    assert str(answer).endswith("; or drop condition 4 of classic/expanded#1")
    assert str(whynot(classic().decide(graph), 'forced_store("m")')).endswith(
        "; or add fact requested(n2); and 3 more"
    )


def test_an_equation_that_gives_another_value(decisions: Decisions) -> None:
    answer = whynot(decisions, "wide(n2, 4)")
    assert failing(answer) == {"mine/wide#1": [(2, 3)]}
    assert [f.filled for f in answer.misses[0].ways[0]] == ["2 + 1 > 4", "4 = 3"]


def test_an_aggregate_shows_its_value(decisions: Decisions) -> None:
    ways = whynot(decisions, "counted(n2)").misses[0].ways
    assert [[f.number for f in way] for way in ways] == [[2], [3]]
    assert ways[1][0].filled == "3 = #count { U : edge(n2, U, _) }"
    assert ways[1][0].reason == "it is 2"


def test_the_least_of_nothing(decisions: Decisions) -> None:
    answer = whynot(decisions, "least(n2, _)")
    (failure,) = answer.misses[0].ways[0]
    assert (failure.number, failure.reason) == (2, "nothing is between the braces")
    assert answer.repairs == ()


def test_fewest_failing_conditions_come_first(decisions: Decisions) -> None:
    answer = whynot(decisions, "both(n2)")
    assert failing(answer) == {"mine/both#1": [(4,)], "mine/both#2": [(1,)]}
    assert answer.misses[0].ways[0][0].blockers[0].fact == "computed(n6)"
    second = answer.misses[1].ways[0][0]
    assert (second.filled, second.reason) == ('op(n2, "NEG")', 'op(n2, "EXP") holds')
    assert 'have op(n2, "NEG") for op(n2, "EXP")' in [str(repair) for repair in answer.repairs]
    assert [miss.failing for miss in whynot(decisions, "base_realize(n2)").misses] == sorted(
        miss.failing for miss in whynot(decisions, "base_realize(n2)").misses
    )


def test_what_reads_the_value_of_a_failing_condition_is_not_tried(decisions: Decisions) -> None:
    way = whynot(decisions, "wide(n0, 3)").misses[0].ways[0]
    assert [(f.number, f.untried) for f in way] == [(1, False), (2, True)]


def test_a_fact_of_the_graph_and_a_head_that_does_not_fit(decisions: Decisions) -> None:
    answer = whynot(decisions, "edge(n1, n1, _)")
    assert answer.misses == () and "it would be a fact of the graph" in str(answer)
    answer = whynot(decisions, "kind_of(n2, 2)")
    assert (answer.misses, answer.others) == ((), 1) and "no head fits" in str(answer)


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("free(", "SL710"),
        ("fre(n2)", "SL711"),
        ("free(n2, n3)", "SL712"),
        ("one_kernel(n2)", "SL712"),
        ("free(n99)", "SL713"),
        ("free(n4)", "SL718"),
        ("free(_)", "SL718"),
    ],
)
def test_questions_without_an_answer(decisions: Decisions, question: str, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        whynot(decisions, question)
    assert caught.value.code == code


def test_a_label_of_several_nodes() -> None:
    x = build.buffer(Buffer(8, float32, name="x"), (8,), label="x")
    inner = build.alu(Op.NEG, x, label="same")
    graph = graph_of([build.alu(Op.NEG, inner, label="same")])
    with pytest.raises(UsageError) as caught:
        whynot(Scheduler(load_program(["core"])).decide(graph), 'cut("same")')
    assert caught.value.code == "SL715"


def test_a_large_search_is_cut_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "round.dl"
    path.write_text(
        ".decl round(n: node)\nround(N) :- computed(N), position(_, P), position(_, Q), position(_, R), P < Q, Q < R, R < P.\n",
        encoding="utf-8",
    )
    body = "; ".join(f"a{i}=exp {f'a{i - 1}' if i else 'x'}" for i in range(70))
    graph = read_notation(f"x=load f32[8]; {body}; out a69")
    answer = whynot(Scheduler(load_program(["core", path])).decide(graph), "round(n5)")
    (miss,) = answer.misses
    assert miss.cut and "the search was cut short" in str(answer)
    assert [f.number for f in miss.ways[0]] == [7]


def test_a_key_that_has_another_value(decisions: Decisions) -> None:
    held = next(row for row in decisions.model.rows("readings"))
    answer = whynot(decisions, f"readings(n{held[0]}, 77)")
    assert answer.rival == f"readings(n{held[0]}, {held[1]})"
    assert answer.repairs == ()
    assert f"{answer.rival} holds, and each key has one value." in str(answer)


def test_command(tmp_path: Path, rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.json"
    path.write_text(write_graph(read_notation(GRAPH)), encoding="utf-8")
    arguments = ["whynot", str(path), "both(n2)", "--rules", "classic", "--rules", str(rules)]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "both(n2) does not hold. 2 clauses could derive it, nearest first:\n" in text
    assert "   fails 4  not computed(M)   here not computed(n6)   (mine/both:4)\n" in text
    assert main([*arguments, "--limit", "1"]) == 0
    assert "1 more: --limit 2\n" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [rule["rule"] for rule in found["rules"]] == ["mine/both", "mine/both"]
    assert found["rules"][0]["ways"][0][0]["id"] == "mine/both:4"


def test_a_saved_run_gives_the_same_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = schedulog.schedule(read_notation(GRAPH))
    run.save(tmp_path / "run.db")
    assert main(["whynot", str(tmp_path / "run.db"), "realize(n2)"]) == 0
    assert capsys.readouterr().out == f"{run.whynot('realize(n2)')}\n"


def random_graph(rng: random.Random) -> str:
    """A small graph of elementwise operations, reductions and views over [4,4], in the short notation."""
    lines, whole = ["x=load f32[4,4]", "y=load f32[4,4]"], ["x", "y"]
    for i in range(rng.randint(3, 9)):
        a, b = rng.choice(whole), rng.choice(whole)
        made = rng.choice(["exp {a}", "neg {a}", "recip {a}", "add {a} {b}", "mul {a} {b}", "contiguous {a}",
                           "permute {a} order=1,0", "flip {a} axis=0", "sum", "pad"])  # fmt: skip
        if made == "sum":
            lines += [f"r{i}=sum {a} axis=1", f"v{i}=expand r{i} to=[4,4]"]
        elif made == "pad":
            lines += [f"p{i}=pad {a} by=(1,1),(0,0)", f"v{i}=shrink p{i} to=(0,4),(0,4)"]
        else:
            lines.append(f"v{i}={made.format(a=a, b=b)}")
        whole.append(f"v{i}")
    lines.append(f"z=add {whole[-1]} {rng.choice(whole)}")
    return "; ".join([*lines, "out z"])


@cache
def classic() -> Scheduler:
    return Scheduler(load_program(["classic"]))


@cache
def shorter_programs() -> Mapping[str, Program]:
    return {mutant.name: mutant.program for mutant in mutants(classic().program) if mutant.condition}


@cache
def scheduler_without(name: str) -> Scheduler:
    return Scheduler(shorter_programs()[name])


def absent_facts(decisions: Decisions, rng: random.Random) -> Iterator[str]:
    """Facts of the relations that rules derive about nodes, which do not hold; no other value of a key stands in their way."""
    program, count = decisions.model.program, len(decisions.graph.nodes)
    derived = {rule.head.relation for rule in program.rules if rule.body}
    for relation in rng.sample(sorted(derived) * 3, 3 * len(derived)):
        declared = program.relations[relation]
        if declared.key is None and all(column.type == "node" for column in declared.columns):
            row = tuple(rng.randrange(count) for _ in declared.columns)
            if not decisions.model.has(relation, row):
                yield names(decisions).atom(relation, row)


@pytest.mark.parametrize("seed", range(4))
def test_without_its_only_failing_condition_a_rule_derives_the_fact(seed: int) -> None:
    rng = random.Random(seed)
    graph = read_notation(random_graph(rng))
    decisions = classic().decide(graph)
    tried = 0
    for fact, name in only_failing(decisions, rng):
        assert holds(scheduler_without(name).decide(graph), fact), f"{fact} without {name}"
        tried += 1
        if tried == 3:
            break
    assert tried == 3


def only_failing(decisions: Decisions, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Facts that fail in one condition, with the name of the mutant that lacks it."""
    for fact in absent_facts(decisions, rng):
        for miss in whynot(decisions, fact).misses:
            for way in miss.ways:
                name = f"{miss.rule.name}:{way[0].number}"
                if len(way) == 1 and name in shorter_programs():
                    yield fact, name


def holds(decisions: Decisions, fact: str) -> bool:
    found = re.fullmatch(r"(\w+)\((.*)\)", fact)
    assert found is not None
    row = tuple(int(term.strip()[1:]) for term in found[2].split(","))
    return decisions.model.has(found[1], row)
