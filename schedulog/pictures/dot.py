"""A picture as a Graphviz file: kernels are clusters, version edges dashed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from schedulog.pictures.picture import EdgeKind, Group, Item, ItemKind, Picture

SETTINGS: Final = (
    "  compound=true; node [fontname=monospace, fontsize=11]; edge [fontname=monospace, fontsize=10];"
)
"""The second line of every picture."""
_SHAPES: Final[Mapping[ItemKind, str]] = MappingProxyType(
    {
        "computed": "shape=box, style=rounded",
        "reduce": "shape=invtrapezium",
        "memory": "shape=cylinder",
        "stored": "shape=box, penwidth=2",
    }
)
_LINES: Final[Mapping[EdgeKind, str]] = MappingProxyType(
    {
        "fused": "color=gray50",
        "data": "",
        "memory": "color=gray50",
        "version": "style=dashed, constraint=false",
    }
)


def dot_text(picture: Picture) -> str:
    """The picture in the DOT language. `dot -Tsvg` draws it."""
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    yield f"digraph {_quoted(picture.name)} {{"
    yield SETTINGS
    inside: dict[str, list[Item]] = {group.id: [] for group in picture.groups}
    for item in picture.items:
        inside.get(item.group, []).append(item)
    for group in picture.groups:
        yield from _group(group, inside[group.id])
    for item in picture.items:
        if item.group not in inside:
            yield f"  {_item(item)}"
    ends = {group.id: inside[group.id][-1].id for group in picture.groups if inside[group.id]}
    for edge in picture.edges:
        yield f"  {_edge(edge.source, edge.target, edge.kind, edge.label, ends)}"
    yield "}"


def _group(group: Group, items: list[Item]) -> Iterator[str]:
    label = f"{group.text}\n{group.note}"
    if not items:
        yield f"  {_quoted(group.id)} [label={_quoted(label)}, shape=box, penwidth=2];"
        return
    yield f"  subgraph {_quoted(f'cluster_{group.id}')} {{"
    yield f"    label={_quoted(label)}; style=rounded;"
    for item in items:
        yield f"    {_item(item)}"
    yield "  }"


def _item(item: Item) -> str:
    label = f"{item.node} {item.text}\n{item.note}"
    return f"{_quoted(item.id)} [label={_quoted(label)}, {_SHAPES[item.kind]}];"


def _edge(source: str, target: str, kind: EdgeKind, label: str, ends: Mapping[str, str]) -> str:
    """An edge of a whole cluster is one of its output, cut off at the cluster's border."""
    named = [f"label={_quoted(label)}"] if label else []
    tail = [f"ltail={_quoted(f'cluster_{source}')}"] if source in ends else []
    head = [f"lhead={_quoted(f'cluster_{target}')}"] if target in ends else []
    style = [_LINES[kind]] if _LINES[kind] else []
    attributes = ", ".join([*named, *tail, *head, *style])
    arrow = f"{_quoted(ends.get(source, source))} -> {_quoted(ends.get(target, target))}"
    return f"{arrow} [{attributes}];" if attributes else f"{arrow};"


def _quoted(text: str) -> str:
    """A DOT string: quotes and backslashes escaped, line breaks as \\n, no other control characters."""
    clean = "".join(c if c.isprintable() or c == "\n" else "?" for c in text)
    return '"' + clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
