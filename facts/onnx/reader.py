"""Reading an ONNX file as a graph: bind the open dims, fold what is known, lower the rest."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from numpy.typing import ArrayLike

from schedulog.errors import GraphError
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.graph import Graph, graph_of
from schedulog.facts.node import Node
from schedulog.facts.onnx.call import Call, Lowered
from schedulog.facts.onnx.constants import element_type, fixed_values
from schedulog.facts.onnx.declared import check_names, check_output
from schedulog.facts.onnx.file import FileGraph, FileModel, FileNode, FileValue, read_model
from schedulog.facts.onnx.ops.table import LOWERINGS
from schedulog.facts.onnx.shapes import assumed_sizes, bind_shapes
from schedulog.facts.onnx.values import Known, Value, node_of
from schedulog.facts.ops import Op

OLDEST_OPSET: Final = 6
NEWEST_OPSET: Final = 28
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})

Scope = ChainMap[str, Value]


def read_onnx(
    path: str | os.PathLike[str] | bytes,
    *,
    dims: Mapping[str, int] = _NOTHING,
    inputs: Mapping[str, tuple[int, ...]] = _NOTHING,
    constants: Mapping[str, ArrayLike] = _NOTHING,
) -> Graph:
    """The graph in the ONNX file at `path` (or in its bytes).

    `dims` gives sizes to symbolic dims by name, `inputs` whole shapes to inputs by name; an open dim that leads an
    input is 1 unless bound, and told in `assumed`. `constants` fixes inputs to values, so that what depends only on them
    folds. Inputs and outputs keep their ONNX names, nodes carry the ONNX node's name as label.

    An index that is computed and lies outside of what it picks from (Gather, GatherElements) is undefined in ONNX, and
    compiled code cannot refuse it: the element picked is the dtype's minimum, -inf for floats. A known index is refused.

    Raises GraphError: SL240 no onnx package, SL241 no (whole) ONNX file, SL242 a dim without size, SL243 an operation
    that is not supported, SL244 an attribute, type or mode that is not, SL245 operands that do not fit, or a model that
    contradicts itself: a name for two values, an output of another shape than declared.
    """
    model = read_model(path)
    _check_opset(model)
    check_names(model)
    given = [v for v in model.graph.inputs if v.name not in constants]
    fixed = fixed_values(model, constants)
    # A value that is fixed tells the sizes of its symbolic dims, which others share.
    told = {**inputs, **{n: array.shape for n, array in fixed.items()}}
    shapes = bind_shapes(model.graph.inputs, dims, told, model.file)
    buffers = {v.name: _input(v, shapes[v.name], model.file) for v in given}
    values = {n: Known(array, n) for n, array in fixed.items()}
    reader = _Reader(model)
    entry = {n: build.buffer(b, shapes[n]) for n, b in buffers.items()}
    scope = reader.lower(model.graph, ChainMap({**values, **entry}))
    made = [_output(v, scope, model) for v in model.graph.outputs]
    for declared, value in zip(model.graph.outputs, made, strict=True):
        check_output(declared, value, model.file)
    outputs = [node_of(value) for value in made]
    names = [v.name for v in model.graph.outputs]
    graph = graph_of(
        outputs, name=model.graph.name or "onnx", outputs=names, inputs=buffers,
        input_shapes={v.name: shapes[v.name] for v in given},
    )  # fmt: skip
    return replace(graph, assumed=assumed_sizes(model.graph.inputs, dims, told))


def _check_opset(model: FileModel) -> None:
    version = model.opsets.get("", NEWEST_OPSET)
    if not OLDEST_OPSET <= version <= NEWEST_OPSET:
        raise GraphError("SL243", f"{model.file} uses operator set {version}", where=model.file,
                         reason=f"operator sets {OLDEST_OPSET} to {NEWEST_OPSET} are known",
                         help="convert it with onnx.version_converter")  # fmt: skip


def _input(value: FileValue, shape: tuple[int, ...], file: str) -> Buffer:
    size = 1
    for n in shape:
        size *= n
    return Buffer(size, element_type(value, file), name=value.name)


def _output(value: FileValue, scope: Mapping[str, Value], model: FileModel) -> Value:
    found = scope.get(value.name)
    if found is None:
        raise GraphError("SL241", f"no node makes the output `{value.name}`", where=model.file,
                         help="export or download the file again")  # fmt: skip
    if value.element_type and found.dtype != element_type(value, model.file):
        raise GraphError("SL245", f"output `{value.name}` is declared as {element_type(value, model.file)}",
                         where=model.file, reason=f"its operations give {found.dtype}")  # fmt: skip
    return found


@dataclass(slots=True)
class _Reader:
    """Lowers the nodes of one file. `_labelled` holds the nodes that already have the label of an ONNX node."""

    model: FileModel
    _labelled: set[Node] = field(default_factory=set)

    def lower(self, graph: FileGraph, outer: Scope) -> Scope:
        """The values of `graph` and of what surrounds it. Only nodes that the outputs need are looked at."""
        scope = outer.new_child({n: Known(a, n) for n, a in graph.constants.items()})
        wanted = _wanted(graph)
        nodes = [n for n in graph.nodes if not wanted.isdisjoint(n.outputs)]
        self._check_supported(nodes)
        for item in nodes:
            results = self._lower_node(item, scope, wanted)
            named = {n: r for n, r in zip(item.outputs, results, strict=False) if n}
            scope.update({n: _named(r, n) for n, r in named.items()})
            self._label(named.values(), item.label)
        return scope

    def _lower_node(self, item: FileNode, scope: Scope, wanted: set[str]) -> Sequence[Value]:
        operands = [self._operand(name, item, scope) if name else None for name in item.inputs]
        count = max((i + 1 for i, o in enumerate(item.outputs) if o in wanted), default=0)
        call = Call(item, operands, self.model.opsets.get("", NEWEST_OPSET), count, self.model.file)
        try:
            lowered = self._branch(call, scope) if item.op_type == "If" else LOWERINGS[item.op_type](call)
            results = [lowered] if isinstance(lowered, (Known, Node)) else list(lowered)
            call.finish(len(results))
        except GraphError as error:
            if error.code.startswith("SL24"):
                raise
            if error.code == "SL202":
                raise call.refuse(f"operands of a type without counterpart ({error.message})") from error
            raise call.mismatch(error.message + (f" ({error.reason})" if error.reason else "")) from error
        except (ValueError, TypeError, IndexError, ArithmeticError) as error:
            # Folding is done by numpy, which says so where operands do not fit.
            raise call.mismatch(str(error)) from error
        return results

    def _operand(self, name: str, item: FileNode, scope: Scope) -> Value:
        found = scope.get(name)
        if found is None:
            raise GraphError("SL241", f"{item.op_type} `{item.label}` reads `{name}`, which nothing before it makes",
                             where=self.model.file, help="export or download the file again")  # fmt: skip
        return found

    def _branch(self, call: Call, scope: Scope) -> Lowered:
        """The results of the branch that the known condition takes."""
        condition = call.known(0, "conditions")
        if condition is None or condition.size != 1:
            raise call.mismatch("a condition of one value is needed")
        then, otherwise = call.raw("then_branch"), call.raw("else_branch")
        branch = then if bool(condition.reshape(-1)[0]) else otherwise
        if not isinstance(branch, FileGraph):
            raise call.mismatch("a branch is missing")
        inner = self.lower(branch, scope)
        return [_output(v, inner, self.model) for v in branch.outputs]

    def _check_supported(self, nodes: Sequence[FileNode]) -> None:
        unknown = [n for n in nodes if n.domain or (n.op_type not in LOWERINGS and n.op_type != "If")]
        if not unknown:
            return
        first = unknown[0]
        domain = first.domain or "ai.onnx"
        kinds = sorted({f"{n.domain}::{n.op_type}" if n.domain else n.op_type for n in unknown})
        raise GraphError(
            "SL243",
            f"operation {first.op_type} is not supported",
            where=f"{first.op_type} `{first.label}` of {self.model.file}",
            reason=f"domain {domain}, operator set {self.model.opsets.get(first.domain, '?')};"
            f" not supported in this file: {', '.join(kinds)}",
            help=f"supported: {', '.join(sorted((*LOWERINGS, 'If')))}",
        )

    def _label(self, values: Iterable[Value], label: str) -> None:
        """Give what an ONNX node was lowered to its name: all that is reached before nodes that have one."""
        stack = [v for v in values if isinstance(v, Node)]
        while stack:
            current = stack.pop()
            if current in self._labelled:
                continue
            self._labelled.add(current)
            if current.op not in (Op.BUFFER, Op.CONST):
                current.label = label
            stack.extend(current.src)


def _named(value: Value, name: str) -> Value:
    """A known value without a name gets the one the file has for it."""
    return Known(value.array, name) if isinstance(value, Known) and not value.name else value


def _wanted(graph: FileGraph) -> set[str]:
    """The names that the outputs depend on, also by way of subgraphs."""
    wanted = {v.name for v in graph.outputs}
    for item in reversed(graph.nodes):
        if not wanted.isdisjoint(item.outputs):
            wanted.update(_read_names(item))
    wanted.discard("")
    return wanted


def _read_names(item: FileNode) -> set[str]:
    """What a node reads: its operands, and whatever nodes of its subgraphs name (more than needed does no harm)."""
    names = set(item.inputs)
    graphs = list(item.subgraphs)
    while graphs:
        graph = graphs.pop()
        names.update(v.name for v in graph.outputs)
        for inner in graph.nodes:
            names.update(inner.inputs)
            graphs.extend(inner.subgraphs)
    return names
