"""Steps of random graphs that compute, move or convert a value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from schedulog.trials.draft import Draft
from schedulog.trials.value import Size, Value, fits, known, list_text, pairs_text, shape_text

UNARY: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"f": ("neg", "exp", "sqrt", "recip", "sin", "tanh", "log2", "cos"), "i": ("neg",), "b": ()}
)
BINARY: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "f": ("add", "mul", "sub", "max", "fdiv", "add", "mul"),
        "i": ("add", "mul", "sub", "max", "xor", "idiv", "mod"),
        "b": ("and", "or", "xor"),
    }
)
CASTS: Final = ("f16", "f32", "f64", "i32", "i64")
_MOST_ELEMENTS: Final = 400


def unary(draft: Draft, v: Value) -> None:
    ops = UNARY[v.kind]
    if ops:
        op = _elementwise(draft, ops)
        exact = v.exact and (v.kind != "f" or op == "neg")
        draft.add(op, (v.name,), draft.like(v, exact=exact))


def binary(draft: Draft, v: Value) -> None:
    op = _elementwise(draft, BINARY[v.kind])
    other = draft.partner(v)
    if other is None:
        if v.kind == "b":
            return
        number = str(draft.random.choice((1, 2, 3)))
        draft.add(op, (v.name, number), draft.like(v, exact=v.exact and v.kind != "f"))
        return
    both = v.exact and other.exact
    if both and v.kind != "b" and draft.random.random() < 0.15:
        draft.add("cmplt", (v.name, other.name), draft.like(v, dtype="bool", exact=True))
        return
    pair = (v.name, other.name) if draft.random.random() < 0.5 else (other.name, v.name)
    draft.add(op, pair, draft.like(v, exact=both and v.kind != "f"))


def _elementwise(draft: Draft, ops: Sequence[str]) -> str:
    liked = [op for op in ops if op in draft.favoured]
    return draft.random.choice(liked if liked and draft.random.random() < 0.5 else ops)


def constant(draft: Draft, v: Value) -> None:
    """A number in every element, seldom without a sum of it: that is an index range."""
    draft.add(
        "const",
        (str(draft.random.choice((0, 1, 2))), f"{v.dtype}{shape_text(v.shape)}"),
        draft.like(v, exact=True),
        f"device={v.device}" if v.device else "",
    )
    if draft.random.random() < 0.7:
        reduce(draft, draft.values[-1])


def select(draft: Draft, v: Value) -> None:
    conditions = [w for w in draft.values if w.dtype == "bool" and (w.shape, w.device) == (v.shape, v.device)]
    other = draft.partner(v)
    if conditions and other is not None and v.kind != "b":
        condition = draft.random.choice(conditions)
        exact = v.exact and other.exact and condition.exact
        draft.add("where", (condition.name, v.name, other.name), draft.like(v, exact=exact))


def reduce(draft: Draft, v: Value) -> None:
    axes = [i for i, size in enumerate(v.shape) if size != 1]
    if not axes or v.kind == "b":
        return
    chosen = sorted(draft.random.sample(axes, draft.random.randint(1, len(axes))))
    op = draft.random.choice(("sum", "sum", "sum", "max", "prod"))
    shape = tuple(1 if i in chosen else s for i, s in enumerate(v.shape))
    exact = v.exact and (v.kind != "f" or op == "max")
    draft.add(op, (v.name,), draft.like(v, shape=shape, exact=exact), f"axis={list_text(chosen)}")


def broadcast(draft: Draft, v: Value) -> None:
    """Repeated along the axes of size 1, to the shape of another value where one fits."""
    shapes = [w.shape for w in draft.values if w.shape != v.shape and w.plain and fits(v.shape, w.shape)]
    if shapes:
        draft.expand(v, draft.random.choice(shapes))


def _moved(draft: Draft, v: Value, op: str, shape: tuple[Size, ...], options: str) -> None:
    draft.add(op, (v.name,), draft.like(v, shape=shape, exact=v.exact), options)


def pad(draft: Draft, v: Value) -> None:
    sizes, by = (
        known(v.shape),
        [(draft.random.choice((0, 0, 1)), draft.random.choice((0, 1, 2))) for _ in v.shape],
    )
    shape = tuple(s + a + b for s, (a, b) in zip(sizes, by, strict=True))
    if shape != sizes and math.prod(shape) <= _MOST_ELEMENTS:
        _moved(draft, v, "pad", shape, f"by={pairs_text(by)}")


def shrink(draft: Draft, v: Value) -> None:
    sizes = known(v.shape)
    begins = [draft.random.randint(0, (s - 1) // 2) for s in sizes]
    ends = [draft.random.randint(b + 1, s) for b, s in zip(begins, sizes, strict=True)]
    pairs = list(zip(begins, ends, strict=True))
    shape = tuple(e - b for b, e in pairs)
    if shape != sizes:
        _moved(draft, v, "shrink", shape, f"to={pairs_text(pairs)}")


def flip(draft: Draft, v: Value) -> None:
    _moved(draft, v, "flip", v.shape, f"axis={draft.random.randrange(len(v.shape))}")


def permute(draft: Draft, v: Value) -> None:
    order = draft.random.sample(range(len(v.shape)), len(v.shape))
    if order != sorted(order):
        _moved(draft, v, "permute", tuple(v.shape[i] for i in order), f"order={list_text(order)}")


def reshape(draft: Draft, v: Value) -> None:
    sizes = known(v.shape)
    total = math.prod(sizes)
    parts = [(total,), (total, 1), *((d, total // d) for d in range(2, total) if total % d == 0)]
    shape = draft.random.choice([p for p in parts if p != sizes] or [sizes])
    if shape != sizes:
        _moved(draft, v, "reshape", shape, f"to={shape_text(shape)}")


def cast(draft: Draft, v: Value) -> None:
    """Inexact values are made no more exact: a wider type is compared as such."""
    dtype = draft.random.choice([t for t in CASTS if v.exact or t == "f16"])
    if dtype != v.dtype:
        draft.add("cast", (v.name, dtype), draft.like(v, dtype=dtype, exact=v.exact))


def contiguous(draft: Draft, v: Value) -> None:
    if not v.memory:
        draft.add("contiguous", (v.name,), draft.like(v, exact=v.exact))
