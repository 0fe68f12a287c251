"""The C device computes what numpy computes, reads and writes nothing else, and copes with compilers and caches."""

from __future__ import annotations

import ctypes
import itertools
import math
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from whole import whole_schedule

from schedulog.codegen.source import program_code
from schedulog.errors import DeviceError
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import SCALARS, DType, bfloat16, bool_, float32, int64
from schedulog.facts.graph import graph_of
from schedulog.facts.node import Node, ReduceOp, bind, node, topological
from schedulog.facts.ops import COMPARISON, Op
from schedulog.facts.symbolic import Variable, bound_value
from schedulog.facts.view import ViewStack
from schedulog.run import schedule
from schedulog.runtimes import c_compiler, default_device, default_note, device_names, devices, open_device
from schedulog.runtimes.c import CDevice
from schedulog.runtimes.c_cache import Cache
from schedulog.runtimes.evaluate import evaluate
from schedulog.runtimes.null import NullDevice
from schedulog.scheduler.kernels import Kernel, Read, Schedule

MISSING = CDevice().missing()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))

Array = NDArray[Any]

LIBRARY = (Op.EXP2, Op.LOG2, Op.EXP, Op.LOG, Op.SIN, Op.COS, Op.TANH, Op.ERF)
TOLERANCE = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-3, "float64": 1e-6}
EXPENSIVE = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
]
EXACT_UP_TO = {"float16": 2048, "bfloat16": 256, "float32": 1 << 24, "float64": 1 << 53}


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> CDevice:
    """A device with an empty cache of its own."""
    return device_with_cache(tmp_path_factory.mktemp("cache"))


def device_with_cache(folder: Path, **options: Any) -> CDevice:
    made = CDevice(**options)
    before = os.environ.get("SCHEDULOG_CACHE")
    os.environ["SCHEDULOG_CACHE"] = str(folder)
    try:
        assert made.warning in ("", made.warning)  # opens the cache while the variable is set
    finally:
        if before is None:
            del os.environ["SCHEDULOG_CACHE"]
        else:
            os.environ["SCHEDULOG_CACHE"] = before
    return made


def memory_of(schedule: Schedule) -> list[Array]:
    """Copies of the contents; what has none is filled with a number that should be overwritten."""
    return [
        np.full(b.size, 77).astype(b.dtype.to_numpy()) if b.array is None else b.array.copy()
        for b in schedule.buffers
    ]


def run_all(device: CDevice, values: Sequence[Node], variables: dict[str, int] | None = None) -> list[Array]:
    """The values, each computed by one kernel."""
    schedule = whole_schedule(values)
    memory = memory_of(schedule)
    device.load(schedule).run(memory, variables or {})
    slot = {buffer: i for i, buffer in enumerate(schedule.buffers)}
    shapes = [[bound_value(s) for s in k.value.shape] for k in schedule.kernels]
    return [memory[slot[k.buffers[0]]].reshape(s) for k, s in zip(schedule.kernels, shapes, strict=True)]


def reference(value: Node) -> Array:
    given_ = {n: n.arg.array for n in topological((value,)) if n.op is Op.BUFFER}
    with np.errstate(all="ignore"):
        return evaluate([value], given_, {})[0]


def assert_same(got: Array, want: Array, tolerance: float = 0.0, about: object = "") -> None:
    assert got.dtype == want.dtype
    if got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want, err_msg=str(about))
    else:
        np.testing.assert_allclose(
            got.astype(np.float64),
            want.astype(np.float64),
            rtol=tolerance,
            atol=tolerance,
            err_msg=str(about),
        )


# every operation on every dtype, on the numbers where they go wrong


def special(dtype: DType) -> Array:
    """Numbers at which arithmetic, casts and shifts change their mind."""
    if dtype.kind == "bool":
        return np.array([False, True, True, False])
    if dtype.is_integer:
        low = 0 if dtype.kind == "uint" else -(1 << (dtype.bits - 1))
        high = (1 << dtype.bits) - 1 + low
        around = [low, low + 1, high, high - 1, 0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 100]
        return np.array([*around, *([-1, -2, -7] if low else [])], dtype=dtype.to_numpy())
    numbers = [
        0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.5,
        -2.5,
        1e-8,
        6e-8,
        3e-5,
        65503.0,
        65519.9,
        65520.0,
        1e5,
        -1e5,
        1 / 3,
    ]
    edges = [
        2.0**31,
        -(2.0**31) - 1,
        2.0**63,
        -(2.0**63),
        2.0**64,
        1e30,
        math.inf,
        -math.inf,
        math.nan,
        254.7,
        255.9,
    ]
    with np.errstate(over="ignore"):
        return np.array([*numbers, *edges, 3.0, -7.0]).astype(dtype.to_numpy())


def pairs(dtype: DType) -> tuple[Node, Node]:
    """Every special number with every other."""
    values = special(dtype)
    return build.array(np.repeat(values, values.size)), build.array(np.tile(values, values.size))


def test_every_cast(device: CDevice) -> None:
    values = [
        build.cast(build.array(special(source)), target)
        for source, target in itertools.permutations(SCALARS, 2)
    ]
    for value, got in zip(values, run_all(device, values), strict=True):
        assert_same(got, reference(value), 0.0, f"{value.src[0].dtype} -> {value.dtype}")


def test_every_bitcast_of_integers(device: CDevice) -> None:
    values = [
        build.bitcast(build.array(special(source)), target)
        for source, target in itertools.permutations([d for d in SCALARS if not d.is_float], 2)
        if source.bits == target.bits
    ]
    for value, got in zip(values, run_all(device, values), strict=True):
        assert_same(got, reference(value), 0.0, f"{value.src[0].dtype} as {value.dtype}")


@pytest.mark.parametrize("dtype", [d for d in SCALARS if d.is_float], ids=str)
def test_bits_of_floats_there_and_back(device: CDevice, dtype: DType) -> None:
    unsigned = next(d for d in SCALARS if d.kind == "uint" and d.bits == dtype.bits)
    numbers = np.array([0.0, -0.0, 1.5, -2.25, np.inf, 1e-7, 1e-40, 65504.0]).astype(dtype.to_numpy())
    bits = numbers.view(unsigned.to_numpy())
    there, back = run_all(
        device, [build.bitcast(build.array(numbers), unsigned), build.bitcast(build.array(bits), dtype)]
    )
    np.testing.assert_array_equal(there, bits)
    np.testing.assert_array_equal(back.view(unsigned.to_numpy()), bits)


