"""Compare schedulog's decisions with recorded ones: python tests/parity.py FILE... [--from STAGE] [--json] [--execute] [--jobs N].

Each FILE holds one recorded scheduling call a line (JSON, gzip or plain). A case counts as equal in a comparison when the
decisions are the same, or when the record ends before that decision (its call raised an error).
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from devices_of_records import Hosts, device_count, runs_on_devices
from loads_of_records import load_differences
from metadata_of_records import metadata_differences
from numpy.typing import NDArray
from simplified import difference, result_difference, simplified_stage
from wider import as_exact_as_the_reference as near

from schedulog.errors import ScheduleError, SchedulogError
from schedulog.facts.buffer import Buffer
from schedulog.facts.build import view
from schedulog.facts.device_name import is_file
from schedulog.facts.graph import Graph
from schedulog.facts.ops import Op
from schedulog.facts.record import Recorded, read_record
from schedulog.facts.view import ViewStack
from schedulog.run import schedule
from schedulog.runtimes.evaluate import evaluate, reference, reference_memory
from schedulog.runtimes.files import whole_file
from schedulog.runtimes.memory import allocate, fetch
from schedulog.scheduler.kernels import Schedule
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.schedule import Decisions, Scheduler
from schedulog.verify import bits_as_numbers

DECISIONS = ("base_realizes", "realizes", "owners", "kernels", "loads", "metadata", "order", "errors")
COMPARISONS = (*DECISIONS, "simplified", "results")


@dataclass
class Outcome:
    """What one case gave: the comparisons that differ, with reasons, and the time from graph to ordered kernels."""

    case: str
    differences: list[tuple[str, str]] = field(default_factory=list)
    order_valid: bool = True
    order_compared: bool = False
    seconds: float = 0.0
    simplify_seconds: float = 0.0
    recorded_seconds: float = 0.0
    executed: bool = False
    executed_equal: bool = False
    devices: int = 1


@cache
def scheduler(engine: str, *, rescue: bool = False) -> Scheduler:
    """The seed's policy; `rescue` adds the rule by which a requested value is stored even if the policy takes that back.

    The recorded scheduler has no such rule and fails on those graphs, so decisions are compared without it.
    """
    return Scheduler(load_program(["classic"], disable=() if rescue else ["core/chosen-by-force"]), engine)


def compare(record: Mapping[str, Any], engine: str, origin: str) -> tuple[Outcome, Schedule | None]:
    """One case, decision by decision, from the record's `graph` or from its `tensor_graph`."""
    outcome = Outcome(record["case"], recorded_seconds=float(record.get("seconds") or 0))
    if origin == "graph":
        return outcome, _compare_decisions(outcome, record, read_record(record, record["case"]), engine)
    stage = simplified_stage(record, record["case"])
    outcome.simplify_seconds = stage.seconds
    different = difference(stage, record)
    if different:
        outcome.differences.append(("simplified", different))
    ordered = _compare_decisions(outcome, record, stage.recorded, engine)
    problem = "" if ordered is None else result_difference(stage, record, ordered)
    if problem:
        outcome.differences.append(("results", problem))
    return outcome, ordered


def _compare_decisions(
    outcome: Outcome, record: Mapping[str, Any], recorded: Recorded, engine: str
) -> Schedule | None:
    ids = {node: number for number, node in recorded.nodes.items()}
    options = {"verify": 1, **{k: int(v) for k, v in record["flags"].items()}}
    started = time.perf_counter()
    decisions = scheduler(engine).decide(recorded.graph, options)
    error, ordered = None, None
    try:
        ordered = scheduler(engine).schedule(decisions)
    except ScheduleError as problem:
        error = problem
    outcome.seconds = time.perf_counter() - started
    names = [ids[n] for n in recorded.graph.nodes]
    _compare_sets(outcome, record, decisions, names)
    _compare_error(outcome, record, error)
    if ordered is not None:
        _compare_kernels(outcome, record, ordered, recorded, ids)
        outcome.order_valid = order_problem(ordered) is None
    elif error is not None and error.code not in _ERRORS.values():
        outcome.differences.append(("errors", str(error)))
    return ordered


