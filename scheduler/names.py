"""The user's names for what a kernel computes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from schedulog.facts.node import Node


def operation_names(output: Node, members: Collection[Node], name: Callable[[Node], str]) -> tuple[str, ...]:
    """The names of the kernel that stores `output` and computes `members`, each once.

    The output's comes first, then breadth first towards the operands. `name` gives a node's name, "" for none.
    """
    inner = frozenset(members)
    found = dict.fromkeys([name(output)])
    seen = {output}
    level: Iterable[Node] = output.src
    while level:
        inside = [n for n in dict.fromkeys(level) if n in inner and n not in seen]
        seen.update(inside)
        found.update(dict.fromkeys(map(name, inside)))
        level = [source for n in inside for source in n.src]
    return tuple(text for text in found if text)
