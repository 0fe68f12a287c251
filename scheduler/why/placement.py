"""Where the nodes of a graph are computed: which kernels evaluate a node, what is stored, and who reads whom."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.scheduler.schedule import Decisions


class Placement:
    """Looks up one graph's decisions by node number. A kernel is named by the node whose value it stores."""

    def __init__(self, decisions: Decisions) -> None:
        self.graph = decisions.graph
        self.nodes: Sequence[Node] = decisions.graph.nodes
        self.edges = decisions.facts.rows["edge"]
        self.kernels: Mapping[int, Collection[int]] = decisions.derived.members

    @cached_property
    def holders(self) -> Mapping[int, Sequence[int]]:
        """The kernels that evaluate each node, sorted."""
        found: dict[int, list[int]] = {}
        for kernel in sorted(self.kernels):
            for n in self.kernels[kernel]:
                found.setdefault(n, []).append(kernel)
        return found

    @cached_property
    def operands(self) -> Sequence[Sequence[int]]:
        """What each node reads, without the views between; nothing for a view. What an assign overwrites is not read."""
        found: list[dict[int, None]] = [{} for _ in self.nodes]
        for source, user, _ in self.edges:
            found[user][source] = None
        for n in (i for i, n in enumerate(self.nodes) if n.op is Op.ASSIGN):
            value = self.graph.position[self.nodes[n].src[1].base]
            found[n] = {source: None for source in found[n] if source == value}
        return [tuple(sources) for sources in found]

    @cached_property
    def users(self) -> Sequence[Sequence[int]]:
        """Who reads each node, without the views between."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for n, sources in enumerate(self.operands):
            for source in sources:
                found[source].append(n)
        return found

    def base(self, n: int) -> int:
        """The node that a view looks at; any other node itself."""
        return self.graph.position[self.nodes[n].base]

    def is_stored(self, n: int) -> bool:
        return n in self.kernels

    def is_made(self, n: int) -> bool:
        """Whether some kernel evaluates the node."""
        return n in self.holders

    def above(self, starts: Iterable[int]) -> set[int]:
        """The nodes from which one of these is made, these among them."""
        return _closure(starts, self.operands.__getitem__)

    def below(self, starts: Iterable[int]) -> set[int]:
        """The nodes that are made of one of these, these among them."""
        return _closure(starts, self.users.__getitem__)

    def cheapest(self, start: int) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """For each node made of `start`: on the best way there, how many nodes before it are stored, and the last node
        before it. (Breadth-first with two kinds of steps, those that cost nothing first.)
        """
        cost, before = {start: 0}, dict[int, int]()
        waiting, done = deque([start]), set[int]()
        while waiting:
            n = waiting.popleft()
            if n in done:
                continue
            done.add(n)
            step = int(self.is_stored(n))
            for user in self.users[n]:
                if user not in cost or cost[n] + step < cost[user]:
                    cost[user], before[user] = cost[n] + step, n
                    (waiting.append if step else waiting.appendleft)(user)
        return cost, before


def way_to(end: int, before: Mapping[int, int]) -> list[int]:
    """The way that `cheapest` found to a node, from its start."""
    way = [end]
    while way[-1] in before:
        way.append(before[way[-1]])
    return way[::-1]


def _closure(starts: Iterable[int], following: Callable[[int], Iterable[int]]) -> set[int]:
    seen = set(starts)
    stack = list(seen)
    while stack:
        fresh = [n for n in following(stack.pop()) if n not in seen]
        seen.update(fresh)
        stack += fresh
    return seen


def first_cuts(placement: Placement, start: int, region: Collection[int]) -> Iterator[tuple[int, int]]:
    """The operands at which the ways from `start` through `region` first come to a stored value, with who reads it."""
    seen, stack = {start}, [start]
    while stack:
        n = stack.pop()
        for user in placement.users[n]:
            if user not in region:
                continue
            if placement.is_stored(n):
                yield n, user
            elif user not in seen:
                seen.add(user)
                stack.append(user)
