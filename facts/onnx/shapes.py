"""The shapes of the inputs of an ONNX file: open dims get numbers from the caller, or are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from schedulog.errors import GraphError
from schedulog.facts.onnx.file import FileValue


def bind_shapes(
    values: Iterable[FileValue],
    dims: Mapping[str, int],
    shapes: Mapping[str, tuple[int, ...]],
    file: str,
) -> dict[str, tuple[int, ...]]:
    """The shape of each input. `dims` binds symbolic dims by name, `shapes` whole inputs by name.

    A symbolic dim has one size in the whole file, also where only `shapes` tells it. One that nothing binds is 1 if
    it leads an input (a batch), and refused elsewhere. Raises GraphError (SL242).
    """
    inputs = tuple(values)
    _check_names(inputs, dims, shapes, file)
    sizes = dict(dims)
    for value in inputs:
        if value.name in shapes:
            _learn(value, shapes[value.name], sizes, file)
    for value in inputs:
        if value.name not in shapes and value.dims and isinstance(value.dims[0], str):
            sizes.setdefault(value.dims[0], 1)
    return {v.name: tuple(shapes[v.name]) if v.name in shapes else _bound(v, sizes, file) for v in inputs}


def assumed_sizes(
    values: Iterable[FileValue], dims: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, int]:
    """The leading dims that nothing binds, which `bind_shapes` takes as 1: by name, or as "x[0]" if they have none."""
    open_ones = [v for v in values if v.name not in shapes and v.dims and not isinstance(v.dims[0], int)]
    told = {d for v in values if v.name in shapes for d in v.dims or ()} | set(dims)
    names = {v.dims[0] or f"{v.name}[0]": 1 for v in open_ones if v.dims}
    return {str(name): size for name, size in names.items() if name not in told}


def _check_names(
    inputs: tuple[FileValue, ...], dims: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], file: str
) -> None:
    names = {v.name for v in inputs}
    symbols = {d for v in inputs for d in v.dims or () if isinstance(d, str)}
    for name, known, what in ((n, k, w) for given, k, w in ((dims, symbols, "dim"), (shapes, names, "input"))
                              for n in given if n not in k):  # fmt: skip
        raise GraphError("SL242", f"{file} has no {what} called `{name}`", where=file,
                         help=f"its {what}s: {', '.join(sorted(known)) or 'none'}")  # fmt: skip
    for name, size in dims.items():
        if size < 0:
            raise GraphError(
                "SL242", f"dim `{name}` cannot be {size}", where=file, help="give a size of 0 or more"
            )


def _learn(value: FileValue, shape: tuple[int, ...], sizes: dict[str, int], file: str) -> None:
    """Check a given shape against the declared one; remember what it says about symbolic dims."""
    if value.dims is None:
        return
    fits = len(shape) == len(value.dims) and all(
        d is None or (sizes.setdefault(d, s) if isinstance(d, str) else d) == s
        for d, s in zip(value.dims, shape, strict=True)
    )
    if not fits:
        declared = ", ".join(_text(d, sizes) for d in value.dims)
        raise GraphError("SL242", f"input `{value.name}` cannot have the shape {list(shape)}",
                         where=f"input `{value.name}` of {file}", reason=f"it is declared as [{declared}]",
                         help="give a shape that fits, or another size of the dim")  # fmt: skip


def _text(dim: int | str | None, sizes: Mapping[str, int]) -> str:
    if isinstance(dim, str) and dim in sizes:
        return f"{dim}={sizes[dim]}"
    return "?" if dim is None else str(dim)


def _bound(value: FileValue, sizes: Mapping[str, int], file: str) -> tuple[int, ...]:
    where = f"input `{value.name}` of {file}"
    if value.dims is None:
        raise GraphError("SL242", f"input `{value.name}` has no declared shape", where=where,
                         help=f"give it: --shape {value.name}=1,3,8 (inputs={{'{value.name}': (1, 3, 8)}})")  # fmt: skip
    return tuple(_size(value, axis, dim, sizes, where) for axis, dim in enumerate(value.dims))


def _size(value: FileValue, axis: int, dim: int | str | None, sizes: Mapping[str, int], where: str) -> int:
    if isinstance(dim, int):
        return dim
    if isinstance(dim, str) and dim in sizes:
        return sizes[dim]
    if axis == 0:
        return 1
    by_name = f"bind it with --dim {dim}=1 (dims={{'{dim}': 1}}), or " if dim else ""
    raise GraphError("SL242", f"dim {axis}{f' (`{dim}`)' if dim else ''} of input `{value.name}` has no size",
                     where=where, reason="the file leaves it open, and only a leading one is taken as 1",
                     help=f"{by_name}give the whole shape: --shape {value.name}=1,3,8 "
                          f"(inputs={{'{value.name}': (1, 3, 8)}})")  # fmt: skip
