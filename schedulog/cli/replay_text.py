"""What `schedulog replay` prints: call by call what changed and because of what, and everything as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer

from schedulog.cli.replay_pool import Failed, Result
from schedulog.scheduler.compare import Difference, KernelOutcome
from schedulog.scheduler.compare_text import SHOWN, decision_lines, failure_lines, order_lines, some
from schedulog.scheduler.units import size_text


def changed(result: Result) -> bool:
    """Whether a call does not give what it gave, or could not be scheduled again."""
    return result.difference is None or not result.difference.same


def show_replay(results: Sequence[Result]) -> None:
    """Print what changed, call by call, and a summary."""
    for result in results:
        if changed(result):
            typer.echo(f"call {result.number}: {result.name}")
            typer.echo("\n".join(f"  {line}" for line in _lines(result)) + "\n")
    typer.echo(_summary(results))


def _summary(results: Sequence[Result]) -> str:
    same = [r.difference for r in results if r.difference is not None and r.difference.same]
    different = [r.difference for r in results if r.difference is not None and not r.difference.same]
    failed = len(results) - len(same) - len(different)
    parts = [f"{len(results)} call{'s' * (len(results) != 1)}: {len(same)} the same"]
    parts += [f"{len(different)} changed{_totals(different)}"] if different else []
    parts += [f"{failed} not replayed"] if failed else []
    reasons = sum(bool(difference.reasons) for difference in same)
    parts += [f"{reasons} of the same for other reasons"] if reasons else []
    return ", ".join(parts)


def _totals(differences: Sequence[Difference]) -> str:
    """Kernels and bytes of the changed calls that came to kernels before and after."""
    whole = [d for d in differences if not any(_failures(d))]
    if not whole:
        return ""
    old, new = [d.before for d in whole], [d.after for d in whole]
    kernels = [str(sum(len(o.kernels) for o in side)) for side in (old, new)]
    traffic = [size_text(sum(o.bytes_read + o.bytes_written for o in side)) for side in (old, new)]
    return f" (kernels {' -> '.join(kernels)}, traffic {' -> '.join(traffic)})"


def _lines(result: Result) -> list[str]:
    difference = result.difference
    if difference is None:
        assert result.error is not None
        return _error(result.error)
    return [
        *failure_lines(difference),
        *_sizes(difference),
        *_kernels(difference),
        *decision_lines(difference),
    ]


def _error(error: Failed) -> list[str]:
    lines = [f"error[{error.code}] {error.message}"]
    parts = (("at", error.where), ("why:", error.reason), ("help:", error.help))
    return lines + [f"  {name} {text}" for name, text in parts if text]


def _failures(difference: Difference) -> tuple[Any, Any]:
    return difference.before.failure, difference.after.failure


def _sizes(difference: Difference) -> list[str]:
    before, after = difference.before, difference.after
    if any(_failures(difference)):
        return []
    pairs_ = (
        ("kernels", str(len(before.kernels)), str(len(after.kernels))),
        ("read", size_text(before.bytes_read), size_text(after.bytes_read)),
        ("written", size_text(before.bytes_written), size_text(after.bytes_written)),
    )
    lines = [f"{name:<8} {old} -> {new}" for name, old, new in pairs_ if old != new]
    return lines + order_lines(difference)


def _kernels(difference: Difference) -> list[str]:
    lines = []
    for change in difference.kernels[:SHOWN]:
        sign = "+" if change.before is None else "-" if change.after is None else "~"
        sides = [_members(k) for k in (change.before, change.after) if k is not None]
        lines.append(f"{sign} kernel {change.output} {' -> '.join(dict.fromkeys(sides))}")
    more = len(difference.kernels) - SHOWN
    return lines + ([f"  {more} more kernel{'s' * (more > 1)}"] if more > 0 else [])


def _members(kernel: KernelOutcome) -> str:
    return "aside" if kernel.aside else "{" + some(kernel.members, " ") + "}"


def replay_record(results: Sequence[Result]) -> dict[str, Any]:
    """All that is known, for JSON."""
    return {
        "calls": [_call(result) for result in results],
        "same": sum(not changed(r) for r in results),
        "changed": sum(r.difference is not None and not r.difference.same for r in results),
        "not_replayed": sum(r.difference is None for r in results),
    }


def _call(result: Result) -> dict[str, Any]:
    record: dict[str, Any] = {"call": result.number, "name": result.name}
    difference = result.difference
    if difference is None:
        return record | {"error": None if result.error is None else asdict(result.error)}
    record |= {"same": difference.same, "reasons": [asdict(change) for change in difference.reasons]}
    if difference.same:
        return record
    return record | {
        "causes": [asdict(cause) for cause in difference.causes],
        "failure": [None if f is None else asdict(f) for f in _failures(difference)],
        "kernel_count": [len(difference.before.kernels), len(difference.after.kernels)],
        "bytes_read": [difference.before.bytes_read, difference.after.bytes_read],
        "bytes_written": [difference.before.bytes_written, difference.after.bytes_written],
        "order": difference.order,
        "kernels": [asdict(change) for change in difference.kernels],
        "decisions": [asdict(change) for change in difference.decisions],
    }
