"""A picture as one HTML file that needs nothing else: the layout is made here, the page draws it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, Final

from schedulog.pictures.picture import Group, Item, Picture
from schedulog.pictures.placement import Placed, placed

OPEN_UP_TO: Final = 300
"""Items a picture may have for its kernels to be open at first."""

_LETTER: Final = 7.3
_SMALL_LETTER: Final = 6.2
_ITEM_HEIGHT: Final = 38.0
_BOX_HEIGHT: Final = 46.0
_HEADER: Final = 34.0
_PADDING: Final = 14.0
_WIDEST: Final = 2600.0
_INNER_WIDEST: Final = 900.0
_GAPS: Final = (26.0, 52.0)
_INNER_GAPS: Final = (14.0, 26.0)

Size = tuple[float, float]


def page_head() -> str:
    """How every page starts, up to its title."""
    return _template().partition("{{title}}")[0]


def html_text(picture: Picture) -> str:
    """The page. It loads nothing and forbids itself to."""
    parts = {name: _part(name) for name in ("style.css", "layout.js", "explorer.js")}
    text = _template()
    for name, part in parts.items():
        text = text.replace(f"/* {name} */", part)
    title = escape(f"{picture.name}: {picture.stage}")
    return text.replace("{{title}}", title).replace("{{data}}", _embedded(page_data(picture)))


def _template() -> str:
    return _part("page.html")


def _part(name: str) -> str:
    return files("schedulog.pictures").joinpath("page", name).read_text(encoding="utf-8")


def _embedded(data: Mapping[str, Any]) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def page_data(picture: Picture) -> dict[str, Any]:
    """What the page draws: items, groups, edges by number, and where everything stands at first."""
    insides = _insides(picture)
    opened = len(picture.items) <= OPEN_UP_TO
    boxes = _boxes(picture)
    number = {box: at for at, box in enumerate(boxes)}
    sizes = _sizes(picture, insides, opened=opened)
    home = _homes(picture)
    between = [(number[home[e.source]], number[home[e.target]]) for e in picture.edges]
    light = {number[item.id] for item in picture.items if item.kind == "memory" and item.id in number}
    places = placed(
        [sizes[box] for box in boxes],
        [(a, b) for a, b in between if a != b],
        gaps=_GAPS,
        widest=_WIDEST,
        light=light,
    )
    layers = places.layers
    return {
        "name": picture.name,
        "stage": picture.stage,
        "summary": picture.summary,
        "open": opened,
        "items": [_item(item) for item in picture.items],
        "groups": [_group(group, insides[group.id]) for group in picture.groups],
        "edges": _edges(picture),
        "boxes": boxes,
        "rows": layers.rows,
        "bends": [[a, b, chain] for (a, b), chain in layers.bends.items()],
        "centers": [round(center, 1) for center in places.centers],
        "gaps": _GAPS,
    }


def _item(item: Item) -> dict[str, Any]:
    width, height = _item_size(item)
    return {
        "id": item.id, "node": item.node, "text": item.text, "note": item.note, "kind": item.kind, "group": item.group,
        "facts": item.facts, "why": item.why, "w": width, "h": height,
    }  # fmt: skip


def _group(group: Group, inside: Placed | None) -> dict[str, Any]:
    width, height = _closed_size(group)
    return {
        "id": group.id, "text": group.text, "note": group.note, "number": group.number, "facts": group.facts,
        "why": group.why, "w": width, "h": height, "inside": None if inside is None else _inside(group, inside),
    }  # fmt: skip


def _inside(group: Group, inside: Placed) -> dict[str, Any]:
    """The open box: its size, and the place of each member by number, in the order of the picture's items."""
    width, height = _open_size(group, inside)
    shift = (width - inside.width) / 2
    places = {
        n: [round(inside.centers[n] + shift, 1), round(top + _HEADER, 1)]
        for row, top in zip(inside.layers.rows, inside.tops, strict=True)
        for n in row
        if n < inside.layers.boxes
    }
    return {"w": width, "h": height, "places": [places[n] for n in range(inside.layers.boxes)]}


def _edges(picture: Picture) -> list[dict[str, Any]]:
    ends = {group.id: -1 - at for at, group in enumerate(picture.groups)}
    ends |= {item.id: at for at, item in enumerate(picture.items)}
    return [
        {
            "s": ends[e.source],
            "t": ends[e.target],
            "kind": e.kind,
            "label": e.label,
            "facts": e.facts,
            "why": e.why,
        }
        for e in picture.edges
    ]


def _item_size(item: Item) -> Size:
    return round(max(_LETTER * len(item.text), _SMALL_LETTER * len(item.note), 30) + 22, 1), _ITEM_HEIGHT


def _closed_size(group: Group) -> Size:
    return round(max(_LETTER * len(group.text), _SMALL_LETTER * len(group.note)) + 42, 1), _BOX_HEIGHT


def _open_size(group: Group, inside: Placed) -> Size:
    width = max(inside.width + 2 * _PADDING, _closed_size(group)[0])
    return round(width, 1), round(inside.height + _HEADER + _PADDING, 1)


def _sizes(picture: Picture, insides: Mapping[str, Placed | None], *, opened: bool) -> dict[str, Size]:
    """The size of each box at first."""
    sizes = {item.id: _item_size(item) for item in picture.items}
    for group in picture.groups:
        inside = insides[group.id]
        sizes[group.id] = _open_size(group, inside) if inside is not None and opened else _closed_size(group)
    return sizes


def _insides(picture: Picture) -> dict[str, Placed | None]:
    """The layout of each group's members; None for a group without any."""
    members: dict[str, list[Item]] = {group.id: [] for group in picture.groups}
    at: dict[str, tuple[str, int]] = {}
    for item in picture.items:
        if item.group in members:
            at[item.id] = (item.group, len(members[item.group]))
            members[item.group].append(item)
    edges: dict[str, list[tuple[int, int]]] = {name: [] for name in members}
    for e in picture.edges:
        one, other = at.get(e.source), at.get(e.target)
        if one is not None and other is not None and one[0] == other[0]:
            edges[one[0]].append((one[1], other[1]))
    return {
        name: placed([_item_size(i) for i in found], edges[name], gaps=_INNER_GAPS, widest=_INNER_WIDEST)
        if found
        else None
        for name, found in members.items()
    }


def _homes(picture: Picture) -> dict[str, str]:
    """The box that each item and group stands in."""
    groups = {group.id: group.id for group in picture.groups}
    return groups | {item.id: item.group if item.group in groups else item.id for item in picture.items}


def _boxes(picture: Picture) -> list[str]:
    """The ids of what stands by itself, sources before users where no cycle forbids it."""
    home = _homes(picture)
    users: dict[str, dict[str, None]] = {box: {} for box in home.values()}
    for e in picture.edges:
        if home[e.source] != home[e.target]:
            users[home[e.source]][home[e.target]] = None
    return _topological(list(users), users)


def _topological(boxes: Sequence[str], users: Mapping[str, Iterable[str]]) -> list[str]:
    """Depth first along the users, finished last come first; iterative."""
    order: list[str] = []
    seen: set[str] = set()
    for root in reversed(boxes):
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(users[root]))]
        while stack:
            box, following = stack[-1]
            user = next((u for u in following if u not in seen), None)
            if user is None:
                stack.pop()
                order.append(box)
            else:
                seen.add(user)
                stack.append((user, iter(users[user])))
    return order[::-1]
