"""Variables that begin with `_`, of one statement.

pyDatalog takes two `_` of one statement for one variable. So each such variable stands once, for any value: `_`, `_2`,
`_3`. The exception is one that a condition fixes, `(_one == 1)`: it stands for that constant wherever an aggregate or a
comparison needs a variable.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Blanks:
    """What is known of the `_` variables: the fixed ones with their constants, the conditions that fix them, and further
    occurrences of one that is not fixed."""

    fixed: dict[str, ast.expr]
    fixing: frozenset[ast.expr]
    repeated: tuple[ast.Name, ...]


def blanks(statement: ast.AST, conditions: Sequence[ast.expr]) -> Blanks:
    """The `_` variables of a statement with these conditions."""
    found: dict[str, list[ast.Name]] = {}
    names = (node for node in ast.walk(statement) if isinstance(node, ast.Name) and node.id.startswith("_"))
    for node in sorted(names, key=lambda node: (node.lineno, node.col_offset)):
        found.setdefault(node.id, []).append(node)
    fixed: dict[str, ast.expr] = {}
    fixing: set[ast.expr] = set()
    for condition in conditions:
        name, value = _fixes(condition)
        if value is not None and name not in fixed and len(found[name]) > 1:
            fixed[name] = value
            fixing.add(condition)
    repeated = tuple(node for name, nodes in found.items() if name not in fixed for node in nodes[1:])
    return Blanks(fixed, frozenset(fixing), repeated)


def _fixes(condition: ast.expr) -> tuple[str, ast.expr | None]:
    """The variable that a condition fixes, and its constant."""
    if isinstance(condition, ast.Compare) and isinstance(condition.left, ast.Name):
        value = condition.comparators[0]
        plain = value.operand if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub) else value
        equal = len(condition.ops) == 1 and isinstance(condition.ops[0], ast.Eq)
        if equal and condition.left.id.startswith("_") and isinstance(plain, ast.Constant):
            return condition.left.id, value
    return "", None
