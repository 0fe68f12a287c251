"""ONNX files as plain data: nothing of the onnx package gets past this module."""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from schedulog.errors import GraphError
from schedulog.facts import dtype as types
from schedulog.facts.dtype import DType

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

ELEMENT_TYPES: Final[Mapping[int, DType]] = MappingProxyType(
    {
        1: types.float32, 2: types.uint8, 3: types.int8, 4: types.uint16, 5: types.int16, 6: types.int32,
        7: types.int64, 9: types.bool_, 10: types.float16, 11: types.float64, 12: types.uint32, 13: types.uint64,
        16: types.bfloat16,
    }
)  # fmt: skip
"""The numbers by which ONNX knows element types; those missing (strings, complex, 8 and 4 bit floats) are refused."""


@dataclass(frozen=True, slots=True)
class FileValue:
    """A declared input or output. A dim is a size, a symbolic name, or None where the file leaves it open."""

    name: str
    element_type: int
    dims: tuple[int | str | None, ...] | None


@dataclass(frozen=True, slots=True)
class FileNode:
    """One operation of the file. An empty input or output name stands for one left out."""

    op_type: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    @property
    def label(self) -> str:
        """What people know the node by: its name, or that of its first output."""
        return self.name or next((o for o in self.outputs if o), self.op_type)

    @property
    def subgraphs(self) -> tuple[FileGraph, ...]:
        return tuple(a for a in self.attributes.values() if isinstance(a, FileGraph))


@dataclass(frozen=True, slots=True)
class FileGraph:
    """Nodes in the order of the file, sources first; `constants` are the initializers."""

    name: str
    inputs: tuple[FileValue, ...]
    outputs: tuple[FileValue, ...]
    nodes: tuple[FileNode, ...]
    constants: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class FileModel:
    """A whole file: its graph, and the version of each operator set by domain ("" is the standard one)."""

    file: str
    graph: FileGraph
    opsets: Mapping[str, int]


def read_model(source: str | os.PathLike[str] | bytes) -> FileModel:
    """The model in the file `source` (or in these bytes), model-local functions inlined.

    Raises GraphError: SL240 without the onnx package, SL241 for a file that is missing, damaged or no ONNX model,
    SL244 for contents that have no counterpart here (sparse tensors, sequences), SL245 for two initializers of one name.
    """
    onnx = _package()
    file = "<bytes>" if isinstance(source, bytes) else os.fspath(source)
    proto = _parse(onnx, _content(source, file), file)
    if not isinstance(source, bytes):
        _load_external(onnx, proto, file)
    if proto.functions:
        proto = onnx.inliner.inline_local_functions(proto)
    graph = _Converter(onnx, file).graph(proto.graph)
    return FileModel(file, graph, {_domain(o.domain): o.version for o in proto.opset_import})


def _package() -> ModuleType:
    try:
        import onnx
        import onnx.external_data_helper
        import onnx.inliner
    except ImportError as missing:
        raise GraphError("SL240", "reading an ONNX file needs the onnx package", reason=str(missing),
                         help="install schedulog[onnx]") from missing  # fmt: skip
    return onnx


def _content(source: str | os.PathLike[str] | bytes, file: str) -> bytes:
    if isinstance(source, bytes):
        return source
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise GraphError(
            "SL241", f"cannot read {file}", where=file, reason=error.strerror or str(error)
        ) from error


def _parse(onnx: ModuleType, content: bytes, file: str) -> ModelProto:
    if not content:
        raise _damaged(file, "the file is empty")
    # protobuf belongs to onnx and has no types of its own here.
    undecodable = importlib.import_module("google.protobuf.message").DecodeError
    try:
        proto: ModelProto = onnx.load_model_from_string(content)
    except (undecodable, ValueError) as error:
        raise _damaged(
            file, f"its {len(content)} bytes are not one whole protobuf message ({error})"
        ) from error
    if not proto.ir_version or not proto.HasField("graph"):
        raise _damaged(file, "there is no graph in it")
    if not proto.opset_import:
        raise _damaged(file, "it names no operator set, which comes last in a whole file")
    if not proto.graph.output:
        raise _damaged(file, "its graph has no output")
    return proto


def _damaged(file: str, reason: str) -> GraphError:
    return GraphError("SL241", f"{file} is not an ONNX model, or it is damaged", where=file, reason=reason,
                      help="export or download it again")  # fmt: skip


