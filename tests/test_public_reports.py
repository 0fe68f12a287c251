"""Programs that other schedulers and compilers got wrong, by the public report that tells of it.

Each is written anew for this library and gives pairs of what it computes and what numpy does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from schedulog import pending
from schedulog.combine import concatenate, where
from schedulog.facts.graph import graph_of
from schedulog.facts.node import Node
from schedulog.run import schedule
from schedulog.runtimes.c import CDevice
from schedulog.tensor import Tensor

Array = NDArray[Any]
Pairs = list[tuple[Tensor, Any]]
Program = Callable[[], Pairs]

NO_COMPILER = CDevice().missing()
RULES: Mapping[str, tuple[tuple[str, ...], Mapping[str, int]]] = {
    "classic": (("classic",), {"copy_on_hazard": 1}),
    "core": ((), {}),
    "fused": (("classic",), {"copy_on_hazard": 1, "FUSE_ARANGE": 1, "DONT_REALIZE_EXPAND": 1}),
}


def counted(*shape: int) -> Array:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def old_and_new_content() -> Pairs:
    """tinygrad 3955: a value of the old content beside the new one."""
    a, ones = Tensor(counted(4)), counted(4)
    tripled = a * 3
    a.assign(np.full(4, 2, np.float32))
    return [(a + (tripled - 1), 2 + (ones * 3 - 1)), (a, np.full(4, 2))]


def reads_between_writes() -> Pairs:
    """tinygrad 14153: each sum means the content of its moment, whichever is asked for first."""
    t = Tensor(np.zeros(6, np.float32))
    before = t.sum()
    t[:3] = 1
    between = t.sum()
    t[3:] = 2
    return [(t.sum(), 9), (between, 3), (before, 0)]


def crossing_updates() -> Pairs:
    """tinygrad 4298: two memories, each updated from a reduction over the other."""
    x, y = Tensor(np.full((4, 4), 10, np.float32)), Tensor(np.full((4, 4), 20, np.float32))
    a, b = Tensor(np.full(4, 1, np.float32)), Tensor(np.full(4, 2, np.float32))
    over, under = (x - b).sum(1), (y - a).sum(1)
    a.assign(over * a)
    b.assign(under * b)
    a.realize(b)
    return [(a, np.full(4, 32)), (b, np.full(4, 152))]


def shift_in_place() -> Pairs:
    """pytorch 197829: every row takes the row before it."""
    x, rows = Tensor(counted(3, 16)), counted(3, 16)
    x[1:] = x[:-1]
    rows[1:] = rows[:-1].copy()
    return [(x, rows)]


def copy_then_write_to_the_source() -> Pairs:
    """pytorch 198131: the copy has what the source held when it was made."""
    source, target = Tensor(counted(3, 4)), Tensor(np.zeros((3, 4), np.float32))
    target.assign(source * 1)
    source.assign(source + 1)
    source.realize(target)
    return [(target, counted(3, 4)), (source, counted(3, 4) + 1)]


def bits_read_before_a_write() -> Pairs:
    """pytorch 198101: what reads memory as another type reads it before it is written."""
    numbers = np.arange(-12, 12).reshape(4, 6)
    x = Tensor(numbers)
    halves = x.bitcast(np.int32) * 2
    x[:, 2:5] = 2
    return [(halves.bitcast(np.int64), (numbers.view(np.int32) * 2).view(np.int64))]


def replaced_rows_then_zeros() -> Pairs:
    """pytorch 198094: a value made of parts is no look at the memory that is cleared afterwards."""
    x, rows = Tensor(counted(4, 6)), counted(4, 6)
    y = concatenate([x[:1], Tensor(-counted(2, 6)), x[3:]])
    x.assign(0)
    rows[1:3] = -counted(2, 6)
    return [(x, np.zeros((4, 6))), (y, rows)]


def padded_prefix_sums() -> Pairs:
    """pytorch 189895: prefix sums with a zero before them, and the largest step."""
    lengths = np.array([3, 0, 5, 2], np.int32)
    sums = (Tensor(lengths).reshape(1, 4) * np.tri(4, dtype=np.int32)).sum(1).pad([(1, 0)])
    right = np.concatenate([[0], np.cumsum(lengths)])
    return [(sums, right), ((sums[1:] - sums[:-1]).max(), 5)]


def least_of_positive_bytes() -> Pairs:
    """pytorch 191499: the least of 18 positive bytes is none of what a vector is filled up with."""
    numbers = np.array([5, 1, 100, 3, 7, 8, 9, 13, 100, 120, 127, 2, 6, 4, 11, 12, 90, 80])
    kinds: list[Any] = [np.int8, np.uint8]
    least = [(Tensor(numbers.astype(kind)).min(), 1) for kind in kinds]
    return [*least, (Tensor((-numbers).astype(np.int8)).max(), -1)]


def rounding_to_half_and_back() -> Pairs:
    """pytorch 185337: a cast to half precision and back rounds."""
    x = counted(5, 4) / np.float32(7)
    return [(Tensor(x).astype(np.float16).astype(np.float32), x.astype(np.float16).astype(np.float32))]


def products_that_cancel() -> Pairs:
    """jax 18507, xla 41579: no fused multiply-add where products are equal."""
    a, b = np.full(9, 2396747, np.float32), np.full(9, 7, np.float32)
    return [(Tensor(a) * Tensor(b) - Tensor(a.copy()) * Tensor(b.copy()), np.zeros(9))]


def large_and_small() -> Pairs:
    """jax 8022: sums are taken in the order they are written in."""
    x, y = Tensor(np.full(4, 1e30, np.float32)), Tensor(np.ones(4, np.float32))
    return [(x - (x + y) + y, np.ones(4))]


def zero_times_infinity() -> Pairs:
    """tilelang 2638: x * 0 and x - x are NaN where x is not finite."""
    x = np.array([1, np.inf, np.nan, -0.0], np.float32)
    t = Tensor(x)
    with np.errstate(invalid="ignore"):
        return [(t * 0.0, x * 0), (t - t, x - x), (where(t > 0, t, 0.0), np.where(x > 0, x, 0))]


def divisors_below_zero() -> Pairs:
    """halide 2949, tvm 2308: products and sums under a division that rounds down."""
    x = np.arange(-128, 128, dtype=np.int32)
    t = Tensor(x)
    return [((t * 43 + 989) // -222, (x * 43 + 989) // -222), ((t * 48 + 241) // 16, (x * 48 + 241) // 16)]


def bytes_that_wrap() -> Pairs:
    """halide 3818: a sum of bytes may be less than what is added to."""
    x = np.arange(256, dtype=np.uint8)
    t, least = Tensor(x), np.maximum(x, np.uint8(247))
    return [(t.maximum(t.maximum(247) + 87), np.maximum(x, least + np.uint8(87))), (t + 1 > t, x < 255)]


PROGRAMS: Sequence[Program] = (
    old_and_new_content, reads_between_writes, crossing_updates, shift_in_place, copy_then_write_to_the_source,
    bits_read_before_a_write, replaced_rows_then_zeros, padded_prefix_sums, least_of_positive_bytes,
    rounding_to_half_and_back, products_that_cancel, large_and_small, zero_times_infinity, divisors_below_zero,
    bytes_that_wrap,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(
    "device",
    ["numpy", pytest.param("c", marks=pytest.mark.skipif(NO_COMPILER is not None, reason=NO_COMPILER or ""))],
)
def test_programs_of_public_reports(
    program: Program, rules: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packs, options = RULES[rules]

    def by_rules(nodes: Sequence[Node], _: str | None) -> dict[Node, Array]:
        graph = graph_of(nodes)
        values = schedule(graph, packs, options=options).execute({}, device)
        return {n: values[name] for n, name in zip(nodes, graph.outputs, strict=True)}

    monkeypatch.setattr(pending, "run", by_rules)
    for found, right in program():
        np.testing.assert_array_equal(found.numpy(), right)
