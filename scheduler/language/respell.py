"""Messages about rules in pyDatalog's spelling, with the signs that stand there.

The checks know rules and not how they are spelled; what they say of signs is in the spelling of ordinary rule files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.rule_file import is_pydatalog

_SIGNS: Final = (
    (re.compile(r"`@(?=[a-z])"), "`"),
    (re.compile(r"`not`"), "`~`"),
    (re.compile(r"\bnot (?=[a-z]\w*\()"), "~"),
    (re.compile(r"`=`"), "`==`"),
    (re.compile(r"(?<=[\w)\"]) = (?=[\w\"@(-])"), " == "),
    (re.compile(r"#count\b"), "len_"),
    (re.compile(r"#(sum|min|max)\b"), r"\1_"),
    (re.compile(r"(?<![#\w])\.(?=(?:decl|function|input|open|type)\b)"), "#."),
    (re.compile(r"%([!?])"), r"#\1"),
)
_IN_ITS_SIGNS: Final = ("SL133", "SL134", "SL135")
"""What only the reader of this spelling says: its `not` and `=` are Python's."""


def respelled(errors: Iterable[RuleError]) -> list[RuleError]:
    """The findings; those about a text in pyDatalog's spelling speak of its signs."""
    return [_respelled(error) if _is_about_pydatalog(error) else error for error in errors]


def _is_about_pydatalog(error: RuleError) -> bool:
    where = error.where
    return isinstance(where, Place) and is_pydatalog(where.file) and error.code not in _IN_ITS_SIGNS


def _respelled(error: RuleError) -> RuleError:
    message, reason, help = map(_signs, (error.message, error.reason, error.help))
    return type(error)(
        error.code,
        message,
        where=error.where,
        reason=reason,
        help=help,
        others=tuple(respelled(error.others)),
    )


def _signs(text: str) -> str:
    for sign, other in _SIGNS:
        text = sign.sub(other, text)
    return text
