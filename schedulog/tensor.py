"""The lazy Tensor: numpy's operations, collected as a graph and scheduled when a value is asked for."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from schedulog import numeric
from schedulog.arguments import device_named, unused, wrong_kind
from schedulog.bits import (
    bits_of,
    in_memory,
    is_bits,
    memory_under,
    overwrite,
    refuse_detached,
    refuse_part,
    settle_over,
    written_bits,
)
from schedulog.device_of import (
    filed,
    in_file,
    known_device,
    memory_device,
    moved,
    refuse_clone,
    refuse_file,
    shown_device,
)
from schedulog.errors import GraphError
from schedulog.facts import build
from schedulog.facts.device_name import is_file, parts
from schedulog.facts.dtype import DType
from schedulog.facts.node import Node, Shape
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Size, bound_value, equal, sizes_text, upper_bound
from schedulog.facts.view import ViewStack
from schedulog.indexing import selection
from schedulog.movements import Movements
from schedulog.numeric import Operand
from schedulog.operands import Axes, axes_of, axis_number, fitted, kind_of, stored
from schedulog.origin import caller, placed
from schedulog.pending import PENDING, compute
from schedulog.runtimes import open_device
from schedulog.runtimes.evaluate import evaluate

Reduction = Callable[[Node, Sequence[int], bool, str], Node]


class Tensor(Movements):
    """An array whose value is computed when it is asked for. Operations, broadcasting and dtypes are numpy's.

    Made from an array, a list or a number. Unlike a numpy view, a slice is a value of its own: writing to one tensor
    never changes another, `t[1][2] = x` is refused (write `t[1, 2] = x`), and `x += 1` makes a new value. (Only a `bitcast`
    of a tensor in memory stands for that memory when it is written to.) An expression means what its operands were when
    it was written down. Threads may share tensors: one operation at a time is done.

    Sizes may be symbolic: bounds of slices and shrinks, and shapes, take a `Variable` with a value, and expressions of
    such. What is computed is the value for that value of the variable; the kernels serve every one.
    Operations raise GraphError with the file and line of the call.
    """

    __slots__ = ("__weakref__", "bits", "detached", "node", "owner")
    __array_ufunc__ = None

    node: Node
    owner: bool
    bits: bool
    """Whether this is a bitcast of memory that another tensor has, and stands for it when it is written to."""
    detached: bool
    """Whether this was a bitcast of memory that has been overwritten since."""

    def __init__(
        self, data: ArrayLike, dtype: DTypeLike | DType | None = None, device: str = "default"
    ) -> None:
        place = memory_device(device)
        self.owner = True
        self.bits = self.detached = self.moved = self.part = False
        self.node = placed("array", lambda label: stored(data, dtype, label, place))

    @classmethod
    def of(cls, node: Node) -> Tensor:
        """The tensor whose value is that of a graph node."""
        tensor = cls.__new__(cls)
        tensor.node = node
        tensor.owner = tensor.bits = tensor.detached = tensor.moved = tensor.part = False
        PENDING.add(tensor)
        return tensor

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        """What copy.deepcopy and pickle make waits for its value as the original does."""
        for name, value in state[1].items():
            setattr(self, name, value)
        if not (self.owner and self.node.base.op is Op.BUFFER):
            PENDING.add(self)

    def __copy__(self) -> Tensor:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        with PENDING.turn:
            made = memo[id(self)] = Tensor.__new__(Tensor)
            _, kept = cast(tuple[None, dict[str, Any]], self.__getstate__())
            made.__setstate__((None, {**kept, "node": copy.deepcopy(self.node, memo)}))
        return made

    def _unary(self, name: str, make: Callable[[Node, str], Node]) -> Tensor:
        with PENDING.turn:
            return super()._unary(name, make)

    def _with(
        self, name: str, make: Callable[[Operand, Operand, str], Node], other: Any, reverse: bool = False
    ) -> Tensor:
        with PENDING.turn:
            return super()._with(name, make, other, reverse)

    @property
    def shape(self) -> Shape:
        return self.node.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type, as numpy's."""
        return self.node.dtype.to_numpy()

    @property
    def device(self) -> str:
        """Where the value is, or will be computed: "c", "c:1", "disk:/path", or "default", that of the schedule."""
        return shown_device(self.node.device)

    def to(self, device: str) -> Tensor:
        """The value on another device ("c:1", "default"); of a view of a file only the bytes it shows are read.

        On "disk:/path" it is written to a new file, now. Raises DeviceError: SL500 no such device, SL546 the file exists.
        """
        place = known_device(device)
        if place == self.node.device:
            return self
        if is_file(place):
            with PENDING.turn:
                return Tensor.of(placed("to", lambda label: filed(self.node, place, label)))
        return self._unary("to", lambda n, label: moved(n, place, label))

    def clone(self) -> Tensor:
        """A copy of the value in memory of its own, on the same device. Raises DeviceError SL546 for a tensor in a file."""
        refuse_clone(self.node)
        return self._unary("clone", lambda n, label: build.copy(n, n.device, True, label))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Size:
        return build.element_count(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a tensor without axes")
        return bound_value(self.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<Tensor {self.dtype}{sizes_text(self.shape)} {self.node.op}>"

    def realize(self, *others: Tensor, device: str | None = None) -> Tensor:
        """Compute the value now, with those of `others` in one schedule, and keep it; the tensor itself.

        What is in a file stays there, unread. Raises ScheduleError, CodegenError, DeviceError, UsageError SL730.
        """
        chosen = device_named(device)
        for t in others:
            if not isinstance(t, Tensor):
                raise wrong_kind("others", t, "give tensors")
        if chosen is not None:
            open_device(parts(chosen)[0])
        with PENDING.turn:
            lazy = [t for t in (self, *others) if not (in_file(t.node) or in_memory(t))]
            if lazy:
                compute(lazy, device=chosen)
        return self

    def settle(self, value: NDArray[Any] | None) -> None:
        """Become stored: `value` in memory of one's own, or (None) what an assign has left in one's memory.

        The bits of what an assign wrote are in memory then, and stay the tensor's to write.
        """
        if self.bits and not in_memory(self):
            self.node = written_bits(self.node)
            return
        if value is None:
            self.node = build.buffer(memory_under(self.node).arg, self.shape)
        else:
            self.detached, self.bits = self.bits, False
            self.node = _kept(value, self.shape, self.node.device)
        self.owner = True
        PENDING.discard(self)

    def numpy(self) -> NDArray[Any]:
        """The value as a numpy array of its own."""
        with PENDING.turn:
            if in_file(self.node):
                return self.to("default").numpy()
            shape = tuple(map(bound_value, self.shape))
            self.realize()
            if self.bits:
                return np.array(evaluate([self.node], {})[0])
            return np.array(self.node.base.arg.array[: math.prod(shape)].reshape(shape))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def item(self) -> Any:
        """The only element, as a Python number. Raises GraphError (SL219) if there are more or none."""
        if bound_value(self.size) != 1:
            place = caller()
            raise GraphError("SL219", f"{self.size} elements are no single number", where=place,
                             help="reduce the tensor first, or use numpy() or tolist()")  # fmt: skip
        return self.numpy().item()

    def tolist(self) -> Any:
        """The value as nested lists of Python numbers."""
        return self.numpy().tolist()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def _reduced(self, name: str, reduction: Reduction, axis: Axes, keepdims: bool) -> Tensor:
        return self._unary(name, lambda n, label: reduction(n, axes_of(axis, n), keepdims, label))

    def sum(
        self, axis: Axes = None, keepdims: bool = False, *, dtype: None = None, out: None = None
    ) -> Tensor:
        """The sum over `axis` (all axes if None); narrow integers and bool are summed in 64 bits."""
        unused(dtype=dtype, out=out)
        return self._reduced("sum", numeric.reduce_sum, axis, keepdims)

    def prod(
        self, axis: Axes = None, keepdims: bool = False, *, dtype: None = None, out: None = None
    ) -> Tensor:
        """The product over `axis`; narrow integers and bool are multiplied in 64 bits."""
        unused(dtype=dtype, out=out)
        return self._reduced("prod", numeric.reduce_product, axis, keepdims)

    def mean(
        self, axis: Axes = None, keepdims: bool = False, *, dtype: None = None, out: None = None
    ) -> Tensor:
        """The mean over `axis`; float64 for integers."""
        unused(dtype=dtype, out=out)
        return self._reduced("mean", numeric.reduce_mean, axis, keepdims)

    def max(self, axis: Axes = None, keepdims: bool = False, *, out: None = None) -> Tensor:
        """The maximum over `axis`, NaN if any is."""
        unused(out=out)
        return self._reduced("max", numeric.reduce_max, axis, keepdims)

    def min(self, axis: Axes = None, keepdims: bool = False, *, out: None = None) -> Tensor:
        """The minimum over `axis`, NaN if any is."""
        unused(out=out)
        return self._reduced("min", numeric.reduce_min, axis, keepdims)

    def all(self, axis: Axes = None, keepdims: bool = False, *, out: None = None) -> Tensor:
        """Whether no element along `axis` is 0."""
        unused(out=out)
        return self._reduced("all", numeric.reduce_all, axis, keepdims)

    def any(self, axis: Axes = None, keepdims: bool = False, *, out: None = None) -> Tensor:
        """Whether some element along `axis` is not 0."""
        unused(out=out)
        return self._reduced("any", numeric.reduce_any, axis, keepdims)

    def softmax(self, axis: int = -1) -> Tensor:
        """exp(x) / sum(exp(x)) along `axis`."""
        return self._unary("softmax", lambda n, label: numeric.softmax(n, axis_number(axis), label))

    def astype(self, dtype: DTypeLike | DType) -> Tensor:
        """Converted to another dtype, as numpy's astype."""
        return self._unary("cast", lambda n, label: build.cast(n, kind_of(dtype), label))

    cast = astype

    def bitcast(self, dtype: DTypeLike | DType) -> Tensor:
        """The same bits as another dtype; another width changes the size of the last axis. Of a file, nothing is read.

        What is written to the bitcast of a tensor in memory, by `assign` or as in `t.bitcast(np.uint8)[2:4] = 0`, is written
        to that tensor's memory, now: the tensor has the new bytes, lazy tensors that read the old ones are computed before.
        The bitcast itself means the bytes of the moment it was made; once the memory is overwritten in another way, it holds
        them by itself, and a write to it is refused (GraphError SL229).
        """
        with PENDING.turn:
            if self.owner and self.node.op is Op.CONST:
                # A single number is kept without memory until something may write to its bits.
                self.realize()
            found = self._moved("bitcast", lambda n, label: bits_of(n, kind_of(dtype), label))
            found.bits = (self.owner or self.bits) and is_bits(found.node)
            return found

    def contiguous(self) -> Tensor:
        """The same value, stored when it is computed rather than recomputed by each reader."""
        return self._unary("contiguous", build.contiguous)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write into a part of the tensor's memory, now. Lazy tensors that read it are computed before.

        Raises GraphError SL228 for a part or another look of a tensor, as in `t[1][2] = x`: it would be lost on that tensor.
        """
        with PENDING.turn:
            memory = self._place()
            write = placed("setitem", lambda label: self._written(memory, key, value, label))
            if write.size:
                overwrite(self, write)

    def _place(self) -> Node:
        """The memory that is written to. An assign to it that waits is done first, whoever it was made through.

        Raises what a write is refused with.
        """
        refuse_file(self.node)
        refuse_part(self.node, self.moved, self.part)
        if self.bits:
            settle_over(self.node)
        refuse_detached(self.detached)
        return self.realize().node

    def _written(self, memory: Node, key: Any, value: Any, label: str) -> Node:
        """The ASSIGN that writes `value` into a part of `memory`; nothing to assign where the part has no elements."""
        chosen = selection(key, self.shape)
        target = chosen.window(memory, label)
        new = build.reshape(fitted(value, chosen.shape, memory), target.shape, label)
        if equal(build.element_count(target.shape), 0) is True:
            return new
        return build.assign(target, new, label)

    def assign(self, value: Any) -> Tensor:
        """Overwrite the tensor's memory with `value` (cast and broadcast) when computed; the tensor itself.

        A tensor that is not computed yet gets memory of its own. An earlier assign to it that still waits is done first,
        so that no schedule holds two contents of one memory; one to a bitcast of a tensor in memory is done at once.
        Raises GraphError SL228 for a part or another look of a tensor: writing to it would be lost on that tensor.
        """
        with PENDING.turn:
            place = self._place()
            write = placed(
                "assign", lambda label: build.assign(place, fitted(value, self.shape, place), label)
            )
            if self.bits:
                overwrite(self, write)
            else:
                self.node = write
                PENDING.add(self)
        return self


def _kept(value: NDArray[Any], shape: Shape, device: str) -> Node:
    """A computed value in memory. Where its shape is symbolic there is room for the most elements, so that kernels that
    read it are the same for every value of the variables."""
    if all(isinstance(size, int) for size in shape):
        return build.array(value, device=device)
    room = np.zeros(math.prod(map(upper_bound, shape)), value.dtype)
    room[: value.size] = value.reshape(-1)
    return build.view(build.array(room, device=device), ViewStack.of_shape(shape))
