"""The graph and the decisions, checked by the rules of kind `check` (rules/core/spec.dl)."""

from __future__ import annotations

from typing import Final

from schedulog.facts.graph import Graph
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.verify.violation import Stage, Violation, refuse
from schedulog.scheduler.why.support import supports

_RELATIONS: Final[tuple[tuple[str, Stage], ...]] = (("malformed", "graph"), ("unsound", "decisions"))


def check_decisions(graph: Graph, model: Model) -> None:
    """Raise ScheduleError for what the rules found wrong: SL320 the graph, SL322 the decisions.

    Checks that cost more than a few rows run where the option `verify` is 1.
    """
    for relation, stage in _RELATIONS:
        if model.count(relation):
            refuse(stage, _violations(graph, model, relation), graph.name)


def _violations(graph: Graph, model: Model, relation: str) -> list[Violation]:
    by = supports(model, ("check",)).get(relation, {})
    found = []
    for node, what in model.rows(relation):
        rules = dict.fromkeys(rule.rpartition("#")[0] for rule in by.get((node, what), ()))
        text = str(model.symbols.value(what, "str"))
        found.append(Violation(graph.describe(node), text, ", ".join(rules) or "the given facts"))
    return found
