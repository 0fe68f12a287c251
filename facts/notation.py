"""A short notation for graphs: `x=load f32[8,8]; e=exp x; s=sum e axis=1; out s`.

Statements stand on lines of their own or between semicolons. Each makes a node and names it; the last one, `out`,
requests values. What an operation takes:

    x=load f32[8,4] device=B          memory given at execution
    c=const 1.5 f32[8,4]              n=bind min=1 max=8 value=4 (then `n` may stand as a size)
    y=add x c    y=add x 1            any elementwise operation by its name; a number is a constant in every element
    y=cast x f16                      also bitcast
    s=sum x axis=1                    sum, prod, max over axes, which stay with size 1
    reshape x to=[32]                 expand x to=[8,4], permute x order=1,0, flip x axis=0,
    pad x by=(1,1),(0,0)              shrink x to=(0,4),(0,4)
    contiguous x                      copy x device=B, assign target value, buffer_view x i32[4]
    out s, y                          what is wanted, always last

Nothing is broadcast but numbers.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from types import MappingProxyType
from typing import Final

from schedulog.errors import GraphError, Place
from schedulog.facts import build
from schedulog.facts import dtype as dtypes
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import DType
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.node import CopyArg, Node, ReduceOp, bind, node
from schedulog.facts.notation_text import Definition, Group, Operand, Request, statements
from schedulog.facts.ops import ARITY, ELEMENTWISE, Op
from schedulog.facts.symbolic import Size, Variable

DTYPES: Final[Mapping[str, DType]] = MappingProxyType(
    {"bool": dtypes.bool_, "bf16": dtypes.bfloat16}
    | {f"f{d.bits}": d for d in (dtypes.float16, dtypes.float32, dtypes.float64)}
    | {f"i{d.bits}": d for d in (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)}
    | {f"u{d.bits}": d for d in (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64)}
)
"""The element types by their short names."""

_ANY: Final = ""
"""The key of the maker of all elementwise operations."""

_RESERVED: Final = frozenset({"out", "inf", "nan", "true", "false", *DTYPES})
_TRUTH: Final[Mapping[str, bool]] = {"true": True, "false": False}
_REDUCTIONS: Final[Mapping[str, ReduceOp]] = {"sum": "ADD", "prod": "MUL", "max": "MAX"}
_ELEMENTWISE: Final[Mapping[str, Op]] = {
    op.value.lower(): op for op in sorted(ELEMENTWISE - {Op.CAST, Op.BITCAST})
}


@dataclass(frozen=True, eq=False)
class NamedGraph:
    """A graph and the node that each name of its text stands for (a VIEW for a movement)."""

    graph: Graph
    names: Mapping[str, Node]


def read_notation(text: str, file: str = "<graph>") -> Graph:
    """The graph that `text` describes; `file` is what errors call it. Raises as `read_names` does."""
    return read_names(text, file).graph


def read_names(text: str, file: str = "<graph>") -> NamedGraph:
    """The graph that `text` describes, with its names. Nodes are labelled with them.

    Raises GraphError with the place: SL250 not well formed, SL251 an unknown operation, SL252 an unknown name, SL253
    a name that is taken, SL254 a wrong operand or option, SL255 no `out`; and what the making of a node raises.
    """
    reader = _Reader(file)
    for statement in statements(text, file):
        if reader.request is not None:
            raise GraphError(
                "SL255", "a statement after `out`", where=statement.place, help="`out` stands last"
            )
        if isinstance(statement, Request):
            reader.request = statement
        else:
            reader.define(statement)
    return reader.result()


class _Reader:
    """The names met so far."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.nodes: dict[str, Node] = {}
        self.sizes: dict[str, Variable] = {}
        self.inputs: dict[str, Buffer] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.request: Request | None = None

    def result(self) -> NamedGraph:
        if self.request is None:
            raise GraphError(
                "SL255", "no `out`", where=self.file, help="say which values are wanted: out a, b"
            )
        names = [name for name, _ in self.request.names]
        for i, (name, place) in enumerate(self.request.names):
            if name in names[:i]:
                raise GraphError("SL253", f"`{name}` is requested twice", where=place)
        wanted = list(starmap(self.node, self.request.names))
        graph = graph_of(wanted, outputs=names, inputs=self.inputs, input_shapes=self.shapes)
        return NamedGraph(graph, MappingProxyType(self.nodes))

    def define(self, statement: Definition) -> None:
        if statement.name in self.nodes or statement.name in _RESERVED:
            what = "is defined already" if statement.name in self.nodes else "is a word of the notation"
            raise GraphError("SL253", f"`{statement.name}` {what}", where=statement.place)
        call = _Call(statement, self)
        maker = _MAKERS.get(call.form)
        if maker is None:
            known = {*_MAKERS, *_ELEMENTWISE} - {_ANY}
            help = _nearest(statement.op, known) or f"operations: {', '.join(sorted(known))}"
            raise GraphError(
                "SL251", f"unknown operation `{statement.op}`", where=statement.op_place, help=help
            )
        try:
            self.nodes[statement.name] = maker(call)
        except GraphError as error:
            raise _placed(error, statement.op_place) from None
        call.finish()

    def node(self, name: str, place: Place) -> Node:
        found = self.nodes.get(name)
        if found is None:
            help = _nearest(name, self.nodes) or "a name is defined before it is used"
            raise GraphError("SL252", f"unknown name `{name}`", where=place, help=help)
        return found


