"""How errors are told at the end of a command."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
from contextlib import suppress
from typing import Any, Final

from schedulog.errors import Place, RuleError, SchedulogError, UsageError

_NO_WRONG_USE: Final = ("SL71", "SL720", "SL721", "SL722", "SL723", "SL727")
"""Codes of a UsageError that is about a question asked of a run or a graph, about a picture or about output, not about how the
command is used."""

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def failed(error: BaseException, *, as_json: bool) -> int:
    """Tell what went wrong; the exit status for it."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, KeyboardInterrupt):
        return 130
    if isinstance(error, SchedulogError):
        wrong_use = isinstance(error, UsageError) and not error.code.startswith(_NO_WRONG_USE)
        return _tell(str(error), error_record(error), 2 if wrong_use else 1, as_json)
    # typer raises what click raises, under names that differ from version to version.
    told = getattr(error, "format_message", None)
    if told is not None:
        text = told()
        if not text:
            # The help was asked for by giving no arguments, and has been shown.
            return 2
        record = {"code": "SL700", "message": text, "help": "schedulog --help"}
        return _tell(f"error[SL700] {text}\n  help: schedulog --help", record, 2, as_json)
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    if os.environ.get("SCHEDULOG_DEBUG"):
        traceback.print_exception(error)
    help = (
        "this is a bug in schedulog; SCHEDULOG_DEBUG=1 shows the traceback: please report it with the command"
    )
    record = {"code": "SL900", "message": text, "help": help}
    return _tell(f"error[SL900] {text}\n  help: {help}", record, 3, as_json)


def unwritten(error: BaseException) -> UsageError | None:
    """The error of a command whose output cannot be written, as to a full disk; None for another error.

    Files that commands write have errors of their own, and a file that cannot be opened has a name.
    """
    if not isinstance(error, OSError) or error.errno not in _NO_ROOM or error.filename is not None:
        return None
    return UsageError("SL719", "the output cannot be written", where="standard output",
                      reason=error.strerror or str(error), help="make room, or send it to another place")  # fmt: skip


def _tell(text: str, record: dict[str, Any], status: int, as_json: bool) -> int:
    try:
        if as_json:
            print(json.dumps({"error": record}, ensure_ascii=False), flush=True)
            return status
    except OSError:
        pass  # what cannot be told there is told here
    with suppress(OSError):
        print(text, file=sys.stderr)
    return status


def error_record(error: SchedulogError) -> dict[str, Any]:
    """An error as a JSON object; `others` are the further errors of one rule set."""
    record: dict[str, Any] = {"code": error.code, "message": error.message}
    if isinstance(error.where, Place):
        record |= {"file": error.where.file, "line": error.where.line, "column": error.where.column}
    elif error.where:
        record["where"] = error.where
    record |= {name: text for name, text in (("reason", error.reason), ("help", error.help)) if text}
    if isinstance(error, RuleError) and error.others:
        record["others"] = [error_record(other) for other in error.others]
    return record
