"""Activations: functions of one element that networks put between layers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from schedulog.facts.onnx.call import Call, Lowering
from schedulog.facts.onnx.ops.elementwise import absolute, clipped
from schedulog.facts.onnx.values import Value, alu, insert_axes, like, shape_of
from schedulog.facts.ops import Op


def scaled(value: Value, factor: float) -> Value:
    """`value` times a number of its dtype."""
    return alu(Op.MUL, value, like(value, factor))


def shifted(value: Value, offset: float) -> Value:
    """`value` plus a number of its dtype."""
    return alu(Op.ADD, value, like(value, offset))


def sigmoid(value: Value) -> Value:
    """1 / (1 + exp(-x)): exp may overflow to infinity, whose reciprocal is the right 0."""
    return alu(Op.RECIP, shifted(alu(Op.EXP, alu(Op.NEG, value)), 1))


def softplus(value: Value) -> Value:
    """log(1 + exp(x)), as max(x, 0) + log(1 + exp(-|x|)) so that exp cannot overflow."""
    small = alu(Op.EXP, alu(Op.NEG, absolute(value)))
    return alu(Op.ADD, alu(Op.MAX, value, like(value, 0)), alu(Op.LOG, shifted(small, 1)))


def _where_negative(value: Value, negative: Value, positive: Value) -> Value:
    return alu(Op.WHERE, alu(Op.CMPLT, value, like(value, 0)), negative, positive)


def _relu(call: Call) -> Value:
    return alu(Op.MAX, call.value(), like(call.value(), 0))


def _leaky_relu(call: Call) -> Value:
    value = call.value()
    return _where_negative(value, scaled(value, call.number("alpha", 0.01)), value)


def _prelu(call: Call) -> Value:
    value, slope = call.value(0), call.value(1)
    if call.opset < 7 and len(shape_of(slope)) == 1:
        slope = insert_axes(slope, range(1, len(shape_of(value)) - 1))
    result = _where_negative(value, alu(Op.MUL, value, slope), value)
    if result.shape != value.shape:
        raise call.mismatch(f"slopes of shape {list(slope.shape)} for {list(value.shape)}")
    return result


def _minus_one(value: Value) -> Value:
    """exp(x) - 1 where x is not positive; the clamp keeps exp finite in the branch that is not taken."""
    low = clipped(value, None, like(value, 0))
    return shifted(alu(Op.EXP, low), -1)


def _elu(call: Call) -> Value:
    value = call.value()
    return _where_negative(value, scaled(_minus_one(value), call.number("alpha", 1)), value)


def _selu(call: Call) -> Value:
    value = call.value()
    alpha, gamma = call.number("alpha", 1.6732632423543772), call.number("gamma", 1.0507009873554805)
    return scaled(_where_negative(value, scaled(_minus_one(value), alpha), value), gamma)


def _celu(call: Call) -> Value:
    value, alpha = call.value(), call.number("alpha", 1)
    inner = _minus_one(alu(Op.FDIV, value, like(value, alpha)))
    return _where_negative(value, scaled(inner, alpha), value)


def _thresholded_relu(call: Call) -> Value:
    value = call.value()
    over = alu(Op.CMPLT, like(value, call.number("alpha", 1)), value)
    return alu(Op.WHERE, over, value, like(value, 0))


def _hard_sigmoid(value: Value, alpha: float, beta: float) -> Value:
    return clipped(shifted(scaled(value, alpha), beta), like(value, 0), like(value, 1))


def _gelu(call: Call) -> Value:
    value = call.value()
    if call.choice("approximate", "none", ("none", "tanh")) == "none":
        curve = alu(Op.ERF, scaled(value, math.sqrt(0.5)))
    else:
        cube = alu(Op.MUL, alu(Op.MUL, value, value), value)
        curve = alu(Op.TANH, scaled(alu(Op.ADD, value, scaled(cube, 0.044715)), math.sqrt(2 / math.pi)))
    return alu(Op.MUL, scaled(value, 0.5), shifted(curve, 1))


def _hard_swish(call: Call) -> Value:
    return alu(Op.MUL, call.value(), _hard_sigmoid(call.value(), 1 / 6, 0.5))


def _mish(call: Call) -> Value:
    return alu(Op.MUL, call.value(), alu(Op.TANH, softplus(call.value())))


def _softsign(call: Call) -> Value:
    return alu(Op.FDIV, call.value(), shifted(absolute(call.value()), 1))


def _swish(call: Call) -> Value:
    return alu(Op.MUL, call.value(), sigmoid(scaled(call.value(), call.number("alpha", 1))))


LOWERINGS: Final[Mapping[str, Lowering]] = MappingProxyType(
    {
        "Celu": _celu,
        "Elu": _elu,
        "Gelu": _gelu,
        "HardSigmoid": lambda call: _hard_sigmoid(
            call.value(), call.number("alpha", 0.2), call.number("beta", 0.5)
        ),
        "HardSwish": _hard_swish,
        "LeakyRelu": _leaky_relu,
        "Mish": _mish,
        "PRelu": _prelu,
        "Relu": _relu,
        "Selu": _selu,
        "Sigmoid": lambda call: sigmoid(call.value()),
        "Softplus": lambda call: softplus(call.value()),
        "Softsign": _softsign,
        "Swish": _swish,
        "ThresholdedRelu": _thresholded_relu,
    }
)
