"""The command `schedulog`: what it exits with.

0 all went well; 1 something given is wrong (rules, graph, input, device, database); 2 the command is used wrongly; 3 a bug
in schedulog; 130 interrupted; 141 nobody reads the output any more; 143 asked to end (SIGTERM), which is done as on Ctrl-C.

Nothing but what hears Ctrl-C is imported before that is listened to.
"""

from __future__ import annotations

import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status. Without `arguments` those of the process, which then ends."""
    interrupt = _Interrupt()
    before = signal.signal(signal.SIGINT, interrupt)
    if arguments is None:
        signal.signal(signal.SIGTERM, interrupt)
    given = list(sys.argv[1:] if arguments is None else arguments)
    _replace_closed()
    if arguments is None:
        _escape_unwritable()
    try:
        from schedulog.cli.app import app

        result = app(given, prog_name="schedulog", standalone_mode=False)
        sys.stdout.flush()
        if interrupt.came:  # typer makes a result of it
            return 128 + interrupt.came
        return result if isinstance(result, int) else 0
    except BaseException as error:  # noqa: BLE001 (this is where every error ends)
        # The command is about to end: a second Ctrl-C would only bring a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
            _drop_unwritten()
            return 141
        if interrupt.came:
            return 128 + interrupt.came
        from schedulog.cli.failure import failed, unwritten

        status = failed(unwritten(error) or error, as_json="--json" in given)
        _drop_unwritten()
        return status
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if arguments is None else before)


def _replace_closed() -> None:
    """Whoever closed an output wants nothing of it; left closed, the next file to be opened would be taken for it."""
    import os

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (it stays open as long as the process)


def _escape_unwritable() -> None:
    """A character that an output cannot encode is written as its number."""
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", "") == "strict":
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _drop_unwritten() -> None:
    """What cannot be written any more is dropped; Python would complain once more when it closes the stream."""
    import os

    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class _Interrupt:
    """Remembers the signal that came: raised inside SQLite, the KeyboardInterrupt comes out as an error of SQLite."""

    def __init__(self) -> None:
        self.came = 0

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self.came = number
        raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