INTEGER_OPS = (
    Op.ADD, Op.SUB, Op.MUL, Op.IDIV, Op.MOD, Op.MAX, Op.CMPLT, Op.CMPNE, Op.CMPEQ, Op.XOR, Op.OR, Op.AND, Op.SHL,
    Op.SHR,
)  # fmt: skip
FLOAT_OPS = (Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.IDIV, Op.MOD, Op.MAX, Op.CMPLT, Op.CMPNE, Op.CMPEQ)


def test_every_binary_operation(device: CDevice) -> None:
    """Wrapping, division by zero and by -1, shifts past the width, NaN: exactly as numpy, op by op."""
    values = []
    for dtype in SCALARS:
        first, second = pairs(dtype)
        values += [build.alu(op, first, second) for op in (FLOAT_OPS if dtype.is_float else INTEGER_OPS)]
    for value, got in zip(values, run_all(device, values), strict=True):
        assert_same(got, reference(value), 0.0, f"{value.op} of {value.src[0].dtype}")


def test_every_unary_operation(device: CDevice) -> None:
    values = []
    for dtype in SCALARS:
        x = build.array(special(dtype))
        ops = (Op.NEG, Op.SQRT, Op.RECIP, Op.FLOOR, *LIBRARY) if dtype.is_float else (Op.NEG,)
        values += [build.alu(op, x) for op in ops]
    for value, got in zip(values, run_all(device, values), strict=True):
        tolerance = TOLERANCE[value.dtype.name] if value.op in LIBRARY else 0.0
        want = reference(value)
        if value.op in (
            Op.SIN,
            Op.COS,
        ):  # large arguments differ between libraries in float16 only by rounding
            keep = np.abs(value.src[0].arg.array.astype(float)) < 1e6
            got, want = got[keep], want[keep]
        assert_same(got, want, tolerance, f"{value.op} of {value.dtype}")


def test_powers(device: CDevice) -> None:
    small = [d for d in SCALARS if d.is_integer and d.name != "uint64"]
    values = [build.alu(Op.POW, *pairs(dtype)) for dtype in small]
    base = build.array(np.array([0.5, 2.0, 3.0, 10.0, 1.0, 0.0], np.float64))
    values.append(build.alu(Op.POW, base, build.array(np.array([2.0, -1.0, 0.5, 3.0, np.nan, 0.0]))))
    for value, got in zip(values, run_all(device, values), strict=True):
        assert_same(got, reference(value), 1e-12 if value.dtype.is_float else 0.0, value)


def test_where_and_multiply_add(device: CDevice) -> None:
    values = []
    for dtype in SCALARS:
        first, second = pairs(dtype)
        condition = build.alu(Op.CMPLT, first, second)
        values += [build.alu(Op.WHERE, condition, first, second), build.alu(Op.MULACC, first, second, first)]
    for value, got in zip(values, run_all(device, values), strict=True):
        assert_same(got, reference(value), 0.0, f"{value.op} of {value.dtype}")


def test_threefry_is_the_published_generator(device: CDevice) -> None:
    """Known answers of Threefry-2x32-20 (Random123): zeros, ones, and digits of pi."""
    counters = np.array([0, (1 << 64) - 1, 0x85A308D3_243F6A88], np.uint64)
    keys = np.array([0, (1 << 64) - 1, 0x03707344_13198A2E], np.uint64)
    [got] = run_all(device, [build.alu(Op.THREEFRY, build.array(counters), build.array(keys))])
    assert [hex(number) for number in got] == [
        "0x99ba4efe6b200159",
        "0xbb002be71cb996fc",
        "0x483df7a0c4923a9c",
    ]


@pytest.mark.parametrize("op", ["ADD", "MUL", "MAX"])
def test_reductions_of_every_dtype(device: CDevice, op: Any) -> None:
    """Along rows, columns, both and a middle axis; integers wrap, halves round once, NaN wins a maximum."""
    rng = np.random.default_rng(3)
    values = []
    for dtype in SCALARS:
        low = 0 if dtype.kind in ("uint", "bool") else -2
        x = build.array(rng.integers(low, 3, (5, 40, 6)).astype(dtype.to_numpy()))
        values += [build.reduce(op, x, axes) for axes in [(0,), (1,), (2,), (0, 1), (0, 1, 2), (0, 2)]]
    nan = np.arange(200, dtype=np.float32).reshape(2, 100)
    nan[1, 70] = np.nan
    values.append(build.reduce(op, build.array(nan), (1,)))
    for value, got in zip(values, run_all(device, values), strict=True):
        inexact = op == "MUL" or np.isnan(reference(value).astype(float)).any()
        tolerance = TOLERANCE[value.dtype.name] if value.dtype.is_float and inexact else 0.0
        assert_same(got, reference(value), tolerance, value)


def test_half_sums_round_once(device: CDevice) -> None:
    """2048 ones and a thousand more: float16 steps would stick at 2048."""
    for dtype in (np.float16, bfloat16.to_numpy()):
        x = build.array(np.ones(3048).astype(dtype))
        [got] = run_all(device, [build.reduce("ADD", x, (0,))])
        assert got[0] == np.array(3048.0).astype(dtype)


def test_constants(device: CDevice) -> None:
    numbers: dict[str, list[float]] = {
        "float": [math.nan, math.inf, -math.inf, -0.0, 1e-320, 0.1],
        "int": [-(1 << 63), 5],
        "uint": [255, 0],
    }
    values = [
        build.const(number, dtype, (2,))
        for dtype in SCALARS
        for number in numbers.get(dtype.kind, [True, False])
        if not (dtype.kind == "int" and number < -(1 << (dtype.bits - 1)))
    ]
    for value, got in zip(values, run_all(device, values), strict=True):
        want = reference(value)
        assert_same(got, want, 0.0, value)
        if value.dtype.is_float:
            np.testing.assert_array_equal(np.signbit(got.astype(float)), np.signbit(want.astype(float)))


