"""Quantise and dequantise."""

from __future__ import annotations

from typing import Any

from ....ir.builder import Op
from ..scope import Scope
from .registry import encodes


def _scaled(s: Scope, op: Op, add: Any) -> Any:
    layer = s.made(add(s.input(op, "input"), s.input(op, "scale"), s.result_dtype(op)))
    if op.attr("axis") is not None:
        layer.axis = op.attr("axis")
    if op.attr("blockShape") is not None:
        layer.block_shape = tuple(op.attr("blockShape"))
    return layer.get_output(0)


@encodes("quantize")
def quantize(s: Scope, op: Op) -> Any:
    return _scaled(s, op, s.net.add_quantize)


@encodes("dequantize")
def dequantize(s: Scope, op: Op) -> Any:
    return _scaled(s, op, s.net.add_dequantize)


@encodes("dynamic_quantize")
def dynamic_quantize(s: Scope, op: Op) -> list[Any]:
    layer = s.made(
        s.net.add_dynamic_quantize(
            s.input(op, "input"),
            op.attr("axis"),
            op.attr("block_size"),
            s.result_dtype(op, 0),
            s.result_dtype(op, 1),
        )
    )
    layer.set_input(1, s.input(op, "double_quant_scale"))
    return [layer.get_output(0), layer.get_output(1)]
