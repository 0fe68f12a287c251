"""Merging of adjacent loops: two loops whose variables only ever occur as `outer * extent(inner) + inner` are one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from schedulog.codegen.index import coefficients
from schedulog.codegen.values import Computation, Compute, Index, Load, Reduction, Value
from schedulog.facts.symbolic import Size, Variable, substitute, upper_bound

_Factors = Sequence[Mapping[Variable, Size | None]]


def merge_loops(computation: Computation) -> Computation:
    """The same computation with as few loop variables as its index expressions allow."""
    values = computation.values()
    extents = dict(computation.extents)
    sizes = dict.fromkeys([computation.offset, *(size for value in values for size in value.sizes)])
    factors = [coefficients(size, extents) for size in sizes if not isinstance(size, int)]
    replaced: dict[Variable, Size] = {}
    outputs = _merged(computation.outputs, extents, factors, replaced)
    inner: dict[Value, tuple[Variable, ...]] = {
        value: _merged(value.loops, extents, factors, replaced)
        for value in values
        if isinstance(value, Reduction)
    }
    if not replaced:
        return computation
    return _rebuilt(computation, values, outputs, inner, extents, _resolved(replaced))


def _merged(
    loops: Sequence[Variable],
    extents: dict[Variable, Size],
    factors: _Factors,
    replaced: dict[Variable, Size],
) -> tuple[Variable, ...]:
    """The loops that remain; `extents` and `replaced` learn about the merged ones."""
    kept: list[Variable] = []
    stride_of: dict[Variable, Variable] = {}
    for outer in reversed(loops):
        if kept and _fit(outer, stride_of.get(kept[-1], kept[-1]), extents[kept[-1]], factors):
            inner = kept.pop()
            extent = extents[outer] * extents[inner]
            merged = Variable(f"{outer.name}_{inner.name}", 0, upper_bound(extent) - 1)
            extents[merged] = extent
            replaced[outer], replaced[inner] = 0, merged
            stride_of[merged] = stride_of.get(inner, inner)
            kept.append(merged)
        else:
            kept.append(outer)
    return tuple(reversed(kept))


def _fit(outer: Variable, inner: Variable, extent: Size, factors: _Factors) -> bool:
    for factor in factors:
        step, stride = factor.get(outer, 0), factor.get(inner, 0)
        if step is None or stride is None or step != stride * extent:
            return False
    return True


def _resolved(replaced: dict[Variable, Size]) -> dict[Variable, Size]:
    """Replacements of replacements followed to their end."""
    final: dict[Variable, Size] = {}
    for variable, size in reversed(replaced.items()):
        final[variable] = final.get(size, size) if isinstance(size, Variable) else size
    return final


def _rebuilt(
    computation: Computation,
    values: Iterable[Value],
    outputs: tuple[Variable, ...],
    inner: Mapping[Value, tuple[Variable, ...]],
    extents: Mapping[Variable, Size],
    replaced: Mapping[Variable, Size],
) -> Computation:
    new: dict[Value, Value] = {}
    for value in values:
        new[value] = _renewed(value, new, inner, replaced)
    remaining = {*outputs, *(loop for loops in inner.values() for loop in loops)}
    return Computation(
        outputs,
        {variable: extent for variable, extent in extents.items() if variable in remaining},
        new[computation.value],
        substitute(computation.offset, replaced),
        tuple(new[test] for test in computation.tests),
        computation.variables,
        computation.pointers,
    )


def _renewed(
    value: Value,
    new: Mapping[Value, Value],
    inner: Mapping[Value, tuple[Variable, ...]],
    replaced: Mapping[Variable, Size],
) -> Value:
    match value:
        case Index():
            return Index(value.dtype, substitute(value.size, replaced))
        case Load():
            offset = substitute(value.offset, replaced)
            return Load(value.dtype, value.argument, offset, tuple(new[t] for t in value.tests))
        case Compute():
            return Compute(value.dtype, value.op, tuple(new[operand] for operand in value.operands))
        case Reduction():
            return Reduction(value.dtype, value.op, inner[value], new[value.body])
        case _:
            return value
