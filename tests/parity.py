"""Compare schedulog's decisions with recorded ones: python tests/parity.py FILE... [--json] [--execute] [--jobs N].

Each FILE holds one recorded scheduling call a line (JSON, gzip or plain). A case counts as equal in a comparison when the
decisions are the same, or when the record ends before that decision (its call raised an error).
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from schedulog.errors import ScheduleError, SchedulogError
from schedulog.facts.ops import Op
from schedulog.facts.record import Recorded, read_record
from schedulog.scheduler.kernels import Schedule
from schedulog.scheduler.load import load_program
from schedulog.scheduler.schedule import Decisions, Scheduler

COMPARISONS = ("base_realizes", "realizes", "owners", "kernels", "order", "errors")


@dataclass
class Outcome:
    """What one case gave: the comparisons that differ, with reasons, and the time from graph to ordered kernels."""

    case: str
    differences: list[tuple[str, str]] = field(default_factory=list)
    order_valid: bool = True
    order_compared: bool = False
    seconds: float = 0.0
    recorded_seconds: float = 0.0
    executed: bool = False
    executed_equal: bool = False


@cache
def scheduler(engine: str, *, rescue: bool = False) -> Scheduler:
    """The seed's policy; `rescue` adds the rule by which a requested value is stored even if the policy forgot it.

    The recorded scheduler has no such rule and fails on those graphs, so decisions are compared without it.
    """
    return Scheduler(load_program(["classic"], disable=() if rescue else ["core/store-requested"]), engine)


def compare(record: Mapping[str, Any], engine: str) -> tuple[Outcome, Schedule | None]:
    """One case, decision by decision."""
    outcome = Outcome(record["case"], recorded_seconds=float(record.get("seconds") or 0))
    recorded = read_record(record, record["case"])
    ids = {node: number for number, node in recorded.nodes.items()}
    started = time.perf_counter()
    decisions = scheduler(engine).decide(recorded.graph, {k: int(v) for k, v in record["flags"].items()})
    error, schedule = None, None
    try:
        schedule = scheduler(engine).schedule(decisions)
    except ScheduleError as problem:
        error = problem
    outcome.seconds = time.perf_counter() - started
    names = [ids[n] for n in recorded.graph.nodes]
    _compare_sets(outcome, record, decisions, names)
    _compare_error(outcome, record, error)
    if schedule is not None:
        _compare_kernels(outcome, record, schedule, recorded, ids)
        outcome.order_valid = order_problem(schedule) is None
    elif error is not None and error.code != "SL310":
        outcome.differences.append(("errors", str(error)))
    return outcome, schedule


def _compare_sets(outcome: Outcome, record: Mapping[str, Any], decisions: Decisions, names: Sequence[int]) -> None:
    for what, relation in (("base_realizes", "base_realize"), ("realizes", "realize")):
        if what in record:
            derived = {names[n] for (n,) in decisions.model.rows(relation)}
            _note(outcome, what, derived, set(record[what]))
    if "reduce_claims" in record:
        derived_owners = {(names[n], names[r]) for n, r in decisions.model.rows("owner")}
        _note(outcome, "owners", derived_owners, {(n, r) for n, r in record["reduce_claims"]})


def _note(outcome: Outcome, what: str, derived: set[Any], recorded: set[Any]) -> None:
    if derived != recorded:
        text = f"only here {sorted(derived - recorded)[:6]}, only recorded {sorted(recorded - derived)[:6]}"
        outcome.differences.append((what, text))


def _compare_error(outcome: Outcome, record: Mapping[str, Any], error: ScheduleError | None) -> None:
    text = str(record["error"] or "")
    recorded = "cycle detected" in text
    if recorded != (error is not None and error.code == "SL310"):
        outcome.differences.append(("errors", f"here {error.code if error else 'none'}, recorded {text[:80] or 'none'}"))


def _compare_kernels(
    outcome: Outcome,
    record: Mapping[str, Any],
    schedule: Schedule,
    recorded: Recorded,
    ids: Mapping[Any, int],
) -> None:
    if "kernels" not in record:
        return
    own = [k for k in schedule.kernels if k.output.op is not Op.BUFFER]
    known = {ids[n] for n in recorded.graph.nodes}
    wanted = {k["out"]: k for k in record["kernels"]}
    _note(outcome, "kernels", {ids[k.output] for k in own}, set(wanted))
    for kernel in own:
        other = wanted.get(ids[kernel.output])
        if other is not None:
            problem = _kernel_difference(kernel, other, record, ids, known)
            if problem:
                outcome.differences.append(("kernels", problem))
    if record["error"] is None:
        outcome.order_compared = _recorded_order_valid(record)
        if outcome.order_compared and [ids[k.output] for k in own] != [k["out"] for k in record["kernels"]]:
            outcome.differences.append(("order", "another valid order"))


def _kernel_difference(
    kernel: Any, other: Mapping[str, Any], record: Mapping[str, Any], ids: Mapping[Any, int], known: set[int]
) -> str:
    members = {ids[n] for n in kernel.members}
    recorded_members = {n for n in other["nodes"] if n in known}
    if members != recorded_members:
        return f"members of {other['out']}: {sorted(members ^ recorded_members)[:6]}"
    outs = {k["id"]: k["out"] for k in record["kernels"]}
    inputs = [i["buffer"] if "buffer" in i else outs[i["kernel"]] for i in other["inputs"]]
    target = kernel.output.src[0].base if kernel.kind == "assign" else None
    reads = [ids[n] for n in kernel.reads if n is not target]
    return "" if reads == inputs else f"inputs of {other['out']}: {reads[:6]} for {inputs[:6]}"


def _recorded_order_valid(record: Mapping[str, Any]) -> bool:
    """Whether the recorded order runs every reader of an old content before its overwriter (and data in order)."""
    place = {k["id"]: i for i, k in enumerate(record["kernels"])}
    writers: dict[int, list[int]] = {}
    for kernel in record["kernels"]:
        if kernel.get("target") is not None:
            writers.setdefault(kernel["target"], []).append(kernel["id"])
    for kernel in record["kernels"]:
        for read in kernel["inputs"]:
            if "kernel" in read and place[read["kernel"]] >= place[kernel["id"]]:
                return False
            if "buffer" in read:
                late = [w for w in writers.get(read["buffer"], []) if w != kernel["id"]]
                if any(place[w] < place[kernel["id"]] for w in late):
                    return False
    return True


def order_problem(schedule: Schedule) -> str | None:
    """Check a schedule's order from its kernels alone: who reads, who writes, before and after. None if it is valid.

    A read of memory means the content before the call unless the value read is an assign's.
    """
    made: dict[Any, int] = {}
    for kernel in schedule.kernels:
        for n, read in kernel.reads.items():
            memory = kernel.buffers[read.argument]
            if n.op is not Op.BUFFER:
                if n not in made:
                    return f"{kernel.name} reads {n} before it is made"
            elif memory in made.values() or any(
                k.kind == "assign" and k.buffers[0] is memory and k.index < kernel.index and _touches(k, n, kernel)
                for k in schedule.kernels
            ):
                return f"{kernel.name} reads {memory} after it was overwritten"
        made[kernel.output] = kernel.index
    return None


def _touches(writer: Any, memory: Any, reader: Any) -> bool:
    """Whether the writer's elements are among those the reader may see (exactly, by listing them)."""
    import numpy as np

    from schedulog.runtimes.evaluate import evaluate
    from schedulog.facts.build import view

    positions = np.arange(memory.size)
    written = set(evaluate([view(memory, writer.stores)], {memory: positions})[0].ravel().tolist())
    looks = [m for m in reader.members if m.op is Op.VIEW and m.base is memory]
    direct = any(memory in m.src for m in (*reader.members, reader.output) if m.op is not Op.VIEW)
    if direct or not looks:
        return True
    seen = {int(p) for look in looks for p in evaluate([look], {memory: positions})[0].ravel()}
    return bool(seen & written)


