"""What depends on what: components of relations in evaluation order, and the negation inside each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from schedulog.scheduler.language.expression import literals
from schedulog.scheduler.language.functional import possible_clashes
from schedulog.scheduler.language.program import Program, Rule

T = TypeVar("T", str, tuple[str, tuple[int, ...]])


@dataclass(frozen=True, slots=True)
class SubComponent:
    """Relations that depend on each other without negation, evaluated together to a least fixpoint.

    `inputs` are the other relations of the same component that the rules read positively, `negated` those they read
    under `not`; both decide whether a new evaluation could differ from the last one. `recursive`: some rule reads
    one of `relations` positively. `rules` have bodies, `facts` have none.
    """

    index: int
    relations: tuple[str, ...]
    rules: tuple[Rule, ...]
    facts: tuple[Rule, ...]
    recursive: bool
    inputs: tuple[str, ...]
    negated: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Component:
    """Relations that depend on each other in any way. `negated`: those that stand under `not` inside it."""

    relations: tuple[str, ...]
    negated: tuple[str, ...]
    subs: tuple[SubComponent, ...]

    @property
    def name(self) -> str:
        return ", ".join(self.relations)


@dataclass(frozen=True, slots=True)
class Strata:
    """The components of a program, each after those it depends on, and the relations that no rule derives.

    `keys` are the relations whose rules might give one key two values, each with the number of its key columns.
    """

    components: tuple[Component, ...]
    base: tuple[str, ...]
    keys: Mapping[str, int] = field(default_factory=dict)

    @property
    def subs(self) -> tuple[SubComponent, ...]:
        """All sub-components, in the order of their `index`."""
        return tuple(sub for component in self.components for sub in component.subs)


def stratify(program: Program) -> Strata:
    """Split a program into components. The result does not depend on the order of rules or relations."""
    by_head: dict[str, list[Rule]] = {}
    for rule in sorted(program.rules, key=lambda rule: (rule.id, rule.clause)):
        by_head.setdefault(rule.head.relation, []).append(rule)
    derived = sorted(name for name, rules in by_head.items() if any(rule.body for rule in rules))
    groups = strong_components(derived, lambda name: _reads(by_head.get(name, []), positive_only=False))
    components: list[Component] = []
    for group in groups:
        if group[0] in by_head and any(rule.body for name in group for rule in by_head.get(name, [])):
            components.append(_component(group, by_head, sum(len(c.subs) for c in components)))
    done = {name for component in components for name in component.relations}
    clashing = sorted({one.head.relation for one, _ in possible_clashes(program.rules, program.relations)})
    keys = {name: program.relations[name].key or 0 for name in clashing}
    return Strata(tuple(components), tuple(sorted(set(program.relations) - done)), keys)


def _component(group: tuple[str, ...], by_head: Mapping[str, list[Rule]], index: int) -> Component:
    inside = set(group)
    rules = [rule for name in group for rule in by_head[name]]
    negated = _negated(rules) & inside
    parts = strong_components(group, lambda name: _reads(by_head[name], positive_only=True) & inside)
    subs = tuple(_sub_component(index + i, part, by_head, inside) for i, part in enumerate(parts))
    return Component(group, tuple(sorted(negated)), subs)


def _sub_component(
    index: int, part: tuple[str, ...], by_head: Mapping[str, list[Rule]], inside: set[str]
) -> SubComponent:
    rules = [rule for name in part for rule in by_head[name]]
    positive = _reads(rules, positive_only=True)
    return SubComponent(
        index=index,
        relations=part,
        rules=tuple(rule for rule in rules if rule.body),
        facts=tuple(rule for rule in rules if not rule.body),
        recursive=bool(positive & set(part)),
        inputs=tuple(sorted((positive & inside) - set(part))),
        negated=tuple(sorted(_negated(rules) & inside)),
    )


def _reads(rules: Iterable[Rule], *, positive_only: bool) -> set[str]:
    found: set[str] = set()
    for rule in rules:
        for literal, _ in literals(rule.body):
            if not (positive_only and literal.negated):
                found.add(literal.atom.relation)
    return found


def _negated(rules: Iterable[Rule]) -> set[str]:
    return {literal.atom.relation for rule in rules for literal, _ in literals(rule.body) if literal.negated}


def strong_components(names: Iterable[T], reads: Callable[[T], Iterable[T]]) -> list[tuple[T, ...]]:
    """Return the strongly connected components reachable from `names`, each sorted and after those it reads.

    Tarjan's algorithm (SIAM J. Comput. 1(2), 1972) with an explicit stack; linear in the graph.
    """
    search = _Tarjan(reads)
    for name in names:
        search.visit(name)
    return search.found


class _Tarjan(Generic[T]):
    """The state of one search for components."""

    def __init__(self, reads: Callable[[T], Iterable[T]]) -> None:
        self.reads: Callable[[T], Iterable[T]] = reads
        self.found: list[tuple[T, ...]] = []
        self._number: dict[T, int] = {}
        self._low: dict[T, int] = {}
        self._open: list[T] = []
        self._is_open: set[T] = set()
        self._work: list[tuple[T, Iterator[T]]] = []

    def visit(self, start: T) -> None:
        """Find the components that `start` reaches and that are not yet found."""
        if start not in self._number:
            self._enter(start)
        while self._work:
            name, rest = self._work[-1]
            for other in rest:
                if other not in self._number:
                    self._enter(other)
                    break
                if other in self._is_open:
                    self._low[name] = min(self._low[name], self._number[other])
            else:
                self._leave(name)

    def _enter(self, name: T) -> None:
        self._number[name] = self._low[name] = len(self._number)
        self._open.append(name)
        self._is_open.add(name)
        self._work.append((name, iter(sorted(self.reads(name)))))

    def _leave(self, name: T) -> None:
        self._work.pop()
        if self._work:
            above = self._work[-1][0]
            self._low[above] = min(self._low[above], self._low[name])
        if self._low[name] == self._number[name]:
            part: list[T] = []
            while not part or part[-1] != name:
                part.append(self._open.pop())
                self._is_open.discard(part[-1])
            self.found.append(tuple(sorted(part)))
