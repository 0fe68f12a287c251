"""A kernel's loops as the lines of its C body."""

from __future__ import annotations

import re
from typing import Final

from schedulog.codegen import scalar
from schedulog.codegen.choose import Choice
from schedulog.codegen.index import c_text
from schedulog.codegen.loops import Accumulate, Block, Define, Lanes, Loop, Reduce, Statement, Store
from schedulog.codegen.study import Study, study
from schedulog.codegen.text import ValueText, pointer_name
from schedulog.codegen.values import Computation, Index, Load, Reduction, Value
from schedulog.facts.dtype import DType

INLINE_WIDTH: Final = (
    64  # a value used once, with text up to this many characters, is written where it is used
)

LONGEST_UNROLLED: Final = 16  # steps of a loop up to which gcc may write it out before it vectorises

_REDUCTION_NAMES: Final = {"ADD": "sum", "MUL": "product", "MAX": "max"}


def body_lines(computation: Computation, choice: Choice, root: Block) -> list[str]:
    """The statements of the kernel, indented, without the function around them."""
    return _Body(ValueText(computation, choice), study(root)).lines(root)


class _Body:
    def __init__(self, values: ValueText, used: Study) -> None:
        self.values = values
        self.used = used
        self.computation = values.computation
        self.choice = values.choice

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

    def define(self, value: Value) -> list[str]:
        text = self.values.expression(value)
        setup, self.values.setup = self.values.setup, []
        per_row = self.values.along_rows(value) and not self.values.along_lanes(value)
        if value in self.used.once and len(text) <= INLINE_WIDTH and not per_row:
            self.values.text[value] = text
            return setup
        name = self.values.fresh(_stem(value))
        kind = scalar.c_type(scalar.plain(value.dtype))
        if value in self.used.kept:
            self.values.text[value] = self.element(name, value)
            return [*setup, f"{self.values.text[value]} = {scalar.bare(text)};"]
        self.values.text[value] = name
        return [*setup, f"const {kind} {name} = {scalar.bare(text)};"]

    # loops

    def lanes(self, block: Lanes) -> list[str]:
        assert self.choice.lane is not None
        self.values.storing = any(isinstance(statement, Store) for statement in block.statements)
        outer = (self.values.before, self.values.before_row)
        self.values.before, self.values.before_row = [], []
        shared = [
            s for s in block.statements if isinstance(s, Define) and not self.values.along_lanes(s.value)
        ]
        row_lines = [line for statement in shared for line in self.statement(statement)]
        lane_lines = [line for s in block.statements if s not in shared for line in self.statement(s)]
        before, before_row = self.values.before, self.values.before_row
        self.values.before, self.values.before_row = outer
        kept = [s.value for s in block.statements if isinstance(s, Define) and s.value in self.used.kept]
        declared = [f"{scalar.c_type(scalar.plain(v.dtype))} {self.array(v)};" for v in kept]
        inside = [*row_lines, *before_row, *(self.lane_loop(lane_lines) if lane_lines else [])]
        rows = any(self.differs_by_row(statement) for statement in block.statements)
        self.values.storing = False
        return [*declared, *before, *(self.row_loop(inside) if rows else inside)]

    def differs_by_row(self, statement: Statement) -> bool:
        match statement:
            case Define():
                return self.values.along_rows(statement.value)
            case Accumulate():
                return self.values.along_rows(statement.reduction)
            case _:
                return self.choice.rows is not None

    def array(self, value: Value) -> str:
        """The declaration of a kept value: one element per row and lane it depends on."""
        name = self.values.text[value].split("[")[0]
        rows = f"[{self.choice.height}]" if self.values.along_rows(value) else ""
        return f"{name}{rows}[{self.choice.lanes}]" if self.values.along_lanes(value) else f"{name}{rows}"

    def element(self, name: str, value: Value) -> str:
        """The text of a kept value inside the row and lane loops."""
        return f"{name}{'[row]' if self.values.along_rows(value) else ''}{'[lane]' if self.values.along_lanes(value) else ''}"

    def lane_loop(self, inside: list[str]) -> list[str]:
        lane = self.choice.lane
        assert lane is not None
        index = f"const int64_t {lane.name} = {lane.name}_tile + lane;"
        needed = any(re.search(rf"\b{lane.name}\b", line) for line in inside)
        body = _indent([*([index] if needed else []), *inside])
        return [
            *self.whole_lanes(),
            f"for (int32_t lane = 0; lane < {self.values.lane_count()}; lane++) {{",
            *body,
            "}",
        ]

    def whole_lanes(self) -> list[str]:
        """A short loop has to stay a loop: written out lane by lane before it is vectorised it is many times slower."""
        return ["#pragma GCC unroll 1"] if self.values.most_lanes <= LONGEST_UNROLLED else []

    def row_loop(self, inside: list[str]) -> list[str]:
        rows = self.choice.rows
        assert rows is not None
        head = f"for (int32_t row = 0; row < {self.row_count()}; row++) {{"
        whole = [f"#pragma GCC unroll {self.choice.height}"] if self.choice.placement.chain else []
        return [
            *whole,
            head,
            f"  const int64_t {rows.name} = {rows.name}_rows + row;",
            *_indent(inside),
            "}",
        ]

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
        return [*pragma, *_in_turn(loop.body), head, *_indent(self.lines(loop.body)), "}"]

    def rows_loop(self, loop: Loop) -> list[str]:
        name, extent = f"{loop.variable.name}_rows", c_text(loop.extent)
        head = f"for (int64_t {name} = 0; {name} < {extent}; {name} += {loop.width}) {{"
        inside = self.lines(loop.body)
        if self.row_count() == "rows":
            inside.insert(0, f"const int32_t rows = (int32_t)smaller({loop.width}, {extent} - {name});")
        return [head, *_indent(inside), "}"]

    def row_count(self) -> str:
        """The rows of the current tile: a number, or the name of one where the last tile has fewer."""
        assert self.choice.rows is not None
        extent = self.computation.extents[self.choice.rows]
        full = isinstance(extent, int) and extent % self.choice.height == 0
        return str(self.choice.height) if full else "rows"

    def tile_loop(self, loop: Loop) -> list[str]:
        name, extent, width = f"{loop.variable.name}_tile", c_text(loop.extent), loop.width
        inside = self.lines(loop.body)
        if self.choice.overlap:
            head = f"for (int64_t tile = 0; tile < {extent}; tile += {width}) {{"
            start = f"const int64_t {name} = smaller(tile, {extent} - {width});"
            return [head, *_indent([start, *inside]), "}"]
        head = f"for (int64_t {name} = 0; {name} < {extent}; {name} += {width}) {{"
        if not self.values.full_tiles(loop.extent):
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
            first = c_text(loop.extent // width * width)
            lines += [
                f"for (int64_t {name} = {first}; {name} < {extent}; {name}++) {{",
                "  const int64_t part = 0;",
                *_indent(self.again(loop.body)),
                "}",
            ]
        return lines

    def again(self, block: Block) -> list[str]:
        """The lines of a block that is written out more than once: its names are used again."""
        count, text = dict(self.values.count), dict(self.values.text)
        lines = self.lines(block)
        self.values.count, self.values.text = count, text
        return lines

    # reductions and the store

    def reduce(self, statement: Reduce) -> list[str]:
        reduction = statement.reduction
        dtype = scalar.plain(reduction.dtype)
        kind, name = scalar.accumulator(dtype), self.values.fresh(_REDUCTION_NAMES[reduction.op])
        start = scalar.literal(kind, {"ADD": 0, "MUL": 1, "MAX": kind.minimum()}[reduction.op])
        if statement.wide:
            return self.wide_reduce(statement, name, kind, start)
        if statement.partials:
            return self.partial_reduce(statement, name, kind, start)
        self.values.text[reduction] = name
        lines = [f"{scalar.c_type(kind)} {name} = {scalar.bare(start)};", *self.lines(statement.body)]
        return lines + self.rounding(dtype, name)

    def wide_reduce(self, statement: Reduce, name: str, kind: DType, start: str) -> list[str]:
        reduction = statement.reduction
        total = self.values.text[reduction] = self.element(name, reduction)
        by_row = self.values.along_rows(reduction)
        rounding = self.rounding(scalar.plain(reduction.dtype), total)
        return [
            f"{scalar.c_type(kind)} {self.array(reduction)};",
            self.everywhere(f"{total} = {scalar.bare(start)};", by_row),
            *self.lines(statement.body),
            *(self.everywhere(line, by_row) for line in rounding),
        ]

    def everywhere(self, line: str, by_row: bool) -> str:
        """A line for every lane, of every row if it differs by row."""
        lanes = f"for (int32_t lane = 0; lane < {self.values.lane_count()}; lane++) {line}"
        if not by_row:
            return lanes
        return f"for (int32_t row = 0; row < {self.row_count()}; row++) {lanes}"

    def partial_reduce(self, statement: Reduce, name: str, kind: DType, start: str) -> list[str]:
        reduction, count, c_kind = statement.reduction, statement.partials, scalar.c_type(kind)
        self.values.text[reduction] = f"{name}_part[part]"
        inside = self.lines(statement.body)
        self.values.text[reduction] = name
        both = scalar.combine(
            reduction.op, reduction.dtype, f"{name}_part[part]", f"{name}_part[part + half]"
        )
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
        total = self.values.text[reduction]
        item = self.values.of(reduction.body)
        return [f"{total} = {scalar.bare(scalar.combine(reduction.op, reduction.dtype, total, item))};"]

    def store(self) -> list[str]:
        computation = self.computation
        value = scalar.to_storage(scalar.plain(computation.value.dtype), self.values.of(computation.value))
        line = f"{pointer_name(0)}[{c_text(computation.offset)}] = {value};"
        if not computation.tests:
            return [line]
        return ["NOT_VECTORISED;", f"if ({self.values.all_of(computation.tests)}) {line}"]


def _in_turn(body: Block) -> list[str]:
    """A loop that adds floats to one accumulator has to stay a loop.

    Where gcc 12 writes it out, it takes the additions for one group and loads that group from the wrong places unless they
    ascend one by one. (Numbers that may be added in any order are not concerned.)
    """
    found = any(isinstance(s, Accumulate) and s.reduction.dtype.is_float for s in body.statements)
    return ["#pragma GCC unroll 1"] if found else []


def _stem(value: Value) -> str:
    return "x" if isinstance(value, Load) else "inside" if isinstance(value, Index) else "v"


def _indent(lines: list[str], steps: int = 1) -> list[str]:
    return ["  " * steps + line for line in lines]
