"""Nodes, views and kernels in the few words that a picture has room for."""

from __future__ import annotations

from collections import Counter

from schedulog.facts.graph import Graph
from schedulog.facts.node import Node, Shape
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import render
from schedulog.pictures.picture import Facts, ItemKind
from schedulog.pictures.subject import HIDDEN, INLINE
from schedulog.scheduler.kernels import Kernel

_REDUCTIONS = {"ADD": "sum", "MUL": "prod", "MAX": "max"}
_LONGEST = 26
"""Characters of a line that is drawn."""


def shape_text(shape: Shape) -> str:
    """A shape as it is written: [8,n]."""
    return f"[{','.join(render(size) for size in shape)}]"


def type_text(n: Node) -> str:
    """dtype and shape."""
    return f"{n.dtype}{shape_text(n.shape)}"


def operation(n: Node) -> str:
    """The operation with its argument and its constant operands: `sum 1`, `add 0.5`, `cast int32`."""
    constants = [value_text(s.base) for s in n.src if s.base.op in INLINE]
    match n.op:
        case Op.BUFFER:
            words = [str(n.arg.name or n.label or "memory")]
        case Op.CONST | Op.BIND:
            words = [value_text(n)]
        case Op.REDUCE_AXIS:
            words = [_REDUCTIONS[n.arg.op], ",".join(map(str, n.arg.axes))]
        case Op.CAST | Op.BITCAST:
            words = [n.op.lower(), str(n.dtype)]
        case Op.COPY:
            words = ["copy to", n.device]
        case _:
            words = [n.op.lower(), *constants]
    return shortened(" ".join(words))


def value_text(n: Node) -> str:
    """A constant or a bound variable."""
    if n.op is Op.BIND:
        return f"{n.arg.name}={n.arg.value}"
    value = n.arg.value
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def kind_of(n: Node, *, stored: bool) -> ItemKind:
    """How an item is drawn."""
    if n.op is Op.BUFFER:
        return "memory"
    if stored:
        return "stored"
    return "reduce" if n.op is Op.REDUCE_AXIS else "computed"


def node_facts(n: Node, graph: Graph) -> Facts:
    """What a node is, whatever was decided about it."""
    operands = [_operand(s, graph) for s in n.src]
    rows = [
        ("operation", operation(n) if n.op is not Op.BUFFER else f"memory {n.arg.name}".strip()),
        ("type", type_text(n)),
        ("bytes", f"{n.nbytes:,}"),
        ("device", n.device),
        ("label", n.label),
        ("operands", "\n".join(operands)),
    ]
    return tuple((name, value) for name, value in rows if value)


def _operand(s: Node, graph: Graph) -> str:
    if s.base.op in INLINE:
        return value_text(s.base)
    return graph.label(s.base) + (f", {view_text(s)}" if s.op is Op.VIEW else "")


def view_text(s: Node) -> str:
    """How a view shows its base."""
    parts = []
    for view in s.arg.views:
        strides = f"strides ({','.join(render(x) for x in view.strides)})"
        offset = f", offset {render(view.offset)}" if view.offset != 0 else ""
        parts.append(f"{shape_text(view.shape)} {strides}{offset}{', padded' if view.mask else ''}")
    return "seen as " + ", then as ".join(parts)


def computes(kernel: Kernel) -> str:
    """The operations inside, each once with its count, the most frequent first."""
    counts = Counter(n.op.lower() for n in kernel.members if n.op not in HIDDEN)
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in counts.most_common())


def shortened(text: str, longest: int = _LONGEST) -> str:
    """The text, or as much of its beginning as fits."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
