"""What is wrong with a text in pyDatalog's spelling, in words.

pyDatalog itself takes most of this without a word and gives no rows, or wrong ones.
"""

from __future__ import annotations

import ast
import re
from typing import Final

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.pydatalog.located import Located

FORM: Final = "a rule is `head(X) <= first(X) & ~second(X)`, a fact is `+head(1)`"

_LONG: Final = 40
"""The most characters of a statement that a message repeats."""

_MASKED: Final = re.compile(r"\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|#[^\n]*")
_STRING: Final = re.compile(
    r"""#[^\n]*|(?P<raw>[rR])?(?:"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)""", re.DOTALL
)
_UNKNOWN: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[^\n\\'\"abfnrtvxNuU0-7]")
_EQUALS: Final = re.compile(r"(?<![=!<>:])=(?!=)")
_STATEMENTS: Final[dict[type[ast.AST], str]] = {
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.Assign: "an assignment",
    ast.AnnAssign: "an assignment",
    ast.AugAssign: "an assignment",
    ast.FunctionDef: "a function",
    ast.AsyncFunctionDef: "a function",
    ast.ClassDef: "a class",
    ast.Return: "a `return`",
    ast.Pass: "a `pass`",
    ast.Delete: "a `del`",
    ast.Assert: "an `assert`",
}
_VALUES: Final[dict[type[ast.AST], str]] = {
    ast.Lambda: "a lambda",
    ast.Attribute: "an attribute",
    ast.List: "a list",
    ast.Tuple: "a tuple",
    ast.Set: "a set",
    ast.Dict: "a dict",
    ast.JoinedStr: "an f-string",
    ast.IfExp: "a conditional expression",
    ast.Starred: "a `*`",
    ast.NamedExpr: "an assignment",
    ast.Await: "an `await`",
    ast.Yield: "a `yield`",
}
_CURES: Final[dict[type[ast.AST], str]] = {
    ast.Attribute: "a relation has a plain name; keep its columns as arguments",
    ast.Lambda: "declare a function (`#.function half(n: int) -> int`) and register it in Python",
    ast.JoinedStr: 'a string is plain: "EXP2"',
    ast.Assign: FORM,
}
_OPERATORS: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Div: ("`/` gives a fraction", "rules compute with integers: `//` rounds down"),
    ast.BitOr: ("`|` is no connective of rules", "write one rule for each alternative"),
    ast.BitAnd: ("`&` stands between conditions, not inside one", FORM),
}


def not_python(found: Exception, located: Located) -> RuleError:
    """The error for a statement that Python cannot parse."""
    if isinstance(found, ValueError) and not isinstance(found, SyntaxError):
        where = located.source.place(located.start, located.end)
        return RuleError("SL100", "this is not Python: a character that no text has", where=where, help=FORM)
    if not isinstance(found, SyntaxError):
        return too_deep(located)
    masked = _MASKED.sub(lambda part: " " * len(part[0]), located.text)
    offset = located.at(found.lineno or 1, (found.offset or 1) - 1)
    told = _other_language(masked, located) or _words(masked, offset, located)
    if told is not None:
        return told
    if "too many nested" in (found.msg or ""):
        return too_deep(located)
    if "integer string conversion" in (found.msg or ""):
        reason = "integers have 64 bits: from -9223372036854775808 to 9223372036854775807"
        return RuleError("SL117", "an integer that is too large", where=located.source.place(offset, offset + 1),
                         reason=reason)  # fmt: skip
    equals = next((m for m in _EQUALS.finditer(masked) if "=" in (found.msg or "")), None)
    if equals is not None:
        return single_equals(
            located.source.place(located.start + equals.start(), located.start + equals.end())
        )
    # A line that Python names is counted from the start of the statement.
    message = (found.msg or "invalid syntax").split(". ")[0].split(" (")[0].split(" on line ")[0]
    return RuleError("SL100", f"this is not Python: {message}", where=_one(located, offset), help=FORM)


def unknown_escape(located: Located) -> RuleError | None:
    """A backslash in a string that Python leaves as it is, with a warning of its own."""
    for string in _STRING.finditer(located.text):
        escape = None if string["raw"] else _UNKNOWN.search(string[0])
        if escape is not None:
            begin = located.start + string.start() + escape.end() - 2
            sign = escape[0][-2:]
            return RuleError("SL133", f"`{sign}` is no escape of Python", where=located.source.place(begin, begin + 2),
                             help=f"a backslash is written twice: `\\{sign}`")  # fmt: skip
    return None


def single_equals(where: Place) -> RuleError:
    """`=` where `==` is meant."""
    return RuleError(
        "SL133", "`=` assigns in Python", where=where, help="compare and compute with `==`: `(Y == X + 1)`"
    )


def too_deep(located: Located) -> RuleError:
    """A statement that is nested too deeply to be read."""
    return RuleError(
        "SL100",
        "a statement with too many operators and parentheses",
        where=located.source.place(located.start, located.end),
        help="give parts of it relations of their own, or name values in the body: `(Half == N // 2)`",
    )


