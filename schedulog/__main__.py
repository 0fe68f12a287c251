"""The command `schedulog`: what it exits with, and how errors are told.

0 all went well; 1 something given is wrong (rules, graph, input, device, database); 2 the command is used wrongly; 3 a bug
in schedulog; 130 interrupted; 141 nobody reads the output any more.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import Any

from schedulog.errors import Place, RuleError, SchedulogError, UsageError

_QUESTIONS = "SL710"
"""From this code on a UsageError is about a question asked of a run, not about how the command is used."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    interrupt = _Interrupt()
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        from schedulog.cli.app import app

        result = app(given, prog_name="schedulog", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except BaseException as error:  # noqa: BLE001 (this is where every error ends)
        if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
            return _unread()
        return 130 if interrupt.came else _failed(error, as_json="--json" in given)
    finally:
        signal.signal(signal.SIGINT, before)


def _unread() -> int:
    """Whoever reads the output has enough; Python would complain once more when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 141


class _Interrupt:
    """Remembers Ctrl-C: raised inside SQLite, the KeyboardInterrupt comes out as an error of SQLite."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt


def _failed(error: BaseException, *, as_json: bool) -> int:
    """Tell what went wrong; the exit status for it."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, KeyboardInterrupt):
        return 130
    if isinstance(error, SchedulogError):
        wrong_use = isinstance(error, UsageError) and error.code < _QUESTIONS
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


def _tell(text: str, record: dict[str, Any], status: int, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": record}, ensure_ascii=False))
    else:
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


if __name__ == "__main__":
    sys.exit(main())
