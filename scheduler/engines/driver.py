"""Evaluation to the well-founded model, for any engine.

The well-founded model by alternating fixpoints: Van Gelder, JCSS 47(1), 1993. Inside a component every `not` reads a
snapshot. From an empty snapshot follows an over-estimate, from that an under-estimate, and so on until an evaluation
gives back the snapshot it read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from schedulog.errors import ScheduleError
from schedulog.scheduler.engines.engine import Engine, Setting
from schedulog.scheduler.engines.keys import check_keys
from schedulog.scheduler.engines.strata import Component, SubComponent
from schedulog.scheduler.engines.undefined import undefined_error


@dataclass(slots=True)
class ComponentStatistics:
    """What one component cost. `evaluations` of sub-components, of which `skipped` had unchanged inputs."""

    name: str
    alternations: int = 1
    rounds: int = 0
    evaluations: int = 0
    skipped: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Statistics:
    """What an evaluation cost."""

    components: list[ComponentStatistics] = field(default_factory=list)
    statements: int = 0
    seconds: float = 0.0

    @property
    def rounds(self) -> int:
        """Rounds of all fixpoints together."""
        return sum(component.rounds for component in self.components)

    @property
    def alternations(self) -> int:
        """The most alternations that a component needed."""
        return max((component.alternations for component in self.components), default=0)


def evaluate(setting: Setting, engine: Engine) -> Statistics:
    """Evaluate every component in order; the relations are then in the engine.

    Raises ScheduleError SL120 when the truth of some atom stays open, SL132 when a key has two values, SL140 when a
    limit is reached.
    """
    statistics = Statistics()
    begin = last = time.perf_counter()
    for component in setting.strata.components:
        found = ComponentStatistics(component.name)
        if component.negated:
            _Alternation(setting, component, engine, found).run()
        else:
            for sub in component.subs:
                found.rounds += engine.evaluate(sub)
            found.evaluations = len(component.subs)
        check_keys(setting, component.relations, engine)
        now = time.perf_counter()
        found.seconds, last = now - last, now
        statistics.components.append(found)
    statistics.seconds = last - begin
    return statistics


class _Alternation:
    """The alternating fixpoint of one component with negation inside."""

    def __init__(
        self, setting: Setting, component: Component, engine: Engine, found: ComponentStatistics
    ) -> None:
        self.setting = setting
        self.component = component
        self.engine = engine
        self.found = found
        self.assumed = dict.fromkeys(component.negated, 0)
        self.keys: dict[int, tuple[int, ...]] = {}

    def run(self) -> None:
        for relation in self.component.negated:
            self.engine.drop_snapshot(relation)
        earlier: dict[str, int] = {}
        for count in range(1, self.setting.limits.alternations + 1):
            self.found.alternations = count
            self.step()
            derived = {relation: self.engine.count(relation) for relation in self.component.negated}
            if derived == self.assumed:
                return
            if derived == earlier:
                raise self.undefined()
            if late := next(filter(None, map(self.engine.late, self.component.subs)), ""):
                raise self.endless(late)
            earlier = self.assumed
            self.assume(derived)
        raise self.endless(f"{self.setting.limits.alternations} alternations")

    def step(self) -> None:
        """Evaluate the sub-components whose inputs changed since they were last evaluated.

        All estimates of a relation form one chain under inclusion, so equal counts mean equal rows.
        """
        for sub in self.component.subs:
            key = self.key(sub)
            if self.keys.get(sub.index) == key:
                self.found.skipped += 1
                continue
            if sub.index in self.keys:
                self.engine.clear(sub.relations)
            self.keys[sub.index] = key
            self.found.rounds += self.engine.evaluate(sub)
            self.found.evaluations += 1

    def key(self, sub: SubComponent) -> tuple[int, ...]:
        count, assumed = self.engine.count, self.assumed
        return (*[count(name) for name in sub.inputs], *[assumed[name] for name in sub.negated])

    def assume(self, derived: dict[str, int]) -> None:
        """Let `not` read the rows just derived."""
        for relation, count in derived.items():
            if count != self.assumed[relation]:
                self.engine.keep_snapshot(relation)
        self.assumed = derived

    def undefined(self) -> ScheduleError:
        """Compare the two estimates between which the alternation swings."""
        names = self.component.relations
        one = {name: set(self.engine.rows(name)) for name in names}
        self.assume({name: self.engine.count(name) for name in self.component.negated})
        self.step()
        two = {name: set(self.engine.rows(name)) for name in names}
        over, under = (one, two) if sum(map(len, one.values())) > sum(map(len, two.values())) else (two, one)
        return undefined_error(self.setting, self.component, self.engine, over, under)

    def endless(self, what: str) -> ScheduleError:
        return ScheduleError(
            "SL140",
            f"{self.component.name}: not finished after {what}; no partial answer is returned",
            where=next(rule.place for sub in self.component.subs for rule in sub.rules),
            reason="each decision here waits for the refusal of another one, in a chain longer than that",
            help="shorten the chain of `not`, or raise the limit",
        )
