"""Why a statement does not parse, in words."""

from __future__ import annotations

from typing import Final

from lark import Token, UnexpectedToken

from schedulog.errors import RuleError
from schedulog.scheduler.language.build import AGGREGATE_FORM
from schedulog.scheduler.language.diagnostic import SourceText, nearest
from schedulog.scheduler.language.scan import DIRECTIVES, Statement

_WORDS: Final = {
    "VARIABLE": "a variable",
    "NAME": "a name",
    "INTEGER": "an integer",
    "STRING": "a string",
    "COMPARATOR": "a comparison sign",
    "AGGREGATE": "an aggregate",
    "PLUS_MINUS": "`+` or `-`",
    "TIMES": "`*`, `/` or `\\`",
    "_IF": "`:-`",
    "_DOT": "`.`",
    "_COMMA": "`,`",
    "_NOT": "`not`",
    "_LPAR": "`(`",
    "_RPAR": "`)`",
    "_LBRACE": "`{`",
    "_RBRACE": "`}`",
    "_COLON": "`:`",
    "_AT": "`@`",
    "_ARROW": "`->`",
    "_DECL": "`.decl`",
    "_FUNCTION": "`.function`",
    "_INPUT": "`.input`",
    "_OPEN": "`.open`",
    "_TYPE": "`.type`",
}
_OPERAND: Final = frozenset({"VARIABLE", "INTEGER", "STRING", "_AT"})
_OTHER_SPELLINGS: Final = {"&": "`,`", "~": "`not`", "==": "`=`", "!==": "`!=`", "<=": "`:-`"}
_UNKNOWN_HELP: Final = {
    ";": "write one rule for each alternative",
    "|": "write one rule for each alternative",
    "%": "between operands this is an operator; write the comment on a line of its own",
    "//": "between operands this is an operator; write the comment on a line of its own",
    "'": 'a string stands in double quotes: "EXP2"',
    '"': 'a string ends with `"` on the line where it begins',
    "[": "a relation has its arguments in parentheses: `size(N, S)`",
}


def syntax_error(found: UnexpectedToken, statement: Statement, source: SourceText) -> RuleError:
    """The error for the first token of `statement` that does not fit (SL100, SL116)."""
    token = found.token
    assert isinstance(token, Token)
    if token.type == "$END":
        return _unfinished(statement, source)
    start = token.start_pos or 0
    place = source.place(start, start + len(token))
    if _is_other_language(token, found.expected, statement):
        ours = _OTHER_SPELLINGS.get(token)
        message = f"`{token}` is the spelling of another language"
        help = f"write {ours} here" if ours else f"leave the `{token}` out"
        help += "; rule files use `head :- first, not second.`, and .pydl files pyDatalog's signs"
        return RuleError("SL116", message, where=place, help=help)
    if token.type == "AGGREGATE":
        return RuleError("SL111", f"`{token}` cannot stand here", where=place, help=AGGREGATE_FORM)
    message, help = _explain(token, statement)
    return RuleError("SL100", message, where=place, reason=_expectation(found.accepts), help=help)


def too_deep(statement: Statement, source: SourceText) -> RuleError:
    """The error for a statement that the scanner marked as too deep."""
    place = source.place(statement.start, statement.end)
    help = "name the parts in the body: `Half = N / 2`"
    return RuleError("SL100", "an expression with too many operators and parentheses", where=place, help=help)


def _unfinished(statement: Statement, source: SourceText) -> RuleError:
    last = statement.tokens[-1]
    start = last.start_pos or 0
    place = source.place(start, start + len(last))
    if last.type == "_DOT":
        return RuleError("SL100", "the clause ends too early", where=place)
    if statement.tokens[0].type in ("_DECL", "_FUNCTION", "_INPUT", "_OPEN", "_TYPE"):
        return RuleError(
            "SL100", "the directive is not complete", where=place, help=_form(statement.tokens[0])
        )
    return RuleError("SL100", "the clause does not end", where=place, help="a clause ends with `.`")


def _is_other_language(token: Token, expected: set[str], statement: Statement) -> bool:
    if token == "<=":
        return "_IF" in expected
    if token == "+":
        return token is statement.tokens[0]
    return token in _OTHER_SPELLINGS


def _explain(token: Token, statement: Statement) -> tuple[str, str]:
    """The message and the way out for a token that does not fit."""
    if token.type == "DIRECTIVE":
        hint = nearest(token, DIRECTIVES) or "directives: " + ", ".join(DIRECTIVES)
        return f"unknown directive `{token}`", hint
    if token.type == "FLOAT":
        return f"`{token}` is not an integer", "rules compute with integers only"
    if token.type == "_IF" and "_IF" in [t.type for t in statement.tokens[: statement.tokens.index(token)]]:
        return "a second `:-`", "the clause before this one does not end with `.`"
    if token.type == "UNKNOWN" and token.startswith("_"):
        return (
            f"`{token}` is not a variable",
            "a variable begins with a capital; `_` alone stands for any value",
        )
    if token.type == "UNKNOWN" and token[0] in "'\"":
        what = "a string without its end" if token[0] == '"' else "a string in single quotes"
        return what, _UNKNOWN_HELP[token[0]]
    if token == "." and statement.tokens[0].type in ("_DECL", "_FUNCTION", "_INPUT", "_OPEN", "_TYPE"):
        return "a directive has no `.` at its end", _form(statement.tokens[0])
    index = statement.tokens.index(token)
    if index and statement.tokens[index - 1].type == "_NOT":
        return f"`{token}` does not fit here", "`not` stands before a relation; the opposite of `=` is `!=`"
    return f"`{token}` does not fit here", _UNKNOWN_HELP.get(token, "")


def _form(token: Token) -> str:
    """How a directive is written."""
    forms = {
        "_DECL": ".decl size(node: node, elements: int)",
        "_FUNCTION": ".function compose(inner: view, outer: view) -> view",
    }
    return forms.get(token.type, f"{token} name")


def _expectation(expected: set[str]) -> str:
    """`expected a, b or c`, from the kinds of tokens that fit."""
    kinds = set(expected)
    words = [
        _WORDS[kind] for kind in sorted(kinds - _OPERAND - {"NAME", "PLUS_MINUS", "_LPAR"}) if kind in _WORDS
    ]
    if kinds >= _OPERAND:
        words.insert(0, "a value")
    else:
        words += [_WORDS[kind] for kind in sorted(kinds & (_OPERAND | {"NAME", "PLUS_MINUS", "_LPAR"}))]
    if not words:
        return ""
    return "expected " + (" or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0])
