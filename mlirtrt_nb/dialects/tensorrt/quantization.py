"""Quantization: to and from small types, with given or computed scales."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand, ResultDef
from .common import FLOATS, example

__all__ = ["OPS"]

_SMALL = "i8 f8E4M3FN i4 f4E2M1FN"
_SYNTAX = (
    "attr-dict `in` `(` $input `:` type($input) `)` `scale` `(` $scale `:` type($scale) `)` `->` type($result)"
)
_ATTRS = (
    Attr("axis", "i32", optional=True, doc="The dimension with a scale of its own for each position."),
    Attr("blockShape", "array<i64>", optional=True, doc="Elements that share a scale, per dimension."),
)

OPS = (
    OpDef(
        "tensorrt.quantize",
        "round(input / scale), clamped: per tensor, per channel or in blocks.",
        operands=(
            Operand("input", FLOATS, doc="Rank 1 or more."),
            Operand("scale", f"{FLOATS} f8E4M3FN f8E8M0FNU", doc="Rank 0, 1, or the input's."),
        ),
        attrs=_ATTRS,
        results=(ResultDef("result", _SMALL),),
        assembly=_SYNTAX,
        layer="addQuantize",
        example=example(
            "%x: tensor<2x8xf32>, %s: tensor<8xf32>",
            "%0 = tensorrt.quantize {axis = 1 : i32} in(%x : tensor<2x8xf32>) scale(%s : tensor<8xf32>) "
            "-> tensor<2x8xi8>",
            "%0 : tensor<2x8xi8>",
        ),
    ),
    OpDef(
        "tensorrt.dequantize",
        "input * scale: per tensor, per channel or in blocks.",
        operands=(
            Operand("input", _SMALL, doc="Rank 1 or more."),
            Operand("scale", f"{FLOATS} f8E4M3FN f8E8M0FNU", doc="Rank 0, 1, or the input's."),
        ),
        attrs=_ATTRS,
        results=(ResultDef("result", FLOATS),),
        assembly=_SYNTAX,
        layer="addDequantize",
        example=example(
            "%x: tensor<2x8xi8>, %s: tensor<f32>",
            "%0 = tensorrt.dequantize in(%x : tensor<2x8xi8>) scale(%s : tensor<f32>) -> tensor<2x8xf32>",
            "%0 : tensor<2x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.dynamic_quantize",
        "Quantizes in blocks, and gives the scales that it computed.",
        operands=(
            Operand("input", FLOATS, doc="Rank 2 or 3."),
            Operand("double_quant_scale", FLOATS, doc="Rank 0; scales the scales."),
        ),
        attrs=(
            Attr("axis", "i32", doc="The dimension that is cut into blocks; one of the last two."),
            Attr("block_size", "i32", default=16, doc="Elements per block: 16 for f4, 32 for f8."),
        ),
        results=(ResultDef("result", "f4E2M1FN f8E4M3FN"), ResultDef("scales", "f8E4M3FN f8E8M0FNU")),
        assembly="attr-dict `in` `(` $input `:` type($input) `)` "
        "`double_quant_scale` `(` $double_quant_scale `:` type($double_quant_scale) `)` `->` type(results)",
        layer="addDynamicQuantize",
        example=example(
            "%x: tensor<2x32xf32>, %s: tensor<f32>",
            "%q, %c = tensorrt.dynamic_quantize {axis = 1 : i32} in(%x : tensor<2x32xf32>) "
            "double_quant_scale(%s : tensor<f32>) -> tensor<2x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>",
            "%q, %c : tensor<2x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>",
        ),
    ),
)
