"""Tensors in files, read when they are copied to a device."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from schedulog.arguments import mapping_of, path_text
from schedulog.errors import GraphError
from schedulog.facts import build
from schedulog.facts.dtype import DType, from_numpy
from schedulog.facts.file_buffer import open_file_buffer
from schedulog.facts.new_file import new_file
from schedulog.facts.node import Node
from schedulog.facts.safetensors import Entry, header_bytes, read_header, unwritable
from schedulog.facts.symbolic import bound_value
from schedulog.operands import flat, kind_of
from schedulog.origin import placed
from schedulog.tensor import Tensor


def open_file(
    path: str | os.PathLike[str],
    dtype: DTypeLike | DType = np.uint8,
    shape: int | tuple[int, ...] | None = None,
) -> Tensor:
    """The contents of a file as a tensor, flat unless a shape is given. Nothing is read until it is copied.

    Raises DeviceError: SL541 the file cannot be opened, SL542 it is too short or no whole number of elements. UsageError
    SL730 for an argument of the wrong kind.
    """
    name, kind = path_text("path", path), kind_of(dtype)
    sizes = None if shape is None else flat((shape,))

    def make(label: str) -> Node:
        count = None if sizes is None else bound_value(build.element_count(sizes))
        return build.buffer(open_file_buffer(name, kind, count), sizes, label)

    return Tensor.of(placed("open_file", make))


def load_safetensors(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The tensors of a .safetensors file by name. Only the header is read; a tensor's bytes when it is copied.

    `load_safetensors(path)["weight"].to("default")`. Raises DeviceError SL541 and GraphError SL270 to SL278 for a
    file that is none, or not a whole one; UsageError SL730.
    """
    name = path_text("path", path)
    header = read_header(name)
    memory = open_file_buffer(name)
    if memory.size != header.file_size:
        raise GraphError("SL271", f"{memory.size} bytes, {header.file_size} a moment before", where=name)
    raw = build.buffer(memory)
    return {entry.name: Tensor.of(_window(raw, entry)) for entry in header.entries}


def _window(raw: Node, entry: Entry) -> Node:
    part = build.shrink(raw, [(entry.begin, entry.end)], entry.name)
    if part.size == 0:
        return build.const(0, entry.dtype, entry.shape, label=entry.name)
    return build.reshape(
        build.bitcast(build.contiguous(part), entry.dtype, entry.name), entry.shape, entry.name
    )


def save_safetensors(
    path: str | os.PathLike[str], tensors: Mapping[str, Any], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors, or what makes one, to a .safetensors file: whole, or not at all.

    Tensors read from the same file before are to be opened again. Raises GraphError: SL274 a dtype the format does not
    have, SL279 a name it cannot hold, or a file that cannot be written; UsageError SL730 for an argument of the wrong kind.
    """
    place, notes = path_text("path", path), mapping_of("metadata", metadata, "{'made by': 'me'}")
    given = mapping_of("tensors", tensors, "{'weight': t}")
    found = {name: x if isinstance(x, Tensor) else Tensor(x) for name, x in given.items()}
    if found:
        first, *others = found.values()
        first.realize(*others)
    shapes = {name: (from_numpy(t.dtype), tuple(map(bound_value, t.shape))) for name, t in found.items()}
    header, order = header_bytes(shapes, notes, place)
    try:
        with new_file(place) as file:
            file.write(header)
            for name in order:
                file.write(np.ascontiguousarray(found[name].numpy()).reshape(-1).view(np.uint8).data)
    except OSError as error:
        raise unwritable(place, error.strerror or str(error)) from error
