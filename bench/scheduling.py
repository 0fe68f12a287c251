"""Scheduling time against tinygrad 0.10.2, graph by graph in one run: python bench/scheduling.py [--repeat N] [--json].

Needs tinygrad==0.10.2 (the optional `bench` extra). Each recorded graph is rebuilt for both; they are timed in turn, so
that both meet the same machine load. tinygrad gets its tensor graph and makes ready kernels of it; schedulog gets the
simplified graph and makes facts, decisions, kernels and their order. A Python loop of ten million additions, timed in
the same run, says how fast the machine is.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from schedulog.facts.record import read_record
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
    """Seconds for a Python loop of ten million additions."""

    def loop() -> None:
        total = 0
        for i in range(10_000_000):
            total += i

    return seconds(loop)


def compare(record: Mapping[str, Any], scheduler: Scheduler, repeat: int) -> dict[str, Any]:
    from tinygrad.engine.schedule import create_schedule_with_vars

    ours, theirs = [], []
    options = {k: int(v) for k, v in record["flags"].items()}
    for _ in range(repeat):
        graph = read_record(record).graph
        ours.append(seconds(lambda: scheduler.schedule(scheduler.decide(graph, options))))  # noqa: B023
        sink = tinygrad_sink(record)
        theirs.append(seconds(lambda: create_schedule_with_vars(sink)))  # noqa: B023
    return {
        "case": record["case"],
        "nodes": len(record["graph"]),
        "schedulog_s": round(statistics.median(ours), 4),
        "tinygrad_s": round(statistics.median(theirs), 4),
        "ratio": round(statistics.median(a / b for a, b in zip(ours, theirs, strict=True)), 3),
    }


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with gzip.open(RECORDS, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    scheduler = Scheduler(load_program(["classic"]))
    rows = [compare(r, scheduler, options.repeat) for r in records if r["case"] in CASES]
    found = {
        "ten_million_additions_s": round(machine(), 3),
        "small_graph_ms": round(small_graph(records, scheduler, options.repeat), 2),
        "graphs": rows,
    }
    if options.json:
        print(json.dumps(found))
        return 0
    print(
        f"ten million additions {found['ten_million_additions_s']} s; ten-node graph {found['small_graph_ms']} ms"
    )
    print(f"{'graph':36} {'nodes':>6} {'schedulog':>10} {'tinygrad':>10} {'ratio':>6}")
    for row in rows:
        print(
            f"{row['case']:36} {row['nodes']:6} {row['schedulog_s']:9.4f}s {row['tinygrad_s']:9.4f}s {row['ratio']:6.3f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
