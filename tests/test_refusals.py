"""Refusals: for each operand that is loaded instead of computed, the clauses because of which it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedulog
from schedulog.errors import RuleError
from schedulog.facts.notation import read_notation
from schedulog.run import Run
from schedulog.scheduler.language.metadata import REFUSALS
from schedulog.scheduler.language.syntax import parse_text
from schedulog.scheduler.record.database import open_database, saved_decisions
from schedulog.scheduler.why.placement import Placement
from schedulog.scheduler.why.refusals import refusals

GRAPH = "x=load f32[8,8]; e=exp x; s=sum e axis=1; t=expand s to=[8,8]; h=mul e t; g=neg s; out g, h"


def run_of(text: str, *, refusals: bool = True) -> Run:
    return schedulog.schedule(read_notation(text), simplify=False, refusals=refusals)


def rows(run: Run) -> list[tuple[object, ...]]:
    return run.sql(
        "select a, b, rule_id || '#' || clause, condition, word, bytes_lost from refusal order by a, b, 3"
    )


def test_each_clause_that_keeps_an_operand_apart_is_a_row() -> None:
    assert rows(run_of(GRAPH)) == [
        ("n3", "n4", "classic/expanded#1", "@shows_more(V, W) = 1", "recompute", 32),
        ("n3", "n6", "classic/expanded#1", "@shows_more(V, W) = 1", "recompute", 32),
    ]


def test_the_write_counts_where_only_these_kernels_need_the_value() -> None:
    run = run_of("x=load f32[8,8]; s=sum x axis=1; t=expand s to=[8,8]; h=mul x t; out h")
    assert rows(run) == [("n2", "n4", "classic/expanded#1", "@shows_more(V, W) = 1", "recompute", 64)]


def test_a_requested_value_is_written_in_any_case() -> None:
    found = rows(run_of("x=load f32[8]; e=exp x; h=neg e; out e, h"))
    assert found == [
        ("n1", "n2", "core/store-requested#1", "requested(N)", "is a graph output", 32),
    ]


def test_what_an_assign_overwrites_is_no_operand_and_what_it_wrote_is_written_in_any_case() -> None:
    run = run_of("x=load f32[8]; y=load f32[8]; a=assign x y; e=exp a; b=assign a e; out b")
    assert [row[:5] for row in rows(run)] == [
        ("n2", "n3", "core/store-assign#1", 'op(N, "ASSIGN")', "must run before"),
    ]
    assert {row[5] for row in rows(run)} == {32}


def test_the_words_of_the_rule_name_the_value() -> None:
    reasons = run_of(GRAPH).sql("select distinct reason from refusal")
    assert reasons == [("a view shows more elements than n3 has",)]


def test_the_views_of_fused_and_unfused_operands_agree_with_the_rows() -> None:
    run = run_of(GRAPH)
    assert run.sql("select distinct producer, consumer, bytes_lost from unfused order by 2") == [
        ("n3", "n4", 32),
        ("n3", "n6", 32),
    ]
    assert ("n1", "n3") not in run.sql("select a, b from refusal")
    assert run.sql(
        "select count(*) from fused f join refusal r on r.a = f.producer and r.b = f.consumer"
    ) == [(0,)]


def test_without_refusals_the_table_is_empty() -> None:
    run = run_of(GRAPH, refusals=False)
    assert rows(run) == []
    assert run.sql("select distinct bytes_lost from unfused") == [(None,)]


@pytest.mark.parametrize("query", ["refusals", "refusals-by-word", "refusals-by-rule"])
def test_named_queries(query: str) -> None:
    assert run_of(GRAPH).sql(query)


def test_bytes_are_counted_once_by_word() -> None:
    assert run_of(GRAPH).sql("refusals-by-word") == [("recompute", 1, 2, 32)]


def test_a_rule_file_gives_the_word(tmp_path: Path) -> None:
    path = tmp_path / "mine.dl"
    head = "%! id: mine/keep    %! kind: realize    %! title: Keep\n"
    graph = read_notation("x=load f32[8]; e=exp x; h=neg e; out h")
    for extra, word in [("", "user forbade it"), ("%! refusal: measured slower\n", "measured slower")]:
        path.write_text(f'{head}{extra}realize(N) :- op(N, "EXP").\n', encoding="utf-8")
        run = schedulog.schedule(graph, ["core", path], simplify=False)
        assert rows(run) == [("n1", "n2", "mine/keep#1", 'op(N, "EXP")', word, 64)]


def test_an_unknown_word_is_refused() -> None:
    text = ".decl f(n: int)\n%! id: my/f    %! refusal: is a graph ouput\nf(1).\n"
    (error,) = parse_text(text, "my.dl", "my").errors
    assert isinstance(error, RuleError)
    assert str(error).splitlines()[0] == "error[SL118] unknown refusal `is a graph ouput`"
    assert error.help == "did you mean `is a graph output`?"


def test_every_rule_of_the_packs_that_stores_gives_its_word() -> None:
    program = run_of(GRAPH).program
    silent = {
        rule.id
        for rule in program.rules
        if program.infos[rule.id].kind in ("realize", "forbid") and not program.infos[rule.id].refusal
    }
    # These hand on what others say of the same value, and are never the start of a reason.
    assert silent == {
        "core/chosen", "core/chosen-by-force", "core/stored", "classic/forced", "classic/stored-for-itself",
    }  # fmt: skip


def test_a_saved_run_knows_the_words_of_its_rules(tmp_path: Path) -> None:
    rules = tmp_path / "mine.dl"
    rules.write_text(
        '%! id: mine/keep    %! kind: realize    %! refusal: measured slower    %! refuse 1: "{N} is small"\n'
        'realize(N) :- op(N, "EXP").\n',
        encoding="utf-8",
    )
    run = schedulog.schedule(read_notation(GRAPH), ["core", rules], simplify=False)
    run.save(tmp_path / "run.db")
    connection = open_database(tmp_path / "run.db")
    again = saved_decisions(connection)
    connection.close()
    info = again.model.program.infos["mine/keep"]
    assert (info.refusal, info.refusals) == ("measured slower", ((1, "{N} is small"),))
    assert [str(r.storing) for r in refusals(again)] == [str(r.storing) for r in refusals(run.decisions)]


STEPS = ("add v{i} v{j}", "exp v{i}", "contiguous v{i}", "permute v{i} order=1,0", "sum v{i} axis=1")


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=10)
)
def test_every_stored_operand_has_rows_and_no_other(steps: list[tuple[str, int, int]]) -> None:
    run = run_of(random_graph(steps))
    place = Placement(run.decisions)
    loaded = {(p, c) for c, sources in enumerate(place.operands) for p in sources if place.is_stored(p)}
    found = list(refusals(run.decisions))
    assert {(r.producer, r.consumer) for r in found} == loaded
    reasons = set(run.sql("select node, rule_id from reason"))
    assert {(f"n{r.producer}", r.storing.rule.id) for r in found} <= reasons
    unfused = run.sql("select distinct producer, consumer, bytes_lost from unfused")
    assert sorted(unfused) == sorted({(f"n{r.producer}", f"n{r.consumer}", r.bytes_lost) for r in found})


def random_graph(steps: list[tuple[str, int, int]]) -> str:
    """A graph in the short notation; a sum is expanded again, so that all values have one shape."""
    lines = ["v0=load f32[4,4]"]
    for n, (step, i, j) in enumerate(steps, 1):
        text = step.format(i=i % n, j=j % n)
        lines += (
            [f"r{n}={text}", f"v{n}=expand r{n} to=[4,4]"] if step.startswith("sum") else [f"v{n}={text}"]
        )
    lines.append(f"e=exp v{len(steps)}")
    return "; ".join([*lines, f"out e, v{len(steps)}" if len(steps) % 2 else "out e"])


def test_the_words_stand_on_their_page() -> None:
    page = (Path(__file__).parents[1] / "docs" / "why.md").read_text(encoding="utf-8")
    words = page.partition("The words:\n\n")[2].replace("\n", " ").strip()
    assert tuple(words.split(", ")) == REFUSALS
