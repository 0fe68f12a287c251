"""The size of tiles: lanes along one output variable, rows along another."""

from __future__ import annotations

from typing import Final

from schedulog.codegen.index import coefficients
from schedulog.codegen.place import Placement
from schedulog.codegen.values import Computation, Load
from schedulog.facts.symbolic import Size, Variable, upper_bound

TILE: Final = (
    64  # lanes of a full tile: four AVX-512 registers of float, enough to hide the latency of an addition
)
_WIDTHS: Final = (64, 56, 60, 48, 50, 40, 32)
_REGISTER_LANES: Final = 16
TURNED: Final = 16  # rows and, doubled, lanes of a block in which a transposed load uses whole cache lines
_EVEN_LANES: Final = 8  # a loop over a multiple of these leaves no lane to scalar code
LONGEST_STEP: Final = 4  # elements from lane to lane up to which a row is set up for a load
_REGISTERS: Final = 16  # vector registers the accumulators of a tile may take


def tile_width(extent: Size) -> int:
    """The tile for a loop: all of a short one, else the best divisor, else the full tile (with a shorter last one)."""
    if not isinstance(extent, int):
        return min(TILE, upper_bound(extent))
    if extent <= TILE:
        return extent
    return next((w for w in _WIDTHS if extent % w == 0), TILE)


def choose_rows(
    computation: Computation, placement: Placement, lane: Variable | None, width: int
) -> tuple[Variable | None, int]:
    """The output variable to take several steps of at a time, and how many: where they share loads."""
    for rows in computation.outputs:
        height = _height(computation.extents[rows], width)
        if lane is not None and rows != lane and height > 1 and _share(placement, rows, lane):
            return rows, height
    return None, 1


def _share(placement: Placement, rows: Variable, lane: Variable) -> bool:
    """Whether every reduction differs along both or neither, and one loads what differs from lane to lane only."""
    depends = placement.depends
    if any((rows in depends[r]) != (lane in depends[r]) for r in placement.chain):
        return False
    loops = {loop for reduction in placement.chain if lane in depends[reduction] for loop in reduction.loops}
    return any(
        isinstance(value, Load) and lane in found and rows not in found and not found.isdisjoint(loops)
        for value, found in depends.items()
    )


def _height(extent: Size, width: int) -> int:
    """Rows of a tile: a divisor of the extent for which all accumulators fit the vector registers."""
    registers = -(-width // _REGISTER_LANES)
    fitting = (h for h in (8, 7, 6, 5, 4, 3, 2) if h * registers <= _REGISTERS)
    return next((h for h in fitting if isinstance(extent, int) and extent % h == 0), 1)


def computed_lanes(computation: Computation, placement: Placement, lane: Variable, width: int) -> int:
    """How many lanes to compute for a tile of `width`: more, without storing them, where that needs no scalar rest.

    Every load has to step from lane to lane, so that a row can stand in for what lies outside its memory.
    """
    more = -(-width // _EVEN_LANES) * _EVEN_LANES
    steps = [
        coefficients(value.offset, computation.extents).get(lane)
        for value, depends in placement.depends.items()
        if isinstance(value, Load) and lane in depends
    ]
    fits = all(isinstance(step, int) and 1 <= step <= LONGEST_STEP for step in steps)
    return more if fits and computation.extents[lane] == width > _EVEN_LANES // 2 else width


def turned(computation: Computation, placement: Placement) -> Variable | None:
    """An output variable along which some load is contiguous that is not so along the innermost one; None without one.

    Walked row by row such a load would touch a new cache line for each element.
    """
    if not computation.outputs:
        return None
    inner = computation.outputs[-1]
    for value in placement.of:
        if isinstance(value, Load):
            steps = coefficients(value.offset, computation.extents)
            along = [v for v in computation.outputs if steps.get(v) == 1 and v != inner]
            if along and steps.get(inner, 0) not in (0, 1) and _long(computation, along[0], inner):
                return along[0]
    return None


def _long(computation: Computation, *loops: Variable) -> bool:
    return all(upper_bound(computation.extents[loop]) >= 2 * TURNED for loop in loops)


def may_overlap(computation: Computation, lane: Variable, width: int) -> bool:
    """Whether a short last tile may begin early and write some values again: not where a kernel reads what it writes."""
    extent = computation.extents[lane]
    several = isinstance(extent, int) and extent > width and extent % width != 0
    return several and not computation.writes_what_it_reads
