"""A kernel's loops as the lines of its C body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from schedulog.codegen import scalar
from schedulog.codegen.choose import Choice
from schedulog.codegen.index import c_text
from schedulog.codegen.loops import Accumulate, Block, Define, Lanes, Loop, Reduce, Statement, Store, blocks, uses
from schedulog.codegen.values import Compute, Computation, Constant, Index, Load, Reduction, Value
from schedulog.facts.dtype import DType
from schedulog.facts.symbolic import Size

INLINE_WIDTH: Final = 64  # a value used once, with text up to this many characters, is written where it is used

_REDUCTION_NAMES: Final = {"ADD": "sum", "MUL": "product", "MAX": "max"}


@dataclass(frozen=True, eq=False, slots=True)
class _Uses:
    """Where values are defined and read."""

    home: dict[Value, Block]
    once: frozenset[Value]
    wide: frozenset[Value]


def body_lines(computation: Computation, choice: Choice, root: Block) -> list[str]:
    """The statements of the kernel, indented, without the function around them."""
    return _Body(computation, choice, _study(root)).lines(root)


def _study(root: Block) -> _Uses:
    """Which values are read exactly once, by a statement of their own block, and which have to outlive their lane loop."""
    home: dict[Value, Block] = {}
    readers: dict[Value, list[Block]] = {}
    placed = list(blocks(root))
    for block, statement in placed:
        if isinstance(statement, Define):
            home[statement.value] = block
        if isinstance(statement, Reduce):
            home[statement.reduction] = block
    for block, statement in placed:
        for value in _read(uses(statement), home):
            readers.setdefault(value, []).append(block)
    once = frozenset(v for v, b in readers.items() if len(b) == 1 and home.get(v) is b[0])
    wide = frozenset(v for v, h in home.items() if isinstance(h, Lanes) and any(b is not h for b in readers.get(v, ())))
    return _Uses(home, once, wide)


def _read(values: tuple[Value, ...], home: dict[Value, Block]) -> Iterator[Value]:
    """The defined values behind `values`: those without a home are written out, so what they read counts."""
    stack = list(values)
    while stack:
        value = stack.pop()
        if value in home:
            yield value
        else:
            stack.extend(value.sources)


class _Body:
    def __init__(self, computation: Computation, choice: Choice, uses_: _Uses) -> None:
        self.computation = computation
        self.choice = choice
        self.uses = uses_
        self.text: dict[Value, str] = {}
        self.count: dict[str, int] = {}

    def lines(self, block: Block) -> list[str]:
        """The lines of a block, not indented themselves."""
        found: list[str] = []
        for statement in block.statements:
            found += self.statement(statement)
        return found

    def statement(self, statement: Statement) -> list[str]:
        match statement:
            case Define():
                return self.define(statement.value)
            case Lanes():
                return self.lanes(statement)
            case Loop():
                return self.loop(statement)
            case Reduce():
                return self.reduce(statement)
            case Accumulate():
                return self.accumulate(statement.reduction)
            case Store():
                return self.store()
            case Block():
                return self.lines(statement)

    def fresh(self, stem: str) -> str:
        number = self.count.get(stem, 0)
        self.count[stem] = number + 1
        return f"{stem}{number}"

    # values

    def of(self, value: Value) -> str:
        """The text of a value: its name, or an expression in parentheses."""
        found = self.text.get(value)
        if found is None:
            found = self.text[value] = self.expression(value)
        return found

    def expression(self, value: Value) -> str:
        match value:
            case Constant():
                return scalar.literal(scalar.plain(value.dtype), value.number)
            case Index():
                return self.index(value)
            case Load():
                return self.load(value)
            case Compute():
                kinds = [operand.dtype for operand in value.operands]
                return scalar.compute(value.op, value.dtype, kinds, [self.of(o) for o in value.operands])
        raise AssertionError(f"{value} is defined by its loops")

    def index(self, value: Index) -> str:
        text = c_text(value.size)
        if value.dtype.kind == "bool":
            return text if text.startswith("(") else f"({text} != 0)"
        return f"(({scalar.c_type(value.dtype)})({text}))"

    def load(self, value: Load) -> str:
        dtype = scalar.plain(value.dtype)
        element = scalar.from_storage(dtype, f"{pointer_name(value.argument)}[{c_text(value.offset)}]")
        if not value.tests:
            return element
        tests = " & ".join(dict.fromkeys(self.of(test) for test in value.tests))
        return f"({tests} ? {element} : {scalar.literal(dtype, 0)})"

    def define(self, value: Value) -> list[str]:
        text = self.expression(value)
        if value in self.uses.once and len(text) <= INLINE_WIDTH:
            self.text[value] = text
            return []
        name = self.fresh(_stem(value))
        kind = scalar.c_type(scalar.plain(value.dtype))
        if value in self.uses.wide:
            self.text[value] = f"{name}[lane]"
            return [f"{name}[lane] = {scalar.bare(text)};"]
        self.text[value] = name
        return [f"const {kind} {name} = {scalar.bare(text)};"]

    # loops

    def lanes(self, block: Lanes) -> list[str]:
        lane = self.choice.lane
        assert lane is not None
        inside = self.lines(block)
        arrays = [s.value for s in block.statements if isinstance(s, Define) and s.value in self.uses.wide]
        declared = [
            f"{scalar.c_type(scalar.plain(v.dtype))} {self.text[v].removesuffix('[lane]')}[{self.choice.width}];"
            for v in arrays
        ]
        head = f"for (int64_t lane = 0; lane < {self.lane_count()}; lane++) {{"
        return [*declared, head, f"  const int64_t {lane.name} = {lane.name}_tile + lane;", *_indent(inside), "}"]

    def lane_count(self) -> str:
        """The lanes of the current tile: a number, or the name of one where the last tile is shorter."""
        assert self.choice.lane is not None
        full = self.full_tiles(self.computation.extents[self.choice.lane])
        return str(self.choice.width) if full else "lanes"

    def full_tiles(self, extent: Size) -> bool:
        return isinstance(extent, int) and extent % self.choice.width == 0

    def loop(self, loop: Loop) -> list[str]:
        if loop.kind == "split":
            return self.split_loop(loop)
        pragma = ["#pragma omp parallel for"] if loop.kind.startswith("parallel") else []
        if loop.kind.endswith("tile"):
            return [*pragma, *self.tile_loop(loop)]
        name, extent = loop.variable.name, c_text(loop.extent)
        head = f"for (int64_t {name} = 0; {name} < {extent}; {name}++) {{"
        return [*pragma, head, *_indent(self.lines(loop.body)), "}"]

    def tile_loop(self, loop: Loop) -> list[str]:
        name, extent, width = f"{loop.variable.name}_tile", c_text(loop.extent), loop.width
        head = f"for (int64_t {name} = 0; {name} < {extent}; {name} += {width}) {{"
        inside = self.lines(loop.body)
        if not self.full_tiles(loop.extent):
            inside.insert(0, f"const int64_t lanes = smaller({width}, {extent} - {name});")
        return [head, *_indent(inside), "}"]

    def split_loop(self, loop: Loop) -> list[str]:
        name, extent, width = loop.variable.name, c_text(loop.extent), loop.width
        start = f"{name}_start"
        rest = 0 if isinstance(loop.extent, int) and loop.extent % width == 0 else 1
        lines = [
            f"for (int64_t {start} = 0; {start} + {width} <= {extent}; {start} += {width}) {{",
            f"  for (int64_t part = 0; part < {width}; part++) {{",
            f"    const int64_t {name} = {start} + part;",
            *_indent(self.again(loop.body), 2),
            "  }",
            "}",
        ]
        if rest:
            first = str(loop.extent // width * width) if isinstance(loop.extent, int) else f"{extent} / {width} * {width}"
            lines += [
                f"for (int64_t {name} = {first}; {name} < {extent}; {name}++) {{",
                "  const int64_t part = 0;",
                *_indent(self.again(loop.body)),
                "}",
            ]
        return lines

    def again(self, block: Block) -> list[str]:
        """The lines of a block that is written out more than once: its names are used again."""
        count, text = dict(self.count), dict(self.text)
        lines = self.lines(block)
        self.count, self.text = count, text
        return lines

    # reductions and the store

    def reduce(self, statement: Reduce) -> list[str]:
        reduction = statement.reduction
        dtype = scalar.plain(reduction.dtype)
        kind, name = scalar.accumulator(dtype), self.fresh(_REDUCTION_NAMES[reduction.op])
        start = scalar.literal(kind, {"ADD": 0, "MUL": 1, "MAX": kind.minimum()}[reduction.op])
        if statement.wide:
            return self.wide_reduce(statement, name, kind, start)
        if statement.partials:
            return self.partial_reduce(statement, name, kind, start)
        self.text[reduction] = name
        lines = [f"{scalar.c_type(kind)} {name} = {scalar.bare(start)};", *self.lines(statement.body)]
        return lines + self.rounding(dtype, name)

    def wide_reduce(self, statement: Reduce, name: str, kind: DType, start: str) -> list[str]:
        self.text[statement.reduction] = f"{name}[lane]"
        every_lane = f"for (int64_t lane = 0; lane < {self.lane_count()}; lane++)"
        rounding = self.rounding(scalar.plain(statement.reduction.dtype), f"{name}[lane]")
        return [
            f"{scalar.c_type(kind)} {name}[{self.choice.width}];",
            f"{every_lane} {name}[lane] = {scalar.bare(start)};",
            *self.lines(statement.body),
            *(f"{every_lane} {line}" for line in rounding),
        ]

    def partial_reduce(self, statement: Reduce, name: str, kind: DType, start: str) -> list[str]:
        reduction, count, c_kind = statement.reduction, statement.partials, scalar.c_type(kind)
        self.text[reduction] = f"{name}_part[part]"
        inside = self.lines(statement.body)
        self.text[reduction] = name
        both = scalar.combine(reduction.op, reduction.dtype, f"{name}_part[part]", f"{name}_part[part + half]")
        return [
            f"{c_kind} {name}_part[{count}];",
            f"for (int64_t part = 0; part < {count}; part++) {name}_part[part] = {scalar.bare(start)};",
            *inside,
            f"for (int64_t half = {count // 2}; half > 0; half /= 2)",
            f"  for (int64_t part = 0; part < half; part++) {name}_part[part] = {scalar.bare(both)};",
            f"const {c_kind} {name} = {scalar.rounded(scalar.plain(reduction.dtype), f'{name}_part[0]')};",
        ]

    def rounding(self, dtype: DType, name: str) -> list[str]:
        return [f"{name} = {scalar.rounded(dtype, name)};"] if scalar.is_half(dtype) else []

    def accumulate(self, reduction: Reduction) -> list[str]:
        total = self.text[reduction]
        item = self.of(reduction.body)
        return [f"{total} = {scalar.bare(scalar.combine(reduction.op, reduction.dtype, total, item))};"]

    def store(self) -> list[str]:
        computation = self.computation
        value = scalar.to_storage(scalar.plain(computation.value.dtype), self.of(computation.value))
        line = f"{pointer_name(0)}[{c_text(computation.offset)}] = {value};"
        if not computation.tests:
            return [line]
        return [f"if ({' & '.join(self.of(test) for test in computation.tests)}) {line}"]


def pointer_name(argument: int) -> str:
    """The name of an argument in the kernel's code."""
    return "out" if argument == 0 else f"in{argument}"


def _stem(value: Value) -> str:
    return "x" if isinstance(value, Load) else "inside" if isinstance(value, Index) else "v"


def _indent(lines: list[str], steps: int = 1) -> list[str]:
    return [line if line.startswith("#") else "  " * steps + line for line in lines]
