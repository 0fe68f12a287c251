"""The text of values: names for what is defined, expressions for the rest, and rows for loads under tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from schedulog.codegen import scalar
from schedulog.codegen.choose import Choice
from schedulog.codegen.index import c_text, coefficients
from schedulog.codegen.tile import LONGEST_STEP
from schedulog.codegen.values import Computation, Compute, Constant, Index, Load, Value
from schedulog.facts.dtype import DType
from schedulog.facts.symbolic import Less, Size, Variable, substitute

_NO_END: Final = 1 << 20  # past every lane


class ValueText:
    """Gives every value its text, and every name of a kernel once per stem and number.

    `text` holds what has been named so far, `setup` the lines the statement that is being written needs before it. Rows that a lane loop needs are set up by the lines in `before` (outside
    the row loop) and `before_row` (inside it), which the lane loop's writer takes over. `storing` says that the lane loop
    that is being written stores its values.
    """

    def __init__(self, computation: Computation, choice: Choice) -> None:
        self.computation = computation
        self.choice = choice
        self.text: dict[Value, str] = {}
        self.count: dict[str, int] = {}
        self.storing = False
        self.setup: list[str] = []
        self.before: list[str] = []
        self.before_row: list[str] = []

    def lane_count(self) -> str:
        """The lanes of the current loop: a number, or the name of one where the last tile is shorter."""
        assert self.choice.lane is not None
        full = self.choice.overlap or self.full_tiles(self.computation.extents[self.choice.lane])
        return str(self.most_lanes) if full else "lanes"

    @property
    def most_lanes(self) -> int:
        """The lanes of a full tile: what is stored, or what is computed elsewhere."""
        return self.choice.width if self.storing else self.choice.lanes

    def full_tiles(self, extent: Size) -> bool:
        return isinstance(extent, int) and extent % self.choice.width == 0

    def along_lanes(self, value: Value) -> bool:
        """Whether a value differs from lane to lane."""
        return self.choice.lane is not None and self.choice.lane in self.choice.placement.depends[value]

    def along_rows(self, value: Value) -> bool:
        """Whether a value differs from row to row of a tile."""
        return self.choice.rows is not None and self.choice.rows in self.choice.placement.depends[value]

    def fresh(self, stem: str) -> str:
        number = self.count.get(stem, 0)
        self.count[stem] = number + 1
        return f"{stem}{number}"

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
        spare_lanes = self.along_lanes(value) and self.most_lanes > self.choice.width
        if not value.tests and not spare_lanes:
            return scalar.from_storage(dtype, f"{pointer}[{offset}]")
        row = self.row(value, dtype)
        if row is not None:
            return scalar.from_storage(dtype, row)
        inside = self.all_of(value.tests)
        if len(value.tests) > 1:
            name = self.fresh("all")
            self.setup.append(f"const bool {name} = {inside};")
            inside = name
        element = f"{pointer}[index_if({scalar.bare(inside)}, {offset})]"
        return scalar.from_storage(dtype, scalar.only_if(scalar.storage_type(dtype), inside, element))

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
        span = _lane_span(self.lane_tests(value, lane), lane)
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

    def row_lines(
        self, value: Load, lane: Variable, step: int, fixed: Sequence[Value], name: str
    ) -> list[str]:
        kind, pointer = scalar.storage_type(scalar.plain(value.dtype)), pointer_name(value.argument)
        count, elements = self.lane_count(), self.computation.pointers[value.argument].elements
        times = f" * {step}" if step > 1 else ""
        spare = [f"(lane < {self.choice.width})"] if self.most_lanes > self.choice.width else []
        tests = " & ".join([*([self.all_of(value.tests)] if value.tests else []), *spare])
        last = (
            f"{name}_first + {(self.most_lanes - 1) * step}"
            if count != "lanes"
            else f"{name}_first + (lanes - 1){times}"
        )
        whole = [*map(self.of, fixed), f"({name}_first >= 0)", f"({last} < {elements})"]
        filled = scalar.only_if(kind, "inside", f"{pointer}[index_if(inside, {c_text(value.offset)})]")
        return [
            f"const int64_t {name}_first = {c_text(substitute(value.offset, {lane: _tile_start(lane)}))};",
            f"const bool {name}_whole = {' & '.join(whole)};",
            f"{kind} {name}_edge[{(self.most_lanes - 1) * step + 1}];",
            f"if (!{name}_whole) for (int32_t lane = 0; lane < {count}; lane++) {{",
            f"  const int64_t {lane.name} = {lane.name}_tile + lane;",
            f"  const bool inside = {tests};",
            "  NOT_VECTORISED;",
            f"  {name}_edge[lane{times}] = {filled};",
            "}",
            f"const {kind} *const {name} = {name}_whole ? {pointer} + {name}_first : {name}_edge;",
        ]


def pointer_name(argument: int) -> str:
    """The name of a pointer in the kernel's code, by its number."""
    return "out" if argument == 0 else f"in{argument}"


def _tile_start(lane: Variable) -> Variable:
    """The first index of the current tile."""
    return Variable(f"{lane.name}_tile", lane.min, lane.max)


def _lane_span(tests: Sequence[Size], lane: Variable) -> tuple[Size, Size] | None:
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
        start = substitute(margin, {lane: _tile_start(lane)})
        if step > 0:  # start + step * k > 0
            begins.append(-start // step + 1)
        else:  # k < start / -step
            ends.append(-(-start // -step))
    if len(begins) > 1 or len(ends) > 1 or not tests:
        return None
    return begins[0] if begins else 0, ends[0] if ends else _NO_END
