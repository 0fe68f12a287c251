"""What `schedulog diff` prints: a graph in some lines, many graphs as a summary, rules left out as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import typer

from schedulog.cli.diff_work import Answer
from schedulog.cli.output import fitted, print_table, width
from schedulog.scheduler.compare import Cause
from schedulog.scheduler.compare_text import some
from schedulog.scheduler.language.diagnostic import plural
from schedulog.scheduler.units import size_text

Record = Mapping[str, Any]

_LARGEST: Final = 10
"""Graphs and rules that a table of the largest shows."""
_BROKEN: Final = 20
"""Broken graphs that are listed."""
_TOTALS: Final = ("kernels", "traffic", "recomputed")


def show_diffs(answers: Sequence[Answer], *, whole: bool) -> None:
    """Print every graph with all that changed (`whole`), or only what they come to together."""
    if whole:
        for answer in answers:
            told = (line for long in answer.lines or _broken([answer]) for line in fitted(long, width()))
            typer.echo("\n".join(told) + "\n" * (len(answers) > 1))
    if not whole or len(answers) > 1:
        for line in _summary(answers):
            typer.echo(line)
        if not whole:
            _tables([a.record for a in answers if a.error is None])
            typer.echo("\n".join(_broken([a for a in answers if a.error is not None])), nl=False)


def diffs_record(answers: Sequence[Answer]) -> dict[str, Any]:
    """Everything, for JSON."""
    records = [answer.record for answer in answers if answer.error is None]
    return {"summary": _counts(answers), "graphs": records, "broken": _errors(answers)}


def _errors(answers: Iterable[Answer]) -> list[dict[str, Any]]:
    return [{"file": a.name, "error": a.error} for a in answers if a.error is not None]


def _broken(answers: Sequence[Answer]) -> list[str]:
    """One line for every graph that could not be compared."""
    lines = [
        f"{a.name}: error[{a.error['code']}] {a.error['message']}" for a in answers if a.error is not None
    ]
    return lines[:_BROKEN] + [f"and {len(lines) - _BROKEN} more"] * (len(lines) > _BROKEN)


def _counts(answers: Sequence[Answer]) -> dict[str, int]:
    """The numbers of the summary."""
    records = [a.record for a in answers if a.error is None]
    sizes = [_both(r, "kernels") for r in records]
    steps = [new - old for old, new in filter(None, sizes)]
    return {
        "graphs": len(answers),
        "fewer_kernels": sum(step < 0 for step in steps),
        "more_kernels": sum(step > 0 for step in steps),
        "same_kernels": sum(step == 0 for step in steps),
        "changed": sum(not r["same"] for r in records),
        "errors": len(sizes) - len(steps),
        "new_errors": sum(r["before"]["error"] is None and r["after"]["error"] is not None for r in records),
        "broken": len(answers) - len(records),
        "decisions": sum(len(r["decisions"]) for r in records),
        "untraced": sum(r["untraced"] for r in records),
        "compared": sum(any(not x["skipped"] for x in r["results"]) for r in records),
        "wrong": sum(any(x["wrong"] for x in r["results"]) for r in records),
    }


def _both(record: Record, measure: str) -> tuple[int, int] | None:
    """A measure on both sides; None where an error ended one of them."""
    old, new = record["before"]["measures"], record["after"]["measures"]
    return None if old is None or new is None else (old[measure], new[measure])


def _summary(answers: Sequence[Answer]) -> Iterator[str]:
    found = _counts(answers)
    parts = [f"{plural(found['graphs'], 'graph')}: {found['fewer_kernels']} fewer kernels, {found['more_kernels']} more",
             f"{found['same_kernels']} same", plural(found["errors"], "error")]  # fmt: skip
    parts += [f"{found['broken']} broken"] * bool(found["broken"])
    yield f"{', '.join(parts)}; {plural(found['untraced'], 'change')} without a responsible rule"
    yield f"changed    {plural(found['changed'], 'graph')}, {plural(found['decisions'], 'decision')}"
    if found["errors"]:
        yield f"errors     {found['new_errors']} where there was none before"
    records = [a.record for a in answers if a.error is None]
    for name in _TOTALS:
        pairs = list(filter(None, (_both(r, name) for r in records)))
        old, new = (sum(pair[side] for pair in pairs) for side in (0, 1))
        yield f"{_TITLES[name]:<10} {_text(name, old)} -> {_text(name, new)}"
    peaks = [new - old for old, new in filter(None, (_both(r, "peak_bytes") for r in records))]
    yield f"peak       less for {sum(p < 0 for p in peaks)}, more for {sum(p > 0 for p in peaks)}"
    if any(r["results"] for r in records):
        yield f"results    compared for {found['compared']}, WRONG for {found['wrong']}"


_TITLES: Final = {"kernels": "kernels", "traffic": "traffic", "recomputed": "recompute"}


def _text(measure: str, value: int) -> str:
    return size_text(value) if measure == "traffic" else f"{value:,}"


def _step(measure: str, value: int) -> str:
    """A change with its sign."""
    return "0" if not value else f"{'+' * (value > 0)}{_text(measure, value)}"


def _tables(records: Sequence[Record]) -> None:
    changed = [r for r in records if not r["same"]]
    if not changed:
        return
    columns = ("kernels", "traffic", "recompute", "because of")
    largest = sorted(changed, key=lambda r: (-_weight(r), r["file"]))[:_LARGEST]
    typer.echo("\nthe largest changes")
    print_table(("graph", *columns), [(r["file"], *_row(r), _causes(r)) for r in largest])
    typer.echo("\nby what is responsible")
    print_table(("rule", "graphs", *columns[:3]), list(_by_cause(changed)))


def _weight(record: Record) -> float:
    """What a change is sorted by: errors first, then bytes."""
    pair = _both(record, "traffic")
    return float("inf") if pair is None else abs(pair[1] - pair[0])


def _row(record: Record) -> tuple[str, ...]:
    if _both(record, "kernels") is None:
        errors = [(side["error"] or {}).get("code", "-") for side in (record["before"], record["after"])]
        return f"{errors[0]} -> {errors[1]}", "-", "-"
    old, new = record["before"]["measures"], record["after"]["measures"]
    kernels = f"{old['kernels']} -> {new['kernels']}"
    return kernels, *(_step(name, new[name] - old[name]) for name in _TOTALS[1:])


def _causes(record: Record) -> str:
    return some([str(Cause(**cause)) for cause in record["causes"]])


def _by_cause(changed: Sequence[Record]) -> Iterator[tuple[Any, ...]]:
    """Each cause with the graphs it changes; a graph with several counts for each of them."""
    graphs: Counter[Cause] = Counter()
    steps = {name: Counter[Cause]() for name in _TOTALS}
    for record in changed:
        for cause in (Cause(**fields) for fields in record["causes"]):
            graphs[cause] += 1
            for name in _TOTALS:
                old, new = _both(record, name) or (0, 0)
                steps[name][cause] += new - old
    for cause, count in sorted(graphs.items(), key=lambda item: (-abs(steps["traffic"][item[0]]), item[0])):
        yield str(cause), count, *(_step(name, steps[name][cause]) for name in _TOTALS)


def show_ablation(answers: Sequence[Answer]) -> None:
    """Print what leaving out each rule changes, most first, and which rules change nothing."""
    found = ablation_record(answers)
    typer.echo(f"{plural(len(answers), 'graph')}, {plural(found['ablated'], 'rule')} left out in turn; "
               f"{plural(found['untraced'], 'change')} without a responsible rule\n")  # fmt: skip
    columns = (
        "without",
        "graphs",
        "decisions",
        "kernels",
        "traffic",
        "recompute",
        "peak",
        "errors",
        "results",
    )
    shown = columns if any(r["wrong"] for r in found["rules"]) else columns[:-1]
    if found["rules"]:
        print_table(shown, [_ablated_row(rule)[: len(shown)] for rule in found["rules"]])
    for kind, text in (
        ("alike", "derive something, and nothing changes without them"),
        ("idle", "derive nothing here"),
    ):
        if found[kind]:
            typer.echo(f"\n{len(found[kind])} {text}: {some(found[kind])}")
    for line in _broken(answers):
        typer.echo(line)


def _ablated_row(rule: Record) -> tuple[Any, ...]:
    errors = ", ".join(f"{count}x {code}" for code, count in sorted(rule["errors"].items()))
    steps = (
        _step("traffic", rule["traffic"]),
        _step("recomputed", rule["recomputed"]),
        _step("traffic", rule["peak_bytes"]),
    )
    kernels = "-" if rule["compared"] == 0 else f"{rule['kernels']:+d}" if rule["kernels"] else "0"
    wrong = f"WRONG for {rule['wrong']}" if rule["wrong"] else "-"
    return rule["rule"], rule["graphs"], rule["decisions"], kernels, *steps, errors or "-", wrong


def ablation_record(answers: Sequence[Answer]) -> dict[str, Any]:
    """Everything, for JSON: `rules` sums up over the graphs, those with the most effect first."""
    records = [answer.record for answer in answers if answer.error is None]
    rules: dict[str, list[Record]] = {}
    for record in records:
        for effect in record["rules"]:
            rules.setdefault(effect["rule"], []).append(effect)
    summed = sorted((_summed(rule, effects) for rule, effects in rules.items()), key=_effect)
    alike = {rule for record in records for rule in record["alike"]} - rules.keys()
    idle = {rule for record in records for rule in record["idle"]} - rules.keys() - alike
    return {
        "ablated": len(rules) + len(alike) + len(idle),
        "untraced": sum(rule["untraced"] for rule in summed),
        "rules": summed,
        "alike": sorted(alike),
        "idle": sorted(idle),
        "graphs": [{"file": a.name, **a.record} for a in answers if a.error is None],
        "broken": _errors(answers),
    }


def _summed(rule: str, effects: Sequence[Record]) -> dict[str, Any]:
    pairs = [(e["before"], e["after"]) for e in effects if e["before"] and e["after"]]

    def step(*names: str) -> int:
        return sum(new[name] - old[name] for old, new in pairs for name in names)

    return {
        "rule": rule,
        "graphs": len(effects),
        "compared": len(pairs),
        "decisions": sum(e["decisions"] for e in effects),
        "kernels": step("kernels"),
        "traffic": step("bytes_read", "bytes_written"),
        "recomputed": step("recomputed"),
        "peak_bytes": step("peak_bytes"),
        "errors": dict(Counter(e["error"]["code"] for e in effects if e["error"])),
        "wrong": sum(bool(e["wrong"]) for e in effects),
        "untraced": sum(e["untraced"] for e in effects),
    }


def _effect(rule: Record) -> tuple[Any, ...]:
    """Wrong results and errors first, then bytes, kernels and decisions."""
    errors = sum(rule["errors"].values())
    sizes = (rule["traffic"], rule["kernels"], rule["recomputed"], rule["peak_bytes"])
    return -rule["wrong"], -errors, *(-abs(size) for size in sizes), -rule["decisions"], rule["rule"]
