"""Gathers and scatters."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand
from .common import INS, TENSOR, example

__all__ = ["OPS"]

_SCATTER = (
    "attr-dict `data` `(` $data `:` type($data) `)` `indices` `(` $indices `:` type($indices) `)` "
    "`updates` `(` $updates `:` type($updates) `)`"
)
_SCATTER_OPERANDS = (
    Operand("data", TENSOR),
    Operand("indices", "i32 i64"),
    Operand("updates", TENSOR, doc="Of the data's element type."),
)
_GATHER_OPERANDS = (Operand("data", TENSOR), Operand("indices", "i32 i64"))

OPS = (
    OpDef(
        "tensorrt.gather",
        "Takes slices along an axis.",
        operands=_GATHER_OPERANDS,
        attrs=(
            Attr("axis", "i64", doc="The data's dimension that the indices count along."),
            Attr(
                "numBroadcastDims",
                "i64",
                default=0,
                doc="Leading dimensions shared by data and indices; 0 or 1.",
            ),
        ),
        assembly=INS,
        layer="addGatherV2",
        example=example(
            "%x: tensor<4x8xf32>, %i: tensor<3xi32>",
            "%0 = tensorrt.gather {axis = 0 : i64} ins(%x, %i : tensor<4x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>",
            "%0 : tensor<3x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.gather_nd",
        "Takes slices at positions of several dimensions; the last dimension of indices is a position.",
        operands=_GATHER_OPERANDS,
        assembly="attr-dict `data` `(` $data `)` `indices` `(` $indices `)` `:` functional-type(operands, results)",
        layer="addGatherV2",
        example=example(
            "%x: tensor<4x8xf32>, %i: tensor<3x1xi32>",
            "%0 = tensorrt.gather_nd data(%x) indices(%i) : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>",
            "%0 : tensor<3x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.gather_elements",
        "Takes single elements along an axis; indices has the result's shape.",
        operands=_GATHER_OPERANDS,
        attrs=(Attr("axis", "i64", doc="The axis."),),
        assembly=INS,
        layer="addGatherV2",
        example=example(
            "%x: tensor<4x8xf32>, %i: tensor<2x8xi32>",
            "%0 = tensorrt.gather_elements {axis = 0 : i64} ins(%x, %i : tensor<4x8xf32>, tensor<2x8xi32>) "
            "-> tensor<2x8xf32>",
            "%0 : tensor<2x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.scatter_nd",
        "A copy of data with slices replaced; the last dimension of indices is a position.",
        operands=_SCATTER_OPERANDS,
        assembly=_SCATTER,
        layer="addScatter",
        example=example(
            "%x: tensor<4x4xf32>, %i: tensor<2x1xi32>, %u: tensor<2x4xf32>",
            "%0 = tensorrt.scatter_nd data(%x : tensor<4x4xf32>) indices(%i : tensor<2x1xi32>) "
            "updates(%u : tensor<2x4xf32>)",
            "%0 : tensor<4x4xf32>",
        ),
    ),
    OpDef(
        "tensorrt.scatter_elements",
        "A copy of data with single elements replaced along an axis.",
        operands=_SCATTER_OPERANDS,
        attrs=(Attr("axis", "i64", optional=True, doc="The axis; 0 where absent."),),
        assembly=_SCATTER,
        layer="addScatter",
        example=example(
            "%x: tensor<4x4xf32>, %i: tensor<2x4xi32>, %u: tensor<2x4xf32>",
            "%0 = tensorrt.scatter_elements {axis = 0 : i64} data(%x : tensor<4x4xf32>) indices(%i : tensor<2x4xi32>) "
            "updates(%u : tensor<2x4xf32>)",
            "%0 : tensor<4x4xf32>",
        ),
    ),
)
