"""Rule files in pyDatalog's spelling. Reading the result gives the same rules, headers and tests.

An aggregate of a rule becomes one of its own, `head_count[N]`, which is read back to where it stood. Conditions keep their
order where pyDatalog can follow it; else each moves behind those that bind its variables, unless something in the file names
a condition of the rule by its number.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import count

from schedulog.errors import RuleError
from schedulog.scheduler.language.diagnostic import SourceText, raise_all
from schedulog.scheduler.language.layout import inner_comments, lay_out, plain_text
from schedulog.scheduler.language.program import Aggregate, BodyItem, Compare, Const, Literal_, Rule, Var
from schedulog.scheduler.language.pydatalog.code import code, condition_code
from schedulog.scheduler.language.pydatalog.conditions import Use
from schedulog.scheduler.language.pydatalog.folds import keyword_of
from schedulog.scheduler.language.pydatalog.layout import Rule as Written
from schedulog.scheduler.language.pydatalog.layout import attached, comment, directive
from schedulog.scheduler.language.pydatalog.names import written
from schedulog.scheduler.language.pydatalog.order import in_order, misplaced
from schedulog.scheduler.language.pydatalog.python import Scope, conjoined, equation, name, subscript
from schedulog.scheduler.language.pydatalog.scan import AGGREGATE
from schedulog.scheduler.language.scan import Comment, Scanner, Statement
from schedulog.scheduler.language.syntax import ParsedFile, parse_text
from schedulog.scheduler.language.variables import inner_variables, outer_variables

Item = Literal_ | Compare | Use


def write_pydatalog(text: str, file: str) -> str:
    """The text of a rule file in pyDatalog's spelling.

    Raises RuleError with all mistakes of a text that does not parse; SL134 for a condition that would have to move.
    """
    text = plain_text(text)
    parsed = parse_text(text, file, "pack")
    raise_all([error for error in parsed.errors if error.code != "SL118"])
    writer = _Writer(SourceText(file, text), parsed)
    return lay_out(Scanner(text).scan(), text, comment, writer.statement)


class _Writer:
    """Writes the statements of one file in order."""

    def __init__(self, source: SourceText, parsed: ParsedFile) -> None:
        self.source = source
        self.rules = iter(parsed.rules)
        self.taken = {rule.head.relation for rule in parsed.rules}
        self.numbered = {info.id for info in parsed.headers if info.refusals or info.equivalent}

    def statement(self, statement: Statement) -> list[str]:
        """The lines of one statement of a rule file."""
        if statement.tokens[0].type.startswith("_"):
            return directive(statement, self.source.text)
        rule = next(self.rules)
        lines: list[str] = []
        items = [self._item(item, rule, lines) for item in rule.body]
        scope = Scope()
        head = code(scope.atom(rule.head))
        if not items:
            made = Written(f"+{head}", [])
            begins: list[int] = []
        else:
            items = self._in_order(items, rule)
            begins = [self._begin(item) for item in items]
            made = Written(head, [])
        notes = attached(inner_comments(statement, self.source.text), begins)
        self._conditions(made, items, scope, notes)
        return [*lines, *made.lines()]

    def _in_order(self, items: list[Item], rule: Rule) -> list[Item]:
        """The conditions as pyDatalog can follow them. Raises RuleError SL134 where one that is named by its number would move."""
        marked = frozenset(item.name for item in items if isinstance(item, Use))
        found = in_order(items, marked)
        if found != items and self._names_conditions_of(rule):
            early = next(misplaced(items, marked))
            raise RuleError(early.code, early.message, where=early.where, help=early.help,
                            reason="pyDatalog takes conditions from left to right; moved, it would leave its number to another, "
                                   "and a header or a test names a condition of this rule by its number")  # fmt: skip
        return found

    def _names_conditions_of(self, rule: Rule) -> bool:
        """Whether a header (`refuse 2`) or a test (`at my/rule:2`) of the file does."""
        name = re.escape(rule.id.rpartition("/")[2])
        return rule.id in self.numbered or re.search(rf"/{name}(#\d+)?:\d", self.source.text) is not None

    def _conditions(
        self, made: Written, items: Sequence[Item], scope: Scope, notes: dict[int, list[Comment]]
    ) -> None:
        """Write the conditions, each with its comments behind it."""
        for number in range(len(items) + 1):
            if number:
                made.conditions += [condition_code(node) for node in scope.condition(items[number - 1])]
            if number in notes:
                made.notes[len(made.conditions)] = [
                    (comment(n.sign, n.text), n.own_line) for n in notes[number]
                ]

    def _begin(self, item: Item) -> int:
        return self.source.starts[item.place.line - 1] + item.place.column - 1

    def _item(self, item: BodyItem, rule: Rule, lines: list[str]) -> Item:
        """A condition; what an aggregate is comes into `lines`."""
        if not isinstance(item, Aggregate):
            return item
        keys = tuple(self._keys(item, rule))
        named = self._named(f"{rule.head.relation}_{item.op}")
        lines += [f"#{AGGREGATE} {written(named)}", *_definition(named, keys, item)]
        return Use(named, keys, item.result, item.place)

    def _keys(self, item: Aggregate, rule: Rule) -> Iterator[Var]:
        """The variables of an aggregate that also stand outside of it, in the order of the text."""
        outside = {term.name for term in rule.head.terms if isinstance(term, Var)}
        outside |= {v.name for other in rule.body for v in outer_variables(other)}
        found = {v.name: v for v in inner_variables(item)}
        yield from (v for v in found.values() if v.name in outside)

    def _named(self, stem: str) -> str:
        found = next(n for i in count(1) if (n := stem if i == 1 else f"{stem}_{i}") not in self.taken)
        self.taken.add(found)
        return found


def _definition(named: str, keys: Sequence[Var], item: Aggregate) -> list[str]:
    """The lines that say what an aggregate is, and what it is over nothing."""
    scope = Scope()
    target = subscript(named, [scope.value(key) for key in keys])
    fold = _fold(item, scope)
    fixed = [condition_code(node) for node in scope.fixed]
    items = in_order(item.body, frozenset())
    conditions = [condition_code(node) for part in items for node in scope.condition(part)]
    lines = Written(condition_code(equation(target, fold)), [*conditions, *fixed]).lines()
    if item.op in ("count", "sum"):
        scope = Scope()
        nothing = conjoined(node for part in items for node in scope.condition(part))
        zero = condition_code(equation(target, ast.Constant(0)))
        lines += Written(zero, [f"~{condition_code(nothing)}"]).lines()
    return lines


def _fold(item: Aggregate, scope: Scope) -> ast.expr:
    """`len_(X)`, `sum_(X, for_each=(X, Y))`, ...: pyDatalog aggregates variables only."""
    terms = [scope.fix(term.value) if isinstance(term, Const) else scope.value(term) for term in item.terms]
    if item.op == "count" and len(terms) == 1:
        return ast.Call(name("len_"), terms, [])
    word, keyword = keyword_of("sum" if item.op == "count" else item.op)
    first = scope.fix(1) if item.op == "count" else terms[0]
    each = terms[0] if len(terms) == 1 else ast.Tuple(terms, ast.Load())
    return ast.Call(name(word), [first], [ast.keyword(keyword, each)])
