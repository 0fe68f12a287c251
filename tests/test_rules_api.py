"""Rules from Python: `load_rules`, rules as text, what notebooks show, and threads."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedulog import Tensor, load_rules, schedule
from schedulog.errors import RuleError, SchedulogError, UsageError
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import float32
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.ops import Op
from schedulog.scheduler.html.fragment import Table, Text, fragment
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.record.capture import Captures
from schedulog.scheduler.schedule import ENGINES, engines

TEXT = """%! id: mine/sums    %! kind: realize    %! title: Sums are stored
realize(N) :- is_reduce(N), computed(N).
%? test "a sum"   graph: x=load f32[8,8]; s=sum x axis=1; n=neg s; out n
%?   holds realize(s).   kernels == 2.
"""
MARK = ".decl mark(n: node)\n% Marked.\n"
EVIL = "<script>alert('&')</script>"


def sums(label: str = "") -> Graph:
    memory = Buffer(64, float32, name=label or "x", array=np.ones(64, np.float32))
    return graph_of([build.alu(Op.NEG, build.reduce("ADD", build.buffer(memory, (8, 8)), (1,)), label=label)])


# Rules as text


def test_text_is_rules_in_every_place_where_rules_are_named(tmp_path: Path) -> None:
    run = schedule(sums(), rules=["core", TEXT], capture=tmp_path / "calls.db")
    assert len(run.kernels) == 2 and "mine/sums" in run.kernels[0].rules
    assert "mine/sums#1, <text 1>:2:1" in run.why("realize(n2)").render(run.names.atom)
    run.save(tmp_path / "run.db")
    assert run.sql("select file, line, pack from rule where rule_id = 'mine/sums'") == [
        ("<text 1>", 2, "text-1")
    ]
    assert len(schedule(sums(), rules="realize(N) :- is_reduce(N).").kernels) == 2


def test_mistakes_in_texts_have_their_places() -> None:
    with pytest.raises(RuleError) as caught:
        schedule(
            sums(), rules=["classic", MARK + 'mark(N) :- op(N, "ADD").\n', "realize(N) :-\n  egde(N, _, _)."]
        )
    assert str(caught.value) == (
        "error[SL101] unknown relation `egde`\n"
        "  at <text 2>:2:3\n"
        "    egde(N, _, _).\n"
        "    ^^^^\n"
        f"  help: did you mean `edge`? It is declared at {load_program([]).relations['edge'].place}"
    )


def test_a_text_that_is_given_twice() -> None:
    with pytest.raises(RuleError) as caught:
        schedule(sums(), rules=["classic", TEXT, "\n" + TEXT])
    assert str(caught.value) == (
        "error[SL128] the same rules are given twice\n"
        "  at <text 2>\n"
        "  why: they are those of <text 1>\n"
        "  help: give them once"
    )


NAMES = [
    ("clasic", "SL108", "unknown rule pack `clasic`", "did you mean `classic`?"),
    ("./mine.dl", "SL107", "a rule file cannot be read", ""),
    ("mine.dl ", "SL108", "unknown rule pack `mine.dl `", None),
    ("realize(n2).", "SL108", "unknown rule pack `realize(n2).`", "rule text is taken for rules if it has a line break or `:-`"),
    ("", "SL108", "unknown rule pack ``", None),
]  # fmt: skip


@pytest.mark.parametrize(("part", "code", "message", "help"), NAMES, ids=[part for part, *_ in NAMES])
def test_a_name_is_no_text(part: str, code: str, message: str, help: str | None) -> None:
    with pytest.raises(SchedulogError) as caught:
        schedule(sums(), rules=["classic", part])
    assert (caught.value.code, caught.value.message) == (code, message)
    assert help is None or caught.value.help == help


def test_a_path_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "odd:-name.dl"
    path.write_text(TEXT, encoding="utf-8")
    assert len(schedule(sums(), rules=[path]).kernels) == 2


# Rules as an object


def test_rules_can_be_looked_at() -> None:
    rules = load_rules("classic", TEXT)
    assert repr(rules) == "Rules('classic', '%! id: mine/sums    %! kind: realize   …')"
    assert len(rules) == len(list(rules)) == len({info.id for info in rules}) > 100
    assert rules["mine/sums"].title == "Sums are stored" and rules.relations["edge"].arity == 3
    with pytest.raises(KeyError, match=re.escape("no rule has the id `mine/sum`; did you mean `mine/sums`?")):
        rules["mine/sum"]
    assert re.search(r"^mine/sums +realize +Sums are stored$", str(rules), re.MULTILINE)
    assert "classic/forced" not in load_rules("classic", disable="classic/forced").program.infos


def test_a_rule_is_found_by_its_id_and_by_nothing_else() -> None:
    rules = load_rules("classic", TEXT)
    info = next(iter(rules))
    assert info.id in rules and info in rules
    for other in ("classic/absent", "", 5, None):
        assert other not in rules
        with pytest.raises(KeyError, match="no rule has the id"):
            rules[other]  # type: ignore[index]


@pytest.mark.parametrize("question", [None, 5, b"realize(n1)"])
def test_a_question_is_a_text(question: object) -> None:
    rules = load_rules(TEXT)
    for ask in (rules.why, rules.whynot):
        with pytest.raises(UsageError) as caught:
            ask(sums(), question)  # type: ignore[arg-type]
        assert caught.value.code == "SL710"
    with pytest.raises(UsageError, match=f"`{re.escape(str(question))}` asks about no operand"):
        rules.schedule(sums()).explain(question)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["a\0.dl", "a" * 5000 + ".dl"])
def test_a_path_that_no_file_system_has(path: str) -> None:
    with pytest.raises(RuleError) as caught:
        load_rules(path)
    assert (caught.value.code, caught.value.message) == ("SL107", "a rule file cannot be read")


def test_check_gives_findings_that_print() -> None:
    found = load_rules(TEXT).check()
    assert not found and (str(found), repr(found)) == ("no findings", "<no findings>")
    found = load_rules(MARK + "mark(N) :- op(N, N), egde(N).\n").check()
    assert [finding.code for finding in found] == ["SL101", "SL103"] or len(found) >= 1
    assert str(found).endswith("(schedulog explain CODE says more)") and repr(found).startswith("<")
    assert "SL101" in found._repr_html_()
    with pytest.raises(RuleError):
        len(load_rules("realize(N) :- egde(N)."))


@pytest.mark.parametrize("parts", [("clasic",), ("./absent.dl",), (TEXT, TEXT)])
def test_what_cannot_be_read_is_told_at_once(parts: tuple[str, ...]) -> None:
    with pytest.raises(RuleError):
        load_rules(*parts)
    with pytest.raises(UsageError):
        load_rules(3)  # type: ignore[arg-type]  # wrong on purpose


def test_tests_and_coverage_of_a_text() -> None:
    rules = load_rules("classic", TEXT)
    report = rules.test(engines="sqlite")
    assert report.passed and report.tests == 1 and str(report) == report.summary()
    assert [clause.rule.id for clause in rules.coverage().clauses] == ["mine/sums"]
    wrong = load_rules(TEXT.replace("kernels == 2", "kernels == 3")).test("a sum", ["sqlite"])
    assert not wrong.passed and '"a sum" fails on sqlite' in str(wrong) and "fails" in wrong._repr_html_()
    with pytest.raises(RuleError) as caught:
        rules.test("no such test")
    assert caught.value.code == "SL161"


def test_questions_and_comparisons(tmp_path: Path) -> None:
    mine, graph = load_rules("core", TEXT), sums()
    assert mine.why(graph, "realize(n2)").rule == "mine/sums#1"
    assert "does not hold" in str(mine.whynot(graph, "realize(n1)"))
    changes = mine.diff("core", graph)
    assert not isinstance(changes, tuple) and not changes.same and "kernels   2 -> 1" in str(changes)
    assert isinstance(found := mine.diff(load_rules("core"), graph, graph), tuple) and len(found) == 2
    run = mine.schedule(graph, capture=tmp_path / "calls.db")
    np.testing.assert_array_equal(run.execute(device="numpy")["out0"].reshape(-1), np.full(8, -8.0))


def test_a_captured_call_holds_the_text_that_was_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.dl"
    path.write_text(TEXT, encoding="utf-8")
    rules = load_rules("classic", path)
    path.write_text("nothing any more", encoding="utf-8")
    rules.schedule(sums(), capture=tmp_path / "calls.db")
    (given,) = Captures(tmp_path / "calls.db").given()
    assert [file.text for file in given.files] == [TEXT] and given.packs == ("classic",)


# What notebooks show


class _Checker(HTMLParser):
    """Collects the elements, and requires that each is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        self.open.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> _Checker:
    found = _Checker()
    found.feed(html)
    found.close()
    assert not found.open and "script" not in found.seen
    return found


