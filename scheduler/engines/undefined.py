"""Naming what has no truth value: the atoms, and the shortest chain of rules that makes each wait for the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice

from schedulog.errors import ScheduleError
from schedulog.scheduler.engines.engine import Engine, Row, Setting
from schedulog.scheduler.engines.strata import Component, strong_components
from schedulog.scheduler.engines.symbols import Decode, decoder
from schedulog.scheduler.language.program import Literal_, Rule, Var
from schedulog.scheduler.why.match import Matcher, Rows

Atom = tuple[str, Row]
Estimate = Mapping[str, AbstractSet[Row]]

_SHOWN = 10
"""Atoms named, and links of a cycle spelled out."""

_EXPLORED = 20_000
_STARTS = 200
_STEPS = 400_000
_STEPS_OF_ONE = 4_000
"""Premises that are looked at in all, and for one atom: rules that join unrelated rows have too many to look at each."""


def undefined_error(
    setting: Setting, component: Component, engine: Engine, over: Estimate, under: Estimate
) -> ScheduleError:
    """Return SL120 for the atoms that are in the over-estimate of a component and not in the under-estimate."""
    atoms = sorted((name, row) for name in component.relations for row in over[name] - under[name])
    search = _Search(setting, engine, over, under)
    decode = decoder(setting.symbols, setting.program.relations)
    cycle = search.shortest_cycle(atoms)
    rest = f" and {len(atoms) - _SHOWN} more" if len(atoms) > _SHOWN else ""
    names = ", ".join(decode(*atom) for atom in atoms[:_SHOWN])
    are = "atoms are" if len(atoms) > 1 else "atom is"
    return ScheduleError(
        "SL120",
        f"{len(atoms)} {are} neither true nor false: {names}{rest}",
        where=cycle[0].rule.place if cycle else _first_rule(component).place,
        reason="the shortest cycle through `not`: " + _cycle_text(cycle, decode)
        if cycle
        else "each waits for others of them, in too many ways to name the shortest cycle through `not`",
        help="let one of these decisions depend only on earlier ones, for example by comparing positions",
    )


def _first_rule(component: Component) -> Rule:
    return next(rule for sub in component.subs for rule in sub.rules)


def _cycle_text(cycle: list[_Link], decode: Decode) -> str:
    steps = [link.text(decode) for link in cycle[:_SHOWN]]
    if len(cycle) > _SHOWN:
        steps.append(f"{len(cycle) - _SHOWN} more steps lead back to {decode(*cycle[0].source)}")
    return "; ".join(steps)


class _Link:
    """One step of a cycle: `source` is open because `rule` needs `target`, or its absence."""

    def __init__(self, source: Atom, target: Atom, negated: bool, rule: Rule) -> None:
        self.source = source
        self.target = target
        self.negated = negated
        self.rule = rule

    def text(self, decode: Decode) -> str:
        word = "not " if self.negated else ""
        place = f"{self.rule.name}, {self.rule.place}"
        return f"{decode(*self.source)} needs {word}{decode(*self.target)} ({place})"


class _Search:
    """The dependencies among undefined atoms, found rule by rule."""

    def __init__(self, setting: Setting, engine: Engine, over: Estimate, under: Estimate) -> None:
        self.undefined = {name: over[name] - under[name] for name in over}
        self.matcher = Matcher(
            setting.program,
            setting.symbols,
            setting.functions,
            Rows(lambda name: sorted(over[name]) if name in over else engine.rows(name)),
            Rows(lambda name: sorted(under[name]) if name in under else engine.rows(name)),
        )
        self.open_rows = Rows(lambda name: sorted(self.undefined.get(name, ())))
        self.links: dict[Atom, list[_Link]] = {}
        self.steps = 0

    def shortest_cycle(self, atoms: list[Atom]) -> list[_Link]:
        """Return the links of a shortest cycle with a negation, among the atoms explored."""
        for atom in atoms[:_EXPLORED]:
            self.from_atom(atom)
        parts = strong_components(
            sorted(self.links), lambda atom: {link.target for link in self.from_atom(atom)}
        )
        best: list[_Link] = []
        starts = 0
        for part in sorted(parts, key=lambda part: (len(part), part)):
            inside = set(part)
            if starts >= _STARTS or not any(self.negations(atom, inside) for atom in part):
                continue
            for atom in part[: _STARTS - starts]:
                starts += 1
                found = self.cycle_through(atom, inside)
                if found and (not best or len(found) < len(best)):
                    best = found
        return best

    def negations(self, atom: Atom, inside: AbstractSet[Atom]) -> bool:
        return any(link.negated and link.target in inside for link in self.from_atom(atom))

    def cycle_through(self, start: Atom, inside: AbstractSet[Atom]) -> list[_Link]:
        """Return a shortest walk from `start` back to it that passes a negation (breadth first)."""
        came: dict[tuple[Atom, bool], tuple[tuple[Atom, bool], _Link]] = {}
        queue = deque([(start, False)])
        while queue:
            state = queue.popleft()
            for link in self.from_atom(state[0]):
                following = (link.target, state[1] or link.negated)
                if link.target not in inside or following in came or following == (start, False):
                    continue
                came[following] = (state, link)
                if following == (start, True):
                    return _walk_back(came, following, (start, False))
                queue.append(following)
        return []

    def from_atom(self, atom: Atom) -> list[_Link]:
        """Return the undefined atoms that an undefined atom waits for."""
        found = self.links.get(atom)
        if found is None:
            seen: dict[tuple[Atom, bool], _Link] = {}
            left = min(_STEPS_OF_ONE, _STEPS - self.steps)
            for rule, target, negated in islice(self.needs(atom), left):
                self.steps += 1
                seen.setdefault((target, negated), _Link(atom, target, negated, rule))
            found = self.links[atom] = list(seen.values())
        return found

    def needs(self, atom: Atom) -> Iterator[tuple[Rule, Atom, bool]]:
        """Each premise in each way of deriving an atom, with its rule; the rules take turns."""
        waiting = deque(self.of_rule(rule, atom) for rule in self.matcher.rules(atom[0]))
        while waiting:
            premises = waiting.popleft()
            following = next(premises, None)
            if following is not None:
                yield following
                waiting.append(premises)

    def of_rule(self, rule: Rule, atom: Atom) -> Iterator[tuple[Rule, Atom, bool]]:
        for values in self.matcher.ways(rule, atom[1]):
            for target, negated in self.premises(rule, values):
                yield rule, target, negated

    def premises(self, rule: Rule, values: Mapping[str, int]) -> Iterator[tuple[Atom, bool]]:
        for item in rule.body:
            if not isinstance(item, Literal_) or item.atom.relation not in self.undefined:
                continue
            terms = item.atom.terms
            bound = tuple(
                i for i, term in enumerate(terms) if not isinstance(term, Var) or term.name in values
            )
            key = tuple(self.matcher.term(terms[i], values) for i in bound)
            for row in self.open_rows.matching(item.atom.relation, bound, key):
                yield (item.atom.relation, row), item.negated


def _walk_back(
    came: Mapping[tuple[Atom, bool], tuple[tuple[Atom, bool], _Link]],
    end: tuple[Atom, bool],
    start: tuple[Atom, bool],
) -> list[_Link]:
    links: list[_Link] = []
    while end != start:
        end, link = came[end]
        links.append(link)
    return links[::-1]
