"""Which operands are not computed inside the kernel that reads them, by which rules, and what that costs.

A candidate is an operand `producer -> consumer` whose producer is computed, and stored, so that the consumer loads it.
Permission is the default: what keeps the two apart are the rules that store the producer, and each of them is a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from schedulog.facts.ops import Op
from schedulog.scheduler.engines.join_order import Fold, Step, Test, order_rule
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.language.program import Literal_, Rule, RuleInfo, Var
from schedulog.scheduler.language.rule_text import format_item
from schedulog.scheduler.schedule import Decisions
from schedulog.scheduler.why.names import Names
from schedulog.scheduler.why.placement import Placement
from schedulog.scheduler.why.support import Derivations, storing_clauses
from schedulog.scheduler.why.words import reason_writer

_BY_KIND: Final[Mapping[str, str]] = MappingProxyType(
    {"realize": "user forbade it", "forbid": "user forbade it", "order": "must run before"}
)


@dataclass(frozen=True, slots=True, eq=False)
class Storing:
    """A clause because of which a value is stored.

    `condition` (from 1) is the one of its conditions that says most, see `decisive_condition`; 0 for a stated fact. `word`
    is one of `metadata.REFUSALS`, `reason` what the rule itself says.
    """

    rule: Rule
    condition: int
    word: str
    reason: str

    @property
    def condition_text(self) -> str:
        return format_item(self.rule.body[self.condition - 1]) if self.condition else ""

    def __str__(self) -> str:
        place = f"{self.rule.place.file}:{self.rule.place.line}"
        return f"{self.rule.name}  {place}  {self.word or 'stored'}: {self.reason}"


@dataclass(frozen=True, slots=True, eq=False)
class Refusal:
    """One operand that is loaded instead of computed, and one clause because of which it is.

    `bytes_lost`: what the kernels that evaluate `consumer` would not have to move if they computed `producer` themselves:
    a read in each, and the write if nobody else needs the value in memory. Rows of one producer overlap.
    """

    producer: int
    consumer: int
    storing: Storing
    bytes_lost: int


def refusal_word(info: RuleInfo) -> str:
    """The word for what a rule refuses: the one in its header, else the one of its kind, "" where it refuses nothing."""
    return info.refusal or _BY_KIND.get(info.kind, "")


def refusals(decisions: Decisions, known: Derivations | None = None) -> Iterator[Refusal]:
    """The refusals behind decisions, in the order of consumers; a few lookups for each operand.

    `known` are the derivations of the model's rules of kind `realize`, if they are at hand.
    """
    stored, prices = storings(decisions, known), Prices(decisions)
    for consumer, producers in enumerate(prices.placement.operands):
        for producer in producers:
            if producer in stored:
                lost = prices.lost(producer, consumer)
                yield from (Refusal(producer, consumer, clause, lost) for clause in stored[producer])


def storings(decisions: Decisions, known: Derivations | None = None) -> Mapping[int, tuple[Storing, ...]]:
    """For each stored value, all clauses that ask for it, sorted by name."""
    model = decisions.model
    names = Names(decisions.graph, model.program, model.symbols)
    rules = {rule.name: rule for rule in model.program.rules}
    chosen = cache(lambda name: decisive_condition(rules[name], model))

    writer = cache(lambda name: reason_writer(rules[name], names))

    def storing(name: str, n: int) -> Storing:
        rule = rules[name]
        reason = writer(name)((n,)).strip('"')
        return Storing(rule, chosen(name), refusal_word(model.program.infos[rule.id]), reason)

    found = storing_clauses(model, known).items()
    return {n: tuple(storing(name, n) for name in clauses) for n, clauses in found}


def decisive_condition(rule: Rule, model: Model) -> int:
    """The condition (from 1) that says most of why a clause applies; 0 where it has none.

    All conditions of a clause that derives a row hold, and were any not to hold, the clause would not derive it. Named is
    the most particular: the last test of values (a comparison or an aggregate with a known result), as it is about this
    row's own numbers; else the literal that the fewest rows of the model fit, one with `not` only where there is no other.
    """
    tests = [step.item for step in order_rule(rule, model.program.relations) if _tests(step)]
    if tests:
        return max(tests) + 1
    literals = [(i, item) for i, item in enumerate(rule.body) if isinstance(item, Literal_)]
    ranked = sorted((item.negated, 0 if item.negated else _fitting(item, model), i) for i, item in literals)
    return ranked[0][2] + 1 if ranked else 0


def _tests(step: Step) -> bool:
    return isinstance(step, Test) or (isinstance(step, Fold) and not step.binds)


def _fitting(item: Literal_, model: Model) -> int:
    """How many rows of the relation have the literal's constants."""
    relation, symbols = item.atom.relation, model.symbols
    fixed = [(i, term.value) for i, term in enumerate(item.atom.terms) if not isinstance(term, Var)]
    if not fixed:
        return model.count(relation)
    wanted = [(i, value if isinstance(value, int) else symbols.find(value)) for i, value in fixed]
    return sum(all(row[i] == value for i, value in wanted) for row in model.rows(relation))


class Prices:
    """What loading stored values costs."""

    def __init__(self, decisions: Decisions) -> None:
        self.placement = placement = Placement(decisions)
        self.requested = {n for (n,) in decisions.model.rows("requested")}
        self.readers: dict[int, set[int]] = {}
        for consumer, producers in enumerate(placement.operands):
            for producer in producers:
                if placement.is_stored(producer):
                    self.readers.setdefault(producer, set()).update(placement.holders.get(consumer, ()))

    def lost(self, producer: int, consumer: int) -> int:
        """The bytes that computing `producer` in the kernels of `consumer` would save.

        A window is no copy of what it shows; an assign and a copy to another device write in any case.
        """
        made, kernels = self.placement.nodes[producer], self.placement.holders.get(consumer, ())
        if made.op is Op.BUFFER_VIEW:
            return 0
        alone = len(self.readers[producer]) == len(kernels) and producer not in self.requested
        written = made.nbytes if alone and made.op not in (Op.ASSIGN, Op.COPY) else 0
        return made.nbytes * len(kernels) + written
