"""A kernel's loops as the lines of its C body."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from schedulog.codegen import scalar
from schedulog.codegen.choose import Choice
from schedulog.codegen.index import c_text, coefficients
from schedulog.codegen.loops import Accumulate, Block, Define, Lanes, Loop, Reduce, Statement, Store, blocks, uses
from schedulog.codegen.values import Compute, Computation, Constant, Index, Load, Reduction, Value
from schedulog.facts.dtype import DType
from schedulog.facts.symbolic import Less, Size, Variable, substitute

INLINE_WIDTH: Final = 64  # a value used once, with text up to this many characters, is written where it is used

LONGEST_STEP: Final = 4  # elements from lane to lane up to which a row is set up for a load with tests

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
        self.before: list[str] = []
        self.before_row: list[str] = []

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
        offset, pointer = c_text(value.offset), pointer_name(value.argument)
        if not value.tests:
            return scalar.from_storage(dtype, f"{pointer}[{offset}]")
        row = self.row(value, dtype)
        if row is not None:
            return scalar.from_storage(dtype, row)
        tests = self.all_of(value.tests)
        element = f"{pointer}[index_if({tests}, {offset})]"
        return scalar.from_storage(dtype, scalar.only_if(scalar.storage_type(dtype), tests, element))

    def all_of(self, tests: Sequence[Value]) -> str:
        return " & ".join(dict.fromkeys(self.of(test) for test in tests))

    def row(self, value: Load, dtype: DType) -> str | None:
        """The text of a tested load that steps through memory from lane to lane, None if it does not.

        A pointer is set before the lane loop: to memory where all lanes lie inside the argument, otherwise to a row
        filled lane by lane. So the lane loop itself loads without a branch, and only clears what the tests exclude.
        """
        lane = self.choice.lane
        step = coefficients(value.offset, self.computation.extents).get(lane) if lane is not None else None
        if lane is None or not isinstance(step, int) or not 1 <= step <= LONGEST_STEP:
            return None
        name = self.fresh("row")
        span = lane_span(self.lane_tests(value, lane), lane)
        fixed = [test for test in value.tests if not self.along_lanes(test)]
        lines = self.row_lines(value, lane, step, fixed, name)
        if span is not None:
            lines += [
                f"const int32_t {name}_begin = within_tile({c_text(span[0])});",
                f"const uint32_t {name}_count = (uint32_t)(within_tile({c_text(span[1])}) - {name}_begin);",
            ]
        (self.before_row if self.along_rows(value) else self.before).extend(lines)
        kind, element = scalar.storage_type(dtype), f"{name}[lane{f' * {step}' if step > 1 else ''}]"
        if span is not None:
            return scalar.only_if(kind, f"(uint32_t)(lane - {name}_begin) < {name}_count", element)
        wide = [test for test in value.tests if self.along_lanes(test)]
        return scalar.only_if(kind, self.all_of(wide), element) if wide else element

    def lane_tests(self, value: Load, lane: Variable) -> list[Size]:
        return [test.size for test in value.tests if isinstance(test, Index) and self.along_lanes(test)]

    def row_lines(self, value: Load, lane: Variable, step: int, fixed: Sequence[Value], name: str) -> list[str]:
        kind, pointer = scalar.storage_type(scalar.plain(value.dtype)), pointer_name(value.argument)
        count, elements = self.lane_count(), self.computation.elements[value.argument]
        times = f" * {step}" if step > 1 else ""
        tests = self.all_of(value.tests)
        last = f"{name}_first + {(self.choice.width - 1) * step}" if count != "lanes" else f"{name}_first + (lanes - 1){times}"
        whole = [*map(self.of, fixed), f"({name}_first >= 0)", f"({last} < {elements})"]
        filled = scalar.only_if(kind, tests, f"{pointer}[index_if({tests}, {c_text(value.offset)})]")
        return [
            f"const int64_t {name}_first = {c_text(substitute(value.offset, {lane: tile_start(lane)}))};",
            f"const bool {name}_whole = {' & '.join(whole)};",
            f"{kind} {name}_edge[{(self.choice.width - 1) * step + 1}];",
            f"if (!{name}_whole) for (int32_t lane = 0; lane < {count}; lane++) {{",
            f"  const int64_t {lane.name} = {lane.name}_tile + lane;",
            "  NOT_VECTORISED;",
            f"  {name}_edge[lane{times}] = {filled};",
            "}",
            f"const {kind} *const {name} = {name}_whole ? {pointer} + {name}_first : {name}_edge;",
        ]

    def define(self, value: Value) -> list[str]:
        text = self.expression(value)
        per_row = self.along_rows(value) and not self.along_lanes(value)
        if value in self.uses.once and len(text) <= INLINE_WIDTH and not per_row:
            self.text[value] = text
            return []
        name = self.fresh(_stem(value))
        kind = scalar.c_type(scalar.plain(value.dtype))
        if value in self.uses.wide:
            self.text[value] = self.element(name, value)
            return [f"{self.text[value]} = {scalar.bare(text)};"]
        self.text[value] = name
        return [f"const {kind} {name} = {scalar.bare(text)};"]

    # loops

    def lanes(self, block: Lanes) -> list[str]:
        assert self.choice.lane is not None
        outer, self.before, self.before_row = (self.before, self.before_row), [], []
        shared = [s for s in block.statements if isinstance(s, Define) and not self.along_lanes(s.value)]
        row_lines = [line for statement in shared for line in self.statement(statement)]
        lane_lines = [line for s in block.statements if s not in shared for line in self.statement(s)]
        before, before_row = self.before, self.before_row
        self.before, self.before_row = outer
        kept = [s.value for s in block.statements if isinstance(s, Define) and s.value in self.uses.wide]
        declared = [f"{scalar.c_type(scalar.plain(v.dtype))} {self.array(v)};" for v in kept]
        inside = [*row_lines, *before_row, *self.lane_loop(lane_lines)]
        return [*declared, *before, *(self.row_loop(inside) if self.choice.rows is not None else inside)]

    def along_lanes(self, value: Value) -> bool:
        return self.choice.lane in self.choice.placement.depends[value]

    def along_rows(self, value: Value) -> bool:
        return self.choice.rows is not None and self.choice.rows in self.choice.placement.depends[value]

    def array(self, value: Value) -> str:
        """The declaration of a kept value: one element per row and lane it depends on."""
        name = self.text[value].split("[")[0]
        rows = f"[{self.choice.height}]" if self.along_rows(value) else ""
        return f"{name}{rows}[{self.choice.width}]" if self.along_lanes(value) else f"{name}{rows}"

    def element(self, name: str, value: Value) -> str:
        """The text of a kept value inside the row and lane loops."""
        return f"{name}{'[row]' if self.along_rows(value) else ''}{'[lane]' if self.along_lanes(value) else ''}"

    def lane_loop(self, inside: list[str]) -> list[str]:
        lane = self.choice.lane
        assert lane is not None
        head = f"for (int32_t lane = 0; lane < {self.lane_count()}; lane++) {{"
        index = f"const int64_t {lane.name} = {lane.name}_tile + lane;"
        needed = any(re.search(rf"\b{lane.name}\b", line) for line in inside)
        return [head, *_indent([*([index] if needed else []), *inside]), "}"]

    def row_loop(self, inside: list[str]) -> list[str]:
        rows = self.choice.rows
        assert rows is not None
        head = f"for (int32_t row = 0; row < {self.choice.height}; row++) {{"
        return [head, f"  const int64_t {rows.name} = {rows.name}_rows + row;", *_indent(inside), "}"]

    def lane_count(self) -> str:
        """The lanes of the current tile: a number, or the name of one where the last tile is shorter."""
        assert self.choice.lane is not None
        full = self.choice.overlap or self.full_tiles(self.computation.extents[self.choice.lane])
        return str(self.choice.width) if full else "lanes"

    def full_tiles(self, extent: Size) -> bool:
        return isinstance(extent, int) and extent % self.choice.width == 0

    def loop(self, loop: Loop) -> list[str]:
        if loop.kind == "split":
            return self.split_loop(loop)
        pragma = ["#pragma omp parallel for"] if loop.kind.startswith("parallel") else []
        if loop.kind.endswith("tile"):
            return [*pragma, *self.tile_loop(loop)]
        if loop.kind.endswith("rows"):
            return [*pragma, *self.rows_loop(loop)]
        name, extent = loop.variable.name, c_text(loop.extent)
        head = f"for (int64_t {name} = 0; {name} < {extent}; {name}++) {{"
        return [*pragma, head, *_indent(self.lines(loop.body)), "}"]

    def rows_loop(self, loop: Loop) -> list[str]:
        name, extent = f"{loop.variable.name}_rows", c_text(loop.extent)
        head = f"for (int64_t {name} = 0; {name} < {extent}; {name} += {loop.width}) {{"
        return [head, *_indent(self.lines(loop.body)), "}"]

    def tile_loop(self, loop: Loop) -> list[str]:
        name, extent, width = f"{loop.variable.name}_tile", c_text(loop.extent), loop.width
        inside = self.lines(loop.body)
        if self.choice.overlap:
            head = f"for (int64_t tile = 0; tile < {extent}; tile += {width}) {{"
            start = f"const int64_t {name} = smaller(tile, {extent} - {width});"
            return [head, *_indent([start, *inside]), "}"]
        head = f"for (int64_t {name} = 0; {name} < {extent}; {name} += {width}) {{"
        if not self.full_tiles(loop.extent):
            inside.insert(0, f"const int32_t lanes = (int32_t)smaller({width}, {extent} - {name});")
        return [head, *_indent(inside), "}"]

    def split_loop(self, loop: Loop) -> list[str]:
        name, extent, width = loop.variable.name, c_text(loop.extent), loop.width
        start = f"{name}_start"
        rest = 0 if isinstance(loop.extent, int) and loop.extent % width == 0 else 1
        lines = [
            f"for (int64_t {start} = 0; {start} + {width} <= {extent}; {start} += {width}) {{",
            f"  for (int32_t part = 0; part < {width}; part++) {{",
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
        reduction = statement.reduction
        total = self.text[reduction] = self.element(name, reduction)
        rounding = self.rounding(scalar.plain(reduction.dtype), total)
        return [
            f"{scalar.c_type(kind)} {self.array(reduction)};",
            self.everywhere(f"{total} = {scalar.bare(start)};"),
            *self.lines(statement.body),
            *(self.everywhere(line) for line in rounding),
        ]

    def everywhere(self, line: str) -> str:
        """A line for every row and lane."""
        lanes = f"for (int32_t lane = 0; lane < {self.lane_count()}; lane++) {line}"
        if self.choice.rows is None:
            return lanes
        return f"for (int32_t row = 0; row < {self.choice.height}; row++) {lanes}"

    def partial_reduce(self, statement: Reduce, name: str, kind: DType, start: str) -> list[str]:
        reduction, count, c_kind = statement.reduction, statement.partials, scalar.c_type(kind)
        self.text[reduction] = f"{name}_part[part]"
        inside = self.lines(statement.body)
        self.text[reduction] = name
        both = scalar.combine(reduction.op, reduction.dtype, f"{name}_part[part]", f"{name}_part[part + half]")
        return [
            f"{c_kind} {name}_part[{count}];",
            f"for (int32_t part = 0; part < {count}; part++) {name}_part[part] = {scalar.bare(start)};",
            *inside,
            f"for (int32_t half = {count // 2}; half > 0; half /= 2)",
            f"  for (int32_t part = 0; part < half; part++) {name}_part[part] = {scalar.bare(both)};",
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
        return ["NOT_VECTORISED;", f"if ({' & '.join(self.of(test) for test in computation.tests)}) {line}"]


def pointer_name(argument: int) -> str:
    """The name of an argument in the kernel's code."""
    return "out" if argument == 0 else f"in{argument}"


