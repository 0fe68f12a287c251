"""Syntax trees of Python as text, for the part of Python that rules use."""

from __future__ import annotations

import ast
from typing import Final

_SIGNS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_SUM, _PRODUCT, _SIGNED, _ATOM = 1, 2, 3, 4


def condition_code(node: ast.expr) -> str:
    """A condition; a comparison has parentheses of its own."""
    if isinstance(node, ast.Compare):
        return f"({_compare(node)})"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return f"~{condition_code(node.operand)}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        return f"({conjunction(node)})"
    return code(node)


def conjunction(node: ast.expr) -> str:
    """Conditions with `&` between them."""
    parts: list[str] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        parts.append(condition_code(node.right))
        node = node.left
    return " & ".join([condition_code(node), *reversed(parts)])


def code(node: ast.expr) -> str:
    """A value, or a relation with its arguments."""
    if isinstance(node, ast.Constant):
        return quoted(node.value) if isinstance(node.value, str) else str(node.value)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.UnaryOp):
        return f"{'-' if isinstance(node.op, ast.USub) else '+'}{_operand(node.operand, _SIGNED)}"
    if isinstance(node, ast.BinOp):
        rank = _rank(node)
        return f"{_operand(node.left, rank)} {_SIGNS[type(node.op)]} {_operand(node.right, rank + 1)}"
    if isinstance(node, ast.Subscript):
        return f"{code(node.value)}[{_keys(node.slice)}]"
    if isinstance(node, ast.Call):
        named = (f"{keyword.arg}={code(keyword.value)}" for keyword in node.keywords)
        return f"{code(node.func)}({', '.join([*map(code, node.args), *named])})"
    assert isinstance(node, ast.Tuple | ast.List | ast.Set)
    inner = ", ".join(map(code, node.elts))
    return f"({inner},)" if len(node.elts) == 1 else f"({inner})"


def quoted(text: str) -> str:
    """A string in double quotes, with escapes for what does not show."""
    inner = "".join(_letter(letter) for letter in text)
    return f'"{inner}"'


def _letter(letter: str) -> str:
    if letter in ('"', "\\"):
        return f"\\{letter}"
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")


def _compare(node: ast.Compare) -> str:
    return f"{code(node.left)} {_SIGNS[type(node.ops[0])]} {code(node.comparators[0])}"


def _keys(node: ast.expr) -> str:
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        return ", ".join(map(code, node.elts))
    return code(node)


def _operand(node: ast.expr, least: int) -> str:
    """An operand, in parentheses when its own operator binds less than `least`."""
    return f"({code(node)})" if _rank(node) < least else code(node)


def _rank(node: ast.expr) -> int:
    if isinstance(node, ast.BinOp):
        return _SUM if isinstance(node.op, ast.Add | ast.Sub) else _PRODUCT
    return _SIGNED if isinstance(node, ast.UnaryOp) else _ATOM