def no_rule(node: ast.stmt, located: Located) -> RuleError:
    """A statement of Python that is neither a fact nor a rule."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript | ast.Call):
        begin, gap = located.between(node.targets[0], node.value)
        at = begin + gap.index("=")
        return single_equals(located.source.place(at, at + 1))
    what = _STATEMENTS.get(type(node), "a statement of Python")
    return RuleError("SL133", f"{what} in rules", where=located.place(node),
                     reason="rules are read and never run", help=FORM)  # fmt: skip


def neither(node: ast.expr, located: Located) -> RuleError:
    """An expression that is neither a fact nor a rule."""
    written, reason, help = located.written(node), "", FORM
    if isinstance(node, ast.Call):
        reason, help = (
            "pyDatalog takes it for a question and drops it",
            f"a fact begins with `+`: `+{written}`",
        )
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        reason, help = "pyDatalog takes the fact back", "rules only add to what holds: leave it out"
    message = (
        f"`{written}` is neither a fact nor a rule" if len(written) <= _LONG else "neither a fact nor a rule"
    )
    return RuleError("SL133", message, where=located.place(node), reason=reason, help=help)


def no_value(node: ast.expr, located: Located) -> RuleError:
    """What Python can compute and rules cannot hold."""
    if isinstance(node, ast.Constant):
        what = f"`{located.written(node)}` is not an integer" if isinstance(node.value, float | complex) else (
            f"`{located.written(node)}` is no value of rules"
        )  # fmt: skip
        return RuleError(
            "SL133", what, where=located.place(node), help="values are integers and quoted strings"
        )
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        message, help = _OPERATORS[type(node.op)]
        return RuleError("SL133", message, where=located.place(node), help=help)
    if isinstance(node, ast.BoolOp):
        return connective(node, located)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return negation(located.place(node))
    what = _VALUES.get(type(node), f"`{located.written(node)}`")
    help = _CURES.get(type(node), "values are variables, integers, quoted strings, and `+ - * // %` of those")
    return RuleError("SL133", f"{what} where a value must stand", where=located.place(node), help=help)


def connective(node: ast.BoolOp, located: Located) -> RuleError:
    """`and` or `or` between conditions."""
    word = "and" if isinstance(node.op, ast.And) else "or"
    begin, gap = located.between(node.values[0], node.values[1])
    at = begin + max(gap.find(word), 0)
    return _connective(word, located.source.place(at, at + len(word)))


def _connective(word: str, where: Place) -> RuleError:
    reason = f"Python's `{word}` keeps one side and drops the other"
    help = "write `&`" if word == "and" else "write one rule for each alternative"
    return RuleError("SL134", f"`{word}` between conditions", where=where, reason=reason, help=help)


def negation(where: Place) -> RuleError:
    """`not` where `~` is meant."""
    return RuleError("SL134", "`not` before a condition", where=where,
                     reason="Python's `not` gives True or False and no condition", help="write `~`: `~second(X)`")  # fmt: skip


def comma(node: ast.Tuple, located: Located) -> RuleError:
    """A comma that makes a pair out of a rule and a condition."""
    dropped = node.elts[1]
    reason = f"Python makes a pair of it, and pyDatalog drops `{located.written(dropped)}`"
    return RuleError("SL134", "a comma between conditions", where=located.place(dropped), reason=reason,
                     help="write `&` between conditions")  # fmt: skip


def precedence(node: ast.Compare, located: Located) -> RuleError:
    """A comparison that `&` or `<=` takes apart, because it has no parentheses of its own."""
    number = next(i for i, op in enumerate(node.ops) if i or not isinstance(op, ast.LtE))
    sides = [node.left, *node.comparators]
    left, right = _last(sides[number]), _first(sides[number + 1])
    begin, end = located.span(left)[0], located.span(right)[1]
    written = " ".join(located.source.text[begin:end].split())
    return RuleError("SL134", "a comparison without its own parentheses", where=located.source.place(begin, end),
                     reason="Python takes `&` before comparisons, and `a <= b > c` for one comparison of three",
                     help=f"write `({written})`")  # fmt: skip


def _last(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        node = node.right
    return node


def _first(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        node = node.left
    return node


def _other_language(masked: str, located: Located) -> RuleError | None:
    """The spelling of ordinary rule files (SL116)."""
    found = re.search(r":-|^\s*\.\w+|(?<=[)\w])\s*\.\s*$|(?<![\w%])@(?=[a-z])", masked)
    if found is None:
        return None
    sign = found[0].strip()
    begin = located.start + found.start() + found[0].index(sign)
    help = {":-": "write `<=` here", ".": "leave the `.` out", "@": "leave the `@` out"}.get(
        sign, f"a directive is a comment here: `#{sign} ...`"
    )
    return RuleError("SL116", f"`{sign}` is the spelling of another language",
                     where=located.source.place(begin, begin + len(sign)), help=f"{help}; {FORM}")  # fmt: skip


def _words(masked: str, offset: int, located: Located) -> RuleError | None:
    """`not`, `and` and `or` where Python does not take them."""
    at = offset - located.start
    found = re.compile(r"not|and|or").match(masked, at)
    if found is None or masked[found.end() : found.end() + 1].isalnum():
        return None
    where = located.source.place(offset, offset + len(found[0]))
    return negation(where) if found[0] == "not" else _connective(found[0], where)


def _one(located: Located, offset: int) -> Place:
    """The place of the word that begins at an offset."""
    word = re.compile(r"\w+|.?", re.DOTALL).match(located.source.text, offset)
    return located.source.place(offset, offset + max(1, len(word[0]) if word else 1))
