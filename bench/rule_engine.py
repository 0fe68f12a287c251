"""Time the rule engine on net-like graphs: `python bench/rule_engine.py [NODES ...]`."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.engines.sqlite import compile_program
from schedulog.scheduler.language.load import link
from schedulog.scheduler.language.syntax import parse_text

Facts = dict[str, list[Row]]

SCATTERED, PADDED = 1, 2
"""Flags of a view's number, which is 8 * size + flags: not contiguous; padded."""


def compose(inner: int, outer: int) -> int:
    """The view `outer` of the view `inner`."""
    return outer | (inner & 7)


def contiguous_size(view: int) -> int:
    """The size of a contiguous view, else -1."""
    return -1 if view & 7 else view >> 3


FUNCTIONS = {
    "compose": compose,
    "contiguous_size": contiguous_size,
    "view_size": lambda view: view >> 3,
    "pads": lambda view: int(bool(view & PADDED)),
}


def net(nodes: int, seed: int = 0) -> Facts:
    """Facts of a net of blocks of six nodes: reduce, normalise, two elementwise, reduce, residual addition.

    13% of the views are not contiguous, 5% are padded, 12% of the operations are unsafe to pad.
    """
    rng = random.Random(seed)
    facts: Facts = {name: [] for name in ("edge", "reduce", "pos", "whole", "size", "unsafe_op")}
    stream, wide, narrow = 0, 64, 8
    for first in range(1, nodes - 5, 6):
        mean, scaled, one, two, product, total = range(first, first + 6)
        links = [(stream, mean, wide), (stream, scaled, wide), (scaled, one, wide), (one, two, wide)]
        links += [(two, product, wide), (product, total, wide), (stream, total, wide)]
        facts["edge"] += [(a, b, 8 * size + _flags(rng)) for a, b, size in links]
        facts["edge"].append((mean, scaled, 8 * wide + SCATTERED))
        for node, size in ((mean, narrow), (product, wide)):
            facts["reduce"].append((node,))
            facts["pos"].append((node, node))
            facts["whole"].append((node, 8 * size))
            facts["size"].append((node, size))
        facts["unsafe_op"] += [(node,) for node in (scaled, one, two, total) if rng.random() < 0.12]
        stream = total
    return {**facts, "node": [(node,) for node in range(stream + 1)], "output": [(stream,)]}


def _flags(rng: random.Random) -> int:
    return (SCATTERED if rng.random() < 0.13 else 0) | (PADDED if rng.random() < 0.05 else 0)


def main(sizes: list[int]) -> None:
    """Print one line of times for each size."""
    rules = Path(__file__).with_name("grouping_core.dl")
    begin = time.perf_counter()
    program = link([parse_text(rules.read_text(encoding="utf-8"), rules.name, "bench")])
    parsed = time.perf_counter()
    compiled = compile_program(program)
    compiled.evaluate({}, FUNCTIONS)
    print(f"parse {1e3 * (parsed - begin):.1f} ms, compile {1e3 * (time.perf_counter() - parsed):.1f} ms")
    for nodes in sizes:
        facts = net(nodes)
        for _ in range(3):
            begin = time.perf_counter()
            model = compiled.evaluate(facts, FUNCTIONS)
            whole = time.perf_counter() - begin
            found = model.statistics
            print(
                f"{nodes:>8} nodes: {1e3 * whole:9.2f} ms, without loading {1e3 * found.seconds:9.2f} ms, "
                f"{found.statements} statements, {found.alternations} alternations, "
                f"{model.count('realize')} realized, {model.count('reach')} reach"
            )


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [10, 1_000, 10_000, 100_000])
