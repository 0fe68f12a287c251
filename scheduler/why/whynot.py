"""Why an atom does not hold: for each rule that could derive it, the fewest conditions that fail, and what would mend it.

The head is bound to what is asked and the largest sets of conditions that hold together are searched, from the whole body
downwards. A condition that fails by itself is in no such set, which bounds the search from below; the steps of matching
bound it from above, and a clause whose search was cut says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from schedulog.errors import UsageError
from schedulog.facts.graph import in_short
from schedulog.scheduler.engines.join_order import order_rule
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.html.fragment import Text, fragment
from schedulog.scheduler.language.check_binding import bound_names, check_binding
from schedulog.scheduler.language.diagnostic import plural
from schedulog.scheduler.language.expression import inner_names, item_names, outer_names
from schedulog.scheduler.language.program import Aggregate, BodyItem, Compare, Rule, Var
from schedulog.scheduler.language.rule_set import RuleSet
from schedulog.scheduler.schedule import Decisions
from schedulog.scheduler.why.failure import Failure, Failures, Pattern, Repair, smallest_repairs
from schedulog.scheduler.why.match import Finder, Matcher, Rows, Values
from schedulog.scheduler.why.question import _Asker, _parsed, find_row, names

_STEPS: Final = 60_000
"""Steps of matching for one question; every clause has an equal part."""
_LEAST: Final = 4_000
"""Steps that a clause has however many there are."""
_SET: Final = 20
"""Steps that a set of conditions costs for putting it in an order."""
_WAYS: Final = 3
"""So many largest sets are kept of one clause."""
_REPAIRS: Final = 6
"""So many repairs are written out."""


@dataclass(frozen=True, slots=True)
class Miss:
    """A clause that does not derive what was asked. Each of `ways` holds the conditions that fail beside a largest set.

    `cut`: the search was ended, so a larger set may exist.
    """

    rule: Rule
    priority: int
    ways: tuple[tuple[Failure, ...], ...]
    cut: bool

    @property
    def failing(self) -> int:
        """How many conditions do not hold, those that cannot be tried among them."""
        return len(self.ways[0])

    @property
    def rank(self) -> tuple[int, int, int, str]:
        """Nearest first: fewest failing conditions, then priority, then the cheapest repair."""
        cost = min(sum(failure.cost for failure in way) for way in self.ways)
        return self.failing, -self.priority, cost, self.rule.name


@dataclass(frozen=True, slots=True, repr=False)
class WhyNot:
    """Why `fact` does not hold: the clauses that could derive it, nearest first, and the smallest repairs.

    `nodes` describes what the fact speaks of. `others` counts the clauses of the relation whose head does not fit.
    `rival` is the fact that holds for the same key, where a key has one value: then nothing mends it by itself.
    """

    fact: str
    nodes: tuple[str, ...]
    misses: tuple[Miss, ...]
    others: int
    repairs: tuple[Repair, ...]
    rival: str = ""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<WhyNot {self.fact}: {plural(len(self.misses), 'clause')}>"

    def _repr_html_(self) -> str:
        return fragment("", Text(str(self)))

    def lines(self, limit: int = 5) -> Iterator[str]:
        """The answer as text, with the `limit` nearest clauses."""
        yield from map(in_short, self.nodes)
        yield f"{self.fact} does not hold. {self._could()}"
        if self.rival:
            yield f"{self.rival} holds, and each key has one value."
        for number, miss in enumerate(self.misses[:limit], 1):
            yield from _miss_lines(number, miss)
        if len(self.misses) > limit:
            yield f"{len(self.misses) - limit} more: --limit {len(self.misses)}"
        if self.repairs:
            more = len(self.repairs) - _REPAIRS
            shown = "; or ".join(str(repair) for repair in self.repairs[:_REPAIRS])
            yield f"Smallest repairs: {shown}{f'; and {more} more' if more > 0 else ''}"

    def _could(self) -> str:
        count = len(self.misses)
        if count:
            return f"{count} clause{'s' * (count != 1)} could derive it{', nearest first' * (count > 1)}:"
        if self.others:
            return "No rule derives such a fact: no head fits."
        return "No rule derives it: it would be a fact of the graph."


def _miss_lines(number: int, miss: Miss) -> Iterator[str]:
    place, total = miss.rule.place, len(miss.rule.body)
    yield f"{number}. {miss.rule.name}  {place.file}:{place.line}  {total - miss.failing} of {total} conditions hold"
    for i, way in enumerate(miss.ways):
        if i:
            yield "   or"
        for failure in way:
            yield from (f"   {line}" for line in failure.lines(miss.rule.id))
    if miss.cut:
        yield "   (the search was cut short: more conditions may hold together)"


def whynot(decisions: Decisions, fact: str) -> WhyNot:
    """Why a fact does not hold; `_` in it stands for any value.

    Raises UsageError: SL710 to SL713 as `why`, SL715 a label of several nodes, SL718 a fact that holds.
    """
    model, writer = decisions.model, names(decisions)
    relation, row = _asked(fact, decisions)
    rows = Rows(model.rows, model.source if isinstance(model.source, Finder) else None)
    failures = Failures(model, rows, writer)
    held = failures.holding(relation, row)
    if held:
        atom = writer.atom(relation, held[0])
        raise UsageError("SL718", f"{atom} holds", where=", ".join(map(in_short, writer.described(relation, held[0]))),
                         help=f"ask for its reasons: schedulog why GRAPH_OR_DB '{atom}'")  # fmt: skip
    search, rival = _Search(model, rows, failures), failures.other(relation, row)
    misses = sorted(search.misses(relation, row), key=lambda miss: miss.rank)
    others = len(search.matcher.rules(relation)) - len(misses)
    ways = ((m.rule, way, search.droppable(m.rule, way)) for m in misses for way in m.ways if not rival)
    described, repairs = tuple(writer.described(relation, row)), smallest_repairs(ways)
    return WhyNot(writer.atom(relation, row), described, tuple(misses), others, repairs, rival)


def _asked(fact: str, decisions: Decisions) -> tuple[str, Pattern]:
    """The relation and the row that a question is about."""
    name, terms = _parsed(fact)
    relation = decisions.model.program.relations.get(name)
    if relation is None or relation.arity != len(terms):
        return find_row(fact, decisions.model, decisions.graph)  # raises SL711 or SL712
    asker = _Asker(fact, relation, decisions.model, decisions.graph)
    candidates = [asker.candidates(*term, i) for i, term in enumerate(terms)]
    if any(numbers is not None and len(numbers) > 1 for numbers in candidates):
        raise UsageError("SL715", f"`{fact.strip()}` means several facts",
                         help="ask with the short name of a node (n12)")  # fmt: skip
    return name, tuple(None if numbers is None else numbers[0] for numbers in candidates)


class _Search:
    """Looks for the largest sets of conditions that hold together, clause by clause."""

    def __init__(self, model: Model, rows: Rows, failures: Failures) -> None:
        self.program = model.program
        self.matcher = Matcher(model.program, model.symbols, model.functions, rows, rows)
        self.failures = failures

    def misses(self, relation: str, row: Pattern) -> list[Miss]:
        fitting = [
            (rule, values)
            for rule in self.matcher.rules(relation)
            if rule.body and (values := self.bind(rule, row)) is not None
        ]
        steps = max(_LEAST, _STEPS // max(1, len(fitting)))
        return [self.miss(rule, values, steps) for rule, values in fitting]

    def bind(self, rule: Rule, row: Pattern) -> dict[str, int] | None:
        """The values that the row gives to the head's variables; None when the head does not fit it."""
        values: dict[str, int] = {}
        for term, number in zip(rule.head.terms, row, strict=True):
            if number is None:
                continue
            if isinstance(term, Var):
                expected = values.setdefault(term.name, number)
            else:
                expected = self.matcher.constant(term)
            if expected != number:
                return None
        return values

    def miss(self, rule: Rule, values: Values, steps: int) -> Miss:
        clause = _Clause(self.matcher, rule, values, steps)
        found = list(clause.largest())
        ways = tuple(self.way(clause, left_out, solution) for left_out, solution in found[:_WAYS])
        return Miss(rule, self.program.infos[rule.id].priority, ways, clause.cut)

    def way(self, clause: _Clause, left_out: Sequence[int], solution: Values) -> tuple[Failure, ...]:
        bound = clause.bound(left_out)
        return tuple(
            self.failures.of(clause.rule, i, solution, not clause.needs[i] <= bound | clause.own(i, bound))
            for i in left_out
        )

    def droppable(self, rule: Rule, way: tuple[Failure, ...]) -> bool:
        """Whether the clause is a rule without these conditions: some are left, and they bind every variable."""
        numbers = {failure.number for failure in way}
        body = tuple(item for i, item in enumerate(rule.body, 1) if i not in numbers)
        p, shorter = self.program, replace(rule, body=body)
        alone = RuleSet(p.relations, p.functions, frozenset(), (shorter,), p.infos, frozenset())
        return bool(body) and next(check_binding(alone), None) is None


