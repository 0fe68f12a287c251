"""Saved runs: what is in them, that they are whole, and asking them."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from schedulog.errors import DatabaseError, RuleError, UsageError
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import float32
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.json_format import write_graph
from schedulog.facts.ops import Op
from schedulog.run import Run, schedule
from schedulog.scheduler.language.load import link
from schedulog.scheduler.language.syntax import parse_text
from schedulog.scheduler.record import database
from schedulog.scheduler.record.database import VERSION, open_database, saved_decisions, schema
from schedulog.scheduler.record.queries import ask, named_queries, table_names


def rows_above_mean() -> Graph:
    """x - max(x) per row, and a sum of that: two reductions, one of them viewed."""
    memory = Buffer(32, float32, name="x")
    x = build.buffer(memory, (4, 8), label="x")
    largest = build.reduce("MAX", x, (1,), label="largest")
    shifted = build.alu(Op.ADD, x, build.expand(largest, (4, 8)), label="shifted")
    total = build.reduce("ADD", shifted, (0, 1), label="total")
    return graph_of([shifted, total], name="rows", outputs=["shifted", "total"], inputs={"x": memory},
                    input_shapes={"x": (4, 8)})  # fmt: skip


@pytest.fixture(scope="module")
def run() -> Run:
    return schedule(rows_above_mean())


@pytest.fixture
def saved(run: Run, tmp_path: Path) -> Path:
    run.save(tmp_path / "run.db")
    return tmp_path / "run.db"


@pytest.fixture
def opened(saved: Path) -> Iterator[sqlite3.Connection]:
    connection = open_database(saved)
    yield connection
    connection.close()


def test_kernels_are_saved_in_running_order(run: Run) -> None:
    assert run.sql(
        "select name, output, shape, dtype, members, reduces, rules from kernel order by kernel"
    ) == [
        ("k0_reduce_axis", "n2", "[4,1]", "float32", 2, 1, "classic/expanded"),
        ("k1_add", "n4", "[4,8]", "float32", 3, 0, "core/store-requested"),
        ("k2_reduce_axis", "n5", "[1,1]", "float32", 1, 1, "core/store-requested"),
    ]


def test_every_table_agrees_with_the_schedule(run: Run) -> None:
    assert run.sql("select count(*) from node") == [(len(run.graph.nodes),)]
    assert run.sql("select sum(members) from kernel") == run.sql("select count(*) from member")
    assert run.sql("select count(*) from buffer") == [(len(run.schedule.buffers),)]
    assert run.sql("select kernel, argument, role from kernel_buffer where kernel = 1") == [
        (1, 0, "output"), (1, 1, "input"), (1, 2, "input"),
    ]  # fmt: skip
    assert run.sql('select before, after, kind from order_edge order by "before", "after"') == [
        (0, 1, "data"), (1, 2, "data"),
    ]  # fmt: skip
    assert run.sql("select name, node, shape from result") == [
        ("shifted", "n4", "[4,8]"), ("total", "n5", "[1,1]"),
    ]  # fmt: skip
    assert run.sql("select name, origin, nbytes from buffer where origin = 'input'") == [("x", "input", 128)]
    assert run.sql("select count(*) from rule") == [(len(run.program.rules),)]


def test_edges_and_views_of_the_graph(run: Run) -> None:
    assert run.sql("select src, dst, slot from edge order by dst, slot") == [
        ("n0", "n2", 0), ("n0", "n4", 0), ("n2", "n4", 1), ("n4", "n5", 0),
    ]  # fmt: skip
    strided = "select stack from edge join view using (view) where src = 'n2'"
    ((stack,),) = run.sql(strided)
    assert '"shape":[4,8]' in stack and '"strides":[1,0]' in stack


def test_every_decision_names_all_its_rules(run: Run) -> None:
    found = run.sql(
        "select atom, rule_id, clause, n_derivations from decision where relation = 'base_realize'"
    )
    assert sorted(found) == [
        ("base_realize(n2)", "classic/expanded", 1, 1),
        ("base_realize(n4)", "classic/forced", 1, 1),
        ("base_realize(n5)", "classic/forced", 1, 1),
    ]
    model = run.decisions.model
    for relation in ("stored", "member", "data", "realize"):
        atoms = run.sql(f"select count(distinct atom) from decision where relation = '{relation}'")
        assert atoms == [(model.count(relation),)], relation


def test_derived_relations_have_tables(run: Run) -> None:
    assert run.sql("select n from rel_realize order by n") == [("n2",), ("n4",), ("n5",)]
    for relation in {rule.head.relation for rule in run.program.rules}:
        assert run.sql(f'select count(*) from "rel_{relation}"') == [(run.decisions.model.count(relation),)]


def test_rule_statistics_count_rows(run: Run) -> None:
    assert run.sql("select rows from rule_stat where rule_id = 'core/data-order'") == [(2,)]
    assert run.sql("select rows from rule_stat where rule_id = 'classic/contiguous'") == [(0,)]


def test_views_for_people(run: Run) -> None:
    assert run.sql("select node, rule_id from realized where node = 'n2'") == [("n2", "classic/expanded")]
    assert run.sql("select producer, consumer, reason from unfused where producer = 'n2'") == [
        ("n2", "n4", "classic/expanded")
    ]
    assert run.sql("select producer, consumer from fused") == []
    chain = build.alu(Op.EXP2, build.alu(Op.SQRT, build.buffer(Buffer(8, float32), (8,))))
    assert schedule(chain).sql("select producer, consumer, kernel from fused") == [("n1", "n2", 0)]


@pytest.mark.parametrize("name", named_queries())
def test_named_queries_run(name: str, run: Run) -> None:
    query = named_queries()[name]
    found = ask(run.database, name, dict.fromkeys(query.parameters, 1))
    assert found.columns and query.title.endswith(".")
    empty = {
        "recomputed",
        "reduce-chains",
        "slowest",
        "dear-rules",
        "compare",
        "engines-disagree",
        "simplified",
    }
    assert bool(found.rows) == (name not in empty)


def test_queries_compare_two_runs(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "two.db"
    run.save(path)
    schedule(rows_above_mean(), options={"DONT_REALIZE_EXPAND": 1}).save(path, append=True)
    connection = open_database(path)
    found = ask(connection, "compare", {"old": 1, "new": 2}).rows
    assert (1, "base_realize", "base_realize(n2)", "classic/expanded") in found
    assert ask(connection, "select run_id, graph_id from latest").rows == [(2, 1)]
    assert ask(connection, "select count(*) from graph").rows == [(1,)]
    connection.close()


def test_times_of_an_execution_are_saved(tmp_path: Path) -> None:
    run = schedule(rows_above_mean())
    run.execute({"x": np.ones((4, 8), np.float32)}, device="numpy", times=[])
    run.save(tmp_path / "timed.db")
    found = ask(open_database(tmp_path / "timed.db"), "select kernel, executor, us > 0 from timing").rows
    assert found == [(0, "numpy", 1), (1, "numpy", 1), (2, "numpy", 1)]


def test_saved_decisions_are_derived_again(run: Run, opened: sqlite3.Connection) -> None:
    again, first = saved_decisions(opened).model, run.decisions.model
    for relation in run.program.relations:
        assert again.count(relation) == first.count(relation), relation
    proof = run.why("realize(n2)")
    assert again.why("realize", (2,)).render(run.names.atom) == proof.render(run.names.atom)
    assert again.program.infos["classic/expanded"].title == "Store what a view repeats"


def test_why_by_short_name_and_by_label(run: Run) -> None:
    assert run.why("realize(n2)").rule == "classic/stored-for-itself#1"
    assert run.why('realize("largest")').row == (2,)
    assert run.why("data(_, n5)").row == (4, 5)
    assert run.why('op(n2, "REDUCE_AXIS")').rule == ""


@pytest.mark.parametrize(
    ("question", "code", "help"),
    [
        (
            "realize(",
            "SL710",
            "ask like this: realize(n12), 'n3 -> n5', 'one_kernel(n3, n5)', 'kernel k3', realize",
        ),
        (
            "realize(n2,)",
            "SL710",
            "ask like this: realize(n12), 'n3 -> n5', 'one_kernel(n3, n5)', 'kernel k3', realize",
        ),
        ("realise(n2)", "SL711", "did you mean `realize`"),
        ("realize(n2, n3)", "SL712", "realize(n: node)"),
        ("realize(n99)", "SL713", "nodes: n0 to n6"),
        ("realize('lagrest')", "SL713", "did you mean `largest`?"),
        ("op(n2, ADDD)", "SL713", ""),
        ("realize(n3)", "SL714", "these hold: realize(n2), realize(n4), realize(n5)"),
        ("data(n2, n5)", "SL714", "these hold: data(n2, n4), data(n4, n5)"),
    ],
)
def test_wrong_questions(question: str, code: str, help: str, run: Run) -> None:
    with pytest.raises(UsageError) as caught:
        run.why(question)
    assert caught.value.code == code
    assert help in caught.value.help


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("selec 1", "SL605"),
        ("select * from kernels", "SL605"),
        ("select 1; select 2", "SL605"),
        ("delete from kernel", "SL608"),
        ("attach 'other.db' as other", "SL608"),
        ("pragma user_version = 7", "SL608"),
        ("create table t (a)", "SL608"),
        ("compare", "SL609"),
    ],
)
def test_wrong_queries(query: str, code: str, opened: sqlite3.Connection) -> None:
    with pytest.raises(DatabaseError) as caught:
        ask(opened, query)
    assert caught.value.code == code
    assert ask(opened, "select count(*) from kernel").rows == [(3,)]


def test_the_nearest_table_is_named(run: Run) -> None:
    with pytest.raises(DatabaseError, match="cannot be answered") as caught:
        run.sql("select * from kernells")
    assert "did you mean kernel" in caught.value.help


def test_the_columns_of_the_tables_that_are_asked_are_named(run: Run) -> None:
    with pytest.raises(DatabaseError, match="cannot be answered") as caught:
        run.sql("select value from rule")  # `value` is a column of other tables
    assert caught.value.help.startswith("columns of rule: run_id, rule_id, ")
    with pytest.raises(DatabaseError, match="cannot be answered") as caught:
        run.sql("select byte_read from kernel")
    assert caught.value.help == "did you mean bytes_read, bytes_written?"


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    assert code_of(path) == "SL601"
    path.write_bytes(b"this is no database, whatever its name says" * 99)
    assert code_of(path) == "SL602"
    path.unlink()
    sqlite3.connect(path).execute("create table t (a)")
    assert code_of(path) == "SL602"


def test_a_truncated_database(saved: Path) -> None:
    content = saved.read_bytes()
    saved.write_bytes(content[: len(content) // 2])
    assert code_of(saved) == "SL602"


def test_a_database_of_another_version(saved: Path) -> None:
    connection = sqlite3.connect(saved)
    connection.execute(f"pragma user_version = {VERSION + 1}")
    connection.close()
    assert code_of(saved) == "SL603"


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        (".input meets", "nothing supplies the input relation `meets`"),
        (".open meets", "no relation is called may_meet"),
    ],
)
def test_a_run_whose_rules_know_other_facts(saved: Path, declared: str, reason: str) -> None:
    connection = sqlite3.connect(saved)
    text = connection.execute("select rules_text from run").fetchone()[0]
    text = text.replace(".input may_meet", declared).replace("may_meet", "meets")
    sha = link([parse_text(text, "rules", "core")]).sha
    connection.execute("update run set rules_text = ?, rules_sha = ?", (text, sha))
    connection.commit()
    with pytest.raises(DatabaseError) as caught:
        saved_decisions(connection)
    connection.close()
    assert str(caught.value) == (
        "error[SL603] run 1 is from a schedulog that tells its rules other facts\n"
        "  at rules\n"
        f"  why: {reason}\n"
        "  help: save the run again, or use the schedulog that wrote it"
    )


def test_rules_that_were_changed_in_the_file(saved: Path) -> None:
    connection = sqlite3.connect(saved)
    connection.execute("update run set rules_text = rules_text || 'realize(N) :- computed(N).'")
    with pytest.raises(RuleError) as caught:
        saved_decisions(connection)
    connection.close()
    assert str(caught.value) == (
        "error[SL121] the saved rules are not those of the run\n"
        "  at rules\n"
        "  why: their SHA-256 differs\n"
        "  help: save the run again"
    )


def test_a_damaged_database(saved: Path) -> None:
    connection = sqlite3.connect(saved)
    connection.execute("drop view latest")
    connection.execute("drop table run")
    connection.close()
    with pytest.raises(DatabaseError) as caught:
        saved_decisions(open_database(saved))
    assert caught.value.code == "SL602"


def test_a_run_that_is_not_there(opened: sqlite3.Connection) -> None:
    with pytest.raises(DatabaseError, match="no run 7") as caught:
        saved_decisions(opened, 7)
    assert (caught.value.code, caught.value.help) == ("SL606", "runs: 1")


def test_a_link_stays_a_link(run: Run, saved: Path) -> None:
    link = saved.parent / "link.db"
    link.symlink_to(saved)
    run.save(link, label="again")
    assert link.is_symlink()
    assert ask(open_database(saved), "select label from run").rows == [("again",)]


def test_changed_rules_are_noticed(saved: Path) -> None:
    connection = sqlite3.connect(saved)
    connection.execute("update run set rules_text = replace(rules_text, '@shows_more(V, W) = 1', '1 = 1')")
    connection.commit()
    connection.close()
    with pytest.raises(Exception, match="not those of the run"):
        saved_decisions(open_database(saved))


def code_of(path: Path) -> str:
    with pytest.raises(DatabaseError) as caught:
        open_database(path)
    return caught.value.code


def test_a_full_disk_leaves_the_old_file(run: Run, saved: Path) -> None:
    before = saved.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(DatabaseError) as caught:
            run.save(saved)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.code == "SL604"
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_a_folder_that_is_not_there(run: Run, tmp_path: Path) -> None:
    with pytest.raises(DatabaseError) as caught:
        run.save(tmp_path / "none" / "run.db")
    assert caught.value.code == "SL604"


@pytest.mark.parametrize("append", [False, True])
def test_an_interrupted_save_leaves_the_old_file(
    append: bool, run: Run, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved.read_bytes()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(database, "relation_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.save(saved, append=append)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_a_saved_file_can_be_read_by_others(saved: Path) -> None:
    mask = os.umask(0)
    os.umask(mask)
    assert saved.stat().st_mode & 0o777 == 0o666 & ~mask


def test_contents_of_buffers_are_not_saved() -> None:
    weights = build.array(np.arange(4096, dtype=np.float32), name="w")
    graph = graph_of([build.alu(Op.SQRT, weights)])
    assert len(write_graph(graph)) > 16_384
    assert len(write_graph(graph, contents=False)) < 2_000
    assert schedule(graph).sql("select length(json) < 2000 from graph") == [(1,)]


def test_every_table_and_column_is_described(opened: sqlite3.Connection) -> None:
    described = {
        line.split()[0] for line in schema().splitlines() if line.startswith("  ") and " -- " in line
    }
    for table in table_names(opened):
        kind = opened.execute("select type from sqlite_master where name = ?", (table,)).fetchone()[0]
        if kind == "table" and not table.startswith("rel_"):
            columns = {row[1] for row in opened.execute(f'pragma table_info("{table}")')}
            assert columns <= described, table


def test_importing_the_package_does_nothing() -> None:
    code = "import sys, schedulog; sys.exit('numpy' in sys.modules or 'sqlite3' in sys.modules)"
    root = Path(__file__).parent.parent
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


def test_what_the_simplifier_did_stands_in_the_database() -> None:
    x = build.buffer(Buffer(4, float32, "", "x"))
    one = build.const(1, float32, (4,))
    run = schedule(build.alu(Op.EXP, build.alu(Op.MUL, x, one)))
    assert run.sql("simplified") == [("times-one", 1)]
    ((step, rule, before, after),) = run.sql("select step, rule, before, after from rewrite")
    assert (step, rule) == (0, "times-one")
    assert "MUL" in before and "BUFFER" in after
