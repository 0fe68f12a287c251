"""Recorded tensor graphs: one JSON object a scheduling call, as the corpus of the reference scheduler holds them.

Two of its fields are graphs: `tensor_graph`, as the tensors made it, and `graph`, what simplification left of it. DEVICE,
UNIQUE and DEFINE_VAR nodes become attributes of the nodes that use them, movement operations become views.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from schedulog.errors import GraphError
from schedulog.facts import dtype as dtypes
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import DType
from schedulog.facts.graph import Graph
from schedulog.facts.node import ConstArg, CopyArg, Node, ReduceArg, Shape, node
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Size, Variable, parse_record
from schedulog.facts.view import View, ViewStack

_C_NAMES: Final[Mapping[str, DType]] = {
    "void": dtypes.void,
    "bool": dtypes.bool_,
    "signed char": dtypes.int8,
    "short": dtypes.int16,
    "int": dtypes.int32,
    "long": dtypes.int64,
    "unsigned char": dtypes.uint8,
    "unsigned short": dtypes.uint16,
    "unsigned int": dtypes.uint32,
    "unsigned long": dtypes.uint64,
    "half": dtypes.float16,
    "__bf16": dtypes.bfloat16,
    "float": dtypes.float32,
    "double": dtypes.float64,
}
_ATTRIBUTES: Final = frozenset({"DEVICE", "UNIQUE", "DEFINE_VAR"})
_OPERATIONS: Final[Mapping[str, Op]] = MappingProxyType({op.value: op for op in Op})


@dataclass(frozen=True, eq=False)
class Recorded:
    """A graph read from a record, and the node each of the record's ids stands for."""

    graph: Graph
    nodes: Mapping[int, Node]


def read_record(record: Mapping[str, Any], file: str = "record", stage: str = "graph") -> Recorded:
    """One `stage` of a record: `graph`, or `tensor_graph`.

    Raises GraphError: SL235 for a record without it or with an unknown operation.
    """
    return _read(record, stage, {}, file)


def read_stages(record: Mapping[str, Any], file: str = "record") -> tuple[Recorded, Recorded]:
    """The `tensor_graph` of a record and its `graph`, over the same buffers: equal values are the same nodes.

    Raises GraphError SL235 as `read_record`.
    """
    memory: dict[int, Buffer] = {}
    return _read(record, "tensor_graph", memory, file), _read(record, "graph", memory, file)


def _read(record: Mapping[str, Any], stage: str, memory: dict[int, Buffer], file: str) -> Recorded:
    if not isinstance(record.get(stage), list):
        raise GraphError(
            "SL235", f"the record has no {stage}", where=file, help=f"a record has a `{stage}` list"
        )
    rows: dict[int, Mapping[str, Any]] = {row["id"]: row for row in record[stage]}
    made: dict[int, Node] = {}
    for at, row in rows.items():
        op = row["op"]
        if op in MOVEMENTS:
            made[at] = _moved(row, made)
        elif op not in _ATTRIBUTES and not (op == "VIEW" and _is_device_view(row, rows)):
            made[at] = _node(row, rows, made, memory, file)
    sink = made[record[stage][-1]["id"]]
    names = tuple(f"out{i}" for i in range(len(sink.src)))
    buffers = {n.arg.name: n.arg for n in made.values() if n.op is Op.BUFFER}
    shapes = {name: (buffer.size,) for name, buffer in buffers.items()}
    return Recorded(Graph(sink, str(record.get("case", file)), names, buffers, shapes), made)


def _moved(row: Mapping[str, Any], made: Mapping[int, Node]) -> Node:
    """A movement operation as a view of the base, applied to how the source looks at it."""
    source = made[row["src"][0]]
    label = str(row.get("metadata") or "")
    plain = _still(source.shape) if source.op is Op.CONST else source.view
    look = MOVEMENTS[row["op"]](plain, row["arg"])
    if source.op is Op.CONST and not look.masked:
        constant = ConstArg(source.arg.value, look.shape, source.arg.device)
        return node(Op.CONST, (), constant, source.dtype, label)
    return node(Op.VIEW, (source.base,), look, None, label, moved=True)


