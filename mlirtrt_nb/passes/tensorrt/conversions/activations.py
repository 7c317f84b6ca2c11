"""Activation functions: those that are a layer, and those that are made of a few."""

from __future__ import annotations

from torch_mlir import ir

from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of

__all__: list[str] = []

_PLAIN = {"Relu": "kRELU", "Sigmoid": "kSIGMOID", "Tanh": "kTANH", "Softsign": "kSOFTSIGN"}
_WITH_ALPHA = {
    "LeakyRelu": ("kLEAKY_RELU", 0.01),
    "Elu": ("kELU", 1.0),
    "ThresholdedRelu": ("kTHRESHOLDED_RELU", 1.0),
}
# (alpha, beta) of opset 1 and later.
_SELU = (1.6732632423543772, 1.0507009873554805)


@converter(*_PLAIN)
def _plain(node: Node, emit: Emitter) -> ir.Value:
    return emit.activation(_PLAIN[node.name], node[0])


@converter(*_WITH_ALPHA)
def _with_alpha(node: Node, emit: Emitter) -> ir.Value:
    kind, default = _WITH_ALPHA[node.name]
    return emit.activation(kind, node[0], node.attr("alpha", default))


@converter("Selu")
def _selu(node: Node, emit: Emitter) -> ir.Value:
    return emit.activation("kSELU", node[0], node.attr("alpha", _SELU[0]), node.attr("gamma", _SELU[1]))


@converter("Softplus")
def _softplus(node: Node, emit: Emitter) -> ir.Value:
    return emit.activation("kSOFTPLUS", node[0], 1.0, 1.0)


@converter("HardSigmoid")
def _hard_sigmoid(node: Node, emit: Emitter) -> ir.Value:
    return emit.activation("kHARD_SIGMOID", node[0], node.attr("alpha", 0.2), node.attr("beta", 0.5))


@converter("HardSwish")
def _hard_swish(node: Node, emit: Emitter) -> ir.Value:
    return emit.binary("kPROD", node[0], emit.activation("kHARD_SIGMOID", node[0], 1.0 / 6.0, 0.5))


@converter("Swish")
def _swish(node: Node, emit: Emitter) -> ir.Value:
    x, alpha = node[0], node.attr("alpha", 1.0)
    scaled = x if alpha == 1.0 else emit.with_number("kPROD", x, alpha)
    return emit.binary("kPROD", x, emit.activation("kSIGMOID", scaled))


@converter("Mish")
def _mish(node: Node, emit: Emitter) -> ir.Value:
    return emit.binary(
        "kPROD", node[0], emit.activation("kTANH", emit.activation("kSOFTPLUS", node[0], 1.0, 1.0))
    )


@converter("Gelu")
def _gelu(node: Node, emit: Emitter) -> ir.Value:
    kinds = {"none": "kGELU_ERF", "tanh": "kGELU_TANH"}
    approximate = node.attr("approximate", "none")
    if approximate not in kinds:
        raise Refused(f"approximate = {approximate!r}")
    return emit.activation(kinds[approximate], node[0])


@converter("Celu")
def _celu(node: Node, emit: Emitter) -> ir.Value:
    """alpha * elu(x / alpha)."""
    x, alpha = node[0], node.attr("alpha", 1.0)
    if alpha == 1.0:
        return emit.activation("kELU", x, 1.0)
    inner = emit.activation("kELU", emit.with_number("kDIV", x, alpha), 1.0)
    return emit.with_number("kPROD", inner, alpha)


@converter("PRelu")
def _prelu(node: Node, emit: Emitter) -> ir.Value:
    x, slope, rank = node[0], node[1], rank_of(node[0])
    if node.opset < 7 and rank_of(slope) == 1 and rank > 2:
        slope = emit.unsqueeze(slope, [0, *range(2, rank)])  # it was one number per channel
    slope = emit.expanded(slope, rank)
    if element(x) in ("i32", "i64"):
        scaled = emit.binary("kPROD", x, slope)
        return emit.select(emit.with_number("kLESS", x, 0), scaled, x)
    return emit.op("parametric_relu", [x, slope], None, x.type)


@converter("Shrink")
def _shrink(node: Node, emit: Emitter) -> ir.Value:
    """x + bias below -lambd, x - bias above lambd, 0 between."""
    x, bias, limit = node[0], node.attr("bias", 0.0), node.attr("lambd", 0.5)
    zero = emit.filled(0, element(x), (1,) * rank_of(x))
    above = emit.select(emit.with_number("kGREATER", x, limit), emit.with_number("kSUB", x, bias), zero)
    return emit.select(emit.with_number("kLESS", x, -limit), emit.with_number("kSUM", x, bias), above)
