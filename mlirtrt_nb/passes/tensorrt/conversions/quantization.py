"""QuantizeLinear and DequantizeLinear, in the forms that TensorRT has: symmetric, per tensor or per axis."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of, shape_of

__all__: list[str] = []

_SMALL = ("i8", "f8E4M3FN", "i4", "f4E2M1FN")


@converter("QuantizeLinear")
def _quantize(node: Node, emit: Emitter) -> ir.Value:
    kind = element(node.result)
    _check(node, kind)
    scale, axis = _scale(node, emit)
    return emit.op("quantize", [node[0], scale], {"axis": axis}, emit.type(shape_of(node[0]), kind))


@converter("DequantizeLinear")
def _dequantize(node: Node, emit: Emitter) -> ir.Value:
    _check(node, element(node[0]))
    scale, axis = _scale(node, emit)
    result = emit.type(shape_of(node[0]), element(node.result))
    return emit.op("dequantize", [node[0], scale], {"axis": axis}, result)


def _check(node: Node, kind: str) -> None:
    if kind not in _SMALL:
        raise Refused(f"quantization to {kind}; TensorRT has {', '.join(_SMALL)}")
    if node.input(2) is not None:
        zero = node.array(2)
        if zero is None or np.any(zero.astype(np.float32)):
            raise Refused(
                "a zero point that is not 0" if zero is not None else "the zero point is not constant"
            )
    if rank_of(node[0]) == 0:
        raise Refused("rank 0")
    if node.attr("block_size"):
        raise Refused("quantization in blocks")


def _scale(node: Node, emit: Emitter) -> tuple[ir.Value, int | None]:
    scale = node[1]
    if node.array(1) is None:
        raise Refused("the scale is not constant")
    if rank_of(scale) == 0:
        return scale, None
    if shape_of(scale) == (1,):
        return emit.reshape(scale, []), None
    if rank_of(scale) != 1:
        raise Refused("quantization in blocks")
    return scale, node.axis(node.attr("axis", 1))
