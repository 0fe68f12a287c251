"""The assigns a value is made of: to write is what they are asked for, whatever becomes of the value."""

from __future__ import annotations

from collections.abc import Iterable

from schedulog.facts.node import Node
from schedulog.facts.ops import Op


class Writes:
    """Says which replacements would lose an assign. Each node is looked at once."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._any = any(n.op is Op.ASSIGN for n in nodes)
        self._behind: dict[Node, frozenset[Node]] = {}

    def lost(self, before: Node, after: Node) -> bool:
        """Whether `before` is made of an assign that `after` is not made of. An assign itself may be written otherwise."""
        if not self._any or before.op is Op.ASSIGN:
            return False
        return not self._of(before) <= self._of(after)

    def _of(self, root: Node) -> frozenset[Node]:
        behind, stack = self._behind, [root]
        while stack:
            n = stack[-1]
            waiting = [s for s in n.src if s not in behind]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            found = frozenset[Node]().union(*(behind[s] for s in n.src))
            behind[n] = found | {n} if n.op is Op.ASSIGN else found
        return behind[root]
