"""The arguments of nodes as JSON, and the checks of JSON fields."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from typing import Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from schedulog.errors import GraphError
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import DType
from schedulog.facts.node import ConstArg, CopyArg, Node, ReduceArg, Shape
from schedulog.facts.number import element
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Size, Variable, from_json, to_json
from schedulog.facts.view import View, ViewStack
from schedulog.facts.views.reach import check_reach

T = TypeVar("T")
_TYPES: Final = {dict: "an object", list: "a list", str: "a text", int: "an integer", bool: "true or false"}
_MISSING: Final = object()


def field(record: Mapping[str, Any], name: str, kind: type[T], where: str, default: Any = _MISSING) -> T:
    """`record[name]`, which has to be a `kind`. Raises GraphError (SL232): it is missing or something else."""
    value = record.get(name, default)
    if value is _MISSING:
        raise GraphError("SL232", f"`{name}` is missing", where=where, reason=f"it is {_TYPES[kind]}")
    if type(value) is not kind:
        raise _wrong(name, value, _TYPES[kind], where)
    return value


def _wrong(name: str, value: object, expected: str, where: str) -> GraphError:
    return GraphError("SL232", f"`{name}` is {_shown(value)}, not {expected}", where=where)


def _shown(value: object) -> str:
    """The beginning of a JSON value."""
    return json.dumps(value)[:60]


def integers(value: object, name: str, where: str) -> tuple[int, ...]:
    """A list of integers that are not negative. Raises GraphError (SL232)."""
    if type(value) is not list or not all(type(v) is int and v >= 0 for v in value):
        raise _wrong(name, value, "a list of integers from 0 on", where)
    return tuple(value)


def sizes(value: object, name: str, where: str) -> Shape:
    """A list of sizes, integers or symbolic. Raises GraphError (SL222, SL232)."""
    if type(value) is not list or any(type(v) is int and v < 0 for v in value):
        raise _wrong(name, value, "a list of sizes from 0 on", where)
    return tuple(v if type(v) is int else from_json(v) for v in value)


def write(n: Node, *, contents: bool = True) -> Any:
    """The argument of a node as JSON; `contents`: with what a buffer holds."""
    arg = n.arg
    match n.op:
        case Op.BUFFER:
            return buffer(arg, contents=contents)
        case Op.CONST:
            return {"value": _scalar(arg.value), "device": arg.device}
        case Op.BIND:
            return to_json(arg)
        case Op.VIEW | Op.ASSIGN:
            return arg.to_json()
        case Op.REDUCE_AXIS:
            return {"op": arg.op, "axes": list(arg.axes)}
        case Op.COPY:
            return {"device": arg.device, "clone": arg.clone}
        case Op.BUFFER_VIEW:
            return [to_json(size) for size in arg]
        case _:
            raise GraphError("SL213", f"{n.op} has an argument: {arg!r}", where=n.label)


def buffer(memory: Buffer, *, contents: bool = True) -> dict[str, Any]:
    """A buffer as JSON, its contents in base64 (little endian)."""
    record: dict[str, Any] = {"name": memory.name, "size": memory.size, "device": memory.device}
    if memory.array is None or not contents:
        return record
    packed = memory.array.astype(memory.array.dtype.newbyteorder("<"), copy=False).tobytes()
    return record | {"data": base64.b64encode(packed).decode("ascii")}


def _scalar(value: bool | float) -> Any:
    return value if not isinstance(value, float) or math.isfinite(value) else {"float": str(value)}


def read(op: Op, arg: Any, kind: DType | None, shape: Shape | None, src: tuple[Node, ...], where: str) -> Any:
    """The argument of an op from JSON. Raises GraphError: SL213, SL222, SL232."""
    match op:
        case Op.BUFFER:
            return read_buffer(_object(arg, where), _needed(kind, op, where), shape, where)
        case Op.CONST:
            return _read_const(arg, _needed(kind, op, where), shape or (), where)
        case Op.BIND:
            return _read_variable(_object(arg, where), where)
        case Op.VIEW:
            return _read_views(arg, src[0].shape if src else (), where)
        case Op.ASSIGN if arg is not None and len(src) == 2:
            return _read_views(arg, _pieces(*src), where)
        case Op.REDUCE_AXIS:
            return _read_reduce(_object(arg, where), src, where)
        case Op.COPY:
            record = _object(arg, where)
            return CopyArg(field(record, "device", str, where), field(record, "clone", bool, where, False))
        case Op.BUFFER_VIEW:
            return sizes(arg if arg is not None else list(shape or ()), "arg", where)
        case Op.CAST | Op.BITCAST:
            _needed(kind, op, where)
    if arg is not None:
        raise GraphError("SL232", f"{op} takes no `arg`", where=where)
    return None


def _needed(kind: DType | None, op: Op, where: str) -> DType:
    if kind is None:
        raise GraphError(
            "SL232", "`dtype` is missing", where=where, reason=f"the dtype of {op} follows from nothing else"
        )
    return kind


def _object(arg: object, where: str) -> dict[str, Any]:
    return cast(dict[str, Any], field({} if arg is None else {"arg": arg}, "arg", dict, where))


def read_buffer(record: Mapping[str, Any], kind: DType, shape: Shape | None, where: str) -> Buffer:
    """A buffer; its size may follow from its contents or the node's shape. Raises GraphError: SL203, SL232."""
    contents = None if "data" not in record else _read_data(record["data"], kind, where)
    implied = contents.size if contents is not None else shape[0] if shape else _MISSING
    size = field(record, "size", int, where, implied)
    device, name = field(record, "device", str, where, ""), field(record, "name", str, where, "")
    return Buffer(size, kind, device, name, contents)


