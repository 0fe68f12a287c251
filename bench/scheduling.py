"""Scheduling time against tinygrad 0.10.2, graph by graph in one run.

    python bench/scheduling.py [--from graph|tensor_graph] [--records FILE...] [--largest N] [--repeat N] [--json]

Needs tinygrad==0.10.2 (the optional `bench` extra). Each recorded graph is rebuilt for both; they are timed in turn, so
that both meet the same machine load. tinygrad gets its tensor graph and makes ready kernels of it. schedulog gets the
simplified graph and makes facts, decisions, kernels and their order. With `--from tensor_graph` both start from the
record, since schedulog makes views while it makes nodes and tinygrad while it schedules: both times cover making the
graph, simplifying it, and all that follows. A Python loop of ten million additions says how fast the machine is, a block repeated 1, 4 and 16 times how
the time grows.
"""

# tinygrad is not among what `make types` sets up: it is compared with, never imported by schedulog.
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import gc
import gzip
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import float32
from schedulog.facts.extract import extract
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.ops import Op
from schedulog.facts.record import read_record
from schedulog.facts.simplify import simplify
from schedulog.scheduler.engines.sqlite import CompiledProgram, compile_program
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.schedule import Scheduler

RECORDS = Path(__file__).resolve().parent.parent / "tests" / "data" / "recorded.jsonl.gz"
CASES = ("models::resnet18_train_sgd#0", "models::gpt_small_train_adamw#0", "models::unet_block_infer#0")
SMALL_NODES = range(9, 13)


def tinygrad_sink(record: Mapping[str, Any]) -> Any:
    """The recorded tensor graph as tinygrad's own nodes."""
    from tinygrad.dtype import DTYPES_DICT, ImageDType, dtypes
    from tinygrad.ops import Ops, UOp

    names = {d.name: d for d in DTYPES_DICT.values()} | {"void": dtypes.void}
    made: dict[int, Any] = {}
    for row in record["tensor_graph"]:
        src = tuple(made[i] for i in row["src"])
        arg = row.get("arg") or {}
        op = Ops[row["op"]]
        match row["op"]:
            case "DEVICE":
                value: Any = arg["device"]
            case "UNIQUE":
                value = arg["num"]
            case "BUFFER":
                value = arg["size"]
            case "CONST":
                inner = arg["value"]
                value = float(inner["float"]) if isinstance(inner, dict) else inner
            case "REDUCE_AXIS":
                value = (Ops[arg["alu"]], tuple(arg["axes"]))
            case "RESHAPE" | "EXPAND":
                value = tuple(arg["shape"])
            case "PERMUTE":
                value = tuple(arg["order"])
            case "PAD":
                value = tuple(map(tuple, arg["pad"]))
            case "SHRINK":
                value = tuple(map(tuple, arg["range"]))
            case "FLIP":
                value = tuple(arg["flip"])
            case "VIEW":
                value = _tracker(arg["view"])
            case "COPY":
                value = bool(arg.get("clone"))
            case _:
                value = None
        made[row["id"]] = UOp(op, names[row["dtype"]], src, value)
    assert not any(isinstance(u.dtype, ImageDType) for u in made.values())
    return made[record["tensor_graph"][-1]["id"]]


def _tracker(views: list[dict[str, Any]]) -> Any:
    from tinygrad.shape.shapetracker import ShapeTracker
    from tinygrad.shape.view import View

    return ShapeTracker(
        tuple(
            View.create(
                tuple(v["shape"]),
                tuple(v["strides"]),
                v["offset"],
                None if v["mask"] is None else tuple(map(tuple, v["mask"])),
            )
            for v in views
        )
    )


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def machine() -> float:
    """Seconds for a Python loop of ten million additions, as a script runs it (its variables are global)."""
    loop = compile("x = 0\nfor i in range(10_000_000): x += i", "loop", "exec")
    return seconds(lambda: exec(loop, {}))  # noqa: S102


def compare(record: Mapping[str, Any], scheduler: Scheduler, stage: str, repeat: int) -> dict[str, Any]:
    from tinygrad.engine.schedule import create_schedule_with_vars

    ours, theirs = [], []
    for _ in range(repeat):
        ours.append(seconds(whole(record, scheduler, stage)))
        if stage == "graph":
            sink = tinygrad_sink(record)
            theirs.append(seconds(lambda: create_schedule_with_vars(sink)))  # noqa: B023
        else:
            theirs.append(seconds(lambda: create_schedule_with_vars(tinygrad_sink(record))))
    return {
        "case": record["case"],
        "nodes": len(record[stage]),
        "schedulog_s": round(statistics.median(ours), 4),
        "tinygrad_s": round(statistics.median(theirs), 4),
        "ratio": round(statistics.median(a / b for a, b in zip(ours, theirs, strict=True)), 3),
    }


def whole(record: Mapping[str, Any], scheduler: Scheduler, stage: str) -> Callable[[], object]:
    """What is timed: from the stage of the record to kernels in order."""
    options = {k: int(v) for k, v in record["flags"].items()}
    if stage == "graph":
        graph = read_record(record).graph
        return lambda: scheduler.schedule(scheduler.decide(graph, options))

    def from_tensors() -> object:
        simplified = simplify(read_record(record, stage="tensor_graph").graph).graph
        return scheduler.schedule(scheduler.decide(simplified, options))

    return from_tensors


