"""Matrix products."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from schedulog.facts import compose
from schedulog.facts.onnx.call import Call, Lowering
from schedulog.facts.onnx.ops.activation import scaled
from schedulog.facts.onnx.values import Value, alu, node_of, permute, shape_of
from schedulog.facts.ops import Op


def _matmul(call: Call) -> Value:
    return compose.matmul(node_of(call.value(0)), node_of(call.value(1)))


def _gemm(call: Call) -> Value:
    """alpha * A @ B + beta * C, either factor transposed first."""
    if call.opset < 7:
        call.ignore("broadcast")
    left, right = (_transposed(call, i, call.flag(name)) for i, name in enumerate(("transA", "transB")))
    alpha, beta = call.number("alpha", 1), call.number("beta", 1)
    product: Value = compose.matmul(node_of(left), node_of(right))
    product = product if alpha == 1 else scaled(product, alpha)
    added = call.optional(2)
    if added is None or beta == 0:
        return product
    added = added if beta == 1 else scaled(added, beta)
    if compose.broadcast_shapes(added.shape, product.shape) != product.shape:
        raise call.mismatch(f"C of shape {list(added.shape)} added to {list(product.shape)}")
    return alu(Op.ADD, product, added)


def _transposed(call: Call, index: int, wanted: bool) -> Value:
    value = call.value(index)
    if len(shape_of(value)) != 2:
        raise call.mismatch(f"operand {index} has shape {list(value.shape)} and should be a matrix")
    return permute(value, (1, 0)) if wanted else value


LOWERINGS: Final[Mapping[str, Lowering]] = MappingProxyType({"Gemm": _gemm, "MatMul": _matmul})