def test_a_fragment_escapes_all_that_it_is_given() -> None:
    html = fragment(EVIL, Table((EVIL,), [(EVIL, 1)], EVIL), Text(EVIL, EVIL), Text(EVIL))
    assert read(html).text.count(EVIL) == 7
    assert "color: #" not in html and "background: #" not in html
    assert "and 50 rows more" in fragment("", Table(("n",), [(i,) for i in range(250)]))


SHOWN: dict[str, tuple[Callable[[], Any], str]] = {
    "run": (lambda: schedule(sums(EVIL), rules=["core", TEXT], simplify=False), EVIL),
    "proof": (lambda: schedule(sums(EVIL), rules=["core", TEXT]).why("realize(n2)"), "mine/sums"),
    "whynot": (lambda: schedule(sums(EVIL), rules=["core", TEXT]).whynot("realize(n1)"), EVIL),
    "diff": (lambda: load_rules("core", TEXT).diff("core", sums(EVIL)), "kernels"),
    "coverage": (lambda: load_rules("core", TEXT).coverage(), "mine/sums"),
    "rules": (lambda: load_rules("core", TEXT.replace("Sums are", EVIL)), EVIL),
    "wrong rules": (lambda: load_rules(f'realize(N) :- op(N, "{EVIL}"), egde(N).'), EVIL),
    "report": (lambda: load_rules(TEXT.replace("a sum", EVIL)).test(engines="sqlite"), EVIL),
    "findings": (lambda: load_rules(f'realize(N) :- egde(N, "{EVIL}").').check(), EVIL),
}


