"""Ops on quantized integers, computed in floating point where that is exact or rounds as ONNX says."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from .convolution import convolved
from .emitter import Emitter
from .matmul import product
from .node import Node, Refused, converter, element, rank_of, shape_of
from .quantization import Scheme, dequantized, quantized

__all__: list[str] = []

# f32 counts exactly up to 2**24, and a product of two 8-bit numbers is below 2**16.
_EXACT_TERMS = 256


def _refuse_inner_ui8(node: Node) -> None:
    if element(node.result) == "ui8" and not node.is_only_returned():
        raise Refused("a result of type ui8 inside an engine; TensorRT has ui8 only at its inputs and outputs")


def _scheme(node: Node, index: int, scale: int, axis: int | None = None) -> Scheme:
    """The scheme of input `index`; `axis` is where a vector of scales runs."""
    scales = node[scale]
    per_axis = rank_of(scales) == 1 and shape_of(scales) != (1,)
    if per_axis and axis is None:
        raise Refused("scales along an axis")
    return Scheme(element(node[index]), scales, node.input(scale + 1), axis if per_axis else None)


def _real(node: Node, emit: Emitter, index: int, scheme: Scheme) -> ir.Value:
    """What a quantized input stands for."""
    kind = element(scheme.scale)
    return dequantized(emit, _floating(emit, node[index], kind), scheme, kind)


def _floating(emit: Emitter, value: ir.Value, kind: str = "f32") -> ir.Value:
    array = emit.array(value)
    if array is not None:
        return emit.constant(array.astype("float16" if kind == "f16" else "float32"), "real")
    return emit.cast(value, kind)


@converter("QLinearMatMul")
def _qlinear_matmul(node: Node, emit: Emitter) -> ir.Value:
    _refuse_inner_ui8(node)
    a = _real(node, emit, 0, _scheme(node, 0, 1))
    b = _real(node, emit, 3, _scheme(node, 3, 4))
    kind = element(node.result)
    target = Scheme(kind, node[6], node.input(7), None)
    return emit.cast(quantized(emit, product(emit, a, b), target), kind)


@converter("QLinearConv")
def _qlinear_conv(node: Node, emit: Emitter) -> ir.Value:
    """The bias is in units of the product of both scales."""
    _refuse_inner_ui8(node)
    x = _real(node, emit, 0, _scheme(node, 0, 1))
    w = _real(node, emit, 3, _scheme(node, 3, 4, axis=0))
    kind = element(node.result)
    made = convolved(node, emit, x, w, None)
    if node.input(8) is not None:
        unit = emit.binary("kPROD", node[1], node[4])
        bias = emit.binary("kPROD", _floating(emit, node[8]), unit)
        made = emit.binary("kSUM", made, emit.unsqueeze(bias, [0, *range(2, rank_of(made))]))
    return emit.cast(quantized(emit, made, Scheme(kind, node[6], node.input(7), None)), kind)


def _shifted(node: Node, emit: Emitter, index: int, zero: int, axis: int | None = None) -> ir.Value:
    """An integer input less its zero point, as f32."""
    value = _floating(emit, node[index])
    if node.input(zero) is None:
        return value
    offset = _floating(emit, node[zero])
    if rank_of(offset) == 1 and axis is not None:
        offset = emit.unsqueeze(offset, [n for n in range(rank_of(value)) if n != axis])
    elif rank_of(offset) == 1 and shape_of(offset) != (1,):
        raise Refused("a zero point per row")
    return emit.binary("kSUB", value, offset)


def _check_terms(count: int | None) -> None:
    if count is None or count > _EXACT_TERMS:
        raise Refused(
            f"a sum of {'unknown length' if count is None else f'{count} integer products'}, inexact in f32"
        )


@converter("MatMulInteger")
def _matmul_integer(node: Node, emit: Emitter) -> ir.Value:
    _check_terms(shape_of(node[0])[-1])
    made = product(emit, _shifted(node, emit, 0, 2), _shifted(node, emit, 1, 3, rank_of(node[1]) - 1))
    return emit.cast(made, "i32")


@converter("ConvInteger")
def _conv_integer(node: Node, emit: Emitter) -> ir.Value:
    dims = shape_of(node[1])[1:]
    _check_terms(None if None in dims else int(np.prod([d or 0 for d in dims])))
    made = convolved(node, emit, _shifted(node, emit, 0, 2), _shifted(node, emit, 1, 3, 0), None)
    return emit.cast(made, "i32")


@converter("DynamicQuantizeLinear")
def _dynamic_quantize(node: Node, emit: Emitter) -> list[ir.Value | None]:
    """Scale and zero point from the range of the data, which always holds zero."""
    if not node.is_only_returned(0) or not node.is_only_returned(2):
        raise Refused("results of type ui8 inside an engine; TensorRT has ui8 only at its inputs and outputs")
    x = node[0]
    axes = list(range(rank_of(x)))
    low = emit.with_number("kMIN", emit.reduce("kMIN", x, axes, keep=False), 0.0)
    high = emit.with_number("kMAX", emit.reduce("kMAX", x, axes, keep=False), 0.0)
    scale = emit.with_number("kDIV", emit.binary("kSUB", high, low), 255.0)
    ideal = emit.binary("kDIV", emit.unary("kNEG", low), scale)
    zero = emit.activation("kCLIP", emit.unary("kROUND", ideal), 0.0, 255.0)
    steps = emit.unary("kROUND", emit.binary("kDIV", x, scale))
    made = emit.activation("kCLIP", emit.binary("kSUM", steps, zero), 0.0, 255.0)
    return [emit.cast(made, "ui8"), scale, emit.cast(zero, "ui8")]
