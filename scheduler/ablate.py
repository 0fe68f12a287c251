"""What each rule of a set is good for: it is left out, and the graph is scheduled again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cache

from schedulog.facts.graph import Graph
from schedulog.scheduler.edit import Part, without_parts
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.record.outcome import Attempt, attempt
from schedulog.scheduler.schedule import Decisions, Scheduler
from schedulog.scheduler.what_if import Policy, Trial, against
from schedulog.scheduler.why.support import derivations


def ablatable(program: Program, only: Collection[str] = ()) -> tuple[str, ...]:
    """The ids of the rules that can be left out in turn, sorted; `only` names packs and rules."""
    return tuple(
        name for name, info in sorted(program.infos.items()) if not only or {name, info.pack} & set(only)
    )


class Ablation:
    """A policy, and the same without each of some rules. Rule sets are compiled when they are needed, and kept."""

    def __init__(self, policy: Policy, rules: Collection[str]) -> None:
        self.policy = policy
        self.rules = tuple(rules)
        self._without: Callable[[str], Policy] = cache(self._compiled)

    def _compiled(self, rule: str) -> Policy:
        whole = self.policy.scheduler
        return Policy(
            Scheduler(without_parts(whole.program, [Part(rule)]), whole.engine), self.policy.options
        )

    def __call__(self, graph: Graph) -> Iterator[tuple[str, Trial | None]]:
        """What leaving out each rule changes; None for a rule that derives nothing here.

        A rule that derives nothing in a well-founded model can be taken away without a change of the model, so that needs
        no evaluation. (Removing rules whose bodies are false: J. Dix, A classification theory of semantics of normal
        logic programs, Fundamenta Informaticae 22(3), 1995.)
        """
        whole = attempt(self.policy.scheduler, graph, self.policy.options)
        at_work = _at_work(whole)
        for rule in self.rules:
            idle = at_work is not None and rule not in at_work
            yield rule, None if idle else against(graph, self.policy, whole, self._without(rule))


def _at_work(whole: Attempt) -> set[str] | None:
    """The rules that derive something, also before reductions are split; None where that is not known."""
    if whole.decisions is None:
        return None
    found = _deriving(whole.decisions)
    return found if whole.decisions.before is None else found | _deriving(whole.decisions.before)


def _deriving(decisions: Decisions) -> set[str]:
    kinds = {info.kind for info in decisions.model.program.infos.values()}
    matched = derivations(decisions.model, kinds)
    return {name.rpartition("#")[0] for name, rows in matched.items() if rows}
