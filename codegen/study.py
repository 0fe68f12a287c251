"""Where values are defined and where they are read, which decides what gets a name and what an array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from schedulog.codegen.loops import Block, Define, Lanes, Reduce, blocks, uses
from schedulog.codegen.values import Value


@dataclass(frozen=True, eq=False, slots=True)
class Study:
    """`once` holds the values read by exactly one statement, once, of their own block: these may be written into it.

    `kept` holds those of a lane loop that are read outside it: these need an element per lane.
    """

    once: frozenset[Value]
    kept: frozenset[Value]


def study(root: Block) -> Study:
    """How the values of a kernel in loop form are used."""
    home: dict[Value, Block] = {}
    for block, statement in blocks(root):
        if isinstance(statement, Define):
            home[statement.value] = block
        elif isinstance(statement, Reduce):
            home[statement.reduction] = block
    readers: dict[Value, list[Block]] = {}
    for block, statement in blocks(root):
        for value in _named(uses(statement), home):
            readers.setdefault(value, []).append(block)
    once = frozenset(v for v, found in readers.items() if len(found) == 1 and home[v] is found[0])
    kept = frozenset(
        v
        for v, found in readers.items()
        if isinstance(home[v], Lanes) and any(b is not home[v] for b in found)
    )
    return Study(once, kept)


def _named(values: tuple[Value, ...], home: Mapping[Value, Block]) -> Iterator[Value]:
    """The values with a home behind `values`: one without a home is written out, so it passes on what it reads."""
    stack = list(values)
    while stack:
        value = stack.pop()
        if value in home:
            yield value
        else:
            stack.extend(value.sources)
