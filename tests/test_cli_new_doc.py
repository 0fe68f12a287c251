"""`schedulog new` and `schedulog doc`."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedulog.__main__ import main
from schedulog.cli.doc import all_packs
from schedulog.rules import pack_names
from schedulog.scheduler.language.layout import format_text
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.rule_check import check_rules
from schedulog.scheduler.rule_tests import run_rule_tests

ROOT = Path(__file__).parent.parent


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize("kind", ["realize", "forbid", "check", "helper"])
def test_a_new_rule_has_one_assertion_that_fails(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, _ = run(capsys, "new", kind, "two-steps")
    path = Path("schedulog_rules/two_steps.dl")
    assert (status, out.splitlines()[-1]) == (0, f"  schedulog test {path}")
    text = path.read_text(encoding="utf-8")
    assert check_rules([path]) == ()
    assert format_text(text, "t.dl") == text
    results = run_rule_tests([path], select="two_steps.dl")
    assert [r.passed for r in results].count(False) == 1
    assert load_program([path]).infos["my/two-steps"].kind == kind
    status, _, err = run(capsys, "new", kind, "two-steps")
    assert (status, err.splitlines()[0]) == (2, f"error[SL709] {path} exists already")
    assert path.read_text(encoding="utf-8") == text


def test_what_no_new_rule_is_made_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "new", "fuse")
    assert (status, "help: what is not stored is fused" in err) == (2, True)
    status, _, err = run(capsys, "new", "frob")
    assert (status, "kinds: realize, forbid, check, helper" in err) == (2, True)
    assert run(capsys, "new", "check", "Bad Name")[0] == 2
    (tmp_path / "file").write_text("", encoding="utf-8")
    status, _, err = run(capsys, "new", "check", "-o", tmp_path / "file" / "x.dl")
    assert (status, "cannot write" in err) == (2, True)


RULES = """.decl far(n: node, size: int -> steps: int)
% A value that another | reads.
%! id: my/far    %! kind: realize    %! title: Two steps away    %! why: "{N} is far"    %! alias: my/fur
%! refuse 2: "{U} is no EXP"
far(N,S,2) :- edge(N, U, _), op(U, "EXP"), size(N, S).
%? test "one"   graph: x=load f32[8]; e=exp x; out e   count far == 1.
"""
PAGE = """# my/far

Two steps away.

```prolog
far(N, S, 2) :- edge(N, U, _), op(U, "EXP"), size(N, S).
```

* kind: realize, experimental, {file}:5
* why: "{{N}} is far"
* earlier ids: my/fur
* when condition 2 fails: {{U}} is no EXP

| relation | meaning |
|---|---|
| `far(n: node, size: int -> steps: int)` | A value that another \\| reads. |
| `edge(n: node, user: node, v: view)` | The node `user` (no VIEW, not the SINK) reads `n` (no VIEW) through view v. |
| `op(n: node -> name: op)` | The operation of a node ("ADD", "REDUCE_AXIS", ...). The SINK has none: it is no value. |
| `size(n: node -> elements: int)` | Number of elements of a node; a symbolic size counts at its maximum. |

Tests:

* one ({file}:6)

Verified to rung 0: not tried as it is.
"""


def test_the_page_of_a_rule_and_of_a_relation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.dl"
    path.write_text(RULES, encoding="utf-8")
    for name in ("my/far", "my/far#1", "my/fur"):
        assert run(capsys, "doc", name, "--rules", path) == (0, PAGE.format(file=path.as_posix()), "")
    status, out, _ = run(capsys, "doc", "far", "--rules", path)
    assert (status, out.splitlines()[-2:]) == (0, ["* from: `my/far`", "* read by: no rule"])
    out = run(capsys, "doc", "realize")[1]
    assert "other packs may add rules" in out and "read by: `core/chosen`" in out
    assert "* from: the graph\n" in run(capsys, "doc", "edge")[1]
    status, _, err = run(capsys, "doc", "my/fat", "--rules", path)
    assert (status, err) == (
        1,
        "error[SL716] no rule, relation or pack is called `my/fat`\n  help: did you mean `my/far`?\n",
    )


def test_the_page_of_all_rules() -> None:
    text = all_packs()
    program = load_program(pack_names())
    for rule_id in program.infos:
        assert f"\n#### {rule_id}\n" in text
    for relation in program.relations.values():
        assert f"| `{relation.name}(" in text
    assert (ROOT / "docs" / "rules.md").read_text(encoding="utf-8") == text