def _placed(error: GraphError, place: Place) -> GraphError:
    """The error with a place in the text; the parts of a node's own error stay."""
    where = error.where if isinstance(error.where, Place) else place
    return GraphError(error.code, error.message, where=where, reason=error.reason, help=error.help)


def _nearest(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, sorted(known), 1)
    return f"did you mean `{found[0]}`?" if found else ""


class _Call:
    """One definition as its maker reads it; `finish` refuses what the maker did not ask for."""

    def __init__(self, statement: Definition, reader: _Reader) -> None:
        self.statement = statement
        self.reader = reader
        self.name = statement.name
        self.used: set[str] = set()

    @property
    def form(self) -> str:
        """The key of the maker: `max` is two operations, told apart by `axis`."""
        op = self.statement.op
        if op in _ELEMENTWISE and (op not in _REDUCTIONS or "axis" not in self.statement.options):
            return _ANY
        return op

    def finish(self) -> None:
        for key, option in self.statement.options.items():
            if key not in self.used:
                help = f"it takes {', '.join(sorted(self.used))}" if self.used else "it takes operands only"
                raise GraphError(
                    "SL254", f"`{self.statement.op}` takes no `{key}`", where=option.place, help=help
                )

    def wrong(self, message: str, place: Place | None = None, help: str = "") -> GraphError:
        return GraphError("SL254", message, where=place or self.statement.op_place, help=help)

    def operands(self, *count: int) -> Sequence[Operand]:
        found = self.statement.operands
        if len(found) not in count:
            number = " or ".join(map(str, count))
            noun = "operand" if count == (1,) else "operands"
            raise self.wrong(f"`{self.statement.op}` takes {number} {noun}, not {len(found)}")
        return found

    def source(self) -> Node:
        """The one operand."""
        return self.value(self.operands(1)[0])

    def value(self, operand: Operand) -> Node:
        if operand.number or operand.sizes is not None or operand.text in DTYPES:
            raise self.wrong(f"`{operand.text}` where a name is expected", operand.place)
        return self.reader.node(operand.text, operand.place)

    def literal(self, operand: Operand) -> bool | int | float | None:
        """The number an operand is, or None."""
        if operand.text in _TRUTH:
            return _TRUTH[operand.text]
        if not operand.number:
            return None
        whole = operand.text.lstrip("+-").isdigit()
        return int(operand.text) if whole else float(operand.text)

    def dtype(self, operand: Operand) -> DType:
        found = DTYPES.get(operand.text)
        if found is None:
            help = _nearest(operand.text, DTYPES) or f"types: {', '.join(DTYPES)}"
            raise self.wrong(f"unknown type `{operand.text}`", operand.place, help)
        return found

    def typed(self, operand: Operand) -> tuple[DType, tuple[Size, ...]]:
        """`f32[8,8]` as a type and a shape."""
        found = self.dtype(operand)
        if operand.sizes is None:
            raise self.wrong(f"`{operand.text}` has no shape", operand.place, f"{operand.text}[8,8]")
        return found, tuple(self.size(item, operand.place) for item in operand.sizes)

    def size(self, item: Group, place: Place) -> Size:
        if isinstance(item, int):
            return item
        if isinstance(item, str) and item in self.reader.sizes:
            return self.reader.sizes[item]
        help = "a size is a whole number or the name of a `bind`"
        raise self.wrong(f"`{item}` is no size", place, help)

    def groups(self, key: str, example: str) -> tuple[tuple[Group, ...], Place]:
        option = self.statement.options.get(key)
        self.used.add(key)
        if option is None:
            raise self.wrong(f"`{self.statement.op}` needs `{key}`", help=f"for example: {key}={example}")
        return option.groups, option.place

    def integers(self, key: str, example: str) -> tuple[int, ...]:
        groups, place = self.groups(key, example)
        if not all(isinstance(item, int) for item in groups):
            raise self.wrong(f"`{key}` takes whole numbers", place, f"for example: {key}={example}")
        return tuple(item for item in groups if isinstance(item, int))

    def integer(self, key: str, example: str) -> int:
        found = self.integers(key, example)
        if len(found) != 1:
            raise self.wrong(f"`{key}` takes one number", self.statement.options[key].place)
        return found[0]

    def shape(self) -> tuple[Size, ...]:
        groups, place = self.groups("to", "[8,8]")
        if len(groups) != 1 or not isinstance(groups[0], tuple):
            raise self.wrong("`to` takes a shape", place, "for example: to=[8,8]")
        return tuple(self.size(item, place) for item in groups[0])

    def pairs(self, key: str) -> list[tuple[Size, Size]]:
        groups, place = self.groups(key, "(0,4),(0,8)")
        found: list[tuple[Size, Size]] = []
        for pair in groups:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise self.wrong(
                    f"`{key}` takes one pair for each axis", place, f"for example: {key}=(0,4),(0,8)"
                )
            found.append((self.size(pair[0], place), self.size(pair[1], place)))
        return found

    def word(self, key: str, default: str | None = None) -> str:
        if default is not None and key not in self.statement.options:
            self.used.add(key)
            return default
        groups, place = self.groups(key, "NAME")
        if len(groups) != 1 or not isinstance(groups[0], str):
            raise self.wrong(f"`{key}` takes one name", place)
        return groups[0]


