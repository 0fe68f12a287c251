"""What callers of the public functions hand in, turned into what is meant, or refused with a way out."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from schedulog.errors import UsageError
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.node import Node
from schedulog.scheduler.language.rule_file import Part, RuleFile

DEVICE: Final = "give the name of a device: `schedulog devices` lists them"


def graph_behind(what: Any) -> Graph:
    """The graph that is to be scheduled: a Graph, or that of nodes and tensors, one or several. Raises UsageError SL704."""
    if isinstance(what, Graph):
        return what
    several = isinstance(what, Sequence) and not isinstance(what, str | bytes)
    nodes = [_node(x) for x in what] if several else [_node(what)]
    if not nodes:
        raise _unfit("an empty list")
    return graph_of(nodes)


def _node(x: Any) -> Node:
    node = x if isinstance(x, Node) else getattr(x, "node", None)
    if not isinstance(node, Node):
        raise _unfit(_kind(x))
    return node


def _unfit(what: str) -> UsageError:
    return UsageError("SL704", f"cannot schedule {what}", help="give a Graph (schedulog.load reads one), a Tensor or a Node, "
                      "or a list of Tensors and Nodes")  # fmt: skip


def rule_parts(argument: str, given: Any) -> tuple[Part, ...]:
    """Names, paths and rule texts, one or several. Raises UsageError SL730."""
    found = _several(argument, given, (str, os.PathLike, RuleFile))
    return tuple(x if isinstance(x, str | RuleFile) else Path(x) for x in found)


def names_of(argument: str, given: Any) -> tuple[str, ...]:
    """Names, one or several. Raises UsageError SL730."""
    return tuple(_several(argument, given, (str,)))


def _several(argument: str, given: Any, kinds: tuple[type, ...]) -> list[Any]:
    found = [given] if isinstance(given, kinds) or not isinstance(given, Sequence) else list(given)
    for x in found:
        if not isinstance(x, kinds):
            paths = os.PathLike in kinds
            raise wrong_kind(argument, x, f"give {'names, paths or rule texts' if paths else 'names'}, one or a list of them")  # fmt: skip
    return found


def name_of(argument: str, given: Any, help: str = "give a name") -> str:
    """One name, or another text. Raises UsageError SL730 with the help."""
    if not isinstance(given, str):
        raise wrong_kind(argument, given, help)
    return given


def device_named(given: Any) -> str | None:
    """The name of a device, None where none is named. Raises UsageError SL730."""
    return None if given is None else name_of("device", given, DEVICE) or None


def mapping_of(argument: str, given: Any, example: str) -> dict[Any, Any]:
    """A mapping; None stands for an empty one. Raises UsageError SL730."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise wrong_kind(argument, given, f"give a mapping: {argument}={example}")
    return dict(given)


def integers_of(argument: str, given: Any) -> dict[str, int]:
    """Integers by name; None stands for none of them. Raises UsageError SL730."""
    found = mapping_of(argument, given, "{'N': 1}")
    return {
        name_of(argument, name): _integer(f"{argument}[{name!r}]", value) for name, value in found.items()
    }


def _integer(argument: str, given: Any) -> int:
    try:
        return operator.index(given)
    except TypeError:
        raise wrong_kind(argument, given, "give an integer") from None


def shapes_of(argument: str, given: Any) -> dict[str, tuple[int, ...]]:
    """Shapes by name; None stands for none of them. Raises UsageError SL730."""
    found = mapping_of(argument, given, "{'x': (1, 3)}")
    return {name_of(argument, name): _shape(f"{argument}[{name!r}]", shape) for name, shape in found.items()}


def _shape(argument: str, given: Any) -> tuple[int, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise wrong_kind(argument, given, "give the sizes: (1, 3, 224, 224)")
    sizes = tuple(_integer(f"{argument}[{i}]", size) for i, size in enumerate(given))
    if any(size < 0 for size in sizes):
        raise UsageError("SL730", f"`{argument}` cannot be {sizes}", help="give sizes of 0 or more")
    return sizes


def path_text(argument: str, given: Any) -> str:
    """A path as text. Raises UsageError SL730."""
    if not isinstance(given, str | bytes | os.PathLike):
        raise wrong_kind(argument, given, "give the path of a file")
    return os.fsdecode(given)


def unused(**given: Any) -> None:
    """Arguments that numpy's functions hand on and nothing here can heed. Raises UsageError SL730 for one that is not None."""
    for argument, value in given.items():
        if value is not None:
            way = {"out": "assign the result: t.assign(...)", "dtype": "convert first: t.astype(...)"}
            raise wrong_kind(argument, value, way[argument])


def wrong_kind(argument: str, given: Any, help: str) -> UsageError:
    """That an argument is of the wrong kind, and what would be right."""
    return UsageError("SL730", f"`{argument}` cannot be {_kind(given)}", help=help)


def _kind(x: Any) -> str:
    """What something is, in few words: None, or "a list"."""
    if x is None:
        return "None"
    name = type(x).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
