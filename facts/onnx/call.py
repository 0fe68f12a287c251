"""One operation of an ONNX file with its operands, as the functions that lower it see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from schedulog.errors import GraphError
from schedulog.facts.dtype import DType
from schedulog.facts.onnx.file import ELEMENT_TYPES, FileNode
from schedulog.facts.onnx.values import Known, Value, shape_of

T = TypeVar("T")


class Call:
    """An operation and its operands. What a lowering does not read of it is refused at the end (`finish`), so no
    attribute and no operand is ever ignored unless said so (`ignore`)."""

    def __init__(
        self, node: FileNode, inputs: Sequence[Value | None], opset: int, wanted: int, file: str
    ) -> None:
        self.op_type = node.op_type
        self.opset = opset
        self.count = len(inputs)
        self.wanted = wanted
        self.output_count = len(node.outputs)
        self._where = f"{node.op_type} `{node.label}` of {file}"
        self._attributes: Mapping[str, Any] = node.attributes
        self._inputs = inputs
        self._unread_inputs = {i for i, v in enumerate(inputs) if v is not None}
        self._unread_attributes = set(node.attributes)

    def refuse(self, what: str, help: str = "") -> GraphError:
        """The error for something legal that is not supported (SL244)."""
        return GraphError("SL244", f"{self.op_type} with {what} is not supported", where=self._where,
                          help=help or "rewrite the model without it")  # fmt: skip

    def mismatch(self, reason: str) -> GraphError:
        """The error for operands that do not fit each other (SL245)."""
        return GraphError("SL245", f"{self.op_type} does not fit its operands", where=self._where, reason=reason,
                          help="the file is damaged, or an input was bound to a shape the model is not made for")  # fmt: skip

    def optional(self, index: int) -> Value | None:
        """Operand `index`, None if it was left out."""
        self._unread_inputs.discard(index)
        return self._inputs[index] if index < len(self._inputs) else None

    def value(self, index: int = 0) -> Value:
        """Operand `index`. Raises GraphError (SL245) if it was left out."""
        value = self.optional(index)
        if value is None:
            raise self.mismatch(f"operand {index} is missing")
        return value

    def values(self) -> list[Value]:
        """All operands of an operation that takes any number of them."""
        return [self.value(i) for i in range(max(1, self.count))]

    def known(self, index: int, what: str) -> NDArray[Any] | None:
        """The contents of operand `index`, which must be known now. Raises GraphError (SL244) if they are not."""
        value = self.optional(index)
        if value is None or isinstance(value, Known):
            return None if value is None else value.array
        raise self.refuse(
            f"{what} that depend on the inputs", "make them constants, or bind the input they come from"
        )

    def integers_in(self, index: int, what: str) -> tuple[int, ...] | None:
        """Operand `index` as known integers (a vector or one number); None if it was left out."""
        array = self.known(index, what)
        if array is None:
            return None
        if array.dtype.kind not in "iu" or array.ndim > 1:
            raise self.mismatch(f"{what} of type {array.dtype} and shape {list(array.shape)}")
        return tuple(int(i) for i in array.reshape(-1))

    def has(self, name: str) -> bool:
        return name in self._attributes

    def ignore(self, *names: str) -> None:
        """Attributes without a bearing on the result."""
        self._unread_attributes.difference_update(names)

    def ignore_input(self, *indices: int) -> None:
        """Operands without a bearing on the result."""
        self._unread_inputs.difference_update(indices)

    def _attribute(self, name: str, default: T, kinds: type | tuple[type, ...]) -> T:
        self._unread_attributes.discard(name)
        found = self._attributes.get(name, default)
        if name in self._attributes and not isinstance(found, kinds):
            raise self.mismatch(f"attribute `{name}` is {found!r}")
        return found  # type: ignore[no-any-return]

    def integer(self, name: str, default: int) -> int:
        return self._attribute(name, default, int)

    def flag(self, name: str, default: bool = False) -> bool:
        found = self._attribute(name, int(default), int)
        if found not in (0, 1):
            raise self.mismatch(f"attribute `{name}` is {found}, neither 0 nor 1")
        return bool(found)

    def number(self, name: str, default: float) -> float:
        """A float attribute: a float32 in the file, given here at its exact value."""
        return float(np.float32(self._attribute(name, default, (int, float))))

    def text(self, name: str, default: str) -> str:
        return self._attribute(name, default, str)

    def integers(self, name: str, default: Sequence[int] | None = None) -> tuple[int, ...] | None:
        found: Sequence[int] | None = self._attribute(name, default, tuple)
        return None if found is None else tuple(found)

    def sizes(self, name: str, default: Sequence[int]) -> tuple[int, ...]:
        """An attribute of as many integers as the default has."""
        found = self.integers(name, default) or ()
        if len(found) != len(default):
            raise self.mismatch(f"`{name}` has {len(found)} numbers where {len(default)} are needed")
        return found

    def raw(self, name: str) -> Any:
        """An attribute of any kind; None if it is not there."""
        self._unread_attributes.discard(name)
        return self._attributes.get(name)

    def element_type(self, name: str, default: int) -> DType:
        """An attribute that names an element type. Raises GraphError (SL244) for one without counterpart."""
        number = self.integer(name, default)
        if number not in ELEMENT_TYPES:
            raise self.refuse(f"element type number {number}")
        return ELEMENT_TYPES[number]

    def choice(self, name: str, default: str, allowed: Sequence[str]) -> str:
        """A text attribute of which only some values are supported. Raises GraphError (SL244)."""
        found = self.text(name, default)
        if found not in allowed:
            raise self.refuse(f'{name}="{found}"', f"supported: {', '.join(allowed)}")
        return found

    def require(self, name: str, default: int, only: int) -> None:
        """An integer attribute of which one value is supported. Raises GraphError (SL244)."""
        found = self.integer(name, default)
        if found != only:
            raise self.refuse(f"{name}={found}", f"supported: {name}={only}")

    def require_float(self, value: Value) -> None:
        """Raises GraphError (SL244) if the operand holds no floats."""
        if not value.dtype.is_float:
            raise self.refuse(f"operands of {value.dtype}")

    def axis(self, axis: int, rank: int) -> int:
        """An axis counted from the left. Raises GraphError (SL245) if there is none."""
        if not -rank <= axis < rank:
            raise self.mismatch(f"axis {axis} of a value with {rank} axes")
        return axis % rank

    def one_integer(self, index: int, what: str, default: int) -> int:
        """Operand `index` as one known integer, `default` if it was left out."""
        found = self.integers_in(index, what)
        if found is not None and len(found) != 1:
            raise self.mismatch(f"{len(found)} numbers where one is needed")
        return default if found is None else found[0]

    def axes(self, index: int, rank: int) -> tuple[int, ...] | None:
        """The axes given by attribute (older operator sets) or operand `index`; None if given by neither."""
        given = self.integers("axes") if self.has("axes") else self.integers_in(index, "axes")
        if given is None:
            return None
        found = tuple(self.axis(a, rank) for a in given)
        if len(set(found)) < len(found):
            raise self.mismatch(f"axes {list(given)} name one axis twice")
        return found

    def spatial(self, value: Value) -> tuple[int, ...]:
        """The sizes after batch and channel. Raises GraphError (SL245) if there are none."""
        shape = shape_of(value)
        if len(shape) < 3:
            raise self.mismatch(f"shape {list(shape)} has no axes after batch and channel")
        return shape[2:]

    def finish(self, results: int) -> None:
        """Refuse what was not read, and outputs that are wanted but not made. Raises GraphError (SL244)."""
        if self._unread_attributes:
            raise self.refuse(f"attribute `{min(self._unread_attributes)}`")
        if self._unread_inputs:
            raise self.refuse(f"operand {min(self._unread_inputs)}")
        if self.wanted > results:
            raise self.refuse(f"output {self.wanted - 1}")


Lowered = Value | Sequence[Value]
Lowering = Callable[[Call], Lowered]
