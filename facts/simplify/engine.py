"""Rewriting a graph to a fixed point: sources first, each distinct node once, every application recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from schedulog.errors import GraphError
from schedulog.facts.node import Node, remade
from schedulog.facts.ops import Op
from schedulog.facts.simplify.rule import Rule
from schedulog.facts.simplify.writes import Writes

MOST_REWRITES: Final = 10_000
"""The most rewrites that one node may cause beyond those of its sources."""


@dataclass(frozen=True, slots=True, eq=False)
class Rewrite:
    """One application: the rule called `rule` replaced `before` by `after`."""

    rule: str
    before: Node
    after: Node


class Engine:
    """Rewrites nodes by `rules`, tried in order; what a node became is remembered.

    `instead` replaces some nodes before anything else is done with them, under the name `because`. A node's sources
    are rewritten first; a node whose sources changed is made again and starts over, and so is what a rule gives. So the
    result depends on the nodes alone, not on the order in which they are asked for. With `writes`, no rule is applied
    that would lose an assign.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        instead: Mapping[Node, Node],
        because: str = "",
        writes: Writes | None = None,
    ) -> None:
        self.became: dict[Node, Node] = {}
        self.rewrites: list[Rewrite] = []
        self._instead = instead
        self._because = because
        self._writes = writes
        given = tuple(rules)
        self._early = _by_op(tuple(rule for rule in given if rule.early))
        self._rules = _by_op(tuple(rule for rule in given if not rule.early))
        self._fitting: dict[tuple[Op, ...], tuple[Rule, ...]] = {}
        self._most = 0

    def rewrite(self, root: Node) -> Node:
        """What `root` becomes; its sources must have been asked for, or be few.

        Raises GraphError SL236 if rules undo each other or make a node grow without end.
        """
        became = self.became
        if root in became:
            return became[root]
        self._most = len(self.rewrites) + MOST_REWRITES
        stack = [[root]]
        while stack:
            forms = stack[-1]
            current = forms[-1]
            final = became.get(current)
            if final is None:
                waiting = self._next(forms, current)
                if waiting:
                    stack.extend([source] for source in reversed(waiting))
                    continue
                if forms[-1] is not current:
                    continue
                final = current
            for form in forms:
                became[form] = final
            stack.pop()
        return became[root]

    def _next(self, forms: list[Node], current: Node) -> Sequence[Node]:
        """Add the next form of a node to `forms`, if there is one; or return the sources that come first."""
        became = self.became
        other = self._instead.get(current)
        if other is not None:
            self._add(forms, self._because, other)
            return ()
        if self._applied(self._early[current.op], forms, current):
            return ()
        sources = current.src
        waiting = [s for s in sources if s not in became]
        if waiting:
            return waiting
        changed = tuple([became[s] for s in sources])
        if changed != sources:
            forms.append(remade(current, changed))
            return ()
        self._applied(self._rules_for(current), forms, current)
        return ()

    def _rules_for(self, n: Node) -> tuple[Rule, ...]:
        """The rules that can say something about a node, by its operation and those of its sources."""
        rules = self._rules[n.op]
        if not rules:
            return ()
        kind = (n.op, *[s.op for s in n.src])
        fitting = self._fitting.get(kind)
        if fitting is None:
            fitting = self._fitting[kind] = tuple(
                rule for rule in rules if rule.beside is None or not rule.beside.isdisjoint(kind[1:])
            )
        return fitting

    def _applied(self, rules: tuple[Rule, ...], forms: list[Node], current: Node) -> bool:
        for rule in rules:
            result = rule.apply(current)
            if result is not None and (self._writes is None or not self._writes.lost(current, result)):
                self._add(forms, rule.id, result)
                return True
        return False

    def _add(self, forms: list[Node], rule: str, result: Node) -> None:
        self.rewrites.append(Rewrite(rule, forms[-1], result))
        forms.append(result)
        if len(self.rewrites) > self._most:
            last = ", ".join(dict.fromkeys(r.rule for r in self.rewrites[-20:]))
            raise GraphError("SL236", f"the simplification of {forms[0]!r} does not end",
                             reason=f"these rules feed each other: {last}")  # fmt: skip


@lru_cache(maxsize=16)
def _by_op(rules: tuple[Rule, ...]) -> Mapping[Op, tuple[Rule, ...]]:
    """The rules to try on each operation. Made once for the same rules: on small graphs it costs as much as the rewriting."""
    return MappingProxyType({op: tuple(rule for rule in rules if op in rule.ops) for op in Op})
