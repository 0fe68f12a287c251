"""The assigns a value is made of: to write is what they are asked for, whatever becomes of the value."""

from __future__ import annotations

from collections.abc import Iterable

from schedulog.facts.node import Node
from schedulog.facts.ops import Op


class Writes:
    """Says which replacements would lose an assign. Each node is looked at once.

    What is behind a node is a number with a bit for each assign: a set for each would fill memory where assigns make a chain.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._any = any(n.op is Op.ASSIGN for n in nodes)
        self._behind: dict[Node, int] = {}
        self._bits: dict[Node, int] = {}

    def lost(self, before: Node, after: Node) -> bool:
        """Whether `before` is made of an assign that `after` is not made of. An assign itself may be written otherwise."""
        if not self._any:
            return False
        behind = self._of(before)
        if before.op is Op.ASSIGN:
            behind &= ~self._bits[before]
        return behind & ~self._of(after) != 0

    def _of(self, root: Node) -> int:
        behind, stack = self._behind, [root]
        while stack:
            n = stack[-1]
            waiting = [s for s in n.src if s not in behind]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            found = self._bits.setdefault(n, 1 << len(self._bits)) if n.op is Op.ASSIGN else 0
            for s in n.src:
                found |= behind[s]
            behind[n] = found
        return behind[root]
