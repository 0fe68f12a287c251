"""The decisions as the assembly of kernels needs them, read once from the rows the rules derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from schedulog.scheduler.engines.symbols import Symbols

Row = tuple[int, ...]

READ: Final = (
    "kernel", "member", "target", "rereads", "version", "snapshot", "kept_before", "reads_aside", "refused",
    "home",
)  # fmt: skip
"""The relations from which kernels are made, whatever the kinds of their rules."""


class Rows(Protocol):
    """Whoever can give the rows of a relation, and what the numbers in them stand for."""

    @property
    def symbols(self) -> Symbols: ...

    def rows(self, relation: str) -> list[Row]: ...


@dataclass(frozen=True, eq=False)
class Derived:
    """Nodes are positions in the graph; a kernel is named by the node it outputs.

    `members` maps each kernel to the nodes evaluated inside; `targets` each assign kernel to the memory it overwrites.
    A content is a node: memory before the call, or what an assign wrote. `versions` holds (before, after, content).
    `reads_own` are assign kernels that read what their target holds before the call. `snapshots` are contents copied
    aside, `kept_before` the (content, kernel) pairs where the copy comes first, `aside` the (kernel, content) pairs
    that read a copy, `refused` those that no order can serve. `homes` maps values of constants alone to their device.
    """

    members: Mapping[int, frozenset[int]]
    targets: Mapping[int, int]
    versions: tuple[tuple[int, int, int], ...]
    reads_own: frozenset[int]
    snapshots: tuple[int, ...]
    kept_before: tuple[tuple[int, int], ...]
    aside: frozenset[tuple[int, int]]
    refused: tuple[tuple[int, int], ...]
    homes: Mapping[int, str]


def read_decisions(model: Rows) -> Derived:
    """The decisions in `model`."""
    members: dict[int, set[int]] = {k: set() for (k,) in model.rows("kernel")}
    for kernel, node in model.rows("member"):
        members.setdefault(kernel, set()).add(node)
    targets = {a: b for a, b in model.rows("target") if a in members}
    return Derived(
        {k: frozenset(nodes) for k, nodes in members.items()},
        targets,
        tuple((before, after, memory) for before, after, memory in model.rows("version")),
        frozenset(a for a, n in model.rows("rereads") if targets.get(a) == n),
        tuple(n for (n,) in model.rows("snapshot")),
        tuple((n, kernel) for n, kernel in model.rows("kept_before")),
        frozenset((k, b) for k, b in model.rows("reads_aside")),
        tuple((k, b) for k, b in model.rows("refused")),
        {n: str(model.symbols.value(d, "device")) for n, d in model.rows("home")},
    )