def growth(scheduler: Scheduler, repeat: int) -> list[dict[str, Any]]:
    """A block of matmul, softmax and residual, repeated: all of scheduling, and the rules alone."""
    rows, compiled = [], compile_program(load_program(["classic"]))
    for times in (1, 4, 16, 64, 700, 7000):
        graph = repeated_block(times)
        whole = [seconds(partial(scheduled, scheduler, graph)) for _ in range(repeat)]
        rules = [rule_seconds(compiled, graph) for _ in range(repeat)]
        nodes = len(graph.nodes)
        rows.append(
            {
                "blocks": times,
                "nodes": nodes,
                "us_per_node": round(1e6 * statistics.median(whole) / nodes, 1),
                "rules_s": round(statistics.median(rules), 4),
            }
        )
    return rows


def scheduled(scheduler: Scheduler, graph: Graph) -> object:
    """All of scheduling: simplified, decided, in order."""
    return scheduler.schedule(scheduler.decide(simplify(graph).graph))


def rule_seconds(rules: CompiledProgram, graph: Graph) -> float:
    """Seconds to load the facts into the engine and evaluate all rules."""
    symbols = rules.symbols.fork()
    facts = extract(graph, {}, symbols.intern)
    return seconds(lambda: rules.evaluate(facts.rows, facts.looks.functions(), symbols))


def repeated_block(times: int) -> Graph:
    size = (64, 64)
    x = build.buffer(Buffer(64 * 64, float32), size)
    for _ in range(times):
        weight = build.buffer(Buffer(64 * 64, float32), size)
        left = build.expand(build.reshape(x, (64, 1, 64)), (64, 64, 64))
        right = build.expand(build.reshape(build.permute(weight, (1, 0)), (1, 64, 64)), (64, 64, 64))
        product = build.reshape(build.reduce("ADD", build.alu(Op.MUL, left, right), (2,)), size)
        top = build.expand(build.reduce("MAX", product, (1,)), size)
        power = build.alu(Op.EXP, build.alu(Op.SUB, product, top))
        total = build.expand(build.reduce("ADD", power, (1,)), size)
        x = build.alu(Op.ADD, x, build.alu(Op.FDIV, power, total))
    return graph_of([x])


def small_graph(records: list[dict[str, Any]], scheduler: Scheduler, repeat: int) -> float:
    """Milliseconds from facts to ordered kernels for a graph of about ten nodes, warm."""
    record = next(
        r for r in records if len(read_record(r).graph.nodes) in SMALL_NODES and len(r["kernels"]) > 1
    )
    graph = read_record(record).graph
    scheduler.schedule(scheduler.decide(graph))
    return 1e3 * statistics.median(
        seconds(lambda: scheduler.schedule(scheduler.decide(graph))) for _ in range(5 * repeat)
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="stage", choices=("graph", "tensor_graph"), default="graph")
    parser.add_argument("--records", nargs="+", type=Path, default=[RECORDS])
    parser.add_argument("--largest", type=int, help="the N largest plain graphs of the records")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    records = [record for file in options.records for record in read(file)]
    scheduler = Scheduler(load_program(["classic"]))
    found = {
        "ten_million_additions_s": round(machine(), 3),
        "small_graph_ms": round(small_graph(read(RECORDS), scheduler, options.repeat), 2),
        "graphs": [
            compare(r, scheduler, options.stage, options.repeat) for r in chosen(records, options.largest)
        ],
        "growth": growth(scheduler, options.repeat),
    }
    print(json.dumps(found)) if options.json else show(found)
    return 0


def read(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def chosen(records: list[dict[str, Any]], largest: int | None) -> list[dict[str, Any]]:
    if largest is None:
        return [r for r in records if r["case"] in CASES]
    plain = [r for r in records if "+" not in r["case"] and r["error"] is None and not images(r)]
    ranked = sorted(plain, key=lambda r: -len(r["tensor_graph"]))
    return list(islice(filter(rebuilt, ranked), largest))


def rebuilt(record: Mapping[str, Any]) -> bool:
    """Whether tinygrad schedules what is rebuilt of the record; one is left out aloud, never in silence."""
    from tinygrad.engine.schedule import create_schedule_with_vars

    try:
        create_schedule_with_vars(tinygrad_sink(record))
    except (RuntimeError, AssertionError) as problem:
        print(f"{record['case']} is left out: tinygrad raises {str(problem)[:60]!r}", file=sys.stderr)
        return False
    return True


def images(record: Mapping[str, Any]) -> bool:
    return any("image" in row["dtype"] for row in record["tensor_graph"])


def show(found: Mapping[str, Any]) -> None:
    print(
        f"ten million additions {found['ten_million_additions_s']} s; ten-node graph {found['small_graph_ms']} ms"
    )
    print(f"{'graph':36} {'nodes':>6} {'schedulog':>10} {'tinygrad':>10} {'ratio':>6}")
    for row in found["graphs"]:
        times = f"{row['schedulog_s']:9.4f}s {row['tinygrad_s']:9.4f}s {row['ratio']:6.3f}"
        print(f"{row['case'][:36]:36} {row['nodes']:6} {times}")
    for row in found["growth"]:
        cost = f"{row['us_per_node']:8.1f} us a node, the rules alone {row['rules_s']:.4f} s"
        print(f"{row['blocks']:5} blocks {row['nodes']:6} nodes {cost}")


if __name__ == "__main__":
    sys.exit(main())