def _still(shape: Shape) -> ViewStack:
    """The look at a constant: every index shows its one element."""
    return ViewStack((View.create(shape, (0,) * len(shape)),))


def _is_device_view(row: Mapping[str, Any], rows: Mapping[int, Mapping[str, Any]]) -> bool:
    return bool(rows[row["src"][0]]["op"] == "DEVICE")


def _node(
    row: Mapping[str, Any],
    rows: Mapping[int, Mapping[str, Any]],
    made: Mapping[int, Node],
    memory: dict[int, Buffer],
    file: str,
) -> Node:
    op = _OPERATIONS.get(row["op"])
    if op is None:
        raise GraphError("SL235", f"unknown operation {row['op']}", where=f"{file}, node {row['id']}")
    dtype = _dtype(row["dtype"])
    src = () if op is Op.BIND else tuple([made[i] for i in row["src"] if i in made])
    label = str(row.get("metadata") or "")
    if op is Op.BUFFER:
        number = row["arg"]["num"]
        fresh = Buffer(row["arg"]["size"], dtype, _device(row), f"b{number}")
        return node(op, src, memory.setdefault(number, fresh), dtype, label)
    return node(op, src, _argument(op, row, rows, dtype), dtype, label)


def _dtype(name: str) -> DType:
    return _C_NAMES[name] if name in _C_NAMES else dtypes.named(name)


def _argument(op: Op, row: Mapping[str, Any], rows: Mapping[int, Mapping[str, Any]], dtype: DType) -> Any:
    if op not in _ARGUED:
        return None
    arg = row.get("arg") or {}
    match op:
        case Op.CONST:
            return ConstArg(_value(arg["value"], dtype), _shape(row["shape"]), _device(row))
        case Op.BIND:
            inner = rows[row["src"][0]]["arg"]
            return Variable(inner["var"], inner["min"], inner["max"], arg["val"])
        case Op.VIEW:
            return ViewStack(tuple(_view(v) for v in arg["view"]))
        case Op.REDUCE_AXIS:
            return ReduceArg(arg["alu"], tuple(arg["axes"]))
        case Op.COPY:
            return CopyArg(_device(row), bool(arg.get("clone")))
        case Op.BUFFER_VIEW:
            return _shape(row["shape"])
        case _:
            return None


_ARGUED: Final = frozenset({Op.CONST, Op.BIND, Op.VIEW, Op.REDUCE_AXIS, Op.COPY, Op.BUFFER_VIEW})


def _device(row: Mapping[str, Any]) -> str:
    device = row.get("device", "")
    return device if isinstance(device, str) else ",".join(device)


def _shape(sizes: Sequence[Any]) -> Shape:
    return tuple([s if type(s) is int else parse_record(s) for s in sizes])


def _view(row: Mapping[str, Any]) -> View:
    mask = row["mask"]
    return View.create(
        _shape(row["shape"]),
        _shape(row["strides"]),
        parse_record(row["offset"]),
        None if mask is None else _pairs(mask),
    )


def _pairs(rows: Sequence[Sequence[Any]]) -> tuple[tuple[Size, Size], ...]:
    return tuple((parse_record(begin), parse_record(end)) for begin, end in rows)


MOVEMENTS: Final[Mapping[str, Callable[[ViewStack, Mapping[str, Any]], ViewStack]]] = MappingProxyType(
    {
        "RESHAPE": lambda look, arg: look.reshape(_shape(arg["shape"])),
        "EXPAND": lambda look, arg: look.expand(_shape(arg["shape"])),
        "PERMUTE": lambda look, arg: look.permute(tuple(arg["order"])),
        "PAD": lambda look, arg: look.pad(_pairs(arg["pad"])),
        "SHRINK": lambda look, arg: look.shrink(_pairs(arg["range"])),
        "FLIP": lambda look, arg: look.flip(tuple(map(bool, arg["flip"]))),
    }
)
"""Movement operations of a tensor graph, as what they do to a look at the base."""


def _value(value: Any, dtype: DType) -> bool | int | float:
    if isinstance(value, dict):
        return float(value["float"])
    if dtype.kind == "bool":
        return bool(value)
    return float(value) if dtype.is_float else int(value)
