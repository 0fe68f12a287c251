"""The graph and the decisions, checked by the rules of kind `check` (rules/core/spec.dl)."""

from __future__ import annotations

from typing import Final

from schedulog.facts.device_name import is_file, quoted
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
    strays = _strays(graph, model)
    found = []
    for node, what in model.rows(relation):
        rules = dict.fromkeys(rule.rpartition("#")[0] for rule in by.get((node, what), ()))
        text = str(model.symbols.value(what, "str"))
        more = strays.get(node, ()) if relation == "malformed" else ()
        found.append(Violation(graph.describe(node), text, ", ".join(rules) or "the given facts", *more))
    return found


def _strays(graph: Graph, model: Model) -> dict[int, tuple[str, str]]:
    """By the node that is computed: which operands are on which other devices, and what brings them."""
    device = {n: str(model.symbols.value(name, "str")) for n, name in model.rows("device")}
    found: dict[int, tuple[str, str]] = {}
    for operand, user in model.rows("strays"):
        told = f"its operand {graph.describe(operand)} is on {quoted(device[operand])}"
        before = found[user][0] if user in found else f"it is on {quoted(device[user])}"
        # Nothing is computed in a file.
        place = device[operand] if is_file(device[user]) else device[user]
        found[user] = (f"{before}, {told}", f"bring the operands to one device first: .to({quoted(place)})")
    return found