def _load(call: _Call) -> Node:
    dtype, shape = call.typed(call.operands(1)[0])
    known = tuple(s for s in shape if isinstance(s, int))
    if len(known) < len(shape):
        raise call.wrong("memory has a known size", help="load the largest size, then shrink it")
    size = 1
    for s in known:
        size *= s
    memory = Buffer(size, dtype, call.word("device", ""), call.name)
    call.reader.inputs[call.name] = memory
    call.reader.shapes[call.name] = known
    return build.buffer(memory, known, call.name)


def _const(call: _Call) -> Node:
    number, typed = call.operands(2)
    value = call.literal(number)
    if value is None:
        raise call.wrong(f"`{number.text}` is no number", number.place)
    dtype, shape = call.typed(typed)
    return build.const(value, dtype, shape, call.word("device", ""), call.name)


def _bind(call: _Call) -> Node:
    call.operands(0)
    low, high, value = (call.integer(key, "4") for key in ("min", "max", "value"))
    variable = Variable(call.name, low, high, value)
    call.reader.sizes[call.name] = variable
    return bind(variable, dtypes.int32)


def _elementwise(call: _Call) -> Node:
    """Numbers take shape and type from the operands that are names (a condition gives its shape only)."""
    op = _ELEMENTWISE[call.statement.op]
    operands = call.operands(ARITY[op])
    numbers = [call.literal(operand) for operand in operands]
    named = [None if n is not None else call.value(o) for o, n in zip(operands, numbers, strict=True)]
    models = [n for i, n in enumerate(named) if n is not None and not (op is Op.WHERE and i == 0)]
    if len(models) < len(named) and not models:
        raise call.wrong("a number takes its type from an operand that is a name", help="name a `const`")
    values: list[Node] = []
    for n, number in zip(named, numbers, strict=True):
        if number is not None:
            n = build.const(number, models[0].dtype, models[0].shape, models[0].device)
        assert n is not None
        values.append(n)
    return build.alu(op, *values, label=call.name)


def _cast(call: _Call) -> Node:
    source, dtype = call.operands(2)
    make = build.cast if call.statement.op == "cast" else build.bitcast
    return make(call.value(source), call.dtype(dtype), call.name)


def _reduce(call: _Call) -> Node:
    source = call.source()
    return build.reduce(_REDUCTIONS[call.statement.op], source, call.integers("axis", "1"), call.name)


def _permute(call: _Call) -> Node:
    return build.permute(call.source(), call.integers("order", "1,0"), call.name)


def _flip(call: _Call) -> Node:
    source, axes = call.source(), call.integers("axis", "0")
    if any(not 0 <= axis < len(source.shape) for axis in axes):
        raise call.wrong(f"axes {axes} of {len(source.shape)}", call.statement.options["axis"].place)
    return build.flip(source, [axis in axes for axis in range(len(source.shape))], call.name)


def _copy(call: _Call) -> Node:
    source, device = call.source(), call.word("device")
    if source.device == device:
        return node(Op.COPY, (source,), CopyArg(device, True), label=call.name)
    return build.copy(source, device, label=call.name)


def _assign(call: _Call) -> Node:
    target, value = call.operands(2)
    return build.assign(call.value(target), call.value(value), call.name)


def _buffer_view(call: _Call) -> Node:
    source, typed = call.operands(2)
    dtype, shape = call.typed(typed)
    return node(Op.BUFFER_VIEW, (call.value(source),), shape, dtype, call.name)


_MAKERS: Final[Mapping[str, Callable[[_Call], Node]]] = {
    "load": _load,
    "const": _const,
    "bind": _bind,
    _ANY: _elementwise,
    "cast": _cast,
    "bitcast": _cast,
    "sum": _reduce,
    "prod": _reduce,
    "max": _reduce,
    "reshape": lambda call: build.reshape(call.source(), call.shape(), call.name),
    "expand": lambda call: build.expand(call.source(), call.shape(), call.name),
    "permute": _permute,
    "pad": lambda call: build.pad(call.source(), call.pairs("by"), call.name),
    "shrink": lambda call: build.shrink(call.source(), call.pairs("to"), call.name),
    "flip": _flip,
    "contiguous": lambda call: build.contiguous(call.source(), call.name),
    "copy": _copy,
    "assign": _assign,
    "buffer_view": _buffer_view,
}
