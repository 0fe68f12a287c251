"""Which graph is tried next? One drawn at random, or one near a test of the rule that has fired least."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from schedulog.scheduler.language.program import Program, Rule
from schedulog.trials.draw import draw_recipe
from schedulog.trials.mutate import mutated
from schedulog.trials.parts import strings
from schedulog.trials.recipe import Sample
from schedulog.trials.seeds import Seeds
from schedulog.trials.switches import draw_options

_AT_RANDOM: Final = 0.4
"""Chance that a graph is drawn at random although there are seeds."""
_UNCHANGED: Final = 0.5
"""Chance that the switches of a seed stay as its test sets them."""
_POOLS: Final = (6, 3, 1)
"""How often a seed is of the nearest tests, of the next, of the last."""
_CHANGES: Final = (0, 1, 1, 2, 3, 5)
"""How many changes a seed gets."""


class Candidates:
    """Graphs to be tried. The same generator state and the same answers to `note` give the same graphs.

    `rules` are those that should fire.
    """

    def __init__(self, program: Program, rules: Sequence[Rule], seeds: Seeds, generator: Random) -> None:
        self.program = program
        self.random = generator
        self.seeds = seeds
        self.recipes = [sample.recipe for sample in seeds.all]
        self.liked = {text.lower() for rule in rules for text in strings(rule)}
        kinds = {rule.id: program.infos[rule.id].kind for rule in rules}
        # A rule of kind `check` is there not to fire: no graph is worth looking for.
        self.wanted = sorted(rule for rule, kind in kinds.items() if kind != "check")
        self.tried: Counter[str] = Counter()

    def draw(self) -> Sample:
        if not self.wanted or not self.recipes or self.random.random() < _AT_RANDOM:
            return Sample(
                draw_recipe(self.random, favoured=self.liked), draw_options(self.program, self.random)
            )
        return self.near(self.least())

    def note(self, fired: Collection[str]) -> None:
        """Rules that the last graph made fire."""
        self.tried.update(dict.fromkeys(fired, 4))

    def least(self) -> str:
        """The rule that has fired on the fewest graphs. One that never does costs no more than a quarter of its turns."""
        fewest = min(self.tried[rule] for rule in self.wanted)
        rule = self.random.choice([rule for rule in self.wanted if self.tried[rule] == fewest])
        self.tried[rule] += 1
        return rule

    def near(self, rule: str) -> Sample:
        """A seed of a rule, changed."""
        (pool,) = self.random.choices(pools := self.seeds.of(rule), _POOLS[: len(pools)])
        seed = self.random.choice(pool)
        changed = mutated(self.random, seed.recipe, self.recipes, self.random.choice(_CHANGES))
        # Made anew: two samples that run together must not share memory.
        recipe = replace(changed)
        if self.random.random() < _UNCHANGED:
            return replace(seed, recipe=recipe)
        return Sample(recipe, draw_options(self.program, self.random) | dict(seed.options))
