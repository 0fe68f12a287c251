"""Do the columns, variables and constants of a rule agree in type?

Types are names: two types agree only if they are the same. A variable gets its type from the first column,
argument or equation that fixes it; `int` has the order and the arithmetic, the string types take string
constants.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.check_names import known
from schedulog.scheduler.language.diagnostic import NO_THING
from schedulog.scheduler.language.program import (
    Aggregate,
    Arithmetic,
    Atom,
    Call,
    Compare,
    Const,
    Expr,
    Literal_,
    Rule,
    Var,
)
from schedulog.scheduler.language.rule_set import ENTITY_TYPES, RuleSet
from schedulog.scheduler.language.variables import outer_variables, parts, variables

Key = tuple[int, str]
"""A variable by name and scope: 0 for the rule, else the number of the aggregate it is local to."""


def check_types(rules: RuleSet) -> Iterator[RuleError]:
    """Terms, arguments and comparisons of types that do not agree (SL103)."""
    for rule in rules.rules:
        yield from _RuleTypes(rule, rules).check()


def variable_types(rule: Rule, rules: RuleSet) -> dict[str, str]:
    """The type of each variable of a rule outside of braces, as far as it is known."""
    found = _RuleTypes(rule, rules)
    found.check()
    return {name: type_ for (scope, name), (type_, _) in found.types.items() if scope == 0}


class _RuleTypes:
    """The types of the variables of one rule."""

    def __init__(self, rule: Rule, rules: RuleSet) -> None:
        self.rule = rule
        self.rules = rules
        self.types: dict[Key, tuple[str, str]] = {}
        self.errors: list[RuleError] = []
        self._outer = {v.name for term in rule.head.terms for v in variables(term)}
        self._outer |= {v.name for item in rule.body for v in outer_variables(item)}

    def check(self) -> list[RuleError]:
        self._body_atoms()
        self._equations()
        self._atom(self.rule.head, 0)
        self._comparisons()
        return self.errors

    def _scoped(self) -> Iterator[tuple[int, Literal_ | Compare]]:
        for scope, item in enumerate(self.rule.body, 1):
            yield from ((scope, part) for part in parts(item))

    def _key(self, variable: Var, scope: int) -> Key:
        return (0 if variable.name in self._outer else scope, variable.name)

    def _body_atoms(self) -> None:
        for scope, part in self._scoped():
            if isinstance(part, Literal_):
                self._atom(part.atom, scope)
            else:
                for side in (part.left, part.right):
                    self._arguments(side, scope)

    def _atom(self, atom: Atom, scope: int) -> None:
        relation = known(atom, self.rules)
        if relation is None:
            return
        for column, term in zip(relation.columns, atom.terms, strict=True):
            self._require(term, column.type, f"column `{column.name}` of `{relation.name}` is", scope)

    def _arguments(self, expr: Expr, scope: int) -> None:
        """What the calls and the arithmetic in an expression ask of their parts."""
        if isinstance(expr, Call):
            function = self.rules.functions.get(expr.function)
            for index, argument in enumerate(expr.arguments):
                self._arguments(argument, scope)
                if function is not None and len(function.arguments) == len(expr.arguments):
                    column = function.arguments[index]
                    self._require(
                        argument, column.type, f"argument `{column.name}` of `@{function.name}` is", scope
                    )
        elif isinstance(expr, Arithmetic):
            for side in (expr.left, expr.right):
                self._arguments(side, scope)
                self._require(side, "int", f"`{expr.op}` takes", scope)

    def _require(self, expr: Expr, type_: str, owner: str, scope: int) -> None:
        """`expr` stands where `type_` is asked for; an untyped variable takes that type."""
        if type_ not in self.rules.types:
            return
        if isinstance(expr, Var) and not expr.anonymous:
            self.types.setdefault(self._key(expr, scope), (type_, owner))
        if not self._fits(expr, type_, scope):
            self._mismatch(expr, type_, owner, scope)

    def _fits(self, expr: Expr, type_: str, scope: int) -> bool:
        if isinstance(expr, Const):
            # Values of entities are numbered by the graph, so no constant can name one.
            if isinstance(expr.value, int):
                return type_ == "int"
            return type_ != "int" and type_ not in ENTITY_TYPES
        return self._type(expr, scope) in (None, type_)

    def _type(self, expr: Expr, scope: int) -> str | None:
        """The type of an expression; None for a string constant and for what is not known."""
        if isinstance(expr, Var):
            return self.types.get(self._key(expr, scope), (None, ""))[0]
        if isinstance(expr, Const):
            return "int" if isinstance(expr.value, int) else None
        if isinstance(expr, Arithmetic):
            return "int"
        function = self.rules.functions.get(expr.function)
        return function.result if function else None

    def _mismatch(self, expr: Expr, type_: str, owner: str, scope: int) -> None:
        if isinstance(expr, Var):
            found, source = self.types[self._key(expr, scope)]
            message = f"`{expr.name}` is of type {found}, but {owner} {_article(type_)}"
            reason = f"{source} {_article(found)}"
        else:
            found = self._type(expr, scope) or "str"
            message, reason = f"{_article(found)} where {owner} {_article(type_)}", ""
        help = NO_THING if isinstance(expr, Const) and type_ in ENTITY_TYPES else ""
        self.errors.append(RuleError("SL103", message, where=self._place(expr), reason=reason, help=help))

    def _place(self, expr: Expr) -> Place:
        return expr.place if expr.place is not None else self.rule.place

    def _equations(self) -> None:
        """Types go across `=` and out of aggregates until nothing changes, so the order does not matter."""
        for scope, item in enumerate(self.rule.body, 1):
            if isinstance(item, Aggregate):
                self._aggregate(item, scope)
        equations = [(s, p) for s, p in self._scoped() if isinstance(p, Compare) and p.op == "="]
        while any(self._spread(equation, scope) for scope, equation in equations):
            pass

    def _aggregate(self, item: Aggregate, scope: int) -> None:
        owner = f"the result of `#{item.op}` is"
        self._require(item.result, "int", owner, 0)
        if item.op != "count":
            self._require(item.terms[0], "int", f"`#{item.op}` takes", scope)

    def _spread(self, equation: Compare, scope: int) -> bool:
        for target, source in ((equation.left, equation.right), (equation.right, equation.left)):
            if not isinstance(target, Var) or self._key(target, scope) in self.types:
                continue
            type_ = self._type(source, scope)
            if type_ is not None:
                self.types[self._key(target, scope)] = (type_, "an equation with")
                return True
        return False

    def _comparisons(self) -> None:
        for scope, part in self._scoped():
            if isinstance(part, Compare):
                self._comparison(part, scope)

    def _comparison(self, part: Compare, scope: int) -> None:
        if part.op not in ("=", "!="):
            for side in (part.left, part.right):
                self._require(side, "int", f"`{part.op}` takes", scope)
            return
        left, right = self._type(part.left, scope), self._type(part.right, scope)
        one, other = (part.left, right) if left is None else (part.right, left)
        if other is not None and not self._fits(one, other, scope):
            message = f"`{part.op}` compares {_article(left or 'str')} with {_article(right or 'str')}"
            self.errors.append(RuleError("SL103", message, where=part.place, help=_cure(left, right)))


def _cure(left: str | None, right: str | None) -> str:
    types = {left or "str", right or "str"}
    if types & set(ENTITY_TYPES) and types & {"int", "str"}:
        entity = min(types & set(ENTITY_TYPES))
        return f"{_article(entity)} is a thing of the graph; compare one of its properties"
    return ""


def _article(type_: str) -> str:
    return f"{'an' if type_[0] in 'aeiou' else 'a'} {type_}"
