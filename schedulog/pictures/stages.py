"""The three pictures of a scheduled graph."""

from __future__ import annotations

from collections.abc import Iterator

from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.pictures.picture import Edge, EdgeKind, Facts, Group, Item, Picture, Stage
from schedulog.pictures.reasons import Reasons
from schedulog.pictures.subject import HIDDEN, Subject, group_id, item_id
from schedulog.pictures.words import computes, kind_of, node_facts, operation, shortened, type_text, view_text
from schedulog.scheduler.kernels import Kernel

_NAMED = 12
"""Kernels that a fact lists."""


def picture(subject: Subject, stage: Stage) -> Picture:
    """The picture of one stage. A subject that was not simplified has one tensor graph, the scheduled one."""
    reasons = Reasons(subject)
    match stage:
        case "kernels":
            return _kernels(subject, reasons)
        case "tensor" if subject.tensors is not None:
            return _tensors(subject, reasons)
        case _:
            return _simplified(subject, reasons, stage)


def _kernels(subject: Subject, reasons: Reasons) -> Picture:
    edges = {(e.before, e.after, e.kind): e for e in subject.schedule.edges if e.kind == "data"}
    made = [
        Edge(f"k{e.before}", f"k{e.after}", "data", facts=(("buffer", _buffer_name(e.buffer.name)),))
        for e in edges.values()
    ]
    groups = tuple(_groups(subject, reasons))
    return Picture(
        subject.graph.name, "kernels", _summary(subject), (), groups, (*made, *_versions(subject, reasons))
    )


def _summary(subject: Subject) -> str:
    nodes, kernels = len(subject.graph.nodes), len(subject.schedule.kernels)
    return f"{nodes:,} nodes in {kernels:,} kernels"


def _groups(subject: Subject, reasons: Reasons) -> Iterator[Group]:
    for kernel in subject.schedule.kernels:
        text = shortened(f"{group_id(kernel)} {_title(kernel)}")
        note = type_text(kernel.value)
        yield Group(
            group_id(kernel),
            text,
            note,
            kernel.index,
            _kernel_facts(kernel, subject),
            reasons.stored(kernel.output),
        )


def _title(kernel: Kernel) -> str:
    """What the kernel is for: its output, and of an assign or a copy aside the memory."""
    if not kernel.members:
        return f"keep {_buffer_name(kernel.buffers[-1].name)}"
    return (
        f"assign {_buffer_name(kernel.buffers[0].name)}"
        if kernel.kind == "assign"
        else operation(kernel.output)
    )


def _kernel_facts(kernel: Kernel, subject: Subject) -> Facts:
    graph = subject.graph
    written, *read = [_buffer_name(buffer.name) for buffer in kernel.buffers]
    labels = dict.fromkeys(n.label for n in kernel.members if n.label)
    rows = [
        ("kernel", f"{kernel.name}, number {kernel.index} of {len(subject.schedule.kernels)}"),
        ("computes", computes(kernel) or "a copy of what it reads"),
        ("value", f"{graph.label(kernel.output)} {type_text(kernel.value)}"),
        ("stored by", "\n".join(kernel.rules)),
        ("writes", f"{written}, {kernel.bytes_written:,} bytes"),
        ("reads", f"{', '.join(read)}, {kernel.bytes_read:,} bytes" if read else ""),
        ("requested as", ", ".join(subject.outputs_of.get(kernel.output, ()))),
        ("device", kernel.device),
        ("from", ", ".join(labels)),
    ]
    return tuple((name, value) for name, value in rows if value)


def _buffer_name(name: str) -> str:
    return name or "unnamed"


def _versions(subject: Subject, reasons: Reasons) -> Iterator[Edge]:
    kernels = subject.schedule.kernels
    seen = set()
    for e in subject.schedule.edges:
        key = (e.before, e.after, e.buffer)
        if e.kind != "version" or key in seen:
            continue
        seen.add(key)
        name = _buffer_name(e.buffer.name)
        why = reasons.version(kernels[e.before], kernels[e.after])
        facts = (
            ("buffer", name),
            ("because", f"k{e.after} overwrites what k{e.before} reads or leaves there"),
        )
        yield Edge(f"k{e.before}", f"k{e.after}", "version", name, facts, why)


def _simplified(subject: Subject, reasons: Reasons, stage: Stage) -> Picture:
    items = [*_memory(subject), *_members(subject, reasons)]
    edges = [*_uses(subject), *_versions(subject, reasons)]
    groups = tuple(_groups(subject, reasons))
    return Picture(subject.graph.name, stage, _summary(subject), tuple(items), groups, tuple(edges))


def _memory(subject: Subject) -> Iterator[Item]:
    graph = subject.graph
    for n in graph.nodes:
        if n.op is Op.BUFFER:
            label = graph.label(n)
            facts = (*node_facts(n, graph), *_requested(n, subject))
            yield Item(label, label, operation(n), type_text(n), "memory", "", facts)


def _requested(n: Node, subject: Subject) -> Facts:
    names = subject.outputs_of.get(n, ())
    return (("requested as", ", ".join(names)),) if names else ()


def _members(subject: Subject, reasons: Reasons) -> Iterator[Item]:
    for kernel in subject.schedule.kernels:
        for n in kernel.members:
            if n.op not in HIDDEN and subject.shown_in(n, kernel) is kernel:
                yield _member(n, kernel, subject, reasons)


