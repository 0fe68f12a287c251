"""Aggregates of one file: what is said of each, and what that means where it is used.

`#.aggregate users` makes `(users[N] == Count)` another way to write `Count = #count { ... }`: no relation of that name
exists. Without it, `users` is a relation that the file or another one declares, and its rules are rules.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.diagnostic import nearest, plural
from schedulog.scheduler.language.program import Atom, BodyItem, Compare, Literal_, Var
from schedulog.scheduler.language.pydatalog.conditions import Choice, Use
from schedulog.scheduler.language.pydatalog.inline import as_rule, condition_variables, inlined
from schedulog.scheduler.language.pydatalog.statement import (
    Clause,
    Definition,
    Said,
    Valued,
    as_atom,
    same_conditions,
    shown,
)
from schedulog.scheduler.language.variables import separate_locals

MOST_CLAUSES = 64
"""The most clauses that one rule may stand for, by its `in`."""


class Aggregates:
    """The aggregates of one file, by name. `marked` are those of `#.aggregate`, with their places.

    `broken` are names of statements that cannot be read: nothing more is said about those.
    """

    def __init__(
        self, said: Sequence[Said], marked: Mapping[str, Place], broken: Collection[str] = ()
    ) -> None:
        self.marked = marked
        self.broken = broken
        self.errors: list[RuleError] = []
        self.definitions: dict[str, list[Definition]] = {}
        self.nothing: dict[str, list[Valued]] = {}
        for one in said:
            if isinstance(one, Definition):
                self.definitions.setdefault(one.name, []).append(one)
            elif isinstance(one, Valued):
                self.nothing.setdefault(one.name, []).append(one)
        self.usable = {name for name in marked if self._check(name)} | self.definitions.keys() - marked.keys()
        for one in said:
            self._check_uses(one)
            if isinstance(one, Definition) and one.name not in marked and not self._plain(one):
                self.usable.discard(one.name)

    def known(self, name: str) -> bool:
        """Whether the file has an aggregate of this name, as far as can be told."""
        return name in self.definitions or name in self.marked or name in self.broken

    def clauses(self, said: Said) -> list[tuple[Atom, tuple[BodyItem, ...]]]:
        """The clauses that a statement stands for: none for a part of a marked aggregate, several for an `in`."""
        if self.is_part(said) or not self._usable(said):
            return []
        if isinstance(said, Definition):
            return [as_rule(said)]
        head = as_atom(said) if isinstance(said, Valued) else said.head
        choices = [c.options if isinstance(c, Choice) else (c,) for c in said.conditions]
        size = 1
        for options in choices:
            size *= len(options)
        if size > MOST_CLAUSES:
            self._error("SL133", f"a rule that stands for {size} rules", head.place,
                        f"`in` may make {MOST_CLAUSES} of one: state the values as facts of a relation")  # fmt: skip
            return []
        return [self._clause(head, body) for body in product(*choices)]

    def is_part(self, said: Said) -> bool:
        """Whether a statement only says a part of a marked aggregate."""
        return not isinstance(said, Clause) and said.name in self.marked

    def _usable(self, said: Said) -> bool:
        """Whether all aggregates that a statement is about are as they should be."""
        own = [] if isinstance(said, Clause) else [said.name]
        asked = [c.name for c in said.conditions if isinstance(c, Use)]
        return self.usable.issuperset((*own, *asked))

    def _clause(
        self, head: Atom, conditions: Sequence[Literal_ | Compare | Use]
    ) -> tuple[Atom, tuple[BodyItem, ...]]:
        taken = {t.name for t in head.terms if isinstance(t, Var)}
        for condition in conditions:
            taken |= {v.name for v in condition_variables(condition)}
        body: list[BodyItem] = []
        for condition in conditions:
            if not isinstance(condition, Use):
                body.append(condition)
            elif condition.name in self.marked:
                body += inlined(self.definitions[condition.name][0], condition, taken)
            else:
                terms = (*condition.keys, condition.value)
                body.append(Literal_(Atom(condition.name, terms, condition.place)))
        return head, separate_locals(head, tuple(body))

    def _check(self, name: str) -> bool:
        """Whether a marked aggregate is one; what is wrong with it is told."""
        definitions, place = self.definitions.get(name, []), self.marked[name]
        if name in self.broken:
            return False
        if len(definitions) != 1:
            what = "has no head with an aggregate" if not definitions else "has two heads with an aggregate"
            self._error("SL135", f"`{name}` {what}", place, f"write one: `({name}[X] == len_(Y)) <= p(X, Y)`")
            return False
        (definition,) = definitions
        names = [key.name for key in definition.keys if isinstance(key, Var)]
        if len(set(names)) != len(definition.keys):
            self._error("SL135", f"the keys of `{name}` are not different variables", definition.place,
                        "name each key once; `()` is no key")  # fmt: skip
            return False
        return self._plain(definition) and self._check_nothing(definition)

    def _check_nothing(self, definition: Definition) -> bool:
        """A count of nothing is 0 in rules, and no count in pyDatalog, unless it is said."""
        said = self.nothing.get(definition.name, [])
        head = shown(definition.name, definition.keys)
        if definition.op in ("min", "max"):
            for one in said:
                self._error("SL135", f"a value of `{head}` without an aggregate", one.place, "leave it out")
            return not said
        fits = len(said) == 1 and said[0].of_nothing and said[0].keys == definition.keys
        if fits and same_conditions(said[0].conditions, definition.conditions):
            return True
        where = said[0].place if said else definition.place
        self.errors.append(
            RuleError(
                "SL135",
                f"`{definition.name}` needs its value for nothing",
                where=where,
                reason="where nothing is counted, rules have 0 and pyDatalog has no value",
                help=f"add `({head} == 0) <= ~(...)`, with the conditions of `{head}` between the parentheses",
            )
        )
        return False

    def _plain(self, definition: Definition) -> bool:
        """Whether the conditions of an aggregate are literals and comparisons."""
        for condition in definition.conditions:
            if isinstance(condition, Use | Choice):
                what = "an aggregate" if isinstance(condition, Use) else "`in`"
                self._error("SL135", f"{what} inside an aggregate", condition.place,
                            "give it a relation of its own")  # fmt: skip
                return False
        return True

    def _check_uses(self, said: Said) -> None:
        if isinstance(said, Valued) and not self.known(said.name):
            arguments = shown(said.name, (*said.keys, said.value)).replace("[", "(").replace("]", ")")
            self._error("SL133", f"`{shown(said.name, said.keys)}` in a head without an aggregate", said.place,
                        f"write the relation: `{arguments}`")  # fmt: skip
        for condition in said.conditions:
            if isinstance(condition, Use):
                self._check_keys(condition)
            if isinstance(condition, Use) and not self.known(condition.name):
                help = nearest(condition.name, {*self.definitions, *self.marked})
                help = help or "a relation is asked with parentheses; `[ ]` asks an aggregate of this file"
                self._error(
                    "SL133", f"there is no aggregate `{condition.name}` in this file", condition.place, help
                )
            if isinstance(condition, Literal_) and condition.atom.relation in {
                *self.definitions,
                *self.marked,
            }:
                self._as_relation(condition.atom)

    def _check_keys(self, use: Use) -> None:
        for definition in self.definitions.get(use.name, ())[:1]:
            if len(definition.keys) != len(use.keys):
                message = f"`{use.name}` has {plural(len(definition.keys), 'key')}, not {len(use.keys)}"
                self._error("SL135", message, use.place, f"its head is `{shown(use.name, definition.keys)}`")
                self.usable.discard(use.name)

    def _as_relation(self, atom: Atom) -> None:
        self.errors.append(
            RuleError(
                "SL134",
                f"`{atom.relation}(...)` asks no aggregate",
                where=atom.place,
                reason=f"pyDatalog keeps `{atom.relation}[X]` and `{atom.relation}(X, Y)` apart: it has no rows of the latter",
                help=f"write `({atom.relation}[X] == Y)`",
            )
        )

    def _error(self, code: str, message: str, where: Place, help: str) -> None:
        self.errors.append(RuleError(code, message, where=where, help=help))
