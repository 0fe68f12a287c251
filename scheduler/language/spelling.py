"""The two spellings of rule files: each has one layout, and each is written in the other."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from schedulog.scheduler.language.layout import format_text
from schedulog.scheduler.language.pydatalog.datalog import write_datalog
from schedulog.scheduler.language.pydatalog.layout import format_pydatalog
from schedulog.scheduler.language.pydatalog.write import write_pydatalog
from schedulog.scheduler.language.rule_file import DATALOG, PYDATALOG

SPELLINGS: Final[Mapping[str, str]] = MappingProxyType({"datalog": DATALOG, "pydatalog": PYDATALOG})
"""The names of the spellings, with the ends of the names of their files."""


def format_file(text: str, file: str) -> str:
    """The text of a rule file in the one layout of its spelling. Raises RuleError with all mistakes of it."""
    return format_pydatalog(text, file) if file.endswith(PYDATALOG) else format_text(text, file)


def translate(text: str, file: str, spelling: str) -> str:
    """The text of a rule file in a spelling of `SPELLINGS`; in the one layout of it where that is its own.

    Reading the result gives the same rules, headers and tests. Raises RuleError with all mistakes of the text.
    """
    if file.endswith(SPELLINGS[spelling]):
        return format_file(text, file)
    return write_pydatalog(text, file) if spelling == "pydatalog" else write_datalog(text, file)
