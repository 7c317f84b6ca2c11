"""Normalizations: softmax and its ragged form, layer, group, instance and batch norm, local response."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand
from .common import FLOATS, INS, SAME, example

__all__ = ["OPS"]

OPS = (
    OpDef(
        "tensorrt.softmax",
        "Softmax along an axis.",
        operands=(Operand("input", FLOATS),),
        attrs=(Attr("axis", "i64", doc="The axis."),),
        assembly=SAME,
        layer="addSoftMax",
        example=example(
            "%x: tensor<2x8xf32>",
            "%0 = tensorrt.softmax {axis = 1 : i64} %x : tensor<2x8xf32>",
            "%0 : tensor<2x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.ragged_softmax",
        "Softmax along the last axis of sequences of different lengths.",
        operands=(
            Operand("input", "f16 f32", doc="Rank 3."),
            Operand("bounds", "i32", doc="Rank 3, last dimension 1: the length of each sequence."),
        ),
        assembly=INS,
        layer="addRaggedSoftMax",
        example=example(
            "%x: tensor<1x2x8xf32>, %b: tensor<1x2x1xi32>",
            "%0 = tensorrt.ragged_softmax ins(%x, %b : tensor<1x2x8xf32>, tensor<1x2x1xi32>) -> tensor<1x2x8xf32>",
            "%0 : tensor<1x2x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.normalization",
        "(input - mean) / sqrt(variance + eps) * scale + bias, mean and variance taken over some axes.",
        operands=(
            Operand("input", FLOATS),
            Operand("scale", FLOATS, doc="Of the input's rank; broadcast to it."),
            Operand("bias", FLOATS, doc="Of the scale's shape."),
        ),
        attrs=(
            Attr("axis", "array<i64>", doc="Strictly increasing, not negative."),
            Attr("eps", "f32", optional=True, doc="1e-5 where absent."),
            Attr("num_groups", "i32", optional=True, doc="Channel groups; 1 where absent."),
        ),
        assembly="attr-dict `(` $input `:` type($input) `,` $scale `:` type($scale) `,` $bias `:` type($bias) `)` "
        "`->` type($result)",
        layer="addNormalizationV2",
        example=example(
            "%x: tensor<2x4x8xf32>, %s: tensor<1x1x8xf32>, %b: tensor<1x1x8xf32>",
            "%0 = tensorrt.normalization {axis = array<i64: 2>, eps = 1.0e-05 : f32} (%x : tensor<2x4x8xf32>, "
            "%s : tensor<1x1x8xf32>, %b : tensor<1x1x8xf32>) -> tensor<2x4x8xf32>",
            "%0 : tensor<2x4x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.lrn",
        "Local response normalization across channels.",
        operands=(Operand("input", FLOATS),),
        attrs=(
            Attr("windowSize", "i64", doc="Odd, 1 to 15."),
            Attr("alpha", "f32", doc="-1e20 to 1e20."),
            Attr("beta", "f32", doc="0.01 to 1e5."),
            Attr("k", "f32", doc="1e-5 to 1e10."),
        ),
        assembly=SAME,
        layer="addLRN",
        example=example(
            "%x: tensor<1x8x4x4xf32>",
            "%0 = tensorrt.lrn {alpha = 1.0e-04 : f32, beta = 0.75 : f32, k = 1.0 : f32, windowSize = 5 : i64} "
            "%x : tensor<1x8x4x4xf32>",
            "%0 : tensor<1x8x4x4xf32>",
        ),
    ),
)
