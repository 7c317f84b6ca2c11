"""Quantization: TensorRT's own layers where they fit, else spelled out in floating point.

TensorRT quantizes symmetrically to i8, f8 and smaller types. Zero points and unsigned types, which ONNX
Runtime's own quantizer writes, become rounding and clipping: the same numbers, at the precision around them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from torch_mlir import ir

from ....dialects.scales import scale_problem
from ....ir import dtypes
from ....ir.builder import Op
from .emitter import Emitter
from .node import Node, Refused, constant_attribute, converter, element, rank_of, shape_of
from .shape_values import producer

__all__ = ["Scheme", "dequantized", "expanded_weights", "quantized"]

_LAYER = ("i8", "f8E4M3FN", "i4", "f4E2M1FN")
_RANGES = {"i8": (-128, 127), "ui8": (0, 255), "i16": (-32768, 32767), "ui16": (0, 65535)}
_FLOATS = ("f32", "f16", "bf16")
# What the dequantize layer takes in blocks.
_BLOCKED = ("i4", "f8E4M3FN", "f4E2M1FN")


@dataclass(frozen=True)
class Scheme:
    """How real numbers map to a small type: real = (quantized - zero) * scale.

    `axis` is the dimension that `scale` and `zero` run along, None for one of each; where `block` is given,
    each of theirs stands for that many positions of it, of which there are `length`. `zero` may be absent.
    """

    kind: str
    scale: ir.Value
    zero: ir.Value | None
    axis: int | None
    block: int = 0
    length: int = 0

    def along(self, emit: Emitter, value: ir.Value, rank: int) -> ir.Value:
        """A scale or zero point, ready to be broadcast to `rank` dimensions."""
        if self.block:
            array = emit.array(value)
            if array is None:
                raise Refused("quantization in blocks whose scales are computed")
            return emit.constant(self.spread(array), "spread")
        if rank_of(value) == 0 or self.axis is None:
            axes = list(range(rank - rank_of(value)))
        else:
            axes = [n for n in range(rank) if n != self.axis]
        return emit.unsqueeze(value, axes)

    def spread(self, array: np.ndarray) -> np.ndarray:
        """A scale or zero point for each position, from one for each block."""
        repeated = np.repeat(array, self.block, axis=self.axis)
        return np.ascontiguousarray(repeated.take(range(self.length), axis=self.axis))

    def is_symmetric(self, emit: Emitter) -> bool:
        """Whether zero points are absent, or known to be 0."""
        if self.zero is None:
            return True
        array = emit.array(self.zero)
        return array is not None and not np.any(array.astype(np.float32))


def scheme_of(node: Node, kind: str, first: int = 1) -> Scheme:
    """The scheme of a QuantizeLinear or DequantizeLinear, whose scale is input `first`."""
    scale, zero = node[first], node.input(first + 1)
    block = node.attr("block_size") or 0
    per_axis = rank_of(scale) == 1 and shape_of(scale) != (1,)
    axis = node.axis(node.attr("axis", 1)) if per_axis or block else None
    _check_scale(node.array(first), axis)
    if block and axis is not None:
        length = shape_of(node[0])[axis]
        if length is None or rank_of(scale) != rank_of(node[0]):
            raise Refused("quantization in blocks of a dimension that varies")
        return Scheme(kind, scale, zero, axis, block, length)
    channels = None if axis is None else (shape_of(scale)[0], shape_of(node[0])[axis])
    if channels is not None and None not in channels and channels[0] != channels[1]:
        raise Refused(f"{channels[0]} scales for the {channels[1]} channels of axis {axis}")
    return Scheme(kind, scale, zero, axis)


def _check_scale(scale: np.ndarray | None, axis: int | None) -> None:
    problem = None if scale is None else scale_problem(scale, axis)
    if problem:
        raise Refused(f"{problem}; TensorRT takes positive, finite ones")


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
    if scheme.kind == "ui4":
        q, scheme = _shifted(node, emit, scheme)
    if scheme.block:
        return _dequantized_blocks(node, emit, q, scheme, kind)
    real = _pair(node, emit, scheme, kind)
    if real is not None:
        return real
    if scheme.kind in _LAYER and scheme.is_symmetric(emit) and node.array(1) is not None and rank_of(q):
        return emit.op(
            "dequantize", [q, _layer_scale(emit, scheme)], {"axis": scheme.axis}, emit.type(shape_of(q), kind)
        )
    folded = _folded(emit, q, scheme, kind)
    if folded is not None:
        return folded
    if scheme.kind not in ("i8", "ui8", "i32"):
        raise Refused(f"dequantization from {scheme.kind}")
    return dequantized(emit, _real(emit, q, kind), scheme, kind)


def expanded_weights(emit: Emitter, value: ir.Value, rank: int) -> ir.Value:
    """`emit.expanded`, but of dequantized constants it is the small numbers that get the dimensions: an op
    between would have engines dequantize them on every run."""
    missing = rank - rank_of(value)
    if missing <= 0 or constant_attribute(value) is not None:
        return emit.expanded(value, rank)  # weights that a model has as they are keep their name
    made = emit.value(value)
    layer = None if isinstance(made.owner, ir.Block) else made.owner.operation
    if layer is None or layer.name != "tensorrt.dequantize":
        return emit.expanded(value, rank)
    op = Op.of(layer)
    small, scale, axis = op.operand("input"), op.operand("scale"), op.attr("axis")
    array = None if small is None else emit.array(small)
    if array is None or scale is None:
        return emit.expanded(value, rank)
    dims = (1,) * missing + array.shape
    wide = emit.constant(array.reshape(dims), "weights")
    steps = emit.expanded(scale, rank) if rank_of(scale) > 1 else scale
    attributes = {"axis": None if axis is None else axis + missing}
    return emit.op("dequantize", [wide, steps], attributes, emit.type(dims, element(value)))


def _dequantized_blocks(node: Node, emit: Emitter, q: ir.Value, scheme: Scheme, kind: str) -> ir.Value:
    """Weights of small types in blocks are a layer's; others are the numbers that they stand for."""
    layer = scheme.kind in _BLOCKED and scheme.is_symmetric(emit) and scheme.length % scheme.block == 0
    if layer and scheme.axis is not None and scheme.axis >= rank_of(q) - 2 and emit.array(q) is not None:
        return emit.op("dequantize", [q, scheme.scale], None, emit.type(shape_of(q), kind))
    folded = _folded(emit, q, scheme, kind)
    if folded is not None:
        return folded
    real = _pair(node, emit, scheme, kind)
    if real is not None:
        return real
    if scheme.kind not in ("i8", "ui8"):
        raise Refused(f"dequantization in blocks from {scheme.kind}")
    return dequantized(emit, _real(emit, q, kind), scheme, kind)


