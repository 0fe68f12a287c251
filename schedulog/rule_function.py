"""Rules written as a Python function, in pyDatalog's spelling."""

from __future__ import annotations

import inspect
import io
import tokenize
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from schedulog.errors import RuleError
from schedulog.scheduler.language.diagnostic import raise_all
from schedulog.scheduler.language.rule_file import PYDATALOG, RuleFile, pack_of, parsed


def datalog_rules(what: Callable[[], Any] | str) -> RuleFile:
    """The rules in the body of a function, or in a text, in pyDatalog's spelling. The function is never called.

        @schedulog.datalog_rules
        def wide_sums():
            realize(R) <= is_reduce(R) & size(R, S) & (S > 100)

        run = schedulog.schedule(graph, rules=["classic", wide_sums])

    Places in messages are those of the file or the cell in which the function stands. Raises RuleError: SL129 for what is no
    function whose text can be found, and all mistakes of the rules that show without their declarations.
    """
    file = RuleFile(f"<text>{PYDATALOG}", "text", what) if isinstance(what, str) else _of_function(what)
    raise_all(parsed(file).errors)
    return file


def _of_function(function: Callable[[], Any]) -> RuleFile:
    if not inspect.isfunction(function) or function.__name__ == "<lambda>":
        shown = "a lambda" if inspect.isfunction(function) else f"`{function!r}`"
        raise RuleError(
            "SL129", f"{shown} has no body with rules", help="decorate a function: `def wide_sums(): ...`"
        )
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):
        raise RuleError(
            "SL129",
            f"the text of `{function.__name__}` cannot be found",
            where=function.__code__.co_filename,
            reason="rules are read from the text of the function, which a program made at run time has none of",
            help="put the rules into a text: `datalog_rules(text)`, or into a .pydl file",
        ) from None
    if inspect.signature(function).parameters or inspect.iscoroutinefunction(function):
        raise RuleError("SL129", f"`{function.__name__}` is no plain function without parameters",
                        where=f"{function.__code__.co_filename}:{first}",
                        help=f"write `def {function.__name__}():`")  # fmt: skip
    name = function.__code__.co_filename
    text = "\n" * (first - 1) + _body(lines)
    return RuleFile(name if name.endswith(".py") else f"{name}.py", pack_of(function.__name__), text)


def _body(lines: Sequence[str]) -> str:
    """The lines of a function with blanks in the place of decorators, its head, and its docstring."""
    text = "".join(lines)
    ends = [0]
    for line in lines:
        ends.append(ends[-1] + len(line))
    hidden = [(0, _after_head(text, ends)), *_docstring(text, ends)]
    for begin, end in hidden:
        text = text[:begin] + "".join("\n" if sign == "\n" else " " for sign in text[begin:end]) + text[end:]
    return text


def _after_head(text: str, ends: Sequence[int]) -> int:
    """The offset behind the colon of the `def`."""
    depth, inside = 0, False
    for token in _tokens(text):
        inside |= token.type == tokenize.NAME and token.string == "def"
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
            if inside and depth == 0 and token.string == ":":
                return ends[token.end[0] - 1] + token.end[1]
    raise AssertionError("a function without a head")


def _docstring(text: str, ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The extent of the docstring, if there is one."""
    start = _after_head(text, ends)
    passing = (tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT, tokenize.INDENT)
    for token in _tokens(text):
        begin, end = (ends[line - 1] + column for line, column in (token.start, token.end))
        if begin >= start and token.type not in passing:
            if token.type == tokenize.STRING:
                yield begin, end
            return


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text).readline)
