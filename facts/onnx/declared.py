"""What an ONNX model says about itself beside its operations: names that stand for one value, shapes of its outputs."""

from __future__ import annotations

from collections.abc import Iterator

from schedulog.errors import GraphError
from schedulog.facts.onnx.file import FileGraph, FileModel, FileValue
from schedulog.facts.onnx.values import Value, shape_of


def check_names(model: FileModel) -> None:
    """Raises GraphError (SL245): a name stands for two values, or two outputs have one name.

    Within a graph and what surrounds it every input, constant and result has a name of its own; branches that exclude each
    other may use one name twice.
    """
    _check_graph(model.graph, frozenset(), model.file)


def _check_graph(graph: FileGraph, outer: frozenset[str], file: str) -> None:
    pending = [(graph, outer)]
    while pending:
        current, known = pending.pop()
        made = set(known)
        for name, what in _definitions(current):
            if name in made:
                raise GraphError("SL245", f"`{name}` names two values", where=f"{what} of {file}",
                                 reason="in ONNX a name stands for one value",
                                 help="export the model again, or rename one of them")  # fmt: skip
            made.add(name)
        pending += [(inner, frozenset(made)) for item in current.nodes for inner in item.subgraphs]
    seen: set[str] = set()
    for output in graph.outputs:
        if output.name in seen:
            raise GraphError("SL245", f"two outputs are called `{output.name}`", where=file,
                             reason="a result is found by its name", help="remove one of them")  # fmt: skip
        seen.add(output.name)


def _definitions(graph: FileGraph) -> Iterator[tuple[str, str]]:
    """The names a graph gives to values, and what each is."""
    yield from ((value.name, f"input `{value.name}`") for value in graph.inputs)
    yield from ((name, f"initializer `{name}`") for name in graph.constants)
    for item in graph.nodes:
        yield from ((name, f"{item.op_type} `{item.label}`") for name in item.outputs if name)


def check_output(value: FileValue, found: Value, file: str) -> None:
    """Raises GraphError (SL245) if an output's value has another shape than the file declares; open dims fit any size."""
    if value.dims is None:
        return
    shape = shape_of(found)
    fits = len(shape) == len(value.dims) and all(
        not isinstance(dim, int) or dim == size for dim, size in zip(value.dims, shape, strict=True)
    )
    if not fits:
        declared = ", ".join("?" if dim is None else str(dim) for dim in value.dims)
        raise GraphError("SL245", f"output `{value.name}` is declared with the shape [{declared}]", where=file,
                         reason=f"its operations give {list(shape)}",
                         help="export the model again, or remove the shape from the declaration")  # fmt: skip
