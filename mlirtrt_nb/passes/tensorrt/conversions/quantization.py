"""Quantization: TensorRT's own layers where they fit, else spelled out in floating point.

TensorRT quantizes symmetrically to i8, f8 and smaller types. Zero points and unsigned types, which ONNX
Runtime's own quantizer writes, become rounding and clipping: the same numbers, at the precision around them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch_mlir import ir

from ....ir import dtypes
from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of, shape_of
from .shape_values import producer

__all__ = ["Scheme", "dequantized", "quantized"]

_LAYER = ("i8", "f8E4M3FN", "i4", "f4E2M1FN")
_RANGES = {"i8": (-128, 127), "ui8": (0, 255), "i16": (-32768, 32767), "ui16": (0, 65535)}
_FLOATS = ("f32", "f16", "bf16")


@dataclass(frozen=True)
class Scheme:
    """How real numbers map to a small type: real = (quantized - zero) * scale.

    `axis` is the dimension that `scale` and `zero` run along, None for one of each. `zero` may be absent.
    """

    kind: str
    scale: ir.Value
    zero: ir.Value | None
    axis: int | None

    def along(self, emit: Emitter, value: ir.Value, rank: int) -> ir.Value:
        """A scale or zero point, ready to be broadcast to `rank` dimensions."""
        if rank_of(value) == 0 or self.axis is None:
            axes = list(range(rank - rank_of(value)))
        else:
            axes = [n for n in range(rank) if n != self.axis]
        return emit.unsqueeze(value, axes)

    def is_symmetric(self, emit: Emitter) -> bool:
        if self.zero is None:
            return True
        array = emit.array(self.zero)
        return array is not None and not np.any(array.astype(np.float32))


def scheme_of(node: Node, kind: str, first: int = 1) -> Scheme:
    """The scheme of a QuantizeLinear or DequantizeLinear, whose scale is input `first`."""
    scale = node[first]
    if node.attr("block_size") or rank_of(scale) > 1:
        raise Refused("quantization in blocks")
    per_axis = rank_of(scale) == 1 and shape_of(scale) != (1,)
    axis = node.axis(node.attr("axis", 1)) if per_axis else None
    return Scheme(kind, scale, node.input(first + 1), axis)


def quantized(emit: Emitter, x: ir.Value, scheme: Scheme) -> ir.Value:
    """round(x / scale) + zero within the small type's range, as floating point."""
    low, high = _RANGES[scheme.kind]
    rank = rank_of(x)
    rounded = emit.unary("kROUND", emit.binary("kDIV", x, scheme.along(emit, scheme.scale, rank)))
    if scheme.zero is not None and not scheme.is_symmetric(emit):
        rounded = emit.binary("kSUM", rounded, scheme.along(emit, _real(emit, scheme.zero, element(x)), rank))
    return emit.activation("kCLIP", rounded, low, high)


def dequantized(emit: Emitter, q: ir.Value, scheme: Scheme, kind: str) -> ir.Value:
    """(q - zero) * scale, for small numbers that are given as floating point of type `kind`."""
    rank = rank_of(q)
    if scheme.zero is not None and not scheme.is_symmetric(emit):
        q = emit.binary("kSUB", q, scheme.along(emit, _real(emit, scheme.zero, kind), rank))
    return emit.binary("kPROD", q, scheme.along(emit, scheme.scale, rank))


def _real(emit: Emitter, value: ir.Value, kind: str) -> ir.Value:
    """An integer tensor as floating point; a constant at once."""
    array = emit.array(value)
    if array is not None:
        return emit.constant(array.astype(dtypes.by_mlir(kind).np), "zero_point")
    return emit.cast(value, kind)


@converter("QuantizeLinear")
def _quantize(node: Node, emit: Emitter) -> ir.Value:
    x, kind = node[0], element(node.result)
    scheme = scheme_of(node, kind)
    if kind in _LAYER and scheme.is_symmetric(emit) and node.array(1) is not None and rank_of(x):
        return emit.op(
            "quantize", [x, _layer_scale(emit, scheme)], {"axis": scheme.axis}, emit.type(shape_of(x), kind)
        )
    if kind not in ("i8", "ui8") or element(x) not in _FLOATS:
        raise Refused(f"quantization from {element(x)} to {kind}")
    if kind == "ui8" and not node.is_only_returned():
        raise Refused("quantization to ui8 inside an engine; TensorRT has ui8 only at its inputs and outputs")
    return emit.cast(quantized(emit, x, scheme), kind)


@converter("DequantizeLinear")
def _dequantize(node: Node, emit: Emitter) -> ir.Value:
    q, kind = node[0], element(node.result)
    scheme = scheme_of(node, element(q))
    real = _pair(node, emit, scheme, kind)
    if real is not None:
        return real
    if scheme.kind in _LAYER and scheme.is_symmetric(emit) and node.array(1) is not None and rank_of(q):
        return emit.op(
            "dequantize", [q, _layer_scale(emit, scheme)], {"axis": scheme.axis}, emit.type(shape_of(q), kind)
        )
    if scheme.kind not in ("i8", "ui8", "i32"):
        raise Refused(f"dequantization from {scheme.kind}")
    folded = _folded(emit, q, scheme, kind)
    if folded is not None:
        return folded
    return dequantized(emit, _real(emit, q, kind), scheme, kind)


def _pair(node: Node, emit: Emitter, scheme: Scheme, kind: str) -> ir.Value | None:
    """The round trip through a type that TensorRT has not, or with a zero point: rounding in place.

    The QuantizeLinear stays behind in the onnx dialect, and goes if nothing else reads it.
    """
    before = producer(node[0])
    if before is None or before.name != "onnx.quantizelinear" or scheme.kind not in _RANGES:
        return None
    if scheme.kind == "i8" and scheme.is_symmetric(emit):
        return None
    source = Node(before, "QuantizeLinear", node.opset, node.weights, node.dims)
    if element(source[0]) != kind or kind not in _FLOATS:
        return None
    return dequantized(emit, quantized(emit, source[0], scheme_of(source, scheme.kind)), scheme, kind)


def _folded(emit: Emitter, q: ir.Value, scheme: Scheme, kind: str) -> ir.Value | None:
    """A constant of a type that no dequantize layer takes, as the numbers that it stands for."""
    array, scale = emit.array(q), emit.array(scheme.scale)
    zero = None if scheme.zero is None else emit.array(scheme.zero)
    if array is None or scale is None or (scheme.zero is not None and zero is None):
        return None
    shape = [1] * array.ndim
    if scheme.axis is not None:
        shape[scheme.axis] = -1
    real = array.astype(np.float32)
    if zero is not None:
        real = real - zero.astype(np.float32).reshape(shape)
    return emit.constant(
        (real * scale.astype(np.float32).reshape(shape)).astype(dtypes.by_mlir(kind).np), "real"
    )


def _layer_scale(emit: Emitter, scheme: Scheme) -> ir.Value:
    if scheme.axis is None and rank_of(scheme.scale):
        return emit.reshape(scheme.scale, [])
    return scheme.scale