def _read_data(data: object, kind: DType, where: str) -> NDArray[Any]:
    target = kind.to_numpy()
    if isinstance(data, list):
        return np.array([_number(v, kind, f"data`[{i}]", where) for i, v in enumerate(data)], target)
    if not isinstance(data, str):
        raise _wrong("data", data, "base64 or a list of numbers", where)
    try:
        packed = base64.b64decode(data, validate=True)
        found = np.frombuffer(packed, target.newbyteorder("<")).astype(target)
    except (binascii.Error, ValueError):
        raise GraphError("SL232", f"`data` is not base64 of {kind} numbers", where=where) from None
    if kind.kind == "bool" and any(byte > 1 for byte in packed):
        raise GraphError("SL232", "`data` is not base64 of bool numbers", where=where,
                         reason=f"a bool is a byte of 0 or 1, not of {max(packed)}")  # fmt: skip
    return found


def _number(value: object, kind: DType, name: str, where: str) -> bool | int | float:
    """A number of JSON as an element of a dtype; `name` is the field. Raises GraphError (SL232): it is none."""
    quoted = name if "`" in name else f"{name}`"
    number = value
    if isinstance(value, dict) and len(value) == 1 and value.get("float") in ("nan", "inf", "-inf"):
        number = float(value["float"])
    elif isinstance(value, float) and not math.isfinite(value):
        raise GraphError(
            "SL232", f"`{quoted} is beyond all floats", where=where, help='write {"float": "inf"}'
        )
    if not isinstance(number, (bool, int, float)):
        raise GraphError("SL232", f"`{quoted} is {_shown(value)}, not a number, true, false or {{\"float\": \"nan\"}}",
                         where=where)  # fmt: skip
    try:
        return element(number, kind)
    except GraphError as error:
        raise GraphError(
            "SL232", f"`{quoted} is {error.message.replace(' is not ', ', not ', 1)}", where=where
        ) from None


def _read_const(arg: Any, kind: DType, shape: Shape, where: str) -> ConstArg:
    """A bare value, or an object that also names a device."""
    if isinstance(arg, dict) and "value" in arg:
        return ConstArg(
            _number(arg["value"], kind, "value", where), shape, field(arg, "device", str, where, "")
        )
    if arg is None:
        raise GraphError("SL232", "`arg` is missing", where=where, reason="it is the constant's value")
    return ConstArg(_number(arg, kind, "arg", where), shape, "")


def _read_variable(arg: dict[str, Any], where: str) -> Variable:
    found = from_json(arg)
    if not isinstance(found, Variable):
        raise _wrong("arg", arg, "a variable", where)
    return found


def _read_reduce(arg: dict[str, Any], src: tuple[Node, ...], where: str) -> ReduceArg:
    op = field(arg, "op", str, where)
    if op not in ("ADD", "MUL", "MAX"):
        raise _wrong("op", op, "ADD, MUL or MAX", where)
    return ReduceArg(op, integers(field(arg, "axes", list, where), "axes", where))  # type: ignore[arg-type]


def _pieces(place: Node, value: Node) -> Shape:
    """The shape of a place, counted in elements as wide as those of the value."""
    return (*place.shape, place.dtype.itemsize // max(1, value.dtype.itemsize))


def _read_views(arg: object, base: Shape, where: str) -> ViewStack:
    if type(arg) is not list or not arg or not all(isinstance(v, dict) for v in arg):
        raise _wrong("arg", arg, "a list of views", where)
    stack = ViewStack(tuple(_read_view(v, where) for v in arg))
    # Symbolic views, which no node checks, have to fit at least for the values their variables have.
    check_reach(stack.bound().views, _bound(base))
    return stack


def _bound(shape: Shape) -> Shape:
    return ViewStack.of_shape(shape).bound().shape


def _read_view(record: Mapping[str, Any], where: str) -> View:
    shape = sizes(field(record, "shape", list, where), "shape", where)
    strides = None
    if "strides" in record:
        strides = tuple(_size(s) for s in field(record, "strides", list, where))
    offset, mask = _size(record.get("offset", 0)), None
    if record.get("mask") is not None:
        mask = _read_mask(record["mask"], len(shape), where)
    if strides is not None and len(strides) != len(shape):
        raise _wrong("strides", record["strides"], f"a list of {len(shape)}", where)
    return (
        View.create(shape)
        if strides is None and not offset and mask is None
        else _exact(shape, strides, offset, mask)
    )


def _exact(shape: Shape, strides: Shape | None, offset: Size, mask: Any) -> View:
    return View(shape, View.create(shape).strides if strides is None else strides, offset, mask)


def _size(value: object) -> Size:
    return value if type(value) is int else from_json(value)


def _read_mask(value: object, rank: int, where: str) -> tuple[tuple[Size, Size], ...]:
    if (
        type(value) is not list
        or len(value) != rank
        or not all(type(p) is list and len(p) == 2 for p in value)
    ):
        raise _wrong("mask", value, f"a list of {rank} pairs [begin, end]", where)
    return tuple((_size(begin), _size(end)) for begin, end in value)
