"""Graphs from files: ONNX models, graph files and recorded scheduling calls, told apart by the end of their name."""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from numpy.typing import ArrayLike

from schedulog.arguments import integers_of, path_text, shapes_of
from schedulog.errors import GraphError
from schedulog.facts.graph import Graph
from schedulog.facts.json_format import read_graph
from schedulog.facts.record import Recorded, read_record, read_stages

SUFFIXES: Final = (".onnx", ".json", ".jsonl", ".jsonl.gz")
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def load(
    path: str | os.PathLike[str],
    *,
    dims: Mapping[str, int] = _NOTHING,
    inputs: Mapping[str, Sequence[int]] = _NOTHING,
    constants: Mapping[str, ArrayLike] = _NOTHING,
) -> Graph:
    """The graph in a file: `model.onnx`, `graph.json`, or `calls.jsonl.gz#12`, the call on line 12 (from 0).

    Of an ONNX model `dims` gives sizes to symbolic dims, `inputs` whole shapes to inputs, and `constants` fixes inputs
    to values: arrays of the declared type, or numbers and lists, which are converted where nothing is lost. What the
    file leaves open and nothing gives, the leading dim of an input, is 1; `Graph.assumed` tells of it.

    Raises GraphError: SL260 a file that cannot be read, SL261 a kind of file that is not known, SL262 no such line,
    SL263 a record that is not one, SL264 `dims`, `inputs` or `constants` for another kind of file; what the readers raise;
    and UsageError SL730 an argument of the wrong kind.
    """
    name, _, line = path_text("path", path).partition("#")
    sizes, shapes = integers_of("dims", dims), shapes_of("inputs", inputs)
    suffix = next((s for s in SUFFIXES if name.lower().endswith(s)), "")
    if not suffix:
        raise GraphError("SL261", f"cannot tell what kind of graph {name} is", where=name,
                         help=f"known are names that end in {', '.join(SUFFIXES)}")  # fmt: skip
    if line and not suffix.startswith(".jsonl"):
        raise GraphError("SL262", f"`#{line}` picks a line of a record, which {name} is not", where=name)
    if not Path(name).is_file():
        raise GraphError("SL260", f"no file {name}", where=name)
    if suffix == ".onnx":
        from schedulog.facts.onnx.reader import read_onnx

        return read_onnx(name, dims=sizes, inputs=shapes, constants=constants)
    if sizes or shapes or constants:
        raise GraphError("SL264", "only ONNX models have dims to bind and inputs to fix", where=name)
    return read_graph(_text(name), name) if suffix == ".json" else _recorded(name, line)


def load_tensors(path: str | os.PathLike[str]) -> Graph:
    """The tensor graph of a recorded call, before it was simplified: `calls.jsonl.gz#12` as `load` has it.

    Raises GraphError: SL260, SL262, SL263 as `load`; SL235 a record without a tensor graph, SL261 no record.
    """
    name, _, line = path_text("path", path).partition("#")
    if not name.lower().endswith(SUFFIXES[2:]):
        raise GraphError("SL261", f"{name} holds no tensor graph beside the graph", where=name,
                         help="recorded calls (.jsonl, .jsonl.gz) do")  # fmt: skip
    if not Path(name).is_file():
        raise GraphError("SL260", f"no file {name}", where=name)
    return _recorded(name, line, lambda record, where: read_stages(record, where)[0])


def _text(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise _unreadable(name, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _unreadable(name, f"byte {error.start} is not UTF-8") from error


def _unreadable(name: str, reason: str) -> GraphError:
    return GraphError("SL260", f"cannot read {name}", where=name, reason=reason)


def _recorded(
    name: str, line: str, read: Callable[[Mapping[str, Any], str], Recorded] = read_record
) -> Graph:
    if line and not re.fullmatch(r"\d+", line):
        raise GraphError(
            "SL262", f"`#{line}` is no line of a record", where=name, help=f"{name}#0 is the first"
        )
    wanted = int(line or 0)
    return read_call(_line(name, wanted), f"{name}#{wanted}", read)


def read_call(
    text: str, where: str, read: Callable[[Mapping[str, Any], str], Recorded] = read_record
) -> Graph:
    """The graph of one recorded call, a line of a record. Raises GraphError SL235, SL263, and what is wrong with it."""
    try:
        record = json.loads(text)
        if not isinstance(record, dict):
            raise GraphError("SL263", "a recorded call is a JSON object", where=where)
        return read(record, where).graph
    except json.JSONDecodeError as error:
        raise GraphError("SL263", "the line is not JSON", where=where, reason=error.msg) from error
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise GraphError("SL263", "the line is no recorded scheduling call", where=where,
                         reason=f"{type(error).__name__}: {error}") from error  # fmt: skip


def _line(name: str, wanted: int) -> str:
    count = 0
    try:
        with gzip.open(name) if name.lower().endswith(".gz") else open(name, "rb") as file:
            for count, line in enumerate(file, 1):
                if count == wanted + 1:
                    return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _unreadable(name, f"byte {error.start} of line {wanted} is not UTF-8") from error
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(name, str(error)) from error
    raise GraphError("SL262", f"{name} has {count} lines, no line {wanted}", where=name,
                     help=f"{name}#0 is the first")  # fmt: skip