def tile_start(lane: Variable) -> Variable:
    """The first index of the current tile."""
    return Variable(f"{lane.name}_tile", lane.min, lane.max)


def lane_span(tests: Sequence[Size], lane: Variable) -> tuple[Size, Size] | None:
    """The lanes [begin, end) of the current tile for which all tests hold, where two bounds say it; else None.

    The two are not clipped to the tile. A test `left < right` that is linear in the lane bounds it on one side.
    """
    begins, ends = [], []
    for test in tests:
        if not isinstance(test, Less):
            return None
        margin = test.right - test.left  # has to be positive
        step = coefficients(margin, (lane,)).get(lane)
        if not isinstance(step, int):
            return None
        start = substitute(margin, {lane: tile_start(lane)})
        if step > 0:  # start + step * k > 0
            begins.append(-start // step + 1)
        else:  # k < start / -step
            ends.append(-(-start // -step))
    if len(begins) > 1 or len(ends) > 1 or not tests:
        return None
    return begins[0] if begins else 0, ends[0] if ends else 1 << 20


def _stem(value: Value) -> str:
    return "x" if isinstance(value, Load) else "inside" if isinstance(value, Index) else "v"


def _indent(lines: list[str], steps: int = 1) -> list[str]:
    return [line if line.startswith("#") else "  " * steps + line for line in lines]
