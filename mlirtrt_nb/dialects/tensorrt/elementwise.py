"""Ops that work element by element: activation, unary, element_wise, select, parametric_relu, scale, casts."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand, ResultDef
from .common import FLOATS, INS, SAME, TENSOR, example

__all__ = ["OPS"]

_CAST = "attr-dict $input `:` type($input) `to` type($result)"

OPS = (
    OpDef(
        "tensorrt.activation",
        "An activation function.",
        operands=(Operand("input", "i8 i32 i64 f16 bf16 f32"),),
        attrs=(
            Attr("activationType", "enum:activation_type", doc="The function."),
            Attr("alpha", "f32", optional=True, doc="First parameter, for the functions that have one."),
            Attr("beta", "f32", optional=True, doc="Second parameter, for the functions that have one."),
        ),
        assembly=SAME,
        layer="addActivation",
        example=example(
            "%x: tensor<2x3xf32>",
            "%0 = tensorrt.activation {activationType = #tensorrt.activation_type<kLEAKY_RELU>, alpha = 0.01 : f32} "
            "%x : tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    ),
    OpDef(
        "tensorrt.unary",
        "A function of one tensor. kISINF and kISNAN give i1.",
        operands=(Operand("input", TENSOR),),
        attrs=(Attr("unaryOperation", "enum:unary_operation", doc="The function."),),
        assembly=SAME,
        layer="addUnary",
        example=example(
            "%x: tensor<2x3xf32>",
            "%0 = tensorrt.unary {unaryOperation = #tensorrt.unary_operation<kSQRT>} %x : tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    ),
    OpDef(
        "tensorrt.element_wise",
        "A function of two tensors of one rank, with broadcasting of unit dimensions.",
        operands=(Operand("input1", TENSOR), Operand("input2", TENSOR)),
        attrs=(Attr("elementwiseOperation", "enum:element_wise_operation", doc="The function."),),
        assembly="attr-dict $elementwiseOperation `(` operands `:` type(operands) `)` `->` type(results)",
        layer="addElementWise",
        example=example(
            "%x: tensor<2x3xf32>, %y: tensor<1x3xf32>",
            "%0 = tensorrt.element_wise <kSUM>(%x, %y : tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    ),
    OpDef(
        "tensorrt.select",
        "Takes each element from one of two tensors.",
        operands=(
            Operand("condition", "i1"),
            Operand("thenInput", TENSOR),
            Operand("elseInput", TENSOR),
        ),
        assembly=INS,
        layer="addSelect",
        example=example(
            "%c: tensor<2x3xi1>, %x: tensor<2x3xf32>, %y: tensor<1x1xf32>",
            "%0 = tensorrt.select ins(%c, %x, %y : tensor<2x3xi1>, tensor<2x3xf32>, tensor<1x1xf32>) "
            "-> tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    ),
    OpDef(
        "tensorrt.parametric_relu",
        "Multiplies negative elements by a slope.",
        operands=(
            Operand("input", "i8 f16 bf16 f32"),
            Operand("slope", "i8 f16 bf16 f32", doc="Broadcast to the input."),
        ),
        assembly=INS,
        layer="addParametricReLU",
        example=example(
            "%x: tensor<2x3xf32>, %s: tensor<1x3xf32>",
            "%0 = tensorrt.parametric_relu ins(%x, %s : tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    ),
    OpDef(
        "tensorrt.scale",
        "(input * scale + shift) ^ power, with constant coefficients.",
        operands=(Operand("input", FLOATS, doc="Rank 3 or more."),),
        attrs=(
            Attr("mode", "enum:scale_mode", doc="One coefficient in all, one per channel, or one per element."),
            Attr("channelAxis", "i64", default=1, doc="The channel dimension."),
            Attr("shift", "elements", optional=True, doc="0 where absent."),
            Attr("scale", "elements", optional=True, doc="1 where absent."),
            Attr("power", "elements", optional=True, doc="1 where absent."),
        ),
        assembly=SAME,
        layer="addScaleNd",
        example=example(
            "%x: tensor<1x3x4x4xf32>",
            "%0 = tensorrt.scale {mode = #tensorrt.scale_mode<kCHANNEL>, scale = dense<[1.0, 2.0, 3.0]> : "
            "tensor<3xf32>} %x : tensor<1x3x4x4xf32>",
            "%0 : tensor<1x3x4x4xf32>",
        ),
    ),
    OpDef(
        "tensorrt.cast",
        "Converts to another element type.",
        operands=(Operand("input", f"{TENSOR} ui8"),),
        results=(ResultDef("result", f"{TENSOR} ui8"),),
        assembly=_CAST,
        layer="addCast",
        example=example(
            "%x: tensor<2x3xf32>",
            "%0 = tensorrt.cast %x : tensor<2x3xf32> to tensor<2x3xi32>",
            "%0 : tensor<2x3xi32>",
        ),
    ),
    OpDef(
        "tensorrt.identity",
        "A copy, possibly to another element type.",
        operands=(Operand("input", "i1 ui8 i8 i32 f16 bf16 f32"),),
        results=(ResultDef("result", "i1 ui8 i8 i32 f16 bf16 f32"),),
        assembly=_CAST,
        layer="addIdentity",
        example=example(
            "%x: tensor<2x3xf32>",
            "%0 = tensorrt.identity %x : tensor<2x3xf32> to tensor<2x3xf32>",
            "%0 : tensor<2x3xf32>",
        ),
    ),
)
