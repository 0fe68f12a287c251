"""The choice of loop order, lanes and partial results, by an estimate of the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from schedulog.codegen.index import coefficients
from schedulog.codegen.place import Level, Placement, dependencies, place
from schedulog.codegen.tile import TURNED, choose_rows, computed_lanes, may_overlap, tile_width, turned
from schedulog.codegen.values import Computation, Constant, Index, Load, Reduction, Value
from schedulog.facts.symbolic import Variable, upper_bound

SMALLEST_TILE: Final = 4
MOST_TESTED: Final = 64  # loads with tests in tiles, where each is a loop: compiling takes their square
PARALLEL_WORK: Final = 50_000  # operations below which starting threads costs more than it saves
ENOUGH_TRIPS: Final = 16  # steps that keep the threads of most machines busy
VECTOR: Final = 8.0  # how much cheaper an operation is in a vectorised loop, roughly
STRIDED: Final = 1.0  # cost of a load that is not contiguous in a vectorised loop, in scalar operations


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """How the loops of a kernel run.

    `lane` is the output variable whose tiles of `width` are computed side by side (None: no tiles). `partials` maps
    each reduction whose innermost loop keeps several partial results to their number. The steps of `parallel`, an
    output variable, are shared by threads. Several steps of `rows`, another output variable, share a tile (`height` of
    them), and with it what does not depend on `rows`. `lanes` >= `width` of them are computed, and `width` stored. With `overlap` a last tile that would be short begins earlier and writes some values twice.
    """

    placement: Placement
    lane: Variable | None
    width: int
    lanes: int
    partials: Mapping[Reduction, int]
    parallel: Variable | None
    rows: Variable | None
    height: int
    overlap: bool


def choose(computation: Computation) -> Choice:
    """The cheapest way to run the loops of `computation`."""
    values = computation.values()
    reductions = [value for value in values if isinstance(value, Reduction)]
    work = _Work(computation, place(computation, _order(computation, reductions, values, None)))
    lane = min((None, *_lanes(computation, values)), key=work.cost)
    if lane is not None:
        work = _Work(computation, place(computation, _order(computation, reductions, values, lane)))
    width = 1 if lane is None else tile_width(computation.extents[lane])
    lanes = (
        computed_lanes(computation, work.placement, lane, width) if lane is not None and reductions else width
    )
    rows, height = choose_rows(computation, work.placement, lane, width)
    if lane is None and not reductions and work.operations() > PARALLEL_WORK:
        rows = turned(computation, work.placement)
        if rows is not None:
            lane, width, lanes, height = computation.outputs[-1], 2 * TURNED, 2 * TURNED, TURNED
    parallel = work.parallel({lane: width, rows: height})
    overlap = lane is not None and lane != parallel and may_overlap(computation, lane, width)
    return Choice(
        work.placement, lane, width, lanes, work.all_partials(lane), parallel, rows, height, overlap
    )


def _order(
    computation: Computation, reductions: Sequence[Reduction], values: Sequence[Value], lane: Variable | None
) -> tuple[Variable, ...]:
    """Output loops that more reductions depend on go further out, so that no reduction is repeated for others.

    Among equals the tiles are innermost.
    """
    depends = dependencies(values, computation.extents)
    count = {v: sum(v in depends[r] for r in reductions) for v in computation.outputs}
    return tuple(sorted(computation.outputs, key=lambda v: (-count[v], v == lane)))


def _lanes(computation: Computation, values: Sequence[Value]) -> list[Variable]:
    """The output variables worth a tile: where there is a reduction to hold results of, or a load with tests (few)."""
    tested = sum(isinstance(v, Load) and bool(v.tests) for v in values)
    if tested > MOST_TESTED or not (tested or any(isinstance(v, Reduction) for v in values)):
        return []
    return [v for v in reversed(computation.outputs) if upper_bound(computation.extents[v]) >= SMALLEST_TILE]


class _Work:
    """Estimates of how often what is done, in scalar operations."""

    def __init__(self, computation: Computation, placement: Placement) -> None:
        self.computation = computation
        self.placement = placement
        self.strides = {
            value: coefficients(value.offset, computation.extents)
            for value in placement.of
            if isinstance(value, Load)
        }
        self.store = coefficients(computation.offset, computation.extents)
        self.trips: dict[Level, float] = {}

    def times(self, level: Level) -> float:
        """How often a level is reached."""
        found = self.trips.get(level)
        if found is None:
            found = 1.0
            for outer in level.path():
                assert outer.variable is not None
                found *= max(1, upper_bound(self.computation.extents[outer.variable]))
            self.trips[level] = found
        return found

    def operations(self) -> float:
        """All operations of the kernel."""
        stores = self.times(self.placement.innermost)
        return stores + sum(self.times(level) for level in self.placement.of.values())

    def parallel(self, steps: Mapping[Variable | None, int]) -> Variable | None:
        """The outermost loop with enough steps for threads, if its work is worth starting them each time it is reached."""
        work = self.operations()
        found: Variable | None = None
        for level in self.placement.outputs:
            assert level.variable is not None
            trips = upper_bound(self.computation.extents[level.variable]) / steps.get(level.variable, 1)
            if work <= PARALLEL_WORK or trips >= ENOUGH_TRIPS:
                return level.variable if work > PARALLEL_WORK else found
            if found is None and trips > 1:
                found = level.variable
            work /= max(1.0, trips)
        return found

    def cost(self, lane: Variable | None) -> float:
        """The whole work if `lane` is the lane variable."""
        vectors = self.vectors(lane)
        total = sum(self.value_cost(value, lane, vectors) for value in self.placement.of)
        return total + self.store_cost(lane)

    def store_cost(self, lane: Variable | None) -> float:
        times = self.times(self.placement.innermost)
        along = lane if lane is not None else self.plain_vector()
        return times / VECTOR if along is not None and self.store.get(along) == 1 else times

    def plain_vector(self) -> Variable | None:
        """The innermost output variable, if its loop holds no other loop."""
        level = self.placement.innermost
        return None if level.reductions else level.variable

    def vectors(self, lane: Variable | None) -> dict[Level, Variable]:
        """The variable along which values at a level are vectorised, where it is not the lane."""
        found: dict[Level, Variable] = {}
        for reduction in self.all_partials(lane):
            level = self.placement.chain[reduction][-1]
            assert level.variable is not None
            found[level] = level.variable
        plain = self.plain_vector()
        if lane is None and plain is not None:
            found[self.placement.innermost] = plain
        return found

    def value_cost(self, value: Value, lane: Variable | None, vectors: Mapping[Level, Variable]) -> float:
        if isinstance(value, Constant | Index):
            return 0.0
        level = self.placement.of[value]
        times = self.times(level)
        along = lane if lane in self.placement.depends[value] else vectors.get(level)
        if along is None:
            return times / max(1, self.lane_extent(lane, level))
        return times / VECTOR if self.contiguous(value, along, along == lane) else times * STRIDED

    def contiguous(self, value: Value, along: Variable, tiled: bool) -> bool:
        """Whether a value takes no gathered loads along a variable; only tiles can do without for loads with tests."""
        if not isinstance(value, Load):
            return True
        tested = any(along in self.placement.depends[test] for test in value.tests)
        return self.strides[value].get(along, 0) in (0, 1) and (tiled or not tested)

    def lane_extent(self, lane: Variable | None, level: Level) -> int:
        """What is computed once per tile rather than once per lane costs that much less."""
        if lane is None or all(outer.variable != lane for outer in level.path()):
            return 1
        return tile_width(self.computation.extents[lane])

    def all_partials(self, lane: Variable | None) -> dict[Reduction, int]:
        found = {r: self.partials(r, lane) for r in self.placement.chain}
        return {reduction: count for reduction, count in found.items() if count}

    def partials(self, reduction: Reduction, lane: Variable | None) -> int:
        """How many partial results to keep: several where the innermost loop reads contiguous floats, else none.

        A product keeps its order: partial products could overflow where the whole does not.
        """
        if not reduction.dtype.is_float or reduction.op == "MUL" or lane in self.placement.depends[reduction]:
            return 0
        level = self.placement.chain[reduction][-1]
        loads = [v for v in level.values if isinstance(v, Load)]
        along = level.variable
        assert along is not None
        if level.reductions or not all(self.contiguous(load, along, False) for load in loads):
            return 0
        extent = upper_bound(self.computation.extents[along])
        return 64 if extent >= 512 else 32 if extent >= 128 else 16 if extent >= 32 else 0