def _compare_sets(
    outcome: Outcome, record: Mapping[str, Any], decisions: Decisions, names: Sequence[int]
) -> None:
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


_ERRORS = {
    "cycle detected": "SL310",
    "self operand of augmented assign": "SL313",
    "UOp verification failed": "SL322",
}
"""What the recorded scheduler says of a graph that it refuses, and the code of the same refusal here."""


def _compare_error(outcome: Outcome, record: Mapping[str, Any], error: ScheduleError | None) -> None:
    text = str(record["error"] or "")
    recorded = next((code for words, code in _ERRORS.items() if words in text), None)
    if recorded != (error.code if error is not None and error.code in _ERRORS.values() else None):
        outcome.differences.append(
            ("errors", f"here {error.code if error else 'none'}, recorded {text[:80] or 'none'}")
        )


def _compare_kernels(
    outcome: Outcome,
    record: Mapping[str, Any],
    schedule: Schedule,
    recorded: Recorded,
    ids: Mapping[Any, int],
) -> None:
    if "kernels" not in record:
        return
    own = [k for k in schedule.kernels if k.rules != ("core/snapshot",)]
    known = {ids[n] for n in recorded.graph.nodes}
    wanted = {k["out"]: k for k in record["kernels"]}
    _note(outcome, "kernels", {ids[k.output] for k in own}, set(wanted))
    for kernel in own:
        other = wanted.get(ids[kernel.output])
        if other is not None:
            problem = _kernel_difference(kernel, other, record, ids, known)
            if problem:
                outcome.differences.append(("kernels", problem))
    outcome.differences += [("loads", problem) for problem in load_differences(schedule, record, ids)]
    outcome.differences += [("metadata", problem) for problem in metadata_differences(schedule, record, ids)]
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

    A read of memory means the content before the call, a read of another kernel's output what that kernel wrote: no
    assign to the same elements may have run in between.
    """
    made: dict[Any, int] = {}
    for kernel in schedule.kernels:
        for n, read in kernel.reads.items():
            memory = kernel.buffers[read.argument]
            if n.op is not Op.BUFFER and n not in made:
                return f"{kernel.name} reads {n} before it is made"
            for writer in schedule.kernels[made.get(n, -1) + 1 : kernel.index]:
                if writer.kind == "assign" and writer.buffers[0] is memory and _touches(writer, n, kernel):
                    return f"{kernel.name} reads {memory} after {writer.name} overwrote it"
        made[kernel.output] = kernel.index
    return None


def _touches(writer: Any, memory: Any, reader: Any) -> bool:
    """Whether the writer's elements are among those the reader may see (exactly, by listing them)."""
    if memory.op is not Op.BUFFER:
        return True
    positions = np.arange(memory.size)
    written = set(evaluate([view(memory, writer.stores)], {memory: positions})[0].ravel().tolist())
    looks = [m for m in reader.members if m.op is Op.VIEW and m.base is memory]
    direct = any(memory in m.src for m in (*reader.members, reader.output) if m.op is not Op.VIEW)
    if direct or not looks:
        return True
    seen = {int(p) for look in looks for p in evaluate([look], {memory: positions})[0].ravel()}
    return bool(seen & written)


def execute(outcome: Outcome, record: Mapping[str, Any], job: Job) -> None:
    """Run the case on random buffers and compare outputs and final memory with the unscheduled reference.

    From a tensor graph, the reference is the graph before it was simplified.
    """
    original, graph = _stages(record, job.origin)
    if not _executable(graph) or _work(graph) > job.work:
        return
    outcome.executed = True
    outcome.devices = device_count(graph)
    with TemporaryDirectory() as folder:
        hosts = Hosts(Path(folder), job.device)
        problem = _executed(hosts.graph(original), hosts.graph(graph), hosts, record, job)
    outcome.executed_equal = not problem
    if problem:
        outcome.differences.append(("executed", problem))


