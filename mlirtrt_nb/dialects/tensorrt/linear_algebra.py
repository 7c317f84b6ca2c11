"""Matrix products and einsum."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand
from .common import FLOATS, INS, example

__all__ = ["OPS"]

OPS = (
    OpDef(
        "tensorrt.matrix_multiply",
        "Matrix product over the last two dimensions; the outer ones broadcast.",
        operands=(Operand("input0", FLOATS), Operand("input1", FLOATS)),
        attrs=(
            Attr("op0", "enum:matrix_operation", doc="How input0 is read."),
            Attr("op1", "enum:matrix_operation", doc="How input1 is read."),
        ),
        assembly=INS,
        layer="addMatrixMultiply",
        example=example(
            "%x: tensor<2x8xf32>, %w: tensor<16x8xf32>",
            "%0 = tensorrt.matrix_multiply {op0 = #tensorrt.matrix_operation<kNONE>, "
            "op1 = #tensorrt.matrix_operation<kTRANSPOSE>} ins(%x, %w : tensor<2x8xf32>, tensor<16x8xf32>) "
            "-> tensor<2x16xf32>",
            "%0 : tensor<2x16xf32>",
        ),
    ),
    OpDef(
        "tensorrt.einsum",
        "Einstein summation.",
        operands=(Operand("inputs", FLOATS, variadic=True, doc="One or two."),),
        attrs=(Attr("equation", "str", doc="Lower-case labels, without an ellipsis."),),
        assembly=INS,
        layer="addEinsum",
        example=example(
            "%x: tensor<2x3x4xf32>, %y: tensor<2x4x5xf32>",
            '%0 = tensorrt.einsum {equation = "bij,bjk->bik"} ins(%x, %y : tensor<2x3x4xf32>, tensor<2x4x5xf32>) '
            "-> tensor<2x3x5xf32>",
            "%0 : tensor<2x3x5xf32>",
        ),
    ),
)
