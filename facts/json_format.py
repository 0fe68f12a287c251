"""Graphs as readable JSON text, one node a line. The format is described in docs/graph-format.md."""

from __future__ import annotations

import difflib
import json
import math
import re
import sys
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from schedulog.errors import GraphError, Place
from schedulog.facts import build, json_args
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import DType, named
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.json_args import field, integers, sizes
from schedulog.facts.node import Node, node
from schedulog.facts.ops import Op
from schedulog.facts.place import target_of
from schedulog.facts.symbolic import to_json

FORMAT: Final = "schedulog-graph"
VERSION: Final = 1
_NODE_FIELDS: Final = frozenset({"id", "op", "dtype", "shape", "src", "arg", "label"})
_GRAPH_FIELDS: Final = frozenset({"format", "version", "name", "nodes", "outputs", "inputs"})
_OPS: Final = frozenset(Op) - {Op.SINK}
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def write_graph(graph: Graph, *, contents: bool = True) -> str:
    """The graph as text, from which `read_graph` makes the same nodes; `contents`: with what its buffers hold.

    Raises GraphError (SL213): two outputs have one name.
    """
    if len(set(graph.outputs)) < len(graph.outputs):
        raise GraphError("SL213", f"outputs of one name: {', '.join(graph.outputs)}", where=graph.name)
    lines = [json.dumps(_entry(n, graph, contents), ensure_ascii=False) for n in graph.nodes[:-1]]
    outputs = {name: graph.label(n) for name, n in zip(graph.outputs, graph.sink.src, strict=True)}
    inputs = {name: _input_entry(name, graph, contents) for name in graph.inputs}
    head = f'"format": "{FORMAT}", "version": {VERSION}, "name": {_text(graph.name)}'
    body = ",\n".join(f"  {line}" for line in lines)
    return f'{{{head},\n"inputs": {_text(inputs)},\n"nodes": [\n{body}\n],\n"outputs": {_text(outputs)}}}\n'


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _entry(n: Node, graph: Graph, contents: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": graph.label(n), "op": str(n.op), "dtype": n.dtype.name}
    entry["shape"] = [to_json(size) for size in n.shape]
    if n.src:
        entry["src"] = [graph.label(source) for source in n.src]
    if n.arg is not None:
        entry["arg"] = json_args.write(n, contents=contents)
    if n.label:
        entry["label"] = n.label
    return entry


def _input_entry(name: str, graph: Graph, contents: bool) -> dict[str, Any]:
    memory = graph.inputs[name]
    users = (n for n in graph.nodes if n.op is Op.BUFFER and n.arg is memory)
    user = next(users, None)
    if user is not None:
        entry: dict[str, Any] = {"node": graph.label(user)}
    else:
        entry = {"unused": {"dtype": memory.dtype.name, **json_args.buffer(memory, contents=contents)}}
    shape = graph.input_shapes.get(name)
    return entry if shape is None else entry | {"shape": list(shape)}


def read_graph(text: str, file: str = "<text>") -> Graph:
    """The graph in `text`; `file` is what errors call it.

    Raises GraphError: SL230 not JSON or not a graph, SL231 a source that is not defined before its user, SL232 a
    field that is missing or wrong, SL233 a later version of the format; and, naming the node, SL202, SL203, SL210
    to SL214 and SL222 to SL225.
    """
    record = _parsed(text, file)
    _check_head(record, file)
    return _Reader(file).graph(record)


def _parsed(text: str, file: str) -> dict[str, Any]:
    try:
        record = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        line = text.split("\n")[error.lineno - 1] if error.lineno <= text.count("\n") + 1 else ""
        place = Place(file, error.lineno, error.colno, text=line[:200] if error.colno <= 200 else "")
        ended = error.pos >= len(text.rstrip())
        help = "the file is not complete" if ended else ""
        raise GraphError("SL230", f"not JSON: {error.msg}", where=place, help=help) from None
    except _RepeatedKey as error:
        raise GraphError("SL232", f"`{error}` stands twice in one object", where=file) from None
    except _NotJson as error:
        raise GraphError("SL230", f"not JSON: {error}", where=file, help='write {"float": "nan"}') from None
    except ValueError:  # the only other one: Python reads integers up to a length
        raise GraphError(
            "SL232", f"an integer of more than {sys.get_int_max_str_digits()} digits", where=file
        ) from None
    except RecursionError:
        raise GraphError("SL230", "not a graph: nested too deeply", where=file) from None
    _check_texts(text, record, file)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise GraphError("SL230", f'not a graph: no "format": "{FORMAT}"', where=file)
    return record


def _check_texts(text: str, record: object, file: str) -> None:
    r"""Refuses half of a character, as "\ud800" is one: such a text can be neither shown nor saved."""
    if not _SURROGATE.search(text):
        return
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        raise GraphError("SL232", f"a text with {half}, which is half of a character", where=file,
                         help="write the character itself, or both halves") from None  # fmt: skip


class _RepeatedKey(Exception):
    pass


class _NotJson(Exception):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        raise _RepeatedKey(next(name for name in names if names.count(name) > 1))
    return record


def _no_constant(name: str) -> NoReturn:
    raise _NotJson(f"{name} is no number")


def _check_head(record: Mapping[str, Any], file: str) -> None:
    version = field(record, "version", int, file)
    if version > VERSION or version < 1:
        raise GraphError("SL233", f"version {version} of the graph format", where=file,
                         reason=f"this program reads version {VERSION}", help="update schedulog")  # fmt: skip
    _check_fields(record, _GRAPH_FIELDS, file)


def _check_fields(record: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    unknown = [name for name in record if name not in known]
    if unknown:
        near = difflib.get_close_matches(unknown[0], sorted(known), 1)
        help = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(sorted(known))}"
        raise GraphError("SL232", f"unknown field `{unknown[0]}`", where=where, help=help)


class _Reader:
    """Makes the nodes of one file, in the order they stand in."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._nodes: dict[str, Node] = {}

    def graph(self, record: Mapping[str, Any]) -> Graph:
        entries = field(record, "nodes", list, self._file)
        for position, entry in enumerate(entries):
            self._add(entry, position, entries)
        outputs: dict[str, Any] = field(record, "outputs", dict, self._file)
        values = [self._named(name, f"output `{key}`", entries) for key, name in outputs.items()]
        memory, shapes = self._inputs(field(record, "inputs", dict, self._file, {}), entries)
        title = field(record, "name", str, self._file, "graph")
        return graph_of(values, name=title, outputs=tuple(outputs), inputs=memory, input_shapes=shapes)

    def _add(self, entry: Any, position: int, entries: list[Any]) -> None:
        where = f"{self._file}: node {position}"
        if not isinstance(entry, dict):
            raise GraphError("SL232", "a node is an object", where=where)
        name = field(entry, "id", str, where)
        where = f"{self._file}: {name}"
        if name in self._nodes:
            raise GraphError("SL232", f"`{name}` is defined twice", where=where)
        _check_fields(entry, _NODE_FIELDS, where)
        try:
            self._nodes[name] = self._made(entry, where, entries)
        except GraphError as error:
            if str(error.where).startswith(self._file):
                raise
            raise GraphError(
                error.code, error.message, where=where, reason=error.reason, help=error.help
            ) from None

    def _made(self, entry: Mapping[str, Any], where: str, entries: list[Any]) -> Node:
        op = _op(field(entry, "op", str, where), where)
        src = tuple(self._named(s, where, entries) for s in field(entry, "src", list, where, []))
        kind = named(field(entry, "dtype", str, where)) if "dtype" in entry else None
        shape = sizes(entry["shape"], "shape", where) if "shape" in entry else None
        label = field(entry, "label", str, where, "")
        arg = json_args.read(op, entry.get("arg"), kind, shape, src, where)
        if op is Op.ASSIGN and arg is None and len(src) == 2 and target_of(src[0]) is not None:
            made = build.assign(src[0], src[1], label)
        else:
            made = node(op, src, arg, kind, label)
        _check_derived("dtype", kind, made.dtype, where)
        _check_derived("shape", shape, made.shape, where)
        return made

    def _named(self, name: Any, where: str, entries: list[Any]) -> Node:
        found = self._nodes.get(name) if isinstance(name, str) else None
        if found is not None:
            return found
        where = where if where.startswith(self._file) else f"{self._file}: {where}"
        if not isinstance(name, str):
            raise GraphError(
                "SL232", f"{json.dumps(name)[:40]} is no node id", where=where, help='an id is a text, "n0"'
            )
        if any(isinstance(e, dict) and e.get("id") == name for e in entries):
            raise GraphError("SL231", f"`{name}` is used before it is defined", where=where,
                             reason="sources stand before their users, so a cycle cannot be written")  # fmt: skip
        near = difflib.get_close_matches(name, list(self._nodes), 1)
        raise GraphError(
            "SL231", f"no node `{name}`", where=where, help=f"did you mean `{near[0]}`?" if near else ""
        )

    def _inputs(
        self, record: Mapping[str, Any], entries: list[Any]
    ) -> tuple[dict[str, Buffer], dict[str, tuple[int, ...]]]:
        memory: dict[str, Buffer] = {}
        names: dict[Buffer, str] = {}
        shapes: dict[str, tuple[int, ...]] = {}
        for name in record:
            where = f"{self._file}: input `{name}`"
            entry = field(record, name, dict, where)
            _check_fields(entry, frozenset({"node", "unused", "shape"}), where)
            memory[name] = self._input(entry, where, entries)
            twin = names.setdefault(memory[name], name)
            if twin != name:
                raise GraphError("SL232", f"`node` is the memory of input `{twin}` too", where=where,
                                 reason="it has one content")  # fmt: skip
            if "shape" in entry:
                shapes[name] = _input_shape(entry["shape"], memory[name], where)
        return memory, shapes

    def _input(self, entry: Mapping[str, Any], where: str, entries: list[Any]) -> Buffer:
        if "unused" in entry:
            record = field(entry, "unused", dict, where)
            return json_args.read_buffer(record, named(field(record, "dtype", str, where)), None, where)
        found = self._named(field(entry, "node", str, where), where, entries)
        if found.op is not Op.BUFFER:
            raise GraphError("SL232", f"`node` is a {found.op}, not a BUFFER", where=where)
        memory: Buffer = found.arg
        return memory


def _input_shape(value: object, memory: Buffer, where: str) -> tuple[int, ...]:
    shape = integers(value, "shape", where)
    if math.prod(shape) != memory.size:
        raise GraphError("SL232", f"`shape` is {list(shape)}, of {math.prod(shape)} elements, but the memory has {memory.size}",
                         where=where)  # fmt: skip
    return shape


def _op(name: str, where: str) -> Op:
    if name in _OPS:
        return Op(name)
    near = difflib.get_close_matches(name.upper(), sorted(_OPS), 1)
    raise GraphError("SL232", f"`op` is {name!r}, which is none", where=where,
                     help=f"did you mean {near[0]}?" if near else f"ops: {', '.join(sorted(_OPS))}")  # fmt: skip


def _check_derived(name: str, written: DType | tuple[Any, ...] | None, derived: object, where: str) -> None:
    if written is not None and written != derived:
        raise GraphError("SL232", f"`{name}` is {_shown(written)}, but this op gives {_shown(derived)}", where=where,
                         help=f"leave `{name}` out to have it derived")  # fmt: skip


def _shown(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)
