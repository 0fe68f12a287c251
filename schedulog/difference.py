"""`schedulog.diff`: one graph under two rule sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from schedulog.agreement import Agreement, agreements
from schedulog.arguments import graph_behind, integers_of, name_of, names_of, rule_parts
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.facts.simplify import simplify as simplify_graph
from schedulog.scheduler.compare import Failure
from schedulog.scheduler.compare_text import (
    SHOWN,
    causes_text,
    decision_lines,
    failure_lines,
    order_lines,
    some,
)
from schedulog.scheduler.given import check_known, check_switches
from schedulog.scheduler.html.fragment import Text, fragment
from schedulog.scheduler.language.diagnostic import plural
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.language.rule_file import Part
from schedulog.scheduler.measure import Measures
from schedulog.scheduler.schedule import Scheduler
from schedulog.scheduler.units import size_text
from schedulog.scheduler.what_if import Group, Policy, Regrouped, Trial, WhatIf, what_if

if TYPE_CHECKING:
    from schedulog.tensor import Tensor

Given = Program | Part | Sequence[Part]
"""A rule set, or what `schedule` takes for one: names of packs, paths, and rules as text."""

_SIZES: Final = ("traffic", "bytes_read", "bytes_written", "peak_bytes")


@dataclass(frozen=True, slots=True, repr=False)
class Diff:
    """What another rule set changes for one graph, and because of what. `str()` tells it in a few lines.

    `changes` are decisions, kernels, their order, errors and measures; `results` compare the numbers, one entry for each
    device that was asked for.
    """

    changes: WhatIf
    results: tuple[Agreement, ...] = ()

    @property
    def same(self) -> bool:
        """Whether the schedule is the same, whatever rules it comes from."""
        return self.changes.same

    @property
    def wrong(self) -> bool:
        """Whether the results differ by more than rounding."""
        return any(result.wrong for result in self.results)

    @property
    def worse(self) -> bool:
        """Whether kernels, bytes, recomputed operations or peak memory grew, an error came up, or the results are wrong."""
        return self.wrong or self.changes.worse

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<Diff: {'the same schedule' if self.same else 'another schedule'}>"

    def _repr_html_(self) -> str:
        return fragment("", Text(str(self)))

    def lines(self, *, brief: bool = False) -> Iterator[str]:
        """The comparison as text. `brief`: measures and results, and how many decisions and kernels are others."""
        changes = self.changes
        yield f"{changes.name}: {changes.nodes} nodes"
        yield from (f"  {line}" for line in _measure_lines(changes))
        yield from (f"  results   {text}" for text in _results(self.results))
        if changes.same:
            yield "  no difference"
            return
        found = changes.difference
        if brief:
            yield from (f"  {line}" for line in failure_lines(found))
            counted = plural(len(found.decisions), "decision"), plural(len(found.kernels), "kernel")
            yield f"  {' and '.join(counted)} changed"
            return
        yield from (f"  {line}" for line in _change_lines(changes))
        yield f"  {changes.untraced} change{'s' * (changes.untraced != 1)} without a responsible rule"

    def record(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        changes, found = self.changes, self.changes.difference
        return {
            "graph": changes.name,
            "nodes": changes.nodes,
            "same": self.same,
            "worse": self.worse,
            "before": _side(changes.before, found.before.failure),
            "after": _side(changes.after, found.after.failure),
            "causes": [asdict(cause) for cause in found.causes],
            "untraced": changes.untraced,
            "decisions": [asdict(change) for change in found.decisions],
            "reasons": [asdict(change) for change in found.reasons],
            "kernels": [asdict(change) for change in found.kernels],
            "regrouped": [asdict(group) for group in changes.regrouped],
            "repeated": [asdict(node) for node in changes.repeated],
            "order": found.order,
            "results": [asdict(result) | {"equal": result.equal} for result in self.results],
        }


def diff(
    graph: Graph | Node | Tensor | Sequence[Node | Tensor],
    before: Given,
    after: Given,
    *,
    options: Mapping[str, int] | None = None,
    options_after: Mapping[str, int] | None = None,
    device: str | Sequence[str] = (),
    engine: str = "sqlite",
    seed: int = 0,
    simplify: bool = True,
) -> Diff:
    """Schedule a graph by two rule sets and compare: decisions, kernels, bytes, recomputed operations, peak memory.

    `before` and `after` are programs, or what `schedule` takes as rules. `options` are switches for both sides,
    `options_after` those that the second has besides or instead. On every `device` both schedules are run, with inputs
    drawn by `seed`, and their results compared; by default nothing is run. Nothing is captured.

    An error that ends a scheduling is part of the result. Raises RuleError for wrong rules, UsageError SL703, SL704, SL706,
    SL730, SL731 as `schedule`, DeviceError SL500 and SL501 for a device that there is not.
    """
    given, switches = graph_behind(graph), integers_of("options", options)
    second = switches | integers_of("options_after", options_after)
    kind = name_of("engine", engine)
    sides = [Policy(Scheduler(_program(r), kind), o) for r, o in ((before, switches), (after, second))]
    check_known(sides[0].scheduler.switches | sides[1].scheduler.switches, switches)
    check_known(sides[1].scheduler.switches, second.keys() - switches.keys(), "options_after")
    for side in sides:
        check_switches(side.scheduler.program, side.options)
    shown = simplify_graph(given, preserves="values").graph if simplify else given
    return compared(what_if(shown, *sides), names_of("device", device), seed)


def compared(trial: Trial, devices: Sequence[str] = (), seed: int = 0) -> Diff:
    """The comparison of two schedulings, with that of their results on each device."""
    found = agreements(trial.before.schedule, trial.after.schedule, devices, seed)
    return Diff(trial.found, tuple(found))


def _program(given: Given) -> Program:
    return given if isinstance(given, Program) else load_program(rule_parts("rules", given))


def _side(found: Measures | None, failure: Failure | None) -> dict[str, Any]:
    measures = None if found is None else asdict(found) | {"traffic": found.traffic}
    return {"measures": measures, "error": None if failure is None else asdict(failure)}


def _results(results: Sequence[Agreement]) -> Iterator[str]:
    """What was compared on each device; those that agree in one line."""
    fine = [result for result in results if not (result.wrong or result.skipped)]
    yield from (str(result) for result in results if result not in fine)
    if fine:
        most = max(result.ulp for result in fine)
        yield f"equal on {', '.join(result.device for result in fine)}{f' (max {most} ulp)' * bool(most)}"


def _measure_lines(changes: WhatIf) -> Iterator[str]:
    """The measures that both sides have; those that do not differ in one line."""
    old, new = changes.before, changes.after
    if old is None or new is None:
        return
    names = (("kernels", "kernels"), ("traffic", "traffic"), ("read", "bytes_read"), ("written", "bytes_written"),
             ("recompute", "recomputed"), ("peak", "peak_bytes"))  # fmt: skip
    same = []
    for name, field in names:
        texts = [_amount(field, getattr(side, field)) for side in (old, new)]
        if getattr(old, field) == getattr(new, field):
            same.append(f"{name} {texts[0]}")
        else:
            yield f"{name:<9} {' -> '.join(texts)}{_repeated(changes) * (field == 'recomputed')}"
    yield f"same      {', '.join([*same, 'errors none'])}"


def _amount(field: str, value: int) -> str:
    if field in _SIZES:
        return size_text(value)
    return f"{value:,}"


def _repeated(changes: WhatIf) -> str:
    """The operations that several kernels compute, with how many did before and do now."""
    nodes = [f"{r.node} in {r.before} -> {r.after} kernels" for r in changes.repeated]
    return f" operations   ({some(nodes)})" if nodes else " operations"


def _change_lines(changes: WhatIf) -> Iterator[str]:
    found = changes.difference
    yield from failure_lines(found)
    yield from order_lines(found)
    for group in changes.regrouped[:SHOWN]:
        yield _regrouped(group)
    if len(changes.regrouped) > SHOWN:
        yield f"          and {len(changes.regrouped) - SHOWN} more"
    yield from decision_lines(found, rules=True)
    if not found.decisions and not found.failure_differs:
        yield f"because of {causes_text(found.causes)}"


def _regrouped(group: Regrouped) -> str:
    return f"kernels   {_groups(group.before)} => {_groups(group.after)}"


def _groups(groups: Sequence[Group]) -> str:
    return some(["{" + some(group, " ") + "}" for group in groups], " + ") or "none"
