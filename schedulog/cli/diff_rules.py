"""The two rule sets that `schedulog diff` compares, as its options give them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from schedulog.errors import UsageError
from schedulog.scheduler.ablate import ablatable
from schedulog.scheduler.edit import without
from schedulog.scheduler.language.diagnostic import nearest
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.language.replacement import Replacement, load_replaced
from schedulog.scheduler.language.sources import rule_files


def changed_rules(
    rules: Sequence[str], added: Sequence[str], replaced: Sequence[str], dropped: Sequence[str]
) -> tuple[Program, Program]:
    """The rules as given, and with some added, then some replaced, then some left out.

    Raises RuleError as `load_program`; UsageError SL724 and SL725 for what there is not to replace or leave out.
    """
    before, parts = load_program(rules), [*rules, *added]
    after = load_program(parts) if added else before
    if replaced:
        after = load_replaced(parts, [r for text in replaced for r in _replacements(text)])
    return before, without(after, dropped) if dropped else after


def _replacements(text: str) -> Iterator[Replacement]:
    """`FILE`, or `ID=FILE`; a folder is all files in it."""
    rule, path = "", text
    if found := re.fullmatch(r"([a-z0-9-]+/[a-z0-9-]+)=(.+)", text):
        rule, path = found.groups()
    return (Replacement(file, rule) for file in rule_files([Path(path)]))


def left_out(program: Program, only: Sequence[str]) -> tuple[str, ...]:
    """The rules to leave out in turn: all, or those of some packs and ids. Raises UsageError SL724 for one that is neither."""
    packs = {info.pack for info in program.infos.values()}
    for name in only:
        if name not in program.infos and name not in packs:
            help = nearest(name, [*program.infos, *sorted(packs)]) or f"packs: {', '.join(sorted(packs))}"
            raise UsageError("SL724", f"no pack and no rule is called `{name}`", where="--only", help=help)
    return ablatable(program, only)
