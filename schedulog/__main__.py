"""The command `schedulog`: what it exits with.

0 all went well; 1 something given is wrong (rules, graph, input, device, database); 2 the command is used wrongly; 3 a bug
in schedulog; 130 interrupted; 141 nobody reads the output any more.

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
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        from schedulog.cli.app import app

        result = app(given, prog_name="schedulog", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except BaseException as error:  # noqa: BLE001 (this is where every error ends)
        # The command is about to end: a second Ctrl-C would only bring a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
            return _unread()
        if interrupt.came:
            return 130
        from schedulog.cli.failure import failed

        return failed(error, as_json="--json" in given)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if arguments is None else before)


def _unread() -> int:
    """Whoever reads the output has enough; Python would complain once more when it closes the stream."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 141


class _Interrupt:
    """Remembers Ctrl-C: raised inside SQLite, the KeyboardInterrupt comes out as an error of SQLite."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
