"""What a kernel computes, as scalar values over loop variables: the result of lowering, before loops are placed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from schedulog.facts.dtype import DType
from schedulog.facts.node import ReduceOp
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Size, Variable


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """One number at one point of the iteration space. Values form a graph without cycles; they compare by identity."""

    dtype: DType

    @property
    def sources(self) -> tuple[Value, ...]:
        """The values this one is computed from."""
        return ()

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The index expressions that occur in this value itself."""
        return ()


@dataclass(frozen=True, eq=False, slots=True)
class Constant(Value):
    """A number that is known."""

    number: bool | int | float


@dataclass(frozen=True, eq=False, slots=True)
class Index(Value):
    """An index expression as a number: a bound variable, or a test (of dtype bool) whether an index is in range."""

    size: Size

    @property
    def sizes(self) -> tuple[Size, ...]:
        return (self.size,)


@dataclass(frozen=True, eq=False, slots=True)
class Load(Value):
    """Element `offset` of what pointer `argument` points to, or 0 (and no memory access) unless all `tests` hold."""

    argument: int
    offset: Size
    tests: tuple[Value, ...]

    @property
    def sources(self) -> tuple[Value, ...]:
        return self.tests

    @property
    def sizes(self) -> tuple[Size, ...]:
        return (self.offset,)


@dataclass(frozen=True, eq=False, slots=True)
class Compute(Value):
    """An elementwise operation."""

    op: Op
    operands: tuple[Value, ...]

    @property
    def sources(self) -> tuple[Value, ...]:
        return self.operands


@dataclass(frozen=True, eq=False, slots=True)
class Reduction(Value):
    """`body` combined by `op` over all values of `loops`, outermost first."""

    op: ReduceOp
    loops: tuple[Variable, ...]
    body: Value

    @property
    def sources(self) -> tuple[Value, ...]:
        return (self.body,)


@dataclass(frozen=True, slots=True)
class Pointer:
    """Argument `argument` of the kernel as `elements` numbers of `dtype`."""

    argument: int
    dtype: DType
    elements: int


@dataclass(frozen=True, eq=False, slots=True)
class Computation:
    """A lowered kernel: for every value of `outputs`, `value` goes to element `offset` of pointer 0 if `tests` hold.

    `extents` gives the trip count of every loop variable, of outputs and reductions. `variables` maps the names that
    symbolic sizes have in the code to the graph's names; `pointers` are what the kernel's memory is used as.
    """

    outputs: tuple[Variable, ...]
    extents: Mapping[Variable, Size]
    value: Value
    offset: Size
    tests: tuple[Value, ...]
    variables: Mapping[str, str]
    pointers: tuple[Pointer, ...]

    @property
    def writes_what_it_reads(self) -> bool:
        """Whether some load reads the memory that is written."""
        return any(isinstance(v, Load) and self.pointers[v.argument].argument == 0 for v in self.values())

    @property
    def roots(self) -> tuple[Value, ...]:
        """The values the store needs."""
        return (*self.tests, self.value)

    def values(self) -> tuple[Value, ...]:
        """Every value, sources before users, each once."""
        return tuple(ordered(self.roots))


def ordered(roots: tuple[Value, ...]) -> Iterator[Value]:
    """Every value under `roots` in post-order, without recursion."""
    done: set[Value] = set()
    stack = [iter(roots)]
    path: list[Value] = []
    while stack:
        child = next(stack[-1], None)
        if child is None:
            stack.pop()
            if path:
                done.add(path[-1])
                yield path.pop()
        elif child not in done:
            path.append(child)
            stack.append(iter(child.sources))
