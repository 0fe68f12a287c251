"""Python's operators on lazy values, each a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from schedulog import numeric
from schedulog.facts.node import Node
from schedulog.numeric import Operand
from schedulog.operands import operand
from schedulog.origin import placed


class Operators:
    """Arithmetic, bit operations, comparisons and elementwise functions of whatever has a node."""

    __slots__ = ()
    __hash__ = object.__hash__

    node: Node

    @classmethod
    def of(cls, node: Node) -> Self:
        """The value of a graph node."""
        raise NotImplementedError

    def _unary(self, name: str, make: Callable[[Node, str], Node]) -> Self:
        return self.of(placed(name, lambda label: make(self.node, label)))

    def _function(self, name: str) -> Self:
        return self._unary(name, lambda n, label: numeric.unary(name, n, label))

    def _binary(self, name: str, other: Any, reverse: bool = False) -> Self:
        return self._with(name, lambda a, b, label: numeric.binary(name, a, b, label), other, reverse)

    def _compared(self, name: str, other: Any) -> Self:
        return self._with(name, lambda a, b, label: numeric.compare(name, a, b, label), other)

    def _with(
        self,
        name: str,
        make: Callable[[Operand, Operand, str], Node],
        other: Any,
        reverse: bool = False,
    ) -> Self:
        def made(label: str) -> Node:
            given = operand(other)
            return make(given, self.node, label) if reverse else make(self.node, given, label)

        return self.of(placed(name, made))

    def __add__(self, other: Any) -> Self:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Self:
        return self._binary("add", other, True)

    def __sub__(self, other: Any) -> Self:
        return self._binary("subtract", other)

    def __rsub__(self, other: Any) -> Self:
        return self._binary("subtract", other, True)

    def __mul__(self, other: Any) -> Self:
        return self._binary("multiply", other)

    def __rmul__(self, other: Any) -> Self:
        return self._binary("multiply", other, True)

    def __truediv__(self, other: Any) -> Self:
        return self._binary("divide", other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._binary("divide", other, True)

    def __floordiv__(self, other: Any) -> Self:
        return self._binary("floor_divide", other)

    def __rfloordiv__(self, other: Any) -> Self:
        return self._binary("floor_divide", other, True)

    def __mod__(self, other: Any) -> Self:
        return self._binary("remainder", other)

    def __rmod__(self, other: Any) -> Self:
        return self._binary("remainder", other, True)

    def __pow__(self, other: Any) -> Self:
        return self._with("power", numeric.power, other)

    def __rpow__(self, other: Any) -> Self:
        return self._with("power", numeric.power, other, True)

    def __matmul__(self, other: Any) -> Self:
        return self._with("matmul", numeric.matmul, other)

    def __rmatmul__(self, other: Any) -> Self:
        return self._with("matmul", numeric.matmul, other, True)

    def __and__(self, other: Any) -> Self:
        return self._binary("and", other)

    def __rand__(self, other: Any) -> Self:
        return self._binary("and", other, True)

    def __or__(self, other: Any) -> Self:
        return self._binary("or", other)

    def __ror__(self, other: Any) -> Self:
        return self._binary("or", other, True)

    def __xor__(self, other: Any) -> Self:
        return self._binary("xor", other)

    def __rxor__(self, other: Any) -> Self:
        return self._binary("xor", other, True)

    def __lshift__(self, other: Any) -> Self:
        return self._binary("left_shift", other)

    def __rlshift__(self, other: Any) -> Self:
        return self._binary("left_shift", other, True)

    def __rshift__(self, other: Any) -> Self:
        return self._binary("right_shift", other)

    def __rrshift__(self, other: Any) -> Self:
        return self._binary("right_shift", other, True)

    def __lt__(self, other: Any) -> Self:
        return self._compared("less", other)

    def __le__(self, other: Any) -> Self:
        return self._compared("less_equal", other)

    def __gt__(self, other: Any) -> Self:
        return self._compared("greater", other)

    def __ge__(self, other: Any) -> Self:
        return self._compared("greater_equal", other)

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return self._compared("equal", other)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self._compared("not_equal", other)

    def __neg__(self) -> Self:
        return self._unary("negative", numeric.negative)

    def __abs__(self) -> Self:
        return self._unary("absolute", numeric.absolute)

    def __invert__(self) -> Self:
        return self._unary("invert", numeric.invert)

    def exp(self) -> Self:
        """e to the power x."""
        return self._function("exp")

    def log(self) -> Self:
        """The natural logarithm."""
        return self._function("log")

    def exp2(self) -> Self:
        """2 to the power x."""
        return self._function("exp2")

    def log2(self) -> Self:
        """The logarithm to base 2."""
        return self._function("log2")

    def sqrt(self) -> Self:
        """The square root."""
        return self._function("sqrt")

    def sin(self) -> Self:
        """The sine of an angle in radians."""
        return self._function("sin")

    def cos(self) -> Self:
        """The cosine of an angle in radians."""
        return self._function("cos")

    def tanh(self) -> Self:
        """The hyperbolic tangent."""
        return self._function("tanh")

    def erf(self) -> Self:
        """The error function."""
        return self._function("erf")

    def floor(self) -> Self:
        """The largest whole number that is not above x."""
        return self._unary("floor", numeric.floor)

    def sigmoid(self) -> Self:
        """1 / (1 + exp(-x))."""
        return self._unary("sigmoid", numeric.sigmoid)

    def relu(self) -> Self:
        """x where it is above 0, else 0; NaN stays."""
        return self._binary("maximum", 0)

    def maximum(self, other: Any) -> Self:
        """The larger of two, NaN if either is."""
        return self._binary("maximum", other)

    def minimum(self, other: Any) -> Self:
        """The smaller of two, NaN if either is."""
        return self._binary("minimum", other)
