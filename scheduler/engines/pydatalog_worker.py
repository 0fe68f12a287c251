"""The process in which pyDatalog runs: `python -m schedulog.scheduler.engines.pydatalog_worker`.

Lines of JSON on stdin and stdout. It reads questions (`{"facts", "rules", "goal", "width", "functions", "seconds", "memory"}`) and writes
`{"rows": [...]}` or `{"failed": reason}`. In between it may write `{"call": name, "arguments": [...]}` and then reads
`{"value": n}` or `{"failed": reason}`. A separate process, because pyDatalog can loop for ever and takes no signal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from pyDatalog import pyDatalog, pyEngine, pyParser

from schedulog.scheduler.engines.child import NO_MEMORY, restrict


class Worker:
    """Answers questions read from `source` on `target`."""

    def __init__(self, source: TextIO, target: TextIO) -> None:
        self.source = source
        self.target = target
        self.failure = ""

    def run(self) -> None:
        """Answer until the source ends."""
        for line in self.source:
            self.send(self.reply(line))

    def reply(self, line: str) -> dict[str, Any]:
        """Return the answer to one question, or why there is none."""
        self.failure = ""
        rows: list[list[int]] = []
        try:
            question = json.loads(line)
            restrict(question)
            rows = self.answer(question)
        except MemoryError:
            return dict(NO_MEMORY)
        except Exception as error:  # noqa: BLE001 - pyDatalog may raise anything, and this process must answer
            self.failure = self.failure or f"{type(error).__name__}: {error}"
        return {"failed": self.failure} if self.failure else {"rows": rows}

    def send(self, message: dict[str, Any]) -> None:
        self.target.write(json.dumps(message) + "\n")
        self.target.flush()

    def answer(self, question: dict[str, Any]) -> list[list[int]]:
        """Return the rows of the goal, in a program of its own."""
        pyDatalog.Logic()
        names = question["functions"]
        functions = {name: pyDatalog._pyD_decorator(self.function(name)) for name in names}
        for name, rows in question["facts"].items():
            for row in rows:
                pyEngine.assert_(
                    pyEngine.Clause(pyEngine.Literal(name, [pyEngine.Const(v) for v in row]), [])
                )
        pyParser.load("\n".join(question["rules"]), newglobals=functions)
        columns = ",".join(f"A{i}" for i in range(question["width"]))
        answer = pyParser.ask(f"{question['goal']}({columns})")
        return [list(row) for row in answer.answers] if answer else []

    def function(self, name: str) -> Callable[..., int]:
        """Return a function that the other process computes."""

        def call(*arguments: int) -> int:
            return self.ask_parent(name, arguments)

        return call

    def ask_parent(self, name: str, arguments: Sequence[int]) -> int:
        # pyDatalog takes an exception for the function's value, so a failure is kept beside.
        if self.failure:
            return 0
        self.send({"call": name, "arguments": list(arguments)})
        reply = json.loads(self.source.readline())
        if "failed" in reply:
            self.failure = str(reply["failed"])
            return 0
        return int(reply["value"])


def main() -> None:
    """Serve questions until stdin ends."""
    target, sys.stdout = sys.stdout, sys.stderr
    Worker(sys.stdin, target).run()


if __name__ == "__main__":
    main()
