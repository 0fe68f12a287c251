"""The values symbolic variables have in one execution, checked against what the schedule's memory holds."""

from __future__ import annotations

from collections.abc import Mapping

from schedulog.errors import DeviceError
from schedulog.facts.buffer import Buffer
from schedulog.facts.symbolic import Variable
from schedulog.facts.view import ViewStack
from schedulog.runtimes.strided import look
from schedulog.scheduler.kernels import Schedule


def variable_values(schedule: Schedule, given: Mapping[str, int]) -> dict[str, int]:
    """The value of every variable by name: the one given, else the one the graph binds it to.

    Raises DeviceError: SL511 a name the schedule does not have or a value outside the variable's bounds, SL512 values
    for which a view would leave its memory, as an input may be no larger than the values the graph was made with need.
    """
    values = {**schedule.variables, **given}
    known = {v.name: v for kernel in schedule.kernels for v in kernel.variables}
    for name, value in given.items():
        if name not in schedule.variables:
            raise DeviceError("SL511", f"there is no variable {name}", where=schedule.graph.name,
                              help="variables: " + (", ".join(schedule.variables) or "none"))  # fmt: skip
        if name in known:
            _check_bounds(known[name], value)
    if values != dict(schedule.variables):
        _check_views(schedule, values)
    return values


def _check_bounds(variable: Variable, value: int) -> None:
    if not variable.min <= value <= variable.max:
        raise DeviceError("SL511", f"variable {variable.name} = {value} is out of bounds",
                          reason=f"{variable.name} lies between {variable.min} and {variable.max}")  # fmt: skip


def _check_views(schedule: Schedule, values: Mapping[str, int]) -> None:
    for kernel in schedule.kernels:
        looks = [(kernel.buffers[0], kernel.stores, kernel.output.dtype.itemsize)]
        looks += [
            (kernel.buffers[load.argument], load.view, load.node.dtype.itemsize) for load in kernel.loads
        ]
        for buffer, view, width in looks:
            _check_view(kernel.name, buffer, view, width, values)


def _check_view(kernel: str, buffer: Buffer, view: ViewStack, width: int, values: Mapping[str, int]) -> None:
    inner = look(view.views[0], values)
    if not inner.within(buffer.nbytes // width):
        text = ", ".join(f"{name} = {value}" for name, value in values.items())
        raise DeviceError("SL512", f"with {text} kernel {kernel} would leave {buffer!r}",
                          reason="the memory was made for other values of the variables",
                          help="make the graph again with these values")  # fmt: skip