def _load_external(onnx: ModuleType, proto: ModelProto, file: str) -> None:
    """Bring in weights kept in files beside the model."""
    try:
        onnx.external_data_helper.load_external_data_for_model(proto, str(Path(file).parent))
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        raise GraphError("SL241", f"the external data of {file} cannot be read", where=file, reason=str(error),
                         help="keep the data files beside the model") from error  # fmt: skip


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


class _Converter:
    """Protobuf messages to the classes above. Subgraphs nest at most as deep as protobuf allows (100)."""

    def __init__(self, onnx: ModuleType, file: str) -> None:
        self._onnx = onnx
        self._file = file

    def _names(self, *names: object) -> None:
        """Protobuf hands over names that are not UTF-8 as bytes. Raises GraphError (SL241)."""
        for name in names:
            if not isinstance(name, str):
                raise _damaged(self._file, f"the name {name!r} is no text")

    def graph(self, proto: GraphProto) -> FileGraph:
        self._names(proto.name, *(t.name for t in proto.initializer))
        if proto.sparse_initializer:
            name = proto.sparse_initializer[0].values.name
            raise GraphError("SL244", f"initializer `{name}` is sparse", where=self._file,
                             help="store it dense")  # fmt: skip
        constants = {t.name: self._tensor(t, f"initializer `{t.name}`") for t in proto.initializer}
        if len(constants) < len(proto.initializer):
            name = next(
                name for name, count in Counter(t.name for t in proto.initializer).items() if count > 1
            )
            raise GraphError("SL245", f"`{name}` names two values", where=f"initializer `{name}` of {self._file}",
                             reason="in ONNX a name stands for one value",
                             help="export the model again, or rename one of them")  # fmt: skip
        inputs = tuple(self._value(v) for v in proto.input if v.name not in constants)
        outputs = tuple(self._value(v) for v in proto.output)
        return FileGraph(proto.name, inputs, outputs, tuple(self._node(n) for n in proto.node), constants)

    def _value(self, proto: ValueInfoProto) -> FileValue:
        self._names(proto.name)
        kind = proto.type.WhichOneof("value")
        if kind not in (None, "tensor_type"):
            raise GraphError("SL244", f"`{proto.name}` is a {kind.removesuffix('_type')}, not a tensor",
                             where=self._file, reason="only tensors have a counterpart here")  # fmt: skip
        tensor = proto.type.tensor_type
        if not tensor.HasField("shape"):
            return FileValue(proto.name, tensor.elem_type, None)
        self._names(*(d.dim_param for d in tensor.shape.dim))
        return FileValue(proto.name, tensor.elem_type, tuple(self._dim(d) for d in tensor.shape.dim))

    @staticmethod
    def _dim(dim: Any) -> int | str | None:
        if dim.WhichOneof("value") == "dim_value":
            return int(dim.dim_value) if dim.dim_value >= 0 else None
        return str(dim.dim_param).strip("?") or None

    def _node(self, proto: NodeProto) -> FileNode:
        self._names(proto.op_type, proto.domain, proto.name, *proto.input, *proto.output)
        self._names(*(a.name for a in proto.attribute))
        label = proto.name or next((o for o in proto.output if o), "")
        attributes = {a.name: self._attribute(a, f"{proto.op_type} `{label}`") for a in proto.attribute}
        inputs, outputs = tuple(proto.input), tuple(proto.output)
        return FileNode(proto.op_type, _domain(proto.domain), proto.name, inputs, outputs, attributes)

    def _attribute(self, proto: AttributeProto, where: str) -> Any:
        if proto.type == proto.GRAPH:
            return self.graph(proto.g)
        if proto.type == proto.TENSOR:
            return self._tensor(proto.t, f"attribute `{proto.name}` of {where}")
        if proto.type == proto.STRING:
            return proto.s.decode(errors="replace")
        if proto.type == proto.STRINGS:
            return tuple(s.decode(errors="replace") for s in proto.strings)
        if proto.type in (proto.INT, proto.FLOAT):
            return proto.i if proto.type == proto.INT else proto.f
        if proto.type in (proto.INTS, proto.FLOATS):
            return tuple(proto.ints if proto.type == proto.INTS else proto.floats)
        kind = proto.AttributeType.Name(proto.type)
        raise GraphError("SL244", f"attribute `{proto.name}` of {where} is of kind {kind}", where=self._file)

    def _tensor(self, proto: TensorProto, what: str) -> NDArray[Any]:
        try:
            return np.asarray(self._onnx.numpy_helper.to_array(proto))
        except (ValueError, TypeError, KeyError) as error:
            raise GraphError("SL241", f"{what} in {self._file} is damaged", where=self._file, reason=str(error),
                             help="export or download it again") from error  # fmt: skip