def _executed(original: Graph, graph: Graph, hosts: Hosts, record: Mapping[str, Any], job: Job) -> str:
    """What differs from the reference of `original` when `graph` is run, "" for nothing."""
    random = np.random.default_rng(0)
    most = (
        1 if any(n.dtype.kind == "bool" and n.op in (Op.BITCAST, Op.BUFFER_VIEW) for n in graph.nodes) else 99
    )
    inputs = {name: _contents(memory, random, most) for name, memory in graph.inputs.items()}
    hosts.write_files(lambda memory: _contents(memory, random, most))
    wanted = reference(original, inputs), reference_memory(original, inputs)
    try:
        run = schedule(
            graph, options={**{k: int(v) for k, v in record["flags"].items()}, "copy_on_hazard": 1}
        )
        given = {name: array.copy() for name, array in inputs.items()}
        memory = allocate(run.schedule, given)
        run.load(job.device).run(memory, run.schedule.variables)
        return _result_difference(
            run.schedule, memory, wanted, lambda *result: near(original, inputs, *result)
        )
    except SchedulogError as error:
        return str(error)


def _stages(record: Mapping[str, Any], origin: str) -> tuple[Graph, Graph]:
    if origin == "graph":
        graph = read_record(record, record["case"]).graph
        return graph, graph
    stage = simplified_stage(record, record["case"])
    return stage.tensors.graph, stage.simplified.graph


def _executable(graph: Graph) -> bool:
    """Nothing computed on disk."""
    return runs_on_devices(graph)


def _work(graph: Graph) -> int:
    return sum(
        n.src[0].size if n.op is Op.REDUCE_AXIS else n.size for n in graph.nodes if n.op is not Op.VIEW
    )


def _contents(memory: Buffer, random: np.random.Generator, most: int) -> NDArray[Any]:
    """Values every operation of the dtype is defined on: integers up to `most`, and floats around one.

    The floats are eighths, so that sums are exact in any order and differences show errors, not rounding.
    """
    if memory.dtype.is_float:
        return (random.integers(4, 13, memory.size) / 8).astype(memory.dtype.to_numpy())
    limit = 1 if memory.dtype.kind == "bool" else most
    return random.integers(0, limit + 1, memory.size).astype(memory.dtype.to_numpy())


def _result_difference(
    scheduled: Schedule,
    memory: list[NDArray[Any]],
    wanted: tuple[Mapping[str, NDArray[Any]], Mapping[Buffer, NDArray[Any]]],
    near: Callable[[str, NDArray[Any], NDArray[Any]], bool],
) -> str:
    """What is neither close to what is wanted nor, for an output, as `near` to the exact value as that is."""
    outputs, wanted_memory = wanted
    found = fetch(scheduled, memory)
    for name, value in outputs.items():
        requested = scheduled.graph.sink.src[scheduled.graph.outputs.index(name)]
        if requested.base.op is Op.BUFFER:
            continue  # a plain view follows its memory, which is compared below
        ours, value = bits_as_numbers(requested.base, found[name]), bits_as_numbers(requested.base, value)
        if not close(ours, value) and not near(name, ours, value):
            return f"{name} differs: {_worst(found[name], value)}"
    for buffer, held in zip(scheduled.buffers, memory, strict=True):
        if buffer not in wanted_memory:
            continue
        array = held
        if is_file(buffer.device):
            array = whole_file(buffer).read(ViewStack.of_shape((buffer.size,)), {})
        if not close(array, wanted_memory[buffer]):
            return f"memory {buffer.name} differs: {_worst(array, wanted_memory[buffer])}"
    return ""


