"""The values symbolic variables have in one execution, checked against what the graph can mean with them."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping

from schedulog.errors import DeviceError
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Variable
from schedulog.facts.used_variables import used_variables
from schedulog.runtimes.strided import look, numbers
from schedulog.scheduler.kernels import Schedule


def variable_values(schedule: Schedule, given: Mapping[str, int]) -> dict[str, int]:
    """The value of every variable by name: the one given, else the one the graph binds it to.

    Raises DeviceError: SL511 a name the schedule does not have, or a value that is no integer within the variable's bounds;
    SL512 values with which a size is below 0 or a view shows what is not there, as where an input is no larger than the
    values the graph was made with need.
    """
    values = dict(schedule.variables)
    for name, value in given.items():
        if name not in values:
            raise DeviceError("SL511", f"there is no variable {name}", where=schedule.graph.name,
                              help="variables: " + (", ".join(schedule.variables) or "none"))  # fmt: skip
        values[name] = _integer(name, value)
    if values:
        _check(schedule.graph, values)
    return values


def _integer(name: str, value: object) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise DeviceError("SL511", f"variable {name} = {value} is no integer") from None


def _check(graph: Graph, values: Mapping[str, int]) -> None:
    for n in graph.symbolic:
        for variable in used_variables(n):
            _check_bounds(variable, values)
        wrong = next(_faults(n, values), None)
        if wrong is not None:
            text = ", ".join(f"{name} = {value}" for name, value in values.items())
            raise DeviceError("SL512", f"with {text} {graph.describe(graph.position[n])} {wrong}",
                              reason="the graph was made for other values of the variables",
                              help="make the graph again with these values")  # fmt: skip


def _check_bounds(variable: Variable, values: Mapping[str, int]) -> None:
    value = values.get(variable.name, variable.value)
    if value is not None and not variable.min <= value <= variable.max:
        raise DeviceError("SL511", f"variable {variable.name} = {value} is out of bounds",
                          reason=f"{variable.name} lies between {variable.min} and {variable.max}")  # fmt: skip


def _faults(n: Node, values: Mapping[str, int]) -> Iterator[str]:
    """What a node cannot mean with these values."""
    if min(numbers(n.shape, values), default=0) < 0:
        yield f"has the shape {list(numbers(n.shape, values))}"
    if n.op not in (Op.VIEW, Op.ASSIGN) or n.arg is None:
        return
    source = n.src[0]
    # An assign may count memory in pieces of its elements.
    count = math.prod(numbers(source.shape, values)) * (source.dtype.itemsize // n.dtype.itemsize)
    for view in n.arg.views:
        seen = look(view, values)
        for (begin, end), size in zip(seen.mask or (), seen.shape, strict=False):
            if not 0 <= begin <= end <= size:
                yield f"would show [{begin}, {end}) of an axis of size {size}"
        first, last = seen.touched() or (0, -1)
        if not (first >= 0 and last < count):
            yield f"would show elements {first} to {last} of {count}"
        count = math.prod(seen.shape)
