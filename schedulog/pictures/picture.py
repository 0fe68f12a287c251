"""What a picture shows, before it is drawn: items in groups, and edges between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Stage = Literal["tensor", "simplified", "kernels"]
"""The graph as it was asked for; after simplification, in its kernels; the kernels alone, in their order."""

ItemKind = Literal["computed", "reduce", "memory", "stored"]
EdgeKind = Literal["fused", "data", "memory", "version"]
"""Computed where it is used; read from another kernel; read from memory; only an order, because of an overwrite."""

Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Item:
    """One operation or memory. `id` is unique in the picture, `node` is the id that rules and questions use.

    `text` and `note` are the two lines drawn, `group` the id of the group it stands in or "", `facts` named values, `why`
    the reason for its store, several lines.
    """

    id: str
    node: str
    text: str
    note: str
    kind: ItemKind
    group: str
    facts: Facts
    why: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """One kernel. `number` gives its colour; `text` and `note` are what is drawn when it is closed."""

    id: str
    text: str
    note: str
    number: int
    facts: Facts
    why: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """From what is made or kept to who uses it, by ids of items or groups. `label` is drawn, `facts` and `why` explain it."""

    source: str
    target: str
    kind: EdgeKind
    label: str = ""
    facts: Facts = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """Items, groups and edges, each in an order in which sources come before users wherever that is possible."""

    name: str
    stage: Stage
    summary: str
    items: tuple[Item, ...]
    groups: tuple[Group, ...]
    edges: tuple[Edge, ...]
