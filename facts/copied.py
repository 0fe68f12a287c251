"""Nodes made once more, by copy.deepcopy and pickle: on memory of their own, and whatever the depth of a graph.

Python would go down a graph by calling itself, which ends at some hundred operations.
"""

from __future__ import annotations

import copy
from typing import Any, Final
from weakref import ref

from schedulog.facts.node import Node, made_before, topological
from schedulog.facts.ops import Op

_COPIES: Final = object()
"""Stands, in a memo, for the nodes copied so far."""


def copied(root: Node, memo: dict[int, Any]) -> Node:
    """`root` on copies of the memory under it; itself if it reads none, or only files, which stay what they are.

    All that is copied with one memo shares copies as the originals do.
    """
    seen, copies = memo.setdefault(id(_COPIES), (set(), {}))
    for n in topological((root,), seen):
        arg = copy.deepcopy(n.arg, memo) if n.op is Op.BUFFER else n.arg
        src = tuple(copies[s] for s in n.src)
        same = arg is n.arg and all(new is old for new, old in zip(src, n.src, strict=True))
        copies[n] = n if same else made_before(n.op, src, arg, n.dtype, n.label)
    found: Node = copies[root]
    return found


class Step:
    """A node as pickle sees it within a row where its sources come first; what is read back is the node.

    It is one object as long as it lives, so that pickle writes a node once, however many tensors it is under.
    """

    __slots__ = ("__weakref__", "node")

    def __init__(self, n: Node) -> None:
        self.node = n

    @staticmethod
    def of(n: Node) -> Step:
        """The step of a node."""
        known = getattr(n, "step", None)
        found = None if known is None else known()
        if found is None:
            found = Step(n)
            n.step = ref(found)
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        return copied(self.node, memo)

    def __reduce__(self) -> tuple[Any, ...]:
        n = self.node
        return made_before, (n.op, tuple(map(Step.of, n.src)), n.arg, n.dtype, n.label)


def steps(*roots: Node) -> tuple[Step, ...]:
    """All under `roots` and they themselves, sources before users; a single root is the last."""
    return tuple(map(Step.of, topological(roots)))


def last_of(made: tuple[Node, ...]) -> Node:
    """The node whose `steps` were read back. Where an equal one lives it is that one; memory is equal only if it is the same."""
    return made[-1]
