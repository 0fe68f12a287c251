"""The order kernels run in: every edge is respected, and among the valid orders the customary one is preferred.

Which edges there are is decided by rules (rules/core/order.dl). The customary order is breadth first over the data
edges, as tinygrad 0.10.2 has it; where it breaks an edge, the nearest order that breaks none is taken.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Key = int


@dataclass(frozen=True)
class OrderProblem:
    """Kernels as integers, in depth-first order of the kernel graph.

    `inputs` lists the kernels each one reads, in order of first use. `after` lists the kernels that must run before
    each one, for whatever reason. `hints` lists, per kernel that overwrites memory, kernels that read the old contents;
    they shape the customary order.
    """

    kernels: Sequence[Key]
    inputs: Mapping[Key, Sequence[Key]]
    after: Mapping[Key, frozenset[Key]]
    hints: Mapping[Key, Sequence[Key]]


def running_order(problem: OrderProblem) -> list[Key]:
    """Every kernel once, all its predecessors before it; short if the edges have a cycle."""
    wanted = {kernel: rank for rank, kernel in enumerate(customary_order(problem))}
    followers: dict[Key, list[Key]] = {kernel: [] for kernel in problem.kernels}
    waiting = {kernel: len(problem.after[kernel]) for kernel in problem.kernels}
    for kernel in problem.kernels:
        for before in problem.after[kernel]:
            followers[before].append(kernel)
    ready = [(wanted[kernel], kernel) for kernel in problem.kernels if not waiting[kernel]]
    heapq.heapify(ready)
    order = []
    while ready:
        _, kernel = heapq.heappop(ready)
        order.append(kernel)
        for follower in followers[kernel]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, (wanted[follower], follower))
    return order


def customary_order(problem: OrderProblem) -> list[Key]:
    """Breadth first: a kernel enters the queue when its last input left it; `hints` only shape the starting order."""
    start = depth_first(
        problem.kernels, {k: (*problem.inputs[k], *problem.hints.get(k, ())) for k in problem.kernels}
    )
    followers: dict[Key, list[Key]] = {kernel: [] for kernel in problem.kernels}
    waiting = {kernel: len(set(problem.inputs[kernel])) for kernel in problem.kernels}
    for kernel in start:
        for before in dict.fromkeys(problem.inputs[kernel]):
            followers[before].append(kernel)
    queue = deque(kernel for kernel in start if not waiting[kernel])
    order = []
    while queue:
        kernel = queue.popleft()
        order.append(kernel)
        for follower in followers[kernel]:
            waiting[follower] -= 1
            if not waiting[follower]:
                queue.append(follower)
    return order


def depth_first(roots: Sequence[Key], inputs: Mapping[Key, Sequence[Key]]) -> list[Key]:
    """Post-order from `roots`, inputs left to right. Iterative; a cycle is walked once."""
    done: set[Key] = set()
    seen: set[Key] = set()
    order: list[Key] = []
    for root in roots:
        stack = [(root, 0)] if root not in seen else []
        seen.add(root)
        while stack:
            kernel, at = stack.pop()
            if at < len(inputs[kernel]):
                stack.append((kernel, at + 1))
                child = inputs[kernel][at]
                if child not in seen:
                    seen.add(child)
                    stack.append((child, 0))
            elif kernel not in done:
                done.add(kernel)
                order.append(kernel)
    return order


def find_cycle(after: Mapping[Key, frozenset[Key]], done: set[Key]) -> list[Key]:
    """A cycle of kernels not in `done`, each waiting for the next one: where one waits for several, the first of them is
    followed, so it need not be the shortest."""
    start = min(kernel for kernel in after if kernel not in done)
    seen: dict[Key, int] = {}
    path: list[Key] = []
    kernel = start
    while kernel not in seen:
        seen[kernel] = len(path)
        path.append(kernel)
        kernel = min(k for k in after[kernel] if k not in done)
    return path[seen[kernel] :]
