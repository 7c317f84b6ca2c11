"""Normalizations: batch, instance, group, layer, RMS, Lp, local response."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch_mlir import ir

from ....ir import dtypes
from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of, shape_of

__all__: list[str] = []


@converter("BatchNormalization")
def _batch_norm(node: Node, emit: Emitter) -> list[ir.Value | None]:
    """x * factor + shift per channel; one scale layer if the statistics are constant."""
    if node.attr("training_mode"):
        raise Refused("training mode")
    if node.opset < 9 and not node.attr("spatial", 1):
        raise Refused("spatial = 0")
    x, epsilon = node[0], node.attr("epsilon")
    arrays = [node.array(n) for n in range(1, 5)]
    rest: list[ir.Value | None] = [None] * (len(node.results) - 1)
    if all(array is not None for array in arrays):
        scale, bias, mean, variance = (np.asarray(array, np.float64) for array in arrays)
        factor = scale / np.sqrt(variance + epsilon)
        shift = bias - mean * factor
        return [_scaled(emit, x, factor, shift), *rest]
    shape = (1, -1) + (1,) * (rank_of(x) - 2)
    scale, bias, mean, variance = (_per_channel(emit, node[n], shape) for n in range(1, 5))
    spread = emit.unary("kSQRT", emit.with_number("kSUM", variance, epsilon))
    normal = emit.binary("kDIV", emit.binary("kSUB", x, mean), spread)
    return [emit.binary("kSUM", emit.binary("kPROD", normal, scale), bias), *rest]


def _scaled(emit: Emitter, x: ir.Value, factor: np.ndarray, shift: np.ndarray) -> ir.Value:
    kind = dtypes.by_mlir(element(x)).np
    if rank_of(x) < 3:  # the scale layer takes three dimensions or more
        shape = (1, -1)[-rank_of(x) :]
        product = emit.binary("kPROD", x, emit.constant(factor.astype(kind).reshape(shape), "scale"))
        return emit.binary("kSUM", product, emit.constant(shift.astype(kind).reshape(shape), "shift"))
    attributes = {
        "mode": "kCHANNEL",
        "scale": emit.attribute(factor.astype(kind), "scale"),
        "shift": emit.attribute(shift.astype(kind), "shift"),
    }
    return emit.op("scale", [x], attributes, x.type)


def _per_channel(emit: Emitter, value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """A vector of one value per channel, ready to be broadcast."""
    axes = [n for n, d in enumerate(shape) if d == 1]
    return emit.unsqueeze(value, axes)


def _normalized(
    emit: Emitter,
    x: ir.Value,
    axes: Sequence[int],
    epsilon: float,
    scale: ir.Value | None = None,
    bias: ir.Value | None = None,
    groups: int | None = None,
) -> ir.Value:
    """The normalization layer; `scale` and `bias` have the rank of `x`, ones and zeros where absent."""
    like = scale if scale is not None else bias
    dims: Sequence[int | None] = shape_of(like) if like is not None else (1,) * rank_of(x)
    if None in dims:
        raise Refused("scale of dynamic size")
    known = [d for d in dims if d is not None]
    scale = emit.filled(1, element(x), known) if scale is None else scale
    bias = emit.filled(0, element(x), known) if bias is None else bias
    attributes = {"axis": list(axes), "eps": epsilon, "num_groups": groups}
    return emit.op("normalization", [x, scale, bias], attributes, x.type)


@converter("InstanceNormalization")
def _instance_norm(node: Node, emit: Emitter) -> ir.Value:
    x = node[0]
    if rank_of(x) < 3:
        raise Refused(f"rank {rank_of(x)}")
    shape = (1, -1) + (1,) * (rank_of(x) - 2)
    scale, bias = (_per_channel(emit, node[n], shape) for n in (1, 2))
    return _normalized(emit, x, range(2, rank_of(x)), node.attr("epsilon", 1e-5), scale, bias)


@converter("GroupNormalization")
def _group_norm(node: Node, emit: Emitter) -> ir.Value:
    """Opset 18 scales by group, opset 21 by channel."""
    x, groups = node[0], node.attr("num_groups")
    channels = shape_of(x)[1]
    if channels is None or rank_of(x) < 3:
        raise Refused("a dynamic number of channels" if channels is None else f"rank {rank_of(x)}")
    scale, bias = node[1], node[2]
    if node.opset < 21:
        scale, bias = (_repeated(emit, value, channels // groups) for value in (scale, bias))
    shape = (1, -1) + (1,) * (rank_of(x) - 2)
    scale, bias = (_per_channel(emit, value, shape) for value in (scale, bias))
    return _normalized(emit, x, range(2, rank_of(x)), node.attr("epsilon", 1e-5), scale, bias, groups)


def _repeated(emit: Emitter, value: ir.Value, times: int) -> ir.Value:
    """Each element `times` times."""
    array = emit.array(value)
    if array is not None:
        return emit.constant(np.repeat(array, times), "scale")
    groups = shape_of(value)[0]
    if groups is None:
        raise Refused("scale of dynamic size")
    ones = emit.filled(1, element(value), (1, times))
    return emit.reshape(emit.binary("kPROD", emit.unsqueeze(value, [1]), ones), [groups * times])


@converter("LayerNormalization")
def _layer_norm(node: Node, emit: Emitter) -> list[ir.Value | None]:
    x = node[0]
    axis = node.axis(node.attr("axis", -1))
    axes = list(range(axis, rank_of(x)))
    scale, bias = emit.expanded(node[1], rank_of(x)), node.input(2)
    bias = None if bias is None else emit.expanded(bias, rank_of(x))
    epsilon = node.attr("epsilon", 1e-5)
    if node.is_read(1) or node.is_read(2):
        return list(_layer_norm_parts(emit, x, axes, epsilon, scale, bias))
    if bias is not None and shape_of(bias) != shape_of(scale):
        made = _normalized(emit, x, axes, epsilon, scale)
        return [emit.binary("kSUM", made, bias), None, None]
    return [_normalized(emit, x, axes, epsilon, scale, bias), None, None]


def _layer_norm_parts(
    emit: Emitter,
    x: ir.Value,
    axes: Sequence[int],
    epsilon: float,
    scale: ir.Value,
    bias: ir.Value | None,
) -> tuple[ir.Value, ir.Value, ir.Value]:
    """The result, the mean and the inverse deviation, for a graph that reads all three."""
    mean = emit.reduce("kAVG", x, axes)
    centred = emit.binary("kSUB", x, mean)
    variance = emit.reduce("kAVG", emit.binary("kPROD", centred, centred), axes)
    inverse = emit.unary("kRECIP", emit.unary("kSQRT", emit.with_number("kSUM", variance, epsilon)))
    made = emit.binary("kPROD", emit.binary("kPROD", centred, inverse), scale)
    return (made if bias is None else emit.binary("kSUM", made, bias)), mean, inverse


@converter("RMSNormalization")
def _rms_norm(node: Node, emit: Emitter) -> ir.Value:
    x = node[0]
    axes = list(range(node.axis(node.attr("axis", -1)), rank_of(x)))
    kind = element(x)
    wide = emit.cast(x, "f32")
    mean = emit.reduce("kAVG", emit.binary("kPROD", wide, wide), axes)
    root = emit.unary("kSQRT", emit.with_number("kSUM", mean, node.attr("epsilon", 1e-5)))
    made = emit.cast(emit.binary("kDIV", wide, root), kind)
    return emit.binary("kPROD", made, emit.expanded(node[1], rank_of(x)))


@converter("MeanVarianceNormalization")
def _mean_variance(node: Node, emit: Emitter) -> ir.Value:
    x = node[0]
    axes = sorted(node.axis(a) for a in node.attr("axes") or [0, 2, 3])
    centred = emit.binary("kSUB", x, emit.reduce("kAVG", x, axes))
    spread = emit.unary("kSQRT", emit.reduce("kAVG", emit.binary("kPROD", centred, centred), axes))
    return emit.binary("kDIV", centred, emit.with_number("kSUM", spread, 1e-9))


@converter("LpNormalization")
def _lp(node: Node, emit: Emitter) -> ir.Value:
    """Zero where the norm is zero."""
    x, axis, power = node[0], node.axis(node.attr("axis", -1)), node.attr("p", 2)
    if power == 1:
        norm = emit.reduce("kSUM", emit.unary("kABS", x), [axis])
    else:
        norm = emit.unary("kSQRT", emit.reduce("kSUM", emit.binary("kPROD", x, x), [axis]))
    is_zero = emit.with_number("kEQUAL", norm, 0.0)
    safe = emit.select(is_zero, emit.filled(1, element(x), (1,) * rank_of(x)), norm)
    return emit.binary("kDIV", x, safe)


@converter("LRN")
def _lrn(node: Node, emit: Emitter) -> ir.Value:
    attributes = {
        "windowSize": node.attr("size"),
        "alpha": node.attr("alpha", 1e-4),
        "beta": node.attr("beta", 0.75),
        "k": node.attr("bias", 1.0),
    }
    return emit.op("lrn", [node[0]], attributes, node[0].type)
