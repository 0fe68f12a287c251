"""The files for VS Code: well formed, complete, and the colours that a sample gets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedulog.scheduler.language.metadata import KEYS
from schedulog.scheduler.language.scan import DIRECTIVES

FOLDER = Path(__file__).parent.parent / "editors" / "vscode"
GRAMMAR: dict[str, Any] = json.loads(
    (FOLDER / "syntaxes" / "schedulog.tmLanguage.json").read_text(encoding="utf-8")
)


def patterns(node: Any) -> Iterator[str]:
    """All regular expressions of the grammar. They are within what Python's `re` has in common with Oniguruma."""
    if isinstance(node, dict):
        yield from (value for key, value in node.items() if key in ("match", "begin", "end"))
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from patterns(part)


def test_every_pattern_compiles_and_every_include_exists() -> None:
    assert len([re.compile(pattern) for pattern in patterns(GRAMMAR)]) > 20
    names = re.findall(r'"include": "#(\w+)"', json.dumps(GRAMMAR))
    assert set(names) == set(GRAMMAR["repository"])


def test_the_package_names_files_that_exist() -> None:
    package = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    (language,) = package["contributes"]["languages"]
    (grammar,) = package["contributes"]["grammars"]
    for name in (language["configuration"], grammar["path"], package["main"]):
        assert (FOLDER / name).is_file()
    assert grammar["scopeName"] == GRAMMAR["scopeName"] and grammar["language"] == language["id"]
    assert language["extensions"] == [".dl"]
    configuration = json.loads((FOLDER / "language-configuration.json").read_text(encoding="utf-8"))
    assert configuration["comments"]["lineComment"] == "%"
    for rule in configuration["onEnterRules"]:
        re.compile(rule["beforeText"])


def test_the_grammar_knows_the_words_of_the_language() -> None:
    repository = GRAMMAR["repository"]
    for word in DIRECTIVES:
        assert re.match(repository["directive"]["match"], f"{word} name")
    for key in KEYS:
        assert re.search(repository["header"]["patterns"][0]["match"], f"%! {key}: x")


def scopes(line: str) -> list[tuple[str, str]]:
    """The pieces of one line with their scopes, found as an editor does: the leftmost match, of these the first."""
    return list(_scopes(line, GRAMMAR["patterns"], 0, len(line)))


def _scopes(line: str, rules: list[Any], begin: int, end: int) -> Iterator[tuple[str, str]]:
    while begin < end:
        found = [
            (m.start(), i, m, r) for i, r in enumerate(_flat(rules)) if (m := _first(r, line, begin, end))
        ]
        if not found:
            return
        _, _, match, rule = min(found, key=lambda one: one[:2])
        if "begin" in rule:
            close = re.compile(rule["end"]).search(line, match.end())
            stop = close.end() if close else end
            yield line[match.start() : stop], rule["name"]
            yield from _scopes(line, rule.get("patterns", []), match.end(), stop)
            begin = max(stop, match.end())
        else:
            for group, capture in (rule.get("captures") or {"0": {"name": rule.get("name")}}).items():
                if match[int(group)]:
                    yield match[int(group)], capture["name"]
            begin = max(match.end(), begin + 1)


def _flat(rules: list[Any]) -> Iterator[Any]:
    for rule in rules:
        if "include" in rule:
            yield from _flat([GRAMMAR["repository"][rule["include"][1:]]])
        elif "patterns" in rule and "begin" not in rule:
            yield from _flat(rule["patterns"])
        else:
            yield rule


def _first(rule: Any, line: str, begin: int, end: int) -> re.Match[str] | None:
    found = re.compile(rule.get("match") or rule["begin"]).search(line, begin)
    return found if found and found.start() < end else None


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (
            'far(N, S) :- edge(N, _, V), not op(N, "EXP"), @f(V) > 1.  % why',
            [
                ("far", "entity.name.function.relation"), ("N", "variable.other"), ("S", "variable.other"),
                (":-", "keyword.operator"), ("edge", "entity.name.function.relation"), ("N", "variable.other"),
                ("_", "variable.other"), ("V", "variable.other"), ("not", "keyword.operator.logical"),
                ("op", "entity.name.function.relation"), ("N", "variable.other"), ('"EXP"', "string.quoted.double"),
                ("@f", "support.function"), ("V", "variable.other"), (">", "keyword.operator"),
                ("1", "constant.numeric.integer"), ("% why", "comment.line.percentage"),
            ],
        ),
        (
            "crosses(N) :- position(N, P), P % 2 != P // 3.",
            [
                ("crosses", "entity.name.function.relation"), ("N", "variable.other"), (":-", "keyword.operator"),
                ("position", "entity.name.function.relation"), ("N", "variable.other"), ("P", "variable.other"),
                ("P", "variable.other"), ("%", "keyword.operator"), ("2", "constant.numeric.integer"),
                ("!=", "keyword.operator"), ("P", "variable.other"), ("//", "keyword.operator"),
                ("3", "constant.numeric.integer"),
            ],
        ),
        (
            ".decl far(n: node, size: int)",
            [(".decl", "keyword.control.directive"), ("far", "entity.name.function.declaration")],
        ),
        ("% 2 things // and 3", [("% 2 things // and 3", "comment.line.percentage")]),
        (
            '%! id: my/far    %! refuse 2: "no"',
            [
                ('%! id: my/far    %! refuse 2: "no"', "comment.line.documentation.header"),
                ("id", "keyword.other.header"), ("my/far", "entity.name.tag.rule"),
                ("refuse", "keyword.other.header"), ("2", "constant.numeric"), ('"no"', "string.quoted.double"),
            ],
        ),
        (
            "%?   blocked far(e, 8) at my/far#1:2.   error SL310.",
            [
                ("%?   blocked far(e, 8) at my/far#1:2.   error SL310.", "comment.line.test"),
                ("blocked", "keyword.control.assertion"), ("8", "constant.numeric.integer"),
                ("at", "keyword.control.assertion"), ("my/far#1:2", "entity.name.tag.rule"),
                ("error", "keyword.control.assertion"), ("SL310", "constant.other.code"),
            ],
        ),
    ],
)  # fmt: skip
def test_colours(line: str, wanted: list[tuple[str, str]]) -> None:
    assert [(text, scope.removesuffix(".schedulog")) for text, scope in scopes(line)] == wanted
