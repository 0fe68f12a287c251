"""What the rows of the table `refusal` cost, against the scheduling they are about, graph by graph and in pairs.

    python bench/refusals.py [--records FILE...] [--largest N] [--repeat N]

Scheduling is decisions, kernels and their order from a simplified graph; times are those of the processor. A run that is
saved looks at all derivations in any case, for its decisions; the refusals come on top of that. Exit status 1 if they take
more than a fifth of the scheduling.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from scheduling import RECORDS, read

from schedulog.facts.record import read_record
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.metadata import KINDS
from schedulog.scheduler.schedule import Scheduler
from schedulog.scheduler.why.refusals import refusals
from schedulog.scheduler.why.support import derivations

_MOST: Final = 0.2


def main() -> int:
    """Measure, and print a line for each graph."""
    parser = argparse.ArgumentParser(description="What the refusals cost, against the scheduling.")
    parser.add_argument("--records", type=Path, nargs="+", default=[RECORDS])
    parser.add_argument("--largest", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    records = [record for file in options.records for record in read(file)]
    scheduler = Scheduler(load_program(["classic"]))
    plain = [record for record in records if "+" not in record["case"] and record["error"] is None]
    largest = sorted(plain, key=lambda record: -len(record["graph"]))[: options.largest]
    shares = [_measured(record, scheduler, options.repeat) for record in largest]
    return int(max(shares, default=0.0) > _MOST)


def _measured(record: Mapping[str, Any], scheduler: Scheduler, repeat: int) -> float:
    """The median of the pairs' shares, each scheduling with the refusals that follow it."""
    graph, options = read_record(record).graph, {k: int(v) for k, v in record["flags"].items()}
    pairs: list[tuple[float, float]] = []
    rows = 0
    for _ in range(repeat):
        gc.collect()
        begin = time.process_time()
        decisions = scheduler.decide(graph, options)
        scheduler.schedule(decisions)
        scheduled = time.process_time() - begin
        known = derivations(decisions.model, KINDS)
        begin = time.process_time()
        rows = sum(1 for _ in refusals(decisions, known))
        pairs.append((scheduled, time.process_time() - begin))
    share = statistics.median(more / all_ for all_, more in pairs)
    before, more = (statistics.median(column) * 1e3 for column in zip(*pairs, strict=True))
    print(
        f"{share:6.1%}  {before:8.1f} ms + {more:6.1f} ms  {rows:6} rows  {len(graph.nodes):6} nodes  {record['case']}"
    )
    return share


if __name__ == "__main__":
    sys.exit(main())
