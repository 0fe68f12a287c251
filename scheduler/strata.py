"""What depends on what: components of relations in evaluation order, and the negation inside each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from schedulog.scheduler.expression import literals
from schedulog.scheduler.program import Program, Rule


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
    """The components of a program, each after those it depends on, and the relations that no rule derives."""

    components: tuple[Component, ...]
    base: tuple[str, ...]

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
    return Strata(tuple(components), tuple(sorted(set(program.relations) - done)))


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
    return {
        literal.atom.relation for rule in rules for literal, _ in literals(rule.body) if literal.negated
    }


def strong_components(
    names: Iterable[str], reads: Callable[[str], Iterable[str]]
) -> list[tuple[str, ...]]:
    """Return the strongly connected components reachable from `names`, each after those it reads.

    Tarjan's algorithm (SIAM J. Comput. 1(2), 1972) with an explicit stack; linear in the graph.
    """
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    open_names: list[str] = []
    is_open: set[str] = set()
    found: list[tuple[str, ...]] = []
    for start in names:
        work = [] if start in number else [(start, iter(sorted(reads(start))))]
        if work:
            _enter(start, number, low, open_names, is_open)
        while work:
            name, rest = work[-1]
            for other in rest:
                if other not in number:
                    _enter(other, number, low, open_names, is_open)
                    work.append((other, iter(sorted(reads(other)))))
                    break
                if other in is_open:
                    low[name] = min(low[name], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == number[name]:
                    found.append(_leave(name, open_names, is_open))
    return found


def _enter(
    name: str, number: dict[str, int], low: dict[str, int], open_names: list[str], is_open: set[str]
) -> None:
    number[name] = low[name] = len(number)
    open_names.append(name)
    is_open.add(name)


def _leave(name: str, open_names: list[str], is_open: set[str]) -> tuple[str, ...]:
    part: list[str] = []
    while not part or part[-1] != name:
        part.append(open_names.pop())
        is_open.discard(part[-1])
    return tuple(sorted(part))