@pytest.mark.parametrize("name", SHOWN)
def test_results_show_themselves(name: str) -> None:
    make, text = SHOWN[name]
    result = make()
    assert text in read(result._repr_html_()).text
    assert len(repr(result)) < 300 and "\n" not in repr(result)


def test_a_run_shows_times_once_they_are_measured() -> None:
    run = schedule(sums())
    assert "µs" not in run._repr_html_()
    run.execute(device="numpy", times=[])
    assert "µs on numpy" in run._repr_html_() and repr(run) == "<Run of graph: 5 nodes, 1 kernels>"


# Threads


def test_threads_with_rules_of_their_own(tmp_path: Path) -> None:
    there = [name for name in ENGINES if engines()[name] is None]
    pack = tmp_path / "three"
    pack.mkdir()
    (pack / "pack.toml").write_text('name = "three"\nversion = "1"\nfunctions = "f.py"\n', encoding="utf-8")
    (pack / "f.py").write_text("def many(n):\n    return n > 4\n", encoding="utf-8")
    (pack / "r.dl").write_text(
        ".function many(n: int) -> int\n% 1 for many.\nrealize(N) :- is_reduce(N), size(N, S), @many(S) = 1.\n",
        encoding="utf-8",
    )
    given: list[tuple[Any, int]] = [
        ("core", 1),
        (["core", TEXT], 2),
        (pack, 2),
        ('realize(N) :- op(N, "MAX").', 1),
    ]
    shared, graph = load_rules("core", TEXT), sums()
    barrier, failed = threading.Barrier(8), list[BaseException]()

    def work(i: int) -> None:
        rules, kernels = given[i % len(given)]
        barrier.wait(30)
        try:
            for round_ in range(4):
                engine = there[(i + round_) % len(there)]
                assert len(schedule(graph, rules=rules, engine=engine).kernels) == kernels
                assert len(shared.schedule(graph, engine=engine).kernels) == 2
        except BaseException as error:  # noqa: BLE001 (raised again below)
            failed.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if failed:
        raise failed[0]
    assert not [thread for thread in threads if thread.is_alive()]


def test_a_lazy_tensor_can_be_asked_about() -> None:
    total = Tensor(np.ones((8, 8))).sum(axis=1) * 2
    assert load_rules("core", TEXT).why(total, "realize(n2)").rule == "mine/sums#1"