def _shifted(node: Node, emit: Emitter, scheme: Scheme) -> tuple[ir.Value, Scheme]:
    """Constants of ui4 as i4, which TensorRT has: both numbers and zero point are 8 less."""
    array = node.array(0)
    zero = None if scheme.zero is None else emit.array(scheme.zero)
    if array is None or (scheme.zero is not None and zero is None):
        raise Refused("TensorRT has no element type ui4")
    signed = dtypes.by_mlir("i4").np
    if zero is None:
        dims = shape_of(scheme.scale)
        zero = np.zeros([d for d in dims if d is not None])
        if zero.ndim < len(dims):
            raise Refused("scales of dynamic number")
    lower = zero.astype(np.int8)
    moved = emit.constant((lower - 8).astype(signed), "zero_point")
    return emit.constant((array.astype(np.int8) - 8).astype(signed), "i4"), replace(
        scheme, kind="i4", zero=moved
    )


def _pair(node: Node, emit: Emitter, scheme: Scheme, kind: str) -> ir.Value | None:
    """The round trip through a type that TensorRT has not, or with a zero point: rounding in place.

    The QuantizeLinear stays behind in the onnx dialect, and goes if nothing else reads it.
    """
    before = producer(node[0])
    if before is None or before.name != "onnx.quantizelinear" or scheme.kind not in _RANGES:
        return None
    if scheme.kind == "i8" and scheme.is_symmetric(emit) and not scheme.block:
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
    if scheme.block:
        scale, zero = scheme.spread(scale), None if zero is None else scheme.spread(zero)
    shape = [1] * array.ndim
    if scheme.axis is not None:
        shape[scheme.axis] = -1
    if scheme.block:
        shape = list(array.shape)
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