def _member(n: Node, kernel: Kernel, subject: Subject, reasons: Reasons) -> Item:
    graph, label = subject.graph, subject.graph.label(n)
    kernels = subject.kernels_of[n]
    stored = n is kernel.output
    where = group_id(kernel)
    others = [group_id(k) for k in kernels[: _NAMED + 1] if k is not kernel][:_NAMED]
    more = f" and {len(kernels) - 1 - _NAMED} more" if len(kernels) - 1 > _NAMED else ""
    facts = (
        *node_facts(n, graph),
        ("kernel", f"{where}, which stores it" if stored else f"{where}, where it is used"),
        *((("computed again in", ", ".join(others) + more),) if others else ()),
        *_requested(n, subject),
        *((("stored by", "\n".join(kernel.rules)),) if stored else ()),
        *reasons.decisions(n),
    )
    why = reasons.stored(n) if stored else f"No rule stores {label}, so each kernel that uses it computes it."
    return Item(
        item_id(n, kernel, subject),
        label,
        operation(n),
        type_text(n),
        kind_of(n, stored=stored),
        where,
        facts,
        why,
    )


def _uses(subject: Subject) -> Iterator[Edge]:
    """One edge for each operand of each member; the place an assign writes to is none."""
    makers = {kernel.buffers[0]: kernel for kernel in subject.schedule.kernels if kernel.kind != "assign"}
    assigned = {kernel.output: kernel for kernel in subject.schedule.kernels if kernel.kind == "assign"}
    for kernel in subject.schedule.kernels:
        if not kernel.members:
            for n in kernel.reads:
                yield _use(n, group_id(kernel), _place(n, assigned.get(n), subject), subject)
        for n in kernel.members:
            if n.op in HIDDEN or subject.shown_in(n, kernel) is not kernel:
                continue
            target = _place(n, kernel, subject)
            for s in n.src[1:] if n.op is Op.ASSIGN and n is kernel.output else n.src:
                if s.base.op not in HIDDEN:
                    read = kernel.reads.get(s.base)
                    maker: Kernel | None = kernel
                    if read is not None:
                        maker = makers.get(kernel.buffers[read.argument]) or assigned.get(s.base)
                    yield _use(s, target, _place(s.base, maker, subject), subject)


def _place(n: Node, kernel: Kernel | None, subject: Subject) -> str:
    """The id of what holds a node's value: its item in a kernel, the kernel that keeps a copy, or its memory."""
    label = subject.graph.label(n)
    if kernel is None:
        return label
    if not kernel.members:
        return group_id(kernel)
    return item_id(n, kernel, subject)


def _use(s: Node, target: str, source: str, subject: Subject) -> Edge:
    graph, base = subject.graph, s.base
    kernels = subject.kernels_of.get(base, ())
    kind: EdgeKind = "fused"
    label = graph.label(base)
    if base.op is Op.BUFFER:
        kind, because = "memory", f"{label} is memory before the call"
    elif any(kernel.output is base for kernel in kernels):
        kind, because = "data", f"cut: {label} is stored, by {', '.join(kernels[0].rules) or 'its kernel'}"
    else:
        because = f"fused: no rule stores {label}, so it is computed where it is used"
    view = (("view", view_text(s)),) if s.op is Op.VIEW else ()
    return Edge(source, target, kind, facts=(("because", because), *view))


def _tensors(subject: Subject, reasons: Reasons) -> Picture:
    """The graph before simplification; each node stands in the first kernel of what it became."""
    assert subject.tensors is not None
    graph, simplified = subject.tensors
    by: dict[Node, list[str]] = {}
    for rewrite in simplified.rewrites:
        by.setdefault(rewrite.before, []).append(rewrite.rule)
    items = tuple(_tensor(n, graph, by, subject) for n in graph.nodes if n.op not in HIDDEN)
    where = {item.id: item.group for item in items}
    used = {item.group for item in items}
    groups = tuple(group for group in _groups(subject, reasons) if group.id in used)
    edges = tuple(_tensor_edges(graph, where))
    summary = f"{len(graph.nodes):,} nodes before simplification, {_summary(subject)} after"
    return Picture(graph.name, "tensor", summary, items, groups, edges)


def _tensor(n: Node, graph: Graph, by: dict[Node, list[str]], subject: Subject) -> Item:
    assert subject.tensors is not None
    became = subject.tensors[1].becomes.get(n, n)
    kernels = subject.kernels_of.get(became.base, ()) if became.base.op not in HIDDEN else ()
    known = became.base in subject.graph.position
    what = subject.graph.describe(subject.graph.position[became.base]) if known else repr(became)
    facts = (
        *node_facts(n, graph),
        ("became", what if became.op is not Op.VIEW else f"{view_text(became)} of {what}"),
        *((("simplified by", ", ".join(dict.fromkeys(by[n]))),) if n in by else ()),
        *((("kernel", ", ".join(group_id(k) for k in kernels)),) if kernels else ()),
    )
    stored = any(kernel.output is became for kernel in kernels)
    group = group_id(kernels[0]) if kernels else ""
    label = graph.label(n)
    return Item(label, label, operation(n), type_text(n), kind_of(n, stored=stored), group, facts)


def _tensor_edges(graph: Graph, where: dict[str, str]) -> Iterator[Edge]:
    for n in graph.nodes:
        if n.op in HIDDEN:
            continue
        for s in n.src:
            if s.base.op in HIDDEN:
                continue
            source, target = graph.label(s.base), graph.label(n)
            same = where[source] == where[target] != ""
            kind: EdgeKind = "memory" if s.base.op is Op.BUFFER else "fused" if same else "data"
            view = (("view", view_text(s)),) if s.op is Op.VIEW else ()
            yield Edge(source, target, kind, facts=view)
