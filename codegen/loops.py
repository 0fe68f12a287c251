"""The loop form of a kernel: blocks of statements in loops, in the order they run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from schedulog.codegen.values import Computation, Reduction, Value
from schedulog.facts.symbolic import Size, Variable

LoopKind = Literal["plain", "parallel", "tile", "parallel tile", "rows", "parallel rows", "split"]


@dataclass(eq=False, slots=True)
class Block:
    """Statements that run one after another."""

    statements: list[Statement] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Lanes(Block):
    """Statements that run for every row and lane of the enclosing tile: one vectorisable loop (in a loop over rows)."""


@dataclass(frozen=True, eq=False, slots=True)
class Define:
    """Computes `value`, once each time it is reached."""

    value: Value


@dataclass(frozen=True, eq=False, slots=True)
class Reduce:
    """Sets up the accumulator of `reduction`, runs `body` (its loops), and leaves the result under its name.

    `wide` says that there is one accumulator per row and lane of the tile. `partials` > 0 keeps that many partial results in
    the innermost loop, which is then of kind "split".
    """

    reduction: Reduction
    body: Block
    wide: bool
    partials: int


@dataclass(frozen=True, eq=False, slots=True)
class Accumulate:
    """Takes the body's value into the accumulator."""

    reduction: Reduction


@dataclass(frozen=True, eq=False, slots=True)
class Store:
    """Writes the kernel's value."""

    computation: Computation


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """`body` for `variable` = 0, 1, ... up to `extent`.

    "parallel" iterations may run at once; a "tile" advances by `width` and leaves the last level to the `Lanes` inside;
    "rows" advances by `width` likewise; a "split" loop is run `width` at a time, with a rest.
    """

    variable: Variable
    extent: Size
    body: Block
    kind: LoopKind = "plain"
    width: int = 1


Statement = Define | Reduce | Accumulate | Store | Loop | Block


def uses(statement: Statement) -> tuple[Value, ...]:
    """The values a statement itself reads (not those inside its body)."""
    match statement:
        case Define():
            return statement.value.sources
        case Accumulate():
            return (statement.reduction.body,)
        case Store():
            return statement.computation.roots
        case _:
            return ()


def blocks(root: Block) -> Iterator[tuple[Block, Statement]]:
    """Every statement with the block it stands in."""
    pending = [root]
    while pending:
        block = pending.pop()
        for statement in block.statements:
            yield block, statement
            if isinstance(statement, Block):
                pending.append(statement)
            elif isinstance(statement, Loop | Reduce):
                pending.append(statement.body)