class _Clause:
    """One clause with the head's values, and the steps of matching it may still take."""

    def __init__(self, matcher: Matcher, rule: Rule, values: Values, steps: int) -> None:
        self.matcher = matcher
        self.rule = rule
        self.values = values
        self.left = steps
        self.cut = False
        self.needs = [_needs(item, rule) for item in rule.body]

    def largest(self) -> Iterator[tuple[tuple[int, ...], Values]]:
        """The least sets of conditions to leave out, with values for which the others hold; one set if cut."""
        every = range(len(self.rule.body))
        alone = {i for i in every if self.supplied([i]) and self.first([i]) is None and self.left > 0}
        others = [i for i in every if i not in alone]
        for count in range(len(others) + 1):
            found = False
            for more in combinations(others, count):
                solution = self.without(alone.union(more))
                if self.left <= 0:
                    break
                if solution is not None:
                    found = True
                    yield tuple(sorted(alone.union(more))), solution
            if self.left <= 0:
                self.cut = True
                if not found:
                    yield self.greedy(alone)
                return
            if found:
                return

    def greedy(self, alone: Collection[int]) -> tuple[tuple[int, ...], Values]:
        """Conditions taken up one by one while they hold together: a large set, perhaps not the largest."""
        kept: list[int] = []
        solution: Values = self.values
        waiting = [i for i in range(len(self.rule.body)) if i not in alone]
        for _ in waiting:
            for i in [i for i in waiting if i not in kept and self.supplied([*kept, i])]:
                self.left = _LEAST // 10
                found = self.first(sorted([*kept, i]))
                if found is not None:
                    kept, solution = sorted([*kept, i]), found
                    break
            else:
                break
        return tuple(i for i in range(len(self.rule.body)) if i not in kept), solution

    def without(self, left_out: Collection[int]) -> Values | None:
        """Values for which the other conditions hold, None where there are none or the others lack a value."""
        kept = [i for i in range(len(self.rule.body)) if i not in left_out]
        return self.first(kept) if self.supplied(kept) else None

    def first(self, kept: Sequence[int]) -> Values | None:
        """The first values for which these conditions hold together."""
        shorter = replace(self.rule, body=tuple(self.rule.body[i] for i in kept))
        self.left -= _SET
        steps = order_rule(shorter, self.matcher.program.relations, known=self.values)
        levels: list[Iterator[Values]] = [iter((self.values,))]
        while levels and self.left > 0:
            self.left -= 1
            found = next(levels[-1], None)
            if found is None:
                levels.pop()
            elif len(levels) > len(steps):
                return found
            else:
                levels.append(self.matcher.advance(steps[len(levels) - 1], found))
        return None

    def bound(self, left_out: Collection[int]) -> set[str]:
        """The names that the other conditions and the head bind."""
        return bound_names([item for i, item in enumerate(self.rule.body) if i not in left_out], self.values)

    def supplied(self, kept: Iterable[int]) -> bool:
        """Whether these conditions have all the values they need from each other and the head."""
        kept = list(kept)
        bound = bound_names([self.rule.body[i] for i in kept], self.values)
        return all(self.needs[i] <= bound for i in kept)

    def own(self, i: int, bound: Collection[str]) -> set[str]:
        """The names that a condition binds once it has its values."""
        return bound_names([self.rule.body[i]], bound)


def _needs(item: BodyItem, rule: Rule) -> set[str]:
    """The names whose values a condition needs from elsewhere, or binds by itself."""
    if isinstance(item, Aggregate):
        outside = outer_names(rule.body) | {t.name for t in rule.head.terms if isinstance(t, Var)}
        return (inner_names(item) & outside) | {item.result.name}
    if isinstance(item, Compare):
        return item_names(item)
    return {name for name in item_names(item) if not name.startswith("_")} if item.negated else set()
