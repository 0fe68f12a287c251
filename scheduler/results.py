"""What tensors are once their graph has run: a kernel's output, memory, a constant, or another tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from schedulog.facts.node import Node, Shape
from schedulog.facts.ops import Op
from schedulog.facts.simplify import Simplified
from schedulog.facts.symbolic import sizes_text
from schedulog.scheduler.kernels import Kernel, Schedule

OutcomeKind = Literal["kernel", "buffer", "constant", "tensor"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a tensor's node can be replaced by after the run, seen in `shape`.

    `node` is, by kind: the node whose value a kernel stores; a BUFFER; a CONST (or a padded look at one); or the node of
    another tensor, which looks at a BUFFER. `maker` is the kernel that makes or overwrites it, None where none does.
    """

    kind: OutcomeKind
    node: Node
    shape: Shape
    maker: Kernel | None = None

    @property
    def kernel(self) -> int | None:
        """The number of that kernel in running order."""
        return None if self.maker is None else self.maker.index

    def __repr__(self) -> str:
        made = "" if self.maker is None else f" by {self.maker.name}"
        return f"<Outcome {self.kind}: {self.node!r} as {sizes_text(self.shape)}{made}>"


def outcomes(simplified: Simplified, schedule: Schedule) -> dict[Node, Outcome]:
    """What each node of the graph before simplification is after the run.

    Nodes that stay what they are, or are neither stored nor shown by a tensor, have no entry, nor has a view of a copy that
    turned out to be memory: the copy's entry is that of the view's source. An ASSIGN is its target.
    """
    stored = {k.output: k for k in schedule.kernels if k.output.op is not Op.BUFFER}
    shown = _shown(simplified)
    found: dict[Node, Outcome] = {}
    for n, value in simplified.becomes.items():
        outcome = _outcome(n, value, stored.get(value), shown)
        if outcome is not None and (outcome.node is not n or outcome.kind == "kernel"):
            found[n] = outcome
    return found


def _shown(simplified: Simplified) -> dict[Node, Node]:
    """Per view of memory, the first tensor that is a view and becomes it."""
    shown: dict[Node, Node] = {}
    for n, value in simplified.becomes.items():
        if n.op is Op.VIEW and value.op is Op.VIEW and value.base.op is Op.BUFFER:
            shown.setdefault(value, n)
    return shown


def _outcome(n: Node, value: Node, kernel: Kernel | None, shown: Mapping[Node, Node]) -> Outcome | None:
    if kernel is not None and value.op is not Op.ASSIGN:
        return Outcome("kernel", value, n.shape, kernel)
    if value.op is Op.ASSIGN and value.arg is not None:
        return None  # its memory is of another type
    if kernel is not None:
        value = value.src[0]
    if value.op is Op.BUFFER:
        return Outcome("buffer", value, n.shape, kernel)
    if value.base.op is Op.CONST and all(isinstance(s, int) for s in value.shape):
        return Outcome("constant", value, n.shape)
    if _looks_at_copied_memory(n):
        return None
    return Outcome("tensor", shown[value], n.shape, kernel) if value in shown and value is not n else None


def _looks_at_copied_memory(n: Node) -> bool:
    """Whether a node is a view of a copy of memory: what the copy became says what it is."""
    return n.op is Op.VIEW and n.base.op is Op.COPY and n.base.src[0].op is Op.BUFFER
