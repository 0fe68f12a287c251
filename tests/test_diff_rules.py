"""The two rule sets of a comparison: parts left out, rules replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

import schedulog
from schedulog.cli.diff_rules import changed_rules
from schedulog.errors import UsageError
from schedulog.facts.notation import read_notation
from schedulog.scheduler.edit import part_of, with_rules, without
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.language.rule_text import format_item

RULES = """.decl big(n: node)
% n is large, or is made of what is.
%! id: mine/big    %! kind: helper    %! alias: mine/large
%! title: Large values
big(N) :- computed(N), size(N, S), S > 8.
big(N) :- parent(N, P), big(P), computed(N), S = #count { U : edge(N, U, _), computed(U) }, S > 0.
%! id: mine/keep    %! kind: realize
%! title: Store what is large
realize(N) :- big(N), is_reduce(N), not option("LAX", 1).
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return load_program([], extra=[("mine.dl", RULES)])


def body(program: Program, name: str) -> list[str]:
    (rule,) = (rule for rule in program.rules if rule.name == name)
    return [format_item(item) for item in rule.body]


def test_parts_are_left_out_by_the_numbers_of_the_whole(program: Program) -> None:
    edited = without(program, ["mine/big#2:3", "mine/big#2:5", "mine/big#2:4.2", "mine/keep:3"])
    assert body(edited, "mine/big#2") == [
        "parent(N, P)",
        "big(P)",
        "S = #count { U : edge(N, U, _) }",
    ]
    assert body(edited, "mine/keep#1") == ["big(N)", "is_reduce(N)"]
    assert edited.sha != program.sha


def test_a_clause_and_a_rule_are_left_out(program: Program) -> None:
    edited = without(program, ["mine/big#1", "mine/keep"])
    assert [rule.name for rule in edited.rules if rule.id.startswith("mine/")] == ["mine/big#2"]
    assert "mine/keep" not in edited.infos and "mine/big" in edited.infos


def test_what_is_put_back_is_the_same_program(program: Program) -> None:
    assert with_rules(program, program.rules).sha == program.sha
    assert without(program, []).sha == program.sha


def test_an_alias_names_its_rule(program: Program) -> None:
    assert str(part_of(program, "mine/large#2:4.1")) == "mine/big#2:4.1"


NO_PARTS = {
    "mine/bug": """\
error[SL724] no rule has the id `mine/bug`
  at --drop
  help: did you mean `mine/big`?""",
    "mine/big#3": """\
error[SL724] mine/big has no clause 3
  at --drop
  help: it has 2 clauses""",
    "mine/big:1": """\
error[SL724] mine/big has 2 clauses
  at --drop
  help: say which: mine/big#1:1 or mine/big#2:1""",
    "mine/keep:4": """\
error[SL724] mine/keep#1 has no condition 4
  at --drop
  help: its conditions are 1, 2, 3""",
    "mine/big#2:3.1": """\
error[SL724] mine/big#2 has no condition 3.1
  at --drop
  help: its conditions are 1, 2, 3, 4, 4.1, 4.2, 5""",
    "a b": """\
error[SL724] `a b` names no part of a rule
  at --drop
  help: write ID, ID#CLAUSE, ID:CONDITION or ID#CLAUSE:CONDITION, as in my/rule#2:4""",
    "mine/big#1:2": """\
error[SL725] mine/big#1 is no rule without `size(N, S)`
  at mine.dl:5:1
  why: nothing else binds one of its variables
  help: drop the whole clause: --drop mine/big#1""",
}


@pytest.mark.parametrize("part", NO_PARTS)
def test_parts_that_there_are_not(program: Program, part: str) -> None:
    with pytest.raises(UsageError) as error:
        without(program, [part])
    assert str(error.value) == NO_PARTS[part]


# Rules in the place of others.


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "mine.dl").write_text(RULES, encoding="utf-8")
    (tmp_path / "new.dl").write_text(
        "%! id: mine/keep    %! kind: realize    %! priority: 3\n%! title: Store all that is large\n"
        "realize(N) :- big(N).\n",
        encoding="utf-8",
    )
    (tmp_path / "plain.dl").write_text('big(N) :- op(N, "EXP").\nbig(N) :- op(N, "SIN").\n', encoding="utf-8")
    return tmp_path


def changed(files: Path, *replaced: str, added: str = "") -> Program:
    rules = [str(files / "mine.dl")]
    given = [text.replace("FOLDER", files.as_posix()) for text in replaced]
    return changed_rules(rules, [str(files / added)] if added else [], given, [])[1]


def test_a_rule_takes_the_place_of_its_namesake(files: Path) -> None:
    edited = changed(files, "FOLDER/new.dl")
    assert body(edited, "mine/keep#1") == ["big(N)"]
    assert (edited.infos["mine/keep"].priority, edited.infos["mine/keep"].pack) == (3, "mine")
    assert len([rule for rule in edited.rules if rule.id == "mine/big"]) == 2


def test_a_file_takes_the_place_of_a_rule(files: Path) -> None:
    edited = changed(files, "mine/large=FOLDER/plain.dl")
    assert [body(edited, f"mine/big#{n}") for n in (1, 2)] == [['op(N, "EXP")'], ['op(N, "SIN")']]
    assert edited.infos["mine/big"].title == "Large values"


def test_a_rule_of_core_can_be_replaced(files: Path) -> None:
    (files / "core.dl").write_text(
        "%! id: core/store-requested    %! kind: realize\n%! title: Nothing\n"
        'forced_store(N) :- op(N, "NOTHING"), computed(N).\n',
        encoding="utf-8",
    )
    edited = changed(files, "FOLDER/core.dl")
    assert edited.infos["core/store-requested"].pack == "core"
    graph = read_notation("x=load f32[8]; e=exp x; out e")
    before = schedulog.diff(graph, [str(files / "mine.dl")], edited).changes
    assert before.after is None and before.difference.after.failure is not None


@pytest.mark.parametrize(
    ("replaced", "text"),
    [
        ("FOLDER/plain.dl", "no rule has the id `plain/big`, in whose place FOLDER/plain.dl would be"),
        ("mine/kept=FOLDER/new.dl", "did you mean `mine/keep`?"),
    ],
)
def test_what_there_is_not_to_replace(files: Path, replaced: str, text: str) -> None:
    with pytest.raises(UsageError) as error:
        changed(files, replaced)
    assert error.value.code == "SL724"
    assert text.replace("FOLDER", files.as_posix()) in str(error.value)


def test_a_file_without_rules_replaces_nothing(files: Path) -> None:
    (files / "empty.dl").write_text("% nothing\n", encoding="utf-8")
    with pytest.raises(UsageError, match="holds no rules"):
        changed(files, "FOLDER/empty.dl")