def close(found: NDArray[Any], wanted: NDArray[Any]) -> bool:
    """Integers and bools exactly; floats as far as another order of a sum may move them, NaN and infinities alike."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    if not np.issubdtype(found.dtype, np.floating) and found.dtype.name != "bfloat16":
        return bool(np.array_equal(found, wanted))
    relative = {"float64": 1e-9, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}[found.dtype.name]
    one, other = found.astype(np.float64), wanted.astype(np.float64)
    scale = float(np.abs(other[np.isfinite(other)]).max(initial=0.0))
    return bool(np.allclose(one, other, rtol=relative, atol=relative * scale, equal_nan=True))


def _worst(found: NDArray[Any], wanted: NDArray[Any]) -> str:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{found.shape} for {wanted.dtype}{wanted.shape}"
    difference = np.abs(found.astype(np.float64) - wanted.astype(np.float64)).ravel()
    at = int(np.nanargmax(np.where(np.isnan(difference), np.inf, difference))) if difference.size else 0
    return f"{found.ravel()[at]} for {wanted.ravel()[at]} at {at}"


def records(files: Sequence[Path]) -> Iterator[str]:
    for file in files:
        opener = gzip.open if file.suffix == ".gz" else open
        with opener(file, "rt", encoding="utf-8") as lines:
            yield from lines


@dataclass(frozen=True)
class Job:
    """One record to compare; `work` is the most element operations to execute, 0 for none."""

    line: str
    engine: str
    device: str
    work: int
    origin: str


def run_line(job: Job) -> Outcome:
    record = json.loads(job.line)
    try:
        outcome = compare(record, job.engine, job.origin)[0]
        if job.work:
            execute(outcome, record, job)
        return outcome
    except SchedulogError as problem:
        outcome = Outcome(record["case"], order_valid=False)
        outcome.differences += [(what, str(problem)) for what in COMPARISONS]
        return outcome


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The object that --json prints."""
    equal = {what: sum(all(w != what for w, _ in o.differences) for o in outcomes) for what in COMPARISONS}
    return {
        "cases": len(outcomes),
        **equal,
        "executed": sum(o.executed for o in outcomes),
        "executed_equal": sum(o.executed_equal for o in outcomes),
        "executed_on_several": sum(o.executed_equal and o.devices > 1 for o in outcomes),
        "order_valid": sum(o.order_valid for o in outcomes),
        "order_compared": sum(o.order_compared for o in outcomes),
        "seconds": round(sum(o.seconds for o in outcomes), 3),
        "simplify_seconds": round(sum(o.simplify_seconds for o in outcomes), 3),
        "recorded_seconds": round(sum(o.recorded_seconds for o in outcomes), 3),
        "differences": [
            {"case": o.case, "what": what, "reason": reason}
            for o in outcomes
            for what, reason in o.differences
        ],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--from",
        dest="origin",
        choices=("graph", "tensor_graph"),
        default="graph",
        help="where to start: simplified already, or as the tensors made it (then `simplified` and `results` too)",
    )
    parser.add_argument("--engine", default="sqlite")
    parser.add_argument(
        "--execute", action="store_true", help="also run each case and compare with the reference"
    )
    parser.add_argument(
        "--max-work", type=int, default=50_000_000, help="leave out cases with more element operations"
    )
    parser.add_argument("--device", default="c")
    parser.add_argument("--every", type=int, default=1, help="take each Nth record only")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    work = options.max_work if options.execute else 0
    jobs = (
        Job(line, options.engine, options.device, work, options.origin)
        for line in islice(records(options.files), 0, None, options.every)
    )
    with ProcessPoolExecutor(options.jobs) as pool:
        found = summary(list(pool.map(run_line, jobs, chunksize=16)))
    if not options.execute:
        found = {key: value for key, value in found.items() if not key.startswith("executed")}
    if options.origin == "graph":
        found = {k: v for k, v in found.items() if k not in ("simplified", "results", "simplify_seconds")}
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
