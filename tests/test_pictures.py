"""Pictures: what is in them, where it stands, and that a browser shows the reasons of what is clicked."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from browser import Page, chromium
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import schedulog
from schedulog.cli.app import app
from schedulog.errors import SchedulogError
from schedulog.facts.json_format import write_graph
from schedulog.facts.notation import read_notation
from schedulog.pictures.document import html_text, page_data
from schedulog.pictures.dot import dot_text
from schedulog.pictures.drawn_here import drawn_here
from schedulog.pictures.picture import Edge, Item, Picture, Stage
from schedulog.pictures.placement import placed
from schedulog.pictures.stages import picture
from schedulog.pictures.subject import Subject

RECORDS = Path(__file__).resolve().parent / "data" / "recorded.jsonl.gz"
TWO = "x=load f32[8,4]; e=exp x; s=sum e axis=1; c=contiguous s; w=expand c to=[8,4]; f=mul w x; g=mul f 0.5; out g"
REUSED = "x=load f32[8]; e=neg x; a=assign x e; f=sin x; out a, f"


def subject(text: str) -> Subject:
    run = schedulog.schedule(read_notation(text))
    return Subject(run.decisions, run.schedule)


def drawn(text: str, stage: Stage = "simplified") -> Picture:
    return picture(subject(text), stage)


def record_line(case: str) -> int:
    with gzip.open(RECORDS) as lines:
        return next(i for i, line in enumerate(lines) if json.loads(line)["case"] == case)


def command(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["graph", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_items_stand_in_their_kernels() -> None:
    found = drawn(TWO)
    assert [(i.node, i.text, i.kind, i.group) for i in found.items] == [
        ("n0", "x", "memory", ""),
        ("n2", "exp", "computed", "k0"),
        ("n3", "sum 1", "reduce", "k0"),
        ("n4", "contiguous", "stored", "k0"),
        ("n6", "mul", "computed", "k1"),
        ("n8", "mul 0.5", "stored", "k1"),
    ]
    assert [g.text for g in found.groups] == ["k0 contiguous", "k1 mul 0.5"]
    assert found.summary == "10 nodes in 2 kernels"


def test_edges_say_whether_they_were_cut() -> None:
    edges = {(e.source, e.target): e for e in drawn(TWO).edges}
    assert {pair: e.kind for pair, e in edges.items()} == {
        ("n0", "n2"): "memory",
        ("n2", "n3"): "fused",
        ("n3", "n4"): "fused",
        ("n4", "n6"): "data",
        ("n0", "n6"): "memory",
        ("n6", "n8"): "fused",
    }
    cut, fused = dict(edges["n4", "n6"].facts), dict(edges["n2", "n3"].facts)
    assert cut["because"].startswith("cut: n4 is stored, by classic/")
    assert cut["view"] == "seen as [8,4] strides (1,0)"
    assert fused["because"] == "fused: no rule stores n2, so it is computed where it is used"


def test_what_is_stored_carries_its_proof() -> None:
    items = {i.node: i for i in drawn(TWO).items}
    assert items["n8"].why.splitlines()[1] == "stored(n8)"
    assert "core/store-requested#1" in items["n8"].why
    assert items["n2"].why == "No rule stores n2, so each kernel that uses it computes it."
    assert ("requested as", "g") in items["n8"].facts


def test_a_value_computed_twice_is_shown_twice() -> None:
    items = drawn("x=load f32[8]; e=exp x; f=neg e; g=sin e; out f, g").items
    assert [(i.id, i.group) for i in items if i.node == "n1"] == [("n1", "k0"), ("n1@k1", "k1")]
    assert ("computed again in", "k1") in items[1].facts


def test_versions_are_edges_between_kernels() -> None:
    for stage in ("simplified", "kernels"):
        (edge,) = [e for e in drawn(REUSED, stage).edges if e.kind == "version"]
        assert (edge.source, edge.target, edge.label) == ("k0", "k1", "x")
        assert "core/version-order#1" in edge.why


def test_the_kernels_alone() -> None:
    found = drawn(TWO, "kernels")
    assert found.items == ()
    assert [(e.source, e.target, e.kind) for e in found.edges] == [("k0", "k1", "data")]
    facts = dict(found.groups[0].facts)
    assert facts["computes"] == "exp, reduce_axis, contiguous"
    assert facts["reads"] == "x, 128 bytes"


def test_a_copy_that_is_kept_aside_is_a_kernel_of_its_own() -> None:
    graph = read_notation("x=load f32[8]; r=flip x axis=0; e=neg r; a=assign x e; out a")
    run = schedulog.schedule(graph, options={"copy_on_hazard": 1})
    found = picture(Subject(run.decisions, run.schedule), "simplified")
    assert [g.text for g in found.groups] == ["k0 keep x", "k1 assign x"]
    assert ("n0", "k0") in [(e.source, e.target) for e in found.edges]
    assert [e.kind for e in found.edges if e.source == "k0" and e.target == "n2"] == ["memory"]


def test_the_tensor_graph_of_a_record() -> None:
    line = record_line("models::gpt_small_infer#0")
    text = command(f"{RECORDS}#{line}", "--stage", "tensor", "--format", "dot")
    assert text.startswith('digraph "models::gpt_small_infer#0" {')
    assert "subgraph" in text


def test_dot_is_escaped_and_clustered() -> None:
    text = dot_text(drawn("x=load f32[8]; e=exp x; out e"))
    assert text == (
        'digraph "graph" {\n'
        "  compound=true; node [fontname=monospace, fontsize=11]; edge [fontname=monospace, fontsize=10];\n"
        '  subgraph "cluster_k0" {\n'
        '    label="k0 exp\\nfloat32[8]"; style=rounded;\n'
        '    "n1" [label="n1 exp\\nfloat32[8]", shape=box, penwidth=2];\n'
        "  }\n"
        '  "n0" [label="n0 x\\nfloat32[8]", shape=cylinder];\n'
        '  "n0" -> "n1" [color=gray50];\n'
        "}\n"
    )
    odd = Item("a", "a", 'say "hi" \\ \x07', "two\nlines", "computed", "", ())
    text = dot_text(Picture('"', "simplified", "", (odd,), (), (Edge("a", "a", "version", 'b"'),)))
    assert r'"a" [label="a say \"hi\" \\ ?\ntwo\nlines"' in text
    assert r'"a" -> "a" [label="b\"", style=dashed, constraint=false];' in text
    assert text.startswith(r'digraph "\"" {')


def test_a_page_is_one_file_that_no_label_breaks() -> None:
    made = drawn(TWO)
    bad = "</script><script>alert(1)</script> {{data}} \u2028 'é"
    text = html_text(replace(made, name=bad, items=(replace(made.items[0], text=bad), *made.items[1:])))
    assert "alert(1)</script>" not in text
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert data["name"] == bad and data["items"][0]["text"] == bad


@given(
    st.lists(st.tuples(st.floats(10, 200), st.floats(10, 60)), max_size=30),
    st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=60),
    st.floats(150, 2000),
)
def test_boxes_do_not_overlap_and_users_stand_below(
    sizes: list[tuple[float, float]], pairs: list[tuple[int, int]], widest: float
) -> None:
    edges = [(a, b) for a, b in pairs if a < b < len(sizes)]
    found = placed(sizes, edges, gaps=(10.0, 20.0), widest=widest)
    row_of = {n: at for at, row in enumerate(found.layers.rows) for n in row}
    assert sorted(n for n in row_of if n < len(sizes)) == list(range(len(sizes)))
    assert all(row_of[a] < row_of[b] for a, b in edges)
    for row in found.layers.rows:
        boxes = [n for n in row if n < len(sizes)]
        for left, right in pairwise(boxes):
            room = (sizes[left][0] + sizes[right][0]) / 2 + 10
            assert found.centers[right] - found.centers[left] >= room - 1e-6
    for at, row in enumerate(found.layers.rows[:-1]):
        tallest = max((sizes[n][1] for n in row if n < len(sizes)), default=0)
        assert found.tops[at + 1] >= found.tops[at] + tallest + 20 - 1e-6
    for n, (width, _) in enumerate(sizes):
        assert found.centers[n] - width / 2 >= -1e-6 and found.centers[n] + width / 2 <= found.width + 1e-6


def test_what_hangs_together_with_nothing_stands_in_the_order_of_kernels() -> None:
    """Not in that of a set of names, which is another one in every process."""
    text = "; ".join(f"x{i}=load f32[8]; e{i}=exp x{i}" for i in range(9))
    shown = drawn(f"{text}; out {', '.join(f'e{i}' for i in range(9))}", "kernels")
    assert page_data(shown)["boxes"] == [f"k{i}" for i in range(9)]


def test_a_long_chain_needs_no_recursion() -> None:
    count = 30_000
    items = tuple(Item(f"n{i}", f"n{i}", "exp", "", "computed", "", ()) for i in range(count))
    edges = tuple(Edge(f"n{i}", f"n{i + 1}", "data") for i in range(count - 1))
    data = page_data(Picture("chain", "simplified", "", items, (), edges))
    assert [row[0] for row in data["rows"]] == list(range(count))
    assert data["open"] is False


def test_saved_runs_and_graph_files_can_be_drawn(tmp_path: Path) -> None:
    graph = read_notation(TWO)
    (tmp_path / "g.json").write_text(write_graph(graph))
    schedulog.schedule(graph).save(tmp_path / "run.db")
    saved = command(str(tmp_path / "run.db"), "--format", "dot")
    assert saved == command(str(tmp_path / "g.json"), "--format", "dot") == dot_text(drawn(TWO))
    told = command(str(tmp_path / "run.db"), "-o", str(tmp_path / "run.html"))
    assert told == f"wrote {tmp_path / 'run.html'}\n"
    assert (tmp_path / "run.html").read_text().startswith("<!doctype html>")


def refused(*arguments: str) -> SchedulogError:
    error = CliRunner().invoke(app, ["graph", *arguments]).exception
    assert isinstance(error, SchedulogError)
    return error


@pytest.mark.parametrize(
    "content",
    [
        b"\x08\x07 a model",
        b"% a rule\n",
        b"digraph mine {\n  a -> b\n}\n",
        b"<!doctype html>\n<html lang=en>mine",
    ],
)
def test_a_file_that_is_no_picture_is_not_replaced(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text(write_graph(read_notation(TWO)))
    place = tmp_path / "precious"
    place.write_bytes(content)
    error = refused(str(tmp_path / "g.json"), "-o", str(place))
    assert (error.code, error.message, error.reason, error.help) == (
        "SL720",
        f"cannot write {place}",
        "it exists and is no picture that schedulog drew",
        "give another name or remove it",
    )
    assert place.read_bytes() == content


def test_pictures_and_empty_files_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text(write_graph(read_notation(TWO)))
    place = tmp_path / "picture"
    place.touch()
    for format_, text in (("dot", dot_text(drawn(TWO))), ("html", html_text(drawn(TWO)))) * 2:
        command(str(tmp_path / "g.json"), "--format", format_, "-o", str(place))
        assert place.read_text() == text
    link = tmp_path / "link"
    link.symlink_to(place)
    command(str(tmp_path / "g.json"), "-o", str(link))
    assert link.is_symlink()
    assert command(str(tmp_path / "g.json"), "-o", os.devnull) == f"wrote {os.devnull}\n"


def test_a_picture_of_any_name_is_known_again(tmp_path: Path) -> None:
    for name in ('"\n{{title}}', "x" * 70_000):
        made = replace(drawn(TWO), name=name)
        for text in (html_text(made), dot_text(made)):
            (tmp_path / "picture").write_text(text, encoding="utf-8")
            assert drawn_here(tmp_path / "picture")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = chromium()
    if path is None:
        pytest.skip("no chromium on this machine")
    made = Page(path, tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


def opened(page: Page, made: Picture, folder: Path) -> Page:
    file = folder / "picture.html"
    file.write_text(html_text(made), encoding="utf-8")
    page.events.clear()
    page.open(file)
    return page


def box(name: str) -> str:
    return f"document.querySelector('[data-id=\"{name}\"]')"


PANEL = "document.querySelector('aside').innerText"


def test_a_click_shows_why(page: Page, tmp_path: Path) -> None:
    opened(page, drawn(TWO), tmp_path)
    page.click(box("n8"))
    shown = page.run(PANEL)
    assert shown.startswith("n8 mul 0.5\n")
    assert "stored(n8)" in shown and "core/store-requested#1" in shown
    page.click(box("n2"))
    assert "No rule stores n2" in page.run(PANEL)
    page.click(box("k0"))
    assert page.run(PANEL).startswith("k0 contiguous\n")
    page.click("[...document.querySelectorAll('aside button')].find(b => b.textContent === 'n0 x')")
    assert page.run(PANEL).startswith("n0 x\n")
    assert page.problems() == []


def test_an_edge_says_why_it_was_cut(page: Page, tmp_path: Path) -> None:
    opened(page, drawn(REUSED, "kernels"), tmp_path)
    assert page.run("document.querySelector('.labels text').textContent") == "x"
    assert page.run("document.querySelectorAll('path.edge.version').length") == 1
    page.run("document.querySelector('path.back').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    shown = page.run(PANEL)
    assert shown.startswith("k0 → k1\n") and "core/version-order#1" in shown
    assert page.problems() == []


def test_keys_open_find_and_follow(page: Page, tmp_path: Path) -> None:
    opened(page, drawn(TWO), tmp_path)
    page.run(f"{box('k1')}.focus()")
    assert page.run(f"{box('n6')} !== null")
    page.key(" ", " ")
    assert page.run(f"{box('n6')} === null")
    page.key("/", "/")
    for letter in "n6":
        page.key(letter, letter)
    page.key("Enter")
    assert page.run(PANEL).startswith("n6 mul\n")
    assert page.run(f"{box('n6')} !== null")
    page.key("ArrowUp")
    assert page.run(PANEL).startswith("n4 contiguous\n")
    page.key("Escape")
    assert "Click a kernel" in page.run(PANEL)
    assert page.problems() == []


def test_a_large_graph_is_closed_at_first(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "large.html"
    command(f"{RECORDS}#{record_line('models::gpt_small_train_adamw#0')}", "-o", str(path))
    page.events.clear()
    page.open(path)
    assert page.run("document.querySelectorAll('.group').length") == 211
    assert page.run("document.querySelectorAll('.item').length") == 0
    page.click(box("k7"), times=2)
    assert page.run("document.querySelectorAll('.item').length") > 3
    overlapping = page.run(
        "[...document.querySelectorAll('.group > rect:first-of-type')].map(r => r.getBoundingClientRect())"
        ".filter((a, i, all) => all.some((b, j) => j > i && a.x < b.right - 1 && b.x < a.right - 1"
        " && a.y < b.bottom - 1 && b.y < a.bottom - 1)).length"
    )
    assert overlapping == 0
    assert page.problems() == []