def test_zero_times_nan_outside_a_mask_is_the_graphs_meaning(device: CDevice) -> None:
    """A zero from padding times NaN is NaN; NaN computed outside a mask is 0; the order of the two decides."""
    x = build.array(np.ones(3, np.float32))
    nan = build.const(math.nan, float32, (5,))
    padded_first = build.alu(Op.MUL, build.pad(x, ((1, 1),)), nan)
    padded_last = build.pad(build.alu(Op.LOG, build.alu(Op.SUB, x, x)), ((1, 1),))
    first, last = run_all(device, [padded_first, padded_last])
    assert np.isnan(first).all()
    np.testing.assert_array_equal(last, [0, -np.inf, -np.inf, -np.inf, 0])


# random graphs


@dataclass(frozen=True)
class Candidate:
    """A random value and how far the device may be from numpy: `exact` 3 for the same bits, 2 for the same numbers and
    signs of zero, 1 for the same numbers, 0 for a tolerance. `bound` limits whole numbers, inf if they are not whole."""

    node: Node
    exact: int
    bound: float


class RandomGraph:
    """Chains of movements, arithmetic and reductions over small arrays, with masks, broadcasts and casts."""

    def __init__(self, rng: random.Random, steps: int) -> None:
        self.rng = rng
        self.special = rng.random() < 0.4
        dtypes = rng.sample(SCALARS, 2)
        self.pool = [self.leaf(rng.choice(dtypes)) for _ in range(3)]
        for _ in range(steps):
            found = self.step(rng.choice(self.pool[-4:]))
            if found is not None and found.node.size <= 4000:
                self.pool.append(found)

    @property
    def result(self) -> Candidate:
        return self.pool[-1]

    def leaf(self, dtype: DType) -> Candidate:
        shape = self.shape()
        while math.prod(shape) > 1500:
            shape = self.shape()
        count, odd = math.prod(shape), special(dtype).tolist()
        low = 0 if dtype.kind in ("uint", "bool") else -6
        plain = [self.rng.randint(low, 1 if dtype.kind == "bool" else 6) for _ in range(count)]
        mixed = [
            self.rng.choice(odd) if self.special and self.rng.random() < 0.2 else number for number in plain
        ]
        with np.errstate(all="ignore"):
            values = (
                np.array(mixed).astype(dtype.to_numpy())
                if dtype.is_float
                else np.array(mixed, dtype.to_numpy())
            )
        return Candidate(build.array(values.reshape(shape)), 3, math.inf if self.special else 6)

    def shape(self) -> tuple[int, ...]:
        return tuple(
            self.rng.choice([1, 2, 3, 4, 5, 7, 8, 33, 65, 130][: self.rng.choice([8, 10])])
            for _ in range(self.rng.randint(1, 3))
        )

    def step(self, value: Candidate) -> Candidate | None:
        kind = self.rng.choices(
            ["move", "reduce", "cast", "unary", "binary", "where", "multiply"], [6, 4, 3, 2, 5, 1, 1]
        )
        return getattr(self, kind[0])(value)  # type: ignore[no-any-return]

    def move(self, value: Candidate) -> Candidate:
        moved = value.node
        for _ in range(self.rng.randint(1, 3)):
            moved = self.moved(moved)
        return Candidate(moved, value.exact, value.bound)

    def moved(self, n: Node) -> Node:
        rng, shape = self.rng, [int(s) for s in n.shape]  # type: ignore[arg-type]
        match rng.randrange(6):
            case 0:
                return build.permute(n, rng.sample(range(len(shape)), len(shape)))
            case 1:
                widths = [
                    (rng.randint(0, 2), rng.randint(0, 2)) if rng.random() < 0.6 else (0, 0) for _ in shape
                ]
                return (
                    build.pad(n, widths)
                    if math.prod(s + sum(w) for s, w in zip(shape, widths, strict=True)) <= 3000
                    else n
                )
            case 2:
                begins = [rng.randint(0, s - 1) for s in shape]
                return build.shrink(
                    n, [(b, rng.randint(b + 1, s)) for b, s in zip(begins, shape, strict=True)]
                )
            case 3:
                return build.flip(n, [rng.random() < 0.5 for _ in shape])
            case 4:
                wider = [rng.randint(1, 4) if s == 1 else s for s in shape]
                return build.expand(n, wider) if math.prod(wider) <= 3000 else n
            case _:
                return build.reshape(n, self.factors(math.prod(shape)))

    def factors(self, total: int) -> list[int]:
        shape: list[int] = []
        while total > 1 and len(shape) < 3:
            shape.append(self.rng.choice([d for d in range(1, total + 1) if total % d == 0]))
            total //= shape[-1]
        return self.rng.sample([*shape, total], len(shape) + 1)

    def fitted(self, value: Candidate, shape: Sequence[Any]) -> Node:
        """Any value in a shape: repeated, padded or cut."""
        have, want = value.node.size, math.prod(shape)
        flat = build.reshape(value.node, (have,))
        if have < want and want % have == 0 and self.rng.random() < 0.5:
            return build.reshape(
                build.expand(build.reshape(flat, (1, have)), (want // have, have)), tuple(shape)
            )
        begin = self.rng.randint(0, abs(want - have))
        if have < want:
            flat = build.pad(flat, ((begin, want - have - begin),))
        return build.reshape(
            build.shrink(flat, ((begin, begin + want),)) if have > want else flat, tuple(shape)
        )

    def reduce(self, value: Candidate) -> Candidate | None:
        n = value.node
        axes = [a for a, s in enumerate(n.shape) if s != 1 and self.rng.random() < 0.6]
        if not axes:
            return None
        choices: tuple[ReduceOp, ...] = ("ADD", "ADD", "MAX", "MUL")
        op = self.rng.choice(choices)
        exact, bound = min(2, value.exact), value.bound
        if n.dtype.is_float and op == "MAX":
            exact = min(exact, 1)
        elif n.dtype.is_float:
            bound = bound * math.prod(bound_value(n.shape[a]) for a in axes) if op == "ADD" else math.inf
            exact = min(exact, 1) if bound <= max(EXACT_UP_TO[n.dtype.name], 1 << 24) else 0
        return Candidate(build.reduce(op, n, axes), exact, self.whole(bound, n.dtype))

    def whole(self, bound: float, dtype: DType) -> float:
        """The bound, or inf where whole numbers of that size are not exact or wrap."""
        return bound if bound <= EXACT_UP_TO.get(dtype.name, 100) else math.inf

    def cast(self, value: Candidate) -> Candidate | None:
        target = self.rng.choice(SCALARS)
        if value.node.dtype.is_float and not target.is_float and value.exact < 1:
            return None
        negative = target.kind == "uint"
        return Candidate(
            build.cast(value.node, target),
            min(2, value.exact),
            math.inf if negative else self.whole(value.bound, target),
        )

    def unary(self, value: Candidate) -> Candidate | None:
        n, exact = value.node, min(2, value.exact)
        if not n.dtype.is_float:
            return Candidate(build.alu(Op.NEG, n), exact, math.inf)
        op = self.rng.choice([*LIBRARY, Op.SQRT, Op.RECIP, Op.NEG, Op.FLOOR])
        if (op is Op.RECIP and exact < 2) or (op is Op.FLOOR and exact < 1):
            return None
        bound = value.bound if op in (Op.NEG, Op.FLOOR) else math.inf
        return Candidate(build.alu(op, n), 0 if op in LIBRARY else exact, bound)

    def binary(self, value: Candidate) -> Candidate | None:
        n, other = value.node, self.rng.choice([c for c in self.pool if c.node.dtype == value.node.dtype])
        exact = min(2, value.exact, other.exact)
        op = self.rng.choice(FLOAT_OPS if n.dtype.is_float else INTEGER_OPS)
        needed = 2 if op in (Op.FDIV, Op.IDIV, Op.MOD) else 1 if op in COMPARISON else 0
        if exact < needed:
            return None
        made = build.alu(op, n, self.fitted(other, n.shape))
        if not n.dtype.is_float or op in COMPARISON:
            return Candidate(made, 2, math.inf)
        bounds = {
            Op.ADD: value.bound + other.bound,
            Op.SUB: value.bound + other.bound,
            Op.MUL: value.bound * other.bound,
        }
        bound = max(value.bound, other.bound) if op is Op.MAX else bounds.get(op, math.inf)
        limited = 1 if op in (Op.MAX, Op.IDIV, Op.MOD) else 2
        return Candidate(made, min(exact, limited), self.whole(bound, n.dtype))

    def where(self, value: Candidate) -> Candidate | None:
        conditions = [c for c in self.pool if c.node.dtype == bool_]
        if not conditions:
            return None
        other = self.rng.choice([c for c in self.pool if c.node.dtype == value.node.dtype])
        shape = value.node.shape
        condition = self.fitted(self.rng.choice(conditions), shape)
        made = build.alu(Op.WHERE, condition, value.node, self.fitted(other, shape))
        return Candidate(made, min(2, value.exact, other.exact), max(value.bound, other.bound))

    def multiply(self, value: Candidate) -> Candidate:
        first, second = (
            self.rng.choice([c for c in self.pool if c.node.dtype == value.node.dtype]) for _ in "ab"
        )
        shape = value.node.shape
        made = build.alu(Op.MULACC, value.node, self.fitted(first, shape), self.fitted(second, shape))
        bound = value.bound * first.bound + second.bound
        return Candidate(
            made, min(2, value.exact, first.exact, second.exact), self.whole(bound, value.node.dtype)
        )


def random_values(rng: random.Random, count: int, steps: int) -> list[Candidate]:
    return [RandomGraph(rng, steps).result for _ in range(count)]


@settings(max_examples=8, deadline=None, suppress_health_check=EXPENSIVE)
@given(st.randoms(use_true_random=False))
def test_random_graphs_equal_numpy(device: CDevice, rng: random.Random) -> None:
    candidates = random_values(rng, 6, 12)
    for candidate, got in zip(candidates, run_all(device, [c.node for c in candidates]), strict=True):
        loose = candidate.node.dtype.is_float and candidate.exact == 0
        tolerance = TOLERANCE[candidate.node.dtype.name] if loose else 0.0
        assert_same(got, reference(candidate.node), tolerance, [n.op for n in topological((candidate.node,))])


# memory


def guarded(values: Array, at_end: bool) -> tuple[Array, mmap.mmap]:
    """`values` in memory that ends (or begins) where the next page may not be touched."""
    page = mmap.PAGESIZE
    pages = max(1, -(-values.nbytes // page))
    area = mmap.mmap(-1, (pages + 2) * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for forbidden in (start, start + (pages + 1) * page):
        assert protect(ctypes.c_void_p(forbidden), ctypes.c_size_t(page), 0) == 0
    first = (pages + 1) * page - values.nbytes if at_end else page
    inside = np.frombuffer(area, values.dtype, values.size, first) if values.size else values
    if values.size:
        inside[:] = values
    return inside, area


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform != "linux", reason="needs fork and mprotect")
@pytest.mark.parametrize("at_end", [True, False])
def test_nothing_outside_the_buffers_is_touched(device: CDevice, at_end: bool) -> None:
    """Buffers with forbidden pages on both sides, in a child process that a stray access would kill."""
    rng = random.Random(11)
    windows = [padded_window(4, 9, 70), padded_window(6, 7, 7), padded_window(2, 3, 130)]
    schedule = whole_schedule([*(c.node for c in random_values(rng, 40, 10)), *windows])
    program = device.load(schedule)
    held = [guarded(values, at_end) for values in memory_of(schedule)]
    child = os.fork()
    if child == 0:
        program.run([values for values, _ in held], {})
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with status {status}"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_wait_for_its_parents_threads(device: CDevice) -> None:
    """Threads do not live on in a child; there the work is done by one."""
    x = build.array(np.ones((400, 400), np.float32))
    schedule = whole_schedule([build.alu(Op.ADD, x, x)])
    program, memory = device.load(schedule), memory_of(schedule)
    program.run(memory, {})
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        memory[0][:] = 0
        program.run(memory, {})
        os._exit(0 if (memory[0] == 2).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def padded_window(channels: int, height: int, width: int) -> Node:
    """The sums of 3x3 windows of a padded image times per-channel weights: guarded loads in every direction."""
    rng = np.random.default_rng(5)
    image = build.array(rng.integers(-3, 4, (channels, height, width)).astype(np.float32))
    padded = build.pad(image, ((0, 0), (1, 1), (1, 1)))
    total = None
    for dy, dx in itertools.product(range(3), range(3)):
        window = build.shrink(padded, ((0, channels), (dy, dy + height), (dx, dx + width)))
        spread = build.expand(
            build.reshape(window, (1, channels, height, width)), (4, channels, height, width)
        )
        weights = build.array(rng.integers(-3, 4, (4, channels)).astype(np.float32))
        factor = build.expand(build.reshape(weights, (4, channels, 1, 1)), spread.shape)
        summed = build.reduce("ADD", build.alu(Op.MUL, spread, factor), (1,))
        total = summed if total is None else build.alu(Op.ADD, total, summed)
    assert total is not None
    return total


@pytest.mark.parametrize("size", [(4, 9, 70), (6, 7, 7), (2, 3, 130), (3, 64, 64), (1, 1, 1)])
def test_padded_windows(device: CDevice, size: tuple[int, int, int]) -> None:
    value = padded_window(*size)
    [got] = run_all(device, [value])
    assert_same(got, reference(value))


@pytest.mark.parametrize("shape", [(300, 500), (301, 333), (40, 3, 700), (64, 2000)])
def test_large_transpositions_run_in_blocks(device: CDevice, shape: tuple[int, ...]) -> None:
    x = build.array(np.arange(math.prod(shape), dtype=np.float32).reshape(shape))
    turned = build.permute(x, tuple(reversed(range(len(shape)))))
    values = [turned, build.alu(Op.ADD, turned, build.reshape(x, turned.shape))]
    for value, got in zip(values, run_all(device, values), strict=True):
        assert_same(got, reference(value))


@pytest.mark.parametrize(
    ("m", "n", "k"), [(64, 512, 70), (33, 100, 129), (7, 1000, 50), (512, 7, 33), (1, 4100, 64)]
)
def test_products_of_all_proportions(device: CDevice, m: int, n: int, k: int) -> None:
    """Tiles that fit, that overlap and that are short; rows that divide and that do not; threads."""
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    for right in (build.permute(build.array(b), (1, 0)), build.array(np.ascontiguousarray(b.T))):
        left = build.expand(build.reshape(build.array(a), (m, 1, k)), (m, n, k))
        spread = build.expand(build.reshape(right, (1, n, k)), (m, n, k))
        [got] = run_all(device, [build.reduce("ADD", build.alu(Op.MUL, left, spread), (2,))])
        np.testing.assert_array_equal(got.reshape(m, n), a @ b)


def test_an_assign_writes_its_window_only(device: CDevice) -> None:
    """x[1:9:2, reversed] = x[1:9:2, reversed] * 2 + y, in a buffer whose other elements stay."""
    x = Buffer(40, float32, name="x", array=np.arange(40, dtype=np.float32))
    look = ViewStack.of_shape((10, 4)).shrink(((1, 9), (0, 4))).flip((True, False)).shrink(((2, 6), (1, 3)))
    old, y = build.buffer(x), build.array(np.full(8, 0.5, np.float32))
    read = build.view(old, look)
    value = build.alu(Op.ADD, build.alu(Op.ADD, read, read), build.reshape(y, (4, 2)))
    kernel = Kernel(
        0, "assign", "assign", build.assign(read, value), value, (x, y.arg), look,
        MappingProxyType({old: Read(0, old.view), y: Read(1, y.view)}), (), "c",
    )  # fmt: skip
    schedule = Schedule(graph_of([kernel.output]), (kernel,), (), (), kernel.buffers)
    memory = memory_of(schedule)
    device.load(schedule).run(memory, {})
    want = np.arange(40, dtype=np.float32).reshape(10, 4)
    want[3:7, 1:3] = want[3:7, 1:3] * 2 + 0.5
    np.testing.assert_array_equal(memory[0].reshape(10, 4), want)


def test_a_long_assign_that_reads_itself_is_not_done_twice(device: CDevice) -> None:
    """Tiles of 64 do not fit 100 columns; where a kernel reads what it writes, the last tile must not overlap."""
    x = Buffer(300, float32, name="x", array=np.arange(300, dtype=np.float32))
    w = build.array(np.ones((5, 3), np.float32))
    old, look = build.buffer(x), ViewStack.of_shape((3, 100))
    total = build.expand(build.reduce("ADD", build.permute(w, (1, 0)), (1,)), (3, 100))
    spread = build.reduce(
        "ADD",
        build.expand(build.reshape(build.array(np.ones((5, 100), np.float32)), (1, 5, 100)), (3, 5, 100)),
        (1,),
    )
    value = build.alu(
        Op.ADD, build.alu(Op.ADD, build.view(old, look), total), build.reshape(spread, (3, 100))
    )
    memory_nodes = [n for n in topological((value,)) if n.op is Op.BUFFER and n is not old]
    reads = {old: Read(0, old.view)} | {n: Read(i + 1, n.view) for i, n in enumerate(memory_nodes)}
    kernel = Kernel(
        0, "assign", "assign", build.assign(build.view(old, look), value), value, (x, *(n.arg for n in memory_nodes)),
        look, MappingProxyType(reads), (), "c",
    )  # fmt: skip
    schedule = Schedule(graph_of([kernel.output]), (kernel,), (), (), kernel.buffers)
    memory = memory_of(schedule)
    device.load(schedule).run(memory, {})
    np.testing.assert_array_equal(memory[0], np.arange(300, dtype=np.float32) + 10)


def test_copy_and_view_kernels(device: CDevice) -> None:
    """A copy is a plain copy; a view of memory has no code and is not launched."""
    x = build.array(np.arange(6, dtype=np.int32))
    target, window = Buffer(6, x.dtype, name="copy"), Buffer(3, x.dtype, name="window")
    reads = MappingProxyType({x: Read(1, x.view)})
    copied = build.copy(x, "c", clone=True)
    shown = node(Op.BUFFER_VIEW, (x,), (3,), x.dtype)
    copy = Kernel(0, "copy", "copy", copied, x, (target, x.arg), x.view, reads, (), "c")
    look = Kernel(1, "view", "view", shown, shown, (window, x.arg), ViewStack.of_shape((3,)), reads, (), "c")
    schedule = Schedule(graph_of([copied, shown]), (copy, look), (), (), (target, x.arg, window))
    program, memory, times = device.load(schedule), memory_of(schedule), [9.0]
    program.run(memory, {}, times)
    np.testing.assert_array_equal(memory[0], np.arange(6))
    np.testing.assert_array_equal(memory[2], [77, 77, 77])
    assert program.sources["view"] == "" and "kernel_copy" in program.sources["copy"]
    assert len(times) == 3 and times[0] == 9.0 and times[1] > 0 and times[2] == 0


# symbolic sizes


def test_one_program_serves_all_values_of_a_variable(device: CDevice) -> None:
    data = np.arange(64 * 10, dtype=np.float32).reshape(64, 10)
    size = Variable("n", 1, 64, 7)
    shown = build.shrink(build.array(data), ((0, size), (0, 10)))
    added = build.alu(
        Op.ADD,
        shown,
        build.expand(build.reshape(build.cast(bind(size, int64), float32), (1, 1)), shown.shape),
    )
    schedule = whole_schedule([build.reduce("ADD", build.alu(Op.MUL, shown, shown), (0,)), added])
    program = device.load(schedule)
    slot = {buffer: i for i, buffer in enumerate(schedule.buffers)}
    for n in (1, 5, 63, 64):
        memory = memory_of(schedule)
        program.run(memory, {"n": n})
        total, sums = (memory[slot[k.buffers[0]]] for k in schedule.kernels)
        np.testing.assert_array_equal(total, (data[:n] ** 2).sum(0))
        np.testing.assert_array_equal(sums[: n * 10], (data[:n] + n).reshape(-1))
        assert (sums[n * 10 :] == 77).all()
    memory = memory_of(schedule)
    program.run(memory, {})  # the value it is bound to
    np.testing.assert_array_equal(memory[slot[schedule.kernels[0].buffers[0]]], (data[:7] ** 2).sum(0))


@pytest.mark.parametrize(
    ("variables", "message"),
    [({"n": 65}, "variable n = 65 is out of bounds"), ({}, "variable n has no value")],
)
def test_a_variable_needs_a_value_within_its_bounds(
    device: CDevice, variables: dict[str, int], message: str
) -> None:
    size = Variable("n", 1, 64)
    schedule = whole_schedule(
        [build.reduce("ADD", build.shrink(build.array(np.ones(64)), ((0, size),)), (0,))]
    )
    with pytest.raises(DeviceError) as caught:
        device.load(schedule).run(memory_of(schedule), variables)
    assert (caught.value.code, caught.value.message) == ("SL511", message)


def test_memory_that_does_not_fit_is_refused(device: CDevice) -> None:
    schedule = whole_schedule([build.alu(Op.NEG, build.array(np.ones(4, np.float32), "x"))])
    program = device.load(schedule)
    out, x = memory_of(schedule)
    read_only = out.copy()
    read_only.flags.writeable = False
    for wrong in (
        [out],
        [out, x.astype(float)],
        [out[:3], x],
        [out, np.ones((4, 2), np.float32)[:, 0]],
        [read_only, x],
    ):
        with pytest.raises(DeviceError) as caught:
            program.run(wrong, {})
        assert caught.value.code == "SL510"
    with pytest.raises(DeviceError, match="an array of 4 x float64 for a buffer of 4 x float32"):
        program.run([out, x.astype(float)], {})


# compilers and the cache


def small_schedule(number: float = 2.0) -> Schedule:
    x = build.array(np.arange(4, dtype=np.float32))
    return whole_schedule([build.alu(Op.MUL, x, build.const(number, float32, (4,)))])


def doubled(device: CDevice) -> list[float]:
    schedule = small_schedule()
    memory = memory_of(schedule)
    device.load(schedule).run(memory, {})
    return memory[0].tolist()  # type: ignore[no-any-return]


def test_the_devices_are_found_by_file_name() -> None:
    found = devices()
    assert {"c", "null", "numpy"} <= set(found)
    assert found["null"] is None and found["numpy"] is None
    assert open_device("c").name == "c"
    with pytest.raises(DeviceError) as caught:
        open_device("abacus")
    assert caught.value.code == "SL500" and "c, disk, null, numpy" in caught.value.help


def test_a_missing_compiler_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    sentence = "no C compiler was found (tried cc, gcc, clang); install gcc or clang, or set CC"
    assert CDevice().missing() == sentence
    with pytest.raises(DeviceError) as caught:
        open_device("c")
    assert (caught.value.code, caught.value.reason) == ("SL501", sentence)


@pytest.mark.parametrize("chosen", ["no-such-cc -m32", "/nope", "/", __file__, "cc 'unbalanced"])
def test_no_other_compiler_is_taken_than_the_one_asked_for(
    chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", chosen)
    sentence = f"CC is `{chosen}`, which names nothing that runs; set it to a C compiler, or unset it"
    assert CDevice().missing() == sentence and default_device() == "numpy"
    assert default_note() == f"running on numpy, the slow reference: {sentence}"
    with pytest.raises(DeviceError) as caught:
        open_device("c")
    assert (caught.value.code, caught.value.reason) == ("SL501", sentence)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("exit 0", "it reported success, but made no file"),
        ("exit 1", "exit status 1, and nothing said"),
        ("kill -9 $$", "exit status -9, and nothing said"),
        ("echo 'no licence'; exit 2", "no licence"),
    ],
)
def test_a_compiler_that_compiles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, reason: str
) -> None:
    """Not even the probe for its flags: also then the source is where the message says."""
    monkeypatch.setenv("CC", compiler_script(tmp_path, body))
    with pytest.raises(DeviceError) as caught:
        doubled(device_with_cache(tmp_path / "cache"))
    assert (caught.value.code, caught.value.reason) == ("SL502", reason)
    assert "int probe(void)" in Path(str(caught.value.where)).read_text()


@pytest.mark.parametrize(
    ("made", "reason"), [("", "file too short"), ("int unrelated;", "what it made has no `schedulog_run`")]
)
def test_a_compiler_that_makes_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str, reason: str
) -> None:
    other = f"printf '{made}' > {tmp_path}/other.c; exec cc -shared -fPIC -o \"$out\" {tmp_path}/other.c"
    find = 'for a; do [ "$last" = -o ] && out=$a; last=$a; done'
    step = other if made else ': > "$out"'
    body = f'case "$*" in *--version*) echo fake 1;; *probe*) exec cc "$@";; *) {find}; {step};; esac'
    monkeypatch.setenv("CC", compiler_script(tmp_path, body))
    for _ in range(2):  # what does not load is not kept
        with pytest.raises(DeviceError) as caught:
            doubled(device_with_cache(tmp_path / "cache"))
        assert caught.value.code == "SL502" and reason in caught.value.reason
        assert "kernel_whole0" in Path(str(caught.value.where)).read_text()


def test_a_folder_in_place_of_an_entry(tmp_path: Path) -> None:
    assert doubled(device_with_cache(tmp_path)) == [0, 2, 4, 6]
    [entry] = [p for p in tmp_path.glob("*.so") if not p.name.startswith("flags-")]
    entry.unlink()
    (entry / "inside").mkdir(parents=True)
    with pytest.raises(DeviceError) as caught:
        doubled(device_with_cache(tmp_path))
    assert (caught.value.code, caught.value.message) == (
        "SL504",
        "compiled code cannot be put into the cache",
    )
    assert caught.value.where == str(entry) and "SCHEDULOG_CACHE" in caught.value.help
    shutil.rmtree(entry)
    assert doubled(device_with_cache(tmp_path)) == [0, 2, 4, 6]


def test_a_cache_that_goes_away(tmp_path: Path) -> None:
    device = device_with_cache(tmp_path / "cache")
    assert doubled(device) == [0, 2, 4, 6]
    shutil.rmtree(tmp_path / "cache")
    assert doubled(device) == [0, 2, 4, 6]
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("not a folder")
    with pytest.raises(DeviceError) as caught:
        doubled(device)
    assert caught.value.code == "SL504"


def test_null_counts_launches() -> None:
    program = NullDevice().load(small_schedule())
    times: list[float] = []
    program.run([], {})
    program.run([], {}, times)
    assert program.launches == 2 and times == [0.0] and program.sources == {"whole0": ""}


def compiler_script(folder: Path, body: str) -> str:
    path = folder / "fake-cc"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_a_failing_compiler_is_quoted_and_the_source_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = 'case "$*" in *--version*) echo fake 1;; *probe*) exec cc "$@";; *) echo "error: out of paper"; exit 3;; esac'
    monkeypatch.setenv("CC", compiler_script(tmp_path, body))
    with pytest.raises(DeviceError) as caught:
        doubled(device_with_cache(tmp_path / "cache"))
    assert caught.value.code == "SL502" and caught.value.reason == "error: out of paper"
    assert "kernel_whole0" in Path(str(caught.value.where)).read_text()


def test_a_compiler_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = f'case "$*" in *--version*) echo fake 1;; *probe*) exec cc "$@";; *) echo $$ > {tmp_path}/pid; sleep 60;; esac'
    monkeypatch.setenv("CC", compiler_script(tmp_path, body))
    slow = device_with_cache(tmp_path / "cache", time_limit=1.0)
    with pytest.raises(DeviceError, match="did not finish within 1 s") as caught:
        doubled(slow)
    assert caught.value.code == "SL503"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert not list((tmp_path / "cache").glob("*build-*"))


def test_interrupting_a_compiler_leaves_nothing_behind(tmp_path: Path) -> None:
    body = f'case "$*" in *--version*) echo fake 1;; *probe*) exec cc "$@";; *) echo $$ > {tmp_path}/pid; sleep 60;; esac'
    # Where the tests run in the background of a shell, SIGINT is ignored from the start.
    code = """
        import signal
        from schedulog.runtimes.c import CDevice
        signal.signal(signal.SIGINT, signal.default_int_handler)
        CDevice().compile("int x;")
    """
    environment = os.environ | {
        "CC": compiler_script(tmp_path, body),
        "SCHEDULOG_CACHE": str(tmp_path / "cache"),
    }
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 30
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert b"KeyboardInterrupt" in said
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert [p.name for p in (tmp_path / "cache").iterdir() if not p.name.startswith("flags-")] == []


def test_a_second_run_needs_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doubled(device_with_cache(tmp_path)) == [0, 2, 4, 6]

    def refuse(*_: object) -> str:
        raise AssertionError("the compiler was called")

    monkeypatch.setattr("schedulog.runtimes.c.run_compiler", refuse)
    assert doubled(device_with_cache(tmp_path)) == [0, 2, 4, 6]


@pytest.mark.parametrize(
    "damage", [lambda content: content[:100], lambda content: content[:-1] + b"!", lambda _: b""]
)
def test_a_damaged_entry_is_built_again(tmp_path: Path, damage: Any) -> None:
    assert doubled(device_with_cache(tmp_path)) == [0, 2, 4, 6]
    [entry] = [p for p in tmp_path.glob("*.so") if not p.name.startswith("flags-")]
    content = entry.read_bytes()
    replaced = tmp_path / "damaged"
    replaced.write_bytes(damage(content))
    replaced.replace(entry)
    assert doubled(device_with_cache(tmp_path)) == [0, 2, 4, 6]
    assert entry.read_bytes() == content


def test_two_processes_may_compile_the_same(tmp_path: Path) -> None:
    code = """
        import numpy as np
        from whole import whole_schedule
        from schedulog.facts import build
        from schedulog.facts.ops import Op
        from schedulog.runtimes.c import CDevice
        schedule = whole_schedule([build.alu(Op.NEG, build.array(np.arange(3, dtype=np.float32)))])
        memory = [np.zeros(3, np.float32), schedule.buffers[1].array]
        CDevice().load(schedule).run(memory, {})
        print(memory[0].tolist())
    """
    paths = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"SCHEDULOG_CACHE": str(tmp_path), "PYTHONPATH": paths}
    start = [sys.executable, "-c", textwrap.dedent(code)]
    children = [subprocess.Popen(start, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [child.communicate(timeout=60)[0] for child in children] == ["[-0.0, -1.0, -2.0]\n"] * 3
    assert len(list(tmp_path.glob("*.so"))) == 2  # the flags and the kernels
    assert not list(tmp_path.glob("*build-*"))


def test_a_cache_that_cannot_be_written_is_replaced(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    device = device_with_cache(blocked)
    assert doubled(device) == [0, 2, 4, 6]
    assert f"the cache folder {blocked} cannot be used" in device.warning


def test_the_oldest_entries_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDULOG_CACHE", str(tmp_path))
    cache = Cache(size_limit=250)

    def write(folder: Path) -> Path:
        (folder / "x").write_bytes(os.urandom(100))
        return folder / "x"

    for age, key in ((30, "a"), (20, "b")):
        used = time.time() - age
        os.utime(cache.get(key, write), (used, used))
    assert cache.find("a") is not None  # being used makes it young
    cache.get("c", write)
    assert (cache.find("a") is None, cache.find("b") is None, cache.find("c") is None) == (False, True, False)


def test_what_a_killed_process_left_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDULOG_CACHE", str(tmp_path))
    source = "0123456789abcdef" * 2 + ".c"
    old, month = time.time() - 25 * 3600, time.time() - 31 * 24 * 3600
    ages = {
        "schedulog-build-killed": old,
        "schedulog-build-busy": time.time(),
        "build-mine": old,
        f"failed/{source}": month,
        "failed/probe.c": old,
        "failed/mine.c": month,
    }
    for name, age in ages.items():
        path = tmp_path / name
        made = path if name.startswith("failed/") else path / "schedule.c"
        made.parent.mkdir(exist_ok=True)
        made.write_text("int x;")
        os.utime(path, (age, age))
    assert doubled(CDevice()) == [0, 2, 4, 6]
    left = {name for name in ages if (tmp_path / name).exists()}
    assert left == {"schedulog-build-busy", "build-mine", "failed/probe.c", "failed/mine.c"}


@pytest.mark.parametrize(("removals", "entries"), [(1, 1), (2, 0)])
def test_an_entry_that_is_removed_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removals: int, entries: int
) -> None:
    """As another process does whose cache is full; a second time it is an error."""
    device = device_with_cache(tmp_path)
    assert device.flags
    load, asked = ctypes.CDLL, []

    def removed_first(path: str) -> ctypes.CDLL:
        asked.append(path)
        if len(asked) <= removals:
            Path(path).unlink()
        return load(path)

    monkeypatch.setattr(ctypes, "CDLL", removed_first)
    if entries:
        assert doubled(device) == [0, 2, 4, 6]
    else:
        with pytest.raises(DeviceError) as caught:
            doubled(device)
        assert caught.value.code == "SL502" and "No such file" in caught.value.reason
    assert len(asked) == 2
    assert len([p for p in tmp_path.glob("*.so") if not p.name.startswith("flags-")]) == entries


def test_a_compiler_is_asked_for_its_version_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = f'case "$*" in *--version*) echo x >> {tmp_path}/asked;; esac; exec cc "$@"'
    monkeypatch.setenv("SCHEDULOG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CC", compiler_script(tmp_path, body))
    program = whole_schedule([build.alu(Op.NEG, build.array(np.arange(3, dtype=np.float32)))])
    first = open_device("c")
    for _ in range(3):
        open_device("c").load(program)
    assert open_device("c") is first
    assert (tmp_path / "asked").read_text() == "x\n"
    monkeypatch.setenv("CC", "cc")
    assert open_device("c") is not first
    monkeypatch.setenv("CC", "no-such-cc")
    assert default_device() == "numpy"


def test_the_files_of_devices_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = device_names()
    names.clear()  # a list of one's own

    def refuse(*_: object) -> str:
        raise AssertionError("a source was read again")

    monkeypatch.setattr(Path, "read_text", refuse)
    assert {"c", "disk", "null", "numpy"} <= set(device_names())


def test_a_compiler_without_threads_or_native_code_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = 'case "$*" in *-fopenmp*|*-march*) echo unknown flag; exit 1;; *) exec cc "$@";; esac'
    monkeypatch.setenv("CC", compiler_script(tmp_path, body))
    device = device_with_cache(tmp_path / "cache")
    assert doubled(device) == [0, 2, 4, 6]
    assert not {"-fopenmp", "-march=native"} & set(device.flags)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="undefined behaviour is looked for with gcc")
def test_no_undefined_behaviour(tmp_path: Path) -> None:
    """Random graphs and padded windows under gcc's address and undefined behaviour checks, in a child process."""
    rng = random.Random(5)
    schedule = whole_schedule([*(c.node for c in random_values(rng, 30, 10)), padded_window(3, 5, 66)])
    text = program_code(schedule).text
    sizes = [b.nbytes for b in schedule.buffers]
    contents = b"".join(values.tobytes() for values in memory_of(schedule))
    main = f"""
        #include <stdio.h>
        #include <stdlib.h>
        static const size_t sizes[] = {{{", ".join(map(str, sizes))}}};
        int main(void) {{
          static void *memory[{len(sizes)}];
          FILE *in = fopen("{tmp_path}/contents", "rb");
          for (int i = 0; i < {len(sizes)}; i++) {{
            memory[i] = malloc(sizes[i]);
            if (fread(memory[i], 1, sizes[i], in) != sizes[i]) return 9;
          }}
          schedulog_run(memory, 0, 0, 0, {len(schedule.kernels)});
          for (int i = 0; i < {len(sizes)}; i++) free(memory[i]);
          return fclose(in);
        }}
    """
    (tmp_path / "checked.c").write_text(text + textwrap.dedent(main))
    (tmp_path / "contents").write_bytes(contents)
    flags = ["-O1", "-w", "-ffp-contract=off", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    made = [*flags, "-o", str(tmp_path / "checked"), str(tmp_path / "checked.c"), "-lm"]
    built = subprocess.run(["gcc", *made], capture_output=True, text=True, timeout=120, check=False)
    if built.returncode != 0:
        pytest.skip(f"gcc has no sanitizers here: {built.stderr.strip().splitlines()[-1]}")
    ran = subprocess.run([str(tmp_path / "checked")], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr[:2000]


def test_an_interrupt_while_the_compiler_is_started_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start(_: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE, start_new_session=True)
        os.kill(os.getpid(), signal.SIGINT)
        started.append(process)
        return process

    compiler = c_compiler.Compiler(("cc",), "cc")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(c_compiler, "_start", start)
    try:
        with pytest.raises(KeyboardInterrupt):
            c_compiler.run_compiler(compiler, (), tmp_path / "x.c", tmp_path / "x.so", 60.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert [process.returncode for process in started] == [-signal.SIGKILL]


@pytest.mark.parametrize(
    ("shape", "flipped", "scalar"),
    [
        ((4, 4), 1, np.float32),
        ((16, 2), 1, np.float64),
        ((3, 8, 4), 2, np.float64),
        ((20, 4, 4), 1, np.float32),
    ],
)
def test_sums_that_do_not_ascend_take_every_element_once(
    shape: tuple[int, ...], flipped: int, scalar: type[np.floating[Any]]
) -> None:
    """gcc 12 wrote short inner loops out and then took elements twice; whole numbers have sums without rounding."""
    x = np.random.default_rng(0).integers(0, 100, shape).astype(scalar)
    turned = build.flip(build.array(x), [axis == flipped for axis in range(len(shape))])
    total = build.reduce("ADD", turned, tuple(range(len(shape))))
    found = schedule(total).execute({}, "c")["out0"]
    assert found.item() == x.sum()
