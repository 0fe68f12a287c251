"""Reductions over values too large to hold: what they reduce is evaluated slice by slice."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedulog.facts.node import Node
from schedulog.facts.ops import ELEMENTWISE, Op
from schedulog.runtimes.numpy_ops import accumulated, combine, elementwise, reduction, start
from schedulog.runtimes.strided import Look, Values, inner, look, numbers

Array = NDArray[Any]
Bounds = tuple[tuple[int, int], ...]

MOST_HELD: Final = 1 << 22
MOST_IN_SLICE: Final = 1 << 18


def deferred(order: Sequence[Node], roots: Collection[Node], given: Collection[Node]) -> set[Node]:
    """The nodes of `order` that are never held whole.

    They have over MOST_HELD elements and are used by reductions only, directly or through other such nodes.
    """
    users: dict[Node, list[Node]] = {n: [] for n in order}
    for user in order:
        for source in user.src if user not in given else ():
            users[source].append(user)
    late: set[Node] = set()
    for n in reversed(order):
        large = (n.op in ELEMENTWISE or n.op is Op.VIEW) and n.size > MOST_HELD
        if large and n not in given and n not in roots and all(_takes_slices(u, late) for u in users[n]):
            late.add(n)
    return late


def _takes_slices(user: Node, late: Collection[Node]) -> bool:
    return user.op is Op.REDUCE_AXIS or (user in late and user.op is not Op.VIEW)


def boundary(source: Node, late: Collection[Node]) -> tuple[Node, ...]:
    """What must be held to evaluate `source` in slices: the first nodes below it that are not deferred."""
    if source not in late:
        return (source,)
    needs = (s for n in _region(source, late) for s in n.src if s not in late)
    return tuple(dict.fromkeys(needs))


def _region(source: Node, late: Collection[Node]) -> list[Node]:
    """The deferred nodes under `source`, sources before users."""
    done: dict[Node, None] = {}
    stack = [(source, False)]
    while stack:
        n, ready = stack.pop()
        if ready:
            done[n] = None
        elif n in late and n not in done:
            stack.append((n, True))
            stack.extend((s, False) for s in reversed(n.src))
    return list(done)


def reduce_in_slices(n: Node, held: Mapping[Node, Array], late: Collection[Node], variables: Values) -> Array:
    """The value of REDUCE_AXIS `n` over a deferred source: partial results of slices, combined.

    Slices have the largest axis last, since numpy is slow where the last axis is short, as the window of a
    convolution is.
    """
    source, axes, op = n.src[0], n.arg.axes, n.arg.op
    region = _region(source, late)
    looks = {
        v: (inner(v.arg, held[v.src[0]], variables), look(v.arg.views[-1], variables))
        for v in region
        if v.op is Op.VIEW
    }
    shape = numbers(source.shape, variables)
    order = sorted(range(len(shape)), key=lambda axis: shape[axis])
    reduced = tuple(k for k, axis in enumerate(order) if axis in axes)
    result = np.full(numbers(n.shape, variables), start(op, n.dtype), accumulated(n.dtype)).transpose(order)
    held = {s: held[s].transpose(order) for s in boundary(source, late) if s.shape == source.shape}
    looks = {v: (flat, whole.permute(order)) for v, (flat, whole) in looks.items()}
    for bounds in _slices(tuple(shape[axis] for axis in order), reduced):
        part = reduction(op, n.dtype, _in_slice(region, held, looks, bounds), reduced)
        at = tuple(slice(0, 1) if k in reduced else slice(b, e) for k, (b, e) in enumerate(bounds))
        result[at] = combine(op, n.dtype, result[at], part)
    return result.transpose(np.argsort(order)).astype(n.dtype.to_numpy(), copy=False)


def _slices(shape: tuple[int, ...], axes: tuple[int, ...]) -> Iterator[Bounds]:
    """Windows of MOST_IN_SLICE elements at most that cover `shape`: large kept axes are cut, the last one late."""
    length = list(shape)
    last = len(shape) - 1
    for axis in sorted(range(len(shape)), key=lambda i: (i in axes, i == last, -shape[i])):
        whole = math.prod(length)
        if whole > MOST_IN_SLICE:
            length[axis] = max(1, length[axis] * MOST_IN_SLICE // whole)
    cuts = (
        [(b, min(b + step, size)) for b in range(0, size, step)]
        for size, step in zip(shape, length, strict=True)
    )
    return product(*cuts)


def _in_slice(
    region: Sequence[Node],
    held: Mapping[Node, Array],
    looks: Mapping[Node, tuple[Array, Look]],
    bounds: Bounds,
) -> Array:
    last = {s: i for i, n in enumerate(region) for s in n.src}
    part = tuple(slice(b, e) for b, e in bounds)
    values: dict[Node, Array] = {}
    for i, n in enumerate(region):
        if n.op is Op.VIEW:
            flat, whole = looks[n]
            values[n] = whole.window(bounds).of(flat)
        else:
            values[n] = elementwise(n, [values[s] if s in values else held[s][part] for s in n.src])
            for s in n.src:
                if last[s] == i:
                    values.pop(s, None)
    return values[region[-1]]
