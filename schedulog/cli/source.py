"""The graph that a command is about: its file, and what is given for that which the file leaves open."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from schedulog.cli.inputs import pairs, read_array

if TYPE_CHECKING:
    from schedulog.facts.graph import Graph

WhichRun = Annotated[int | None, typer.Option(help="Which run of a saved file; the newest if left out.")]
Dims = Annotated[list[str] | None, typer.Option("--dim", help="A size of an ONNX dim: N=1.")]
Shapes = Annotated[
    list[str] | None, typer.Option("--shape", help="The shape of an ONNX input: x=1,3,224,224; repeatable.")
]
Constants = Annotated[
    list[str] | None,
    typer.Option("--const", help="Fix an ONNX input: NAME=FILE.npy, NAME=0.5 or NAME=1,2; repeatable."),
]


@dataclass(frozen=True)
class Bindings:
    """What is given for the open places of a file."""

    dims: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]
    constants: Mapping[str, Any]

    @property
    def given(self) -> bool:
        """Whether there is anything."""
        return bool(self.dims or self.shapes or self.constants)


def bindings(dim: list[str] | None, shape: list[str] | None, const: list[str] | None) -> Bindings:
    """The options of a command line. Raises BadParameter for one that is not well formed, DeviceError SL533."""
    return Bindings(
        pairs(dim or (), "--dim", read_size, "size of 0 or more"),
        pairs(shape or (), "--shape", _shape, "shape such as 1,3,224,224"),
        pairs(const or (), "--const", _constant, "number and no .npy file"),
    )


def read_graph_file(path: str, given: Bindings) -> Graph:
    """The graph in a file. Raises what `schedulog.load` raises."""
    from schedulog.graph_file import load

    return load(path, dims=given.dims, inputs=given.shapes, constants=given.constants)


def tell_assumed(assumed: Mapping[str, int]) -> None:
    """Say on standard error which sizes the file left open (`Graph.assumed`)."""
    for name, size in assumed.items():
        option = f"--shape {name.partition('[')[0]}=..." if "[" in name else f"--dim {name}=..."
        typer.echo(
            f"note: the file leaves the size {name} open; it is taken as {size} ({option} sets it)", err=True
        )


def read_size(text: str) -> int:
    """A size. Raises ValueError."""
    size = int(text)
    if size < 0:
        raise ValueError(text)
    return size


def _shape(text: str) -> tuple[int, ...]:
    inner = text[1:-1] if text[0] + text[-1] in ("[]", "()") else text
    return tuple(read_size(part) for part in inner.rstrip(",").split(",")) if inner.strip() else ()


def _constant(text: str) -> Any:
    """An array from a file, or numbers."""
    if text.lower().endswith(".npy"):
        return read_array(text)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text) if text.lstrip("+-").lower() in ("nan", "inf") else ast.literal_eval(text)
    except (SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError(text) from None
