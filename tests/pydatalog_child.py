"""Loads texts into pyDatalog itself and asks for relations: JSON on stdin, JSON on stdout. It may hang: give it a time limit.

Reads `{"texts", "functions", "facts", "widths", "ask"}`: facts by relation, numbers of columns, and the relations wanted.
Writes the rows of each. (A relation without a row is unknown to pyDatalog, unless it had one.)
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyDatalog import pyDatalog, pyEngine, pyParser


def main() -> None:
    given: dict[str, Any] = json.load(sys.stdin)
    target, sys.stdout = sys.stdout, sys.stderr
    pyDatalog.Logic()
    functions = {name: pyDatalog._pyD_decorator(unasked) for name in given["functions"]}
    for name, rows in given["facts"].items():
        known = f"{name}({', '.join(['0'] * given['widths'][name])})"
        pyParser.load(f"+{known}\n-{known}")
        for row in rows:
            pyEngine.assert_(pyEngine.Clause(pyEngine.Literal(name, [pyEngine.Const(v) for v in row]), []))
    for text in given["texts"]:
        pyParser.load(text, newglobals=dict(functions))
    found: dict[str, list[list[Any]]] = {}
    for name in given["ask"]:
        columns = ",".join(f"A{i}" for i in range(given["widths"][name]))
        answer = pyParser.ask(f"{name}({columns})")
        found[name] = [list(row) for row in answer.answers] if answer else []
    json.dump(found, target)


def unasked(*arguments: int) -> int:
    """Stands for every function: no relation that is asked for calls one."""
    raise AssertionError(arguments)


if __name__ == "__main__":
    main()
