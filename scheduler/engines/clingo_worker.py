"""The process in which clingo runs: `python -m schedulog.scheduler.engines.clingo_worker`.

It reads `{"text", "functions", "seconds", "memory"}` and writes `{"models": [{relation: rows}]}`, at most two of them, or
`{"failed": reason}`. Calls in between: see `child`. A separate process,
because clingo grounds for ever where rules count up, and can be neither interrupted nor limited there.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

from schedulog.scheduler.engines.child import NO_MEMORY, restrict


class Worker:
    """Answers questions read from `source` on `target`."""

    def __init__(self, source: TextIO, target: TextIO) -> None:
        # clingo is an optional dependency without types.
        self.clingo: Any = importlib.import_module("clingo")
        self.source = source
        self.target = target
        self.functions: frozenset[str] = frozenset()
        self.known: dict[tuple[str, tuple[int, ...]], Any] = {}

    def run(self) -> None:
        """Answer until the source ends."""
        for line in self.source:
            self.send(self.reply(json.loads(line)))

    def reply(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to one question, or why there is none."""
        restrict(question)
        self.functions, self.known = frozenset(question["functions"]), {}
        try:
            return {"models": self.models(question["text"])}
        except MemoryError:
            return dict(NO_MEMORY)
        except RuntimeError as error:
            # So clingo tells what C++ raised.
            return dict(NO_MEMORY) if "bad_alloc" in str(error) else {"failed": str(error)}

    def send(self, message: dict[str, Any]) -> None:
        self.target.write(json.dumps(message) + "\n")
        self.target.flush()

    def models(self, text: str) -> list[dict[str, list[list[int]]]]:
        """Return at most two stable models."""
        control = self.clingo.Control(["--models=2"], logger=lambda code, message: None)
        control.add("base", [], text)
        control.ground([("base", [])], context=self)
        with control.solve(yield_=True) as handle:
            return [_rows(model) for model in handle]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the function that clingo calls as `@name`."""
        if name not in self.__dict__.get("functions", ()):
            raise AttributeError(name)
        return lambda *arguments: self.call(name, arguments)

    def call(self, name: str, arguments: tuple[Any, ...]) -> Any:
        if any(argument.type != self.clingo.SymbolType.Number for argument in arguments):
            # The least or most of nothing reaches a function before its own test drops it.
            return []
        key = name, tuple(argument.number for argument in arguments)
        if key not in self.known:
            self.known[key] = self.asked(*key)
        return self.known[key]

    def asked(self, name: str, arguments: tuple[int, ...]) -> Any:
        self.send({"call": name, "arguments": arguments})
        line = self.source.readline()
        if not line:
            # Nobody is left to answer, and clingo would swallow an exception.
            os._exit(1)
        value = json.loads(line).get("value")
        return [] if value is None else self.clingo.Number(value)


def _rows(model: Any) -> dict[str, list[list[int]]]:
    found: dict[str, list[list[int]]] = {}
    for atom in model.symbols(atoms=True):
        row = [argument.number for argument in atom.arguments]
        found.setdefault(atom.name.removeprefix("p_"), []).append(row)
    return found


def main() -> None:
    """Serve questions until stdin ends."""
    target, sys.stdout = sys.stdout, sys.stderr
    Worker(sys.stdin, target).run()


if __name__ == "__main__":
    main()