def records(files: Sequence[Path]) -> Iterator[str]:
    for file in files:
        opener = gzip.open if file.suffix == ".gz" else open
        with opener(file, "rt", encoding="utf-8") as lines:
            yield from lines


def run_line(job: tuple[str, str]) -> Outcome:
    line, engine = job
    record = json.loads(line)
    try:
        return compare(record, engine)[0]
    except SchedulogError as problem:
        outcome = Outcome(record["case"], order_valid=False)
        outcome.differences += [(what, str(problem)) for what in COMPARISONS]
        return outcome


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The object that --json prints."""
    equal = {
        what: sum(all(w != what for w, _ in o.differences) for o in outcomes) for what in COMPARISONS
    }
    return {
        "cases": len(outcomes),
        **equal,
        "order_valid": sum(o.order_valid for o in outcomes),
        "order_compared": sum(o.order_compared for o in outcomes),
        "seconds": round(sum(o.seconds for o in outcomes), 3),
        "recorded_seconds": round(sum(o.recorded_seconds for o in outcomes), 3),
        "differences": [
            {"case": o.case, "what": what, "reason": reason} for o in outcomes for what, reason in o.differences
        ],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--engine", default="sqlite")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    jobs = ((line, options.engine) for line in records(options.files))
    with ProcessPoolExecutor(options.jobs) as pool:
        found = summary(list(pool.map(run_line, jobs, chunksize=16)))
    if options.json:
        print(json.dumps(found))
    else:
        for key, value in found.items():
            if key != "differences":
                print(f"{key:16} {value}")
        for row in found["differences"]:
            print(f"{row['case']}: {row['what']}: {row['reason']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
