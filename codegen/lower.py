"""From a kernel to scalar values: a walk from its value to its reads with an index vector.

A view transforms the index vector, a reduction adds loop variables to it, a read becomes a load. Every node is lowered
once per index vector, so a graph that shares its nodes gives values that share theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from schedulog.codegen.index import in_range, through, through_to
from schedulog.codegen.regroup import as_type, bitcast, sources, takes_bits
from schedulog.codegen.scalar import is_half, plain, storage_type
from schedulog.codegen.values import Computation, Compute, Constant, Index, Load, Pointer, Reduction, Value
from schedulog.errors import CodegenError
from schedulog.facts.buffer import Buffer
from schedulog.facts.build import identity
from schedulog.facts.dtype import DType, bool_, unsigned
from schedulog.facts.node import Node
from schedulog.facts.ops import ELEMENTWISE, Op
from schedulog.facts.symbolic import Size, Variable, substitute, upper_bound, variables
from schedulog.facts.view import ViewStack
from schedulog.scheduler.kernels import Kernel, Read

STATEMENT_LIMIT: Final = 20_000

_IDENTITY: Final = frozenset({Op.CONTIGUOUS, Op.COPY})

_At = tuple[Node, tuple[Size, ...]]


@dataclass(frozen=True, slots=True)
class _Step:
    """How one node at one index vector is lowered: what it needs first, and what it then becomes."""

    needs: tuple[_At, ...]
    build: Callable[[Sequence[Value]], Value]


def lower(kernel: Kernel, statement_limit: int = STATEMENT_LIMIT) -> Computation:
    """The values `kernel` computes, unplaced.

    Raises CodegenError: SL401 if there would be more than `statement_limit` of them, SL402 for an operation that has
    no code.
    """
    return _Lowering(kernel, statement_limit).run()


class _Lowering:
    def __init__(self, kernel: Kernel, statement_limit: int) -> None:
        self.kernel = kernel
        self.limit = statement_limit
        self.extents: dict[Variable, Size] = {}
        self.done: dict[_At, Value] = {}
        self.interned: dict[object, Value] = {}
        self.symbols: dict[Variable, Variable] = {}
        self.names: dict[str, str] = {}
        self.reductions = 0
        buffers = kernel.buffers
        self.pointers = [_pointer(0, kernel.output.dtype, buffers[0])]
        self.pointers += [_pointer(i, b.dtype, b) for i, b in enumerate(buffers) if i]

    def run(self) -> Computation:
        shape = self.kernel.value.shape
        indices = tuple(self.loop(f"i{axis}", size) for axis, size in enumerate(shape))
        value = self.unconverted(self.lowered((self.kernel.value, indices)))
        offset, tests = through(self.kernel.stores, indices)
        outputs = tuple(index for index in indices if isinstance(index, Variable))
        return Computation(
            outputs,
            self.extents,
            value,
            self.named(offset),
            self.tests(tests),
            self.names,
            tuple(self.pointers),
        )

    def loop(self, name: str, size: Size) -> Size:
        """The index of an axis: a new loop variable, or 0 where there is nothing to loop over."""
        if size == 1 or upper_bound(size) == 0:
            return 0
        taken = any(symbol.name == name for symbol in self.kernel.variables)
        variable = Variable(f"{name}_" if taken else name, 0, upper_bound(size) - 1)
        self.extents[variable] = self.named(size)
        return variable

    def lowered(self, root: _At) -> Value:
        stack = [root]
        steps: dict[_At, _Step] = {}
        while stack:
            at = stack[-1]
            if at in self.done:
                stack.pop()
                continue
            step = steps.get(at)
            if step is None:
                step = steps[at] = self.step(at)
            missing = [need for need in step.needs if need not in self.done]
            if missing:
                stack.extend(reversed(missing))
                continue
            self.done[at] = step.build([self.done[need] for need in step.needs])
            del steps[stack.pop()]
            self.check_size()
        return self.done[root]

    def check_size(self) -> None:
        if len(self.done) > self.limit:
            raise CodegenError(
                "SL401",
                f"kernel {self.kernel.name} needs more than {self.limit:,} statements",
                where=f"kernel {self.kernel.name} of {len(self.kernel.members):,} operations",
                reason="such a kernel takes minutes to compile",
                help="store an intermediate value (contiguous), or raise the statement limit",
            )

    def step(self, at: _At) -> _Step:
        current, indices = at
        read = self.kernel.reads.get(current)
        if read is not None:
            return _Step((), lambda _: self.load(current, indices, read))
        if takes_bits(current):
            return self.bitcast_step(current, indices)
        if current.op in ELEMENTWISE:
            needs = tuple((source, indices) for source in current.src)
            return _Step(
                needs, lambda sources: self.intern(Compute(current.dtype, current.op, tuple(sources)))
            )
        if current.op in _IDENTITY:
            return _Step(((current.src[0], indices),), lambda sources: sources[0])
        match current.op:
            case Op.CONST:
                return _Step((), lambda _: self.intern(Constant(current.dtype, current.arg.value)))
            case Op.BIND:
                return _Step((), lambda _: self.intern(Index(current.dtype, self.named(current.arg))))
            case Op.ASSIGN:
                return _Step(((current.src[1], indices),), lambda sources: sources[0])
            case Op.VIEW:
                return self.view_step(current, indices)
            case Op.REDUCE_AXIS:
                return self.reduce_step(current, indices)
        raise CodegenError(
            "SL402",
            f"{current.op} of {current.dtype} has no code",
            where=f"kernel {self.kernel.name}",
            reason="the kernel neither reads this node nor can compute it",
        )

    def view_step(self, current: Node, indices: tuple[Size, ...]) -> _Step:
        base = current.src[0]
        read = self.kernel.reads.get(base)
        if read is not None:
            # The tests on the axes of the view say more, and more simply, than those on the base's own axes would.
            whole = Read(read.argument, ViewStack((*read.view.views, *current.view.views)))
            return _Step((), lambda _: self.load(current, indices, whole))
        inner, tests = through_to(current.view, indices, base.shape)
        if any(test == 0 for test in tests):
            return _Step((), lambda _: self.zero(current))
        return _Step(((base, inner),), lambda sources: self.masked(sources[0], tests))

    def bitcast_step(self, current: Node, indices: tuple[Size, ...]) -> _Step:
        last = self.named(indices[-1]) if indices else 0
        return _Step(
            sources(current, indices),
            lambda found: bitcast(current, last, [self.bits(value) for value in found], self.intern),
        )

    def bits(self, value: Value) -> Value:
        """The bits of a value as an unsigned integer."""
        value = self.unconverted(value)
        kind = unsigned(plain(value.dtype).itemsize)
        if value.dtype.kind == "bool":
            return self.intern(Compute(kind, Op.CAST, (value,)))
        return as_type(value, kind, self.intern)

    def unconverted(self, value: Value) -> Value:
        """A half that is loaded or made of bits, as its bits: a NaN's could change where it becomes a float."""
        match value:
            case Load() if is_half(plain(value.dtype)):
                return self.intern(Load(unsigned(2), value.argument, value.offset, value.tests))
            case Compute(op=Op.BITCAST) if is_half(plain(value.dtype)):
                return self.bits(value.operands[0])
        return value

    def pointer(self, argument: int, dtype: DType) -> int:
        """The number of the pointer through which an argument is read as elements of a type."""
        wanted = _pointer(argument, dtype, self.kernel.buffers[argument])
        for number, known in enumerate(self.pointers):
            if known.argument == argument and storage_type(known.dtype) == storage_type(wanted.dtype):
                return number
        self.pointers.append(wanted)
        return len(self.pointers) - 1

    def reduce_step(self, current: Node, indices: tuple[Size, ...]) -> _Step:
        source = current.src[0]
        if any(upper_bound(source.shape[axis]) == 0 for axis in current.arg.axes):
            nothing = Constant(current.dtype, identity(current.arg.op, current.dtype))
            return _Step((), lambda _: self.intern(nothing))
        inner = list(indices)
        for axis in current.arg.axes:
            inner[axis] = self.loop(f"r{self.reductions}", source.shape[axis])
            self.reductions += 1
        loops = tuple(inner[a] for a in current.arg.axes)
        variables_ = tuple(v for v in loops if isinstance(v, Variable))
        return _Step(((source, tuple(inner)),), lambda sources: self.reduced(current, variables_, sources[0]))

    def reduced(self, current: Node, loops: tuple[Variable, ...], body: Value) -> Value:
        """The reduction over `loops`. Over none of them it is the element, though a sum, which starts at 0, is never -0."""
        op, dtype = current.arg.op, current.dtype
        if loops:
            return Reduction(dtype, op, loops, body)
        if op != "ADD" or not dtype.is_float:
            return body
        return self.intern(Compute(dtype, Op.ADD, (self.zero(body), body)))

    def in_range(self, indices: Sequence[Size], shape: Sequence[Size]) -> tuple[Size, ...]:
        named = [self.named(index) for index in indices]
        return in_range(named, [self.named(size) for size in shape], self.extents)

    def load(self, current: Node, indices: tuple[Size, ...], read: Read) -> Value:
        """A load that touches memory only where the index vector lies in the node and the view shows an element."""
        offset, tests = through(read.view, indices)
        tests = (*self.in_range(indices, current.shape), *tests)
        if any(test == 0 for test in tests) or self.kernel.buffers[read.argument].size == 0:
            return self.zero(current)
        pointer = self.pointer(read.argument, current.dtype)
        return self.intern(Load(current.dtype, pointer, self.named(offset), self.tests(tests)))

    def masked(self, value: Value, tests: Sequence[Size]) -> Value:
        """`value` where all tests hold, else 0, whatever the value is there."""
        holds = self.tests(tests)
        if not holds:
            return value
        condition = holds[0]
        for test in holds[1:]:
            condition = self.intern(Compute(bool_, Op.AND, (condition, test)))
        return self.intern(Compute(value.dtype, Op.WHERE, (condition, value, self.zero(value))))

    def tests(self, tests: Sequence[Size]) -> tuple[Value, ...]:
        return tuple(self.intern(Index(bool_, self.named(test))) for test in dict.fromkeys(tests))

    def zero(self, like: Node | Value) -> Value:
        kind = {"bool": False, "float": 0.0}.get(like.dtype.kind, 0)
        return self.intern(Constant(like.dtype, kind))

    def named(self, size: Size) -> Size:
        """`size` with its symbolic variables under their C names and free of their values: the code serves all values."""
        if isinstance(size, int):
            return size
        new: dict[Variable, Size] = {v: self.symbol(v) for v in variables(size) if v not in self.extents}
        return substitute(size, new) if new else size

    def symbol(self, variable: Variable) -> Variable:
        """A symbolic variable as the code knows it. It is its own symbol, so naming twice does no harm."""
        found = self.symbols.get(variable)
        if found is None:
            name = "n_" + "".join(
                c if c.isascii() and c.isalnum() else f"_{ord(c):x}_" for c in variable.name
            )
            found = self.symbols[variable] = Variable(name, variable.min, variable.max)
            self.symbols[found] = found
            self.names[name] = variable.name
        return found

    def intern(self, value: Value) -> Value:
        """The first value with this content, so that equal values are computed once."""
        return self.interned.setdefault(_content(value), value)


def _pointer(argument: int, dtype: DType, buffer: Buffer) -> Pointer:
    kind = plain(dtype)
    return Pointer(argument, kind, buffer.nbytes // kind.itemsize)


def _content(value: Value) -> object:
    match value:
        case Constant():
            return ("constant", value.dtype, type(value.number), repr(value.number))
        case Index():
            return ("index", value.dtype, value.size)
        case Load():
            return ("load", value.dtype, value.argument, value.offset, value.tests)
        case Compute():
            return ("compute", value.dtype, value.op, value.operands)
        case _:
            return value
