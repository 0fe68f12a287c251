"""What the command line says about values: NAME=VALUE pairs, input files, random inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import typer
from numpy.typing import NDArray

from schedulog.errors import DeviceError
from schedulog.facts.dtype import DType
from schedulog.facts.graph import Graph
from schedulog.scheduler.given import check_known, known_switches
from schedulog.scheduler.language.program import Program

Value = TypeVar("Value")

_SHOWN = 8
"""Missing inputs that a message lists."""


def pairs(
    texts: Iterable[str], option: str, read: Callable[[str], Value], what: str = "integer"
) -> dict[str, Value]:
    """`NAME=VALUE` texts as a mapping. Raises BadParameter for one that is not of this form, or given twice.

    `read` raises ValueError for a text that is no `what`.
    """
    found: dict[str, Value] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name or not value:
            raise typer.BadParameter(f"`{text}` is not NAME=VALUE", param_hint=option)
        if name in found:
            raise typer.BadParameter(f"`{name}` is given twice", param_hint=option)
        try:
            found[name] = read(value)
        except ValueError:
            raise typer.BadParameter(f"`{value}` in `{text}` is no {what}", param_hint=option) from None
    return found


def check_options(program: Program, options: Iterable[str], where: str = "--set") -> None:
    """Refuse a switch that no rule asks about: it would change nothing. Raises UsageError SL706."""
    check_asked([program], options, where)


def check_asked(programs: Sequence[Program], options: Iterable[str], where: str = "--set") -> None:
    """Refuse a switch that no rule of any program asks about. Raises UsageError SL706."""
    if programs:
        check_known(known_switches(*programs), options, where)


def read_array(path: str) -> NDArray[Any]:
    """The array in a .npy file. Raises DeviceError SL533."""
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        raise DeviceError("SL533", f"cannot read the input {path}", where=path, reason=reason,
                          help="numpy.save writes such a file") from error  # fmt: skip
    if not isinstance(found, np.ndarray):
        raise DeviceError(
            "SL533", f"{path} holds several arrays", where=path, help="give one .npy file an input"
        )
    return found


def random_inputs(graph: Graph, seed: int, given: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """An array for every input that is not given: floats of the normal distribution, integers from 0 to 9."""
    generator = np.random.default_rng(seed)
    return {
        name: given[name] if name in given else _random(generator, name, memory.dtype, shape_of(graph, name))
        for name, memory in graph.inputs.items()
    }


def shape_of(graph: Graph, name: str) -> tuple[int, ...]:
    """The shape in which an input is given."""
    return tuple(graph.input_shapes.get(name, (graph.inputs[name].size,)))


def _random(generator: np.random.Generator, name: str, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
    from schedulog.runtimes.memory import room_for

    with room_for(f"input {name}", math.prod(shape), dtype):
        return _drawn(generator, dtype, shape)


def _drawn(generator: np.random.Generator, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
    if dtype.is_float:
        return generator.standard_normal(shape).astype(dtype.to_numpy())
    return generator.integers(0, 2 if dtype.kind == "bool" else 10, shape).astype(dtype.to_numpy())


def check_given(graph: Graph, inputs: Mapping[str, NDArray[Any]]) -> None:
    """Name all missing inputs at once. Raises DeviceError SL530."""
    absent = [name for name, memory in graph.inputs.items() if name not in inputs and memory.array is None]
    if absent:
        shown = [
            f"{name} {graph.inputs[name].dtype}{list(shape_of(graph, name))}" for name in absent[:_SHOWN]
        ]
        more = [f"and {len(absent) - _SHOWN} more"] if len(absent) > _SHOWN else []
        listed = ", ".join([*shown, *more])
        raise DeviceError("SL530", f"missing inputs: {listed}", where=graph.name,
                          help="--input NAME=FILE.npy gives one, --random SEED all others, "
                               "--no-execute only schedules")  # fmt: skip
