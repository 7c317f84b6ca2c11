"""Slices, broadcasts, concatenation and reversal."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand
from .common import ALL_TYPES, INS, TENSOR, example

__all__ = ["OPS"]


def _index_list(name: str) -> str:
    """Between brackets: a tensor, or the numbers themselves."""
    return f"`[` (${name}^ `` `:` type(${name})) : (`` custom<StaticIndexI32Array>($static_{name}))? `]`"


OPS = (
    OpDef(
        "tensorrt.slice",
        "A strided part of a tensor; a start, a size and a stride per dimension.",
        operands=(
            Operand("input", ALL_TYPES),
            Operand("fill", TENSOR, optional=True, doc="Rank 0; what kFILL puts outside the input."),
            Operand("start", "i32 i64", optional=True, doc="One value per dimension."),
            Operand("size", "i32 i64", optional=True, doc="One value per dimension."),
            Operand("stride", "i32 i64", optional=True, doc="One value per dimension."),
        ),
        attrs=(
            Attr("static_start", "array<i32>", optional=True, doc="In place of start."),
            Attr("static_size", "array<i32>", optional=True, doc="In place of size."),
            Attr("static_stride", "array<i32>", optional=True, doc="In place of stride."),
            Attr("mode", "enum:slice_mode", default="kDEFAULT", doc="What stands outside the input."),
        ),
        assembly=f"$input {_index_list('start')} `` {_index_list('size')} `` {_index_list('stride')} "
        "(`fill` `(` $fill^ `:` type($fill) `)`)? attr-dict `:` type($input) `to` type($result)",
        layer="addSlice",
        example=example(
            "%x: tensor<?x8xf32>",
            "%0 = tensorrt.slice %x[0, 0][2, 4][1, 2] : tensor<?x8xf32> to tensor<2x4xf32>",
            "%0 : tensor<2x4xf32>",
        ),
    ),
    OpDef(
        "tensorrt.broadcast",
        "Repeats unit dimensions and adds dimensions.",
        operands=(
            Operand("input", TENSOR),
            Operand("shape", "i32 i64", optional=True, doc="The result's shape, where it is dynamic."),
        ),
        attrs=(Attr("broadcast_dims", "array<i64>", doc="The result dimension of each input dimension."),),
        assembly="$input `broadcast_dims` `<` custom<StaticIndexI64Array>($broadcast_dims) `>` "
        "(`shape` `(` $shape^ `:` type($shape) `)`)? attr-dict `:` type($input) `to` type($result)",
        example=example(
            "%x: tensor<8xf32>",
            "%0 = tensorrt.broadcast %x broadcast_dims<1> : tensor<8xf32> to tensor<4x8xf32>",
            "%0 : tensor<4x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.concatenation",
        "Joins tensors along an axis.",
        operands=(Operand("inputs", ALL_TYPES, variadic=True, doc="Of one element type."),),
        attrs=(Attr("axis", "i32", doc="The axis."),),
        assembly=INS,
        layer="addConcatenation",
        example=example(
            "%x: tensor<2x3xf32>, %y: tensor<2x5xf32>",
            "%0 = tensorrt.concatenation {axis = 1 : i32} ins(%x, %y : tensor<2x3xf32>, tensor<2x5xf32>) "
            "-> tensor<2x8xf32>",
            "%0 : tensor<2x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.reverse_sequence",
        "Reverses the beginning of each sequence of a batch.",
        operands=(
            Operand("input", TENSOR),
            Operand("sequenceLens", "i32 i64", doc="How many elements of each sequence are reversed."),
        ),
        attrs=(
            Attr("batchAxis", "i64", default=1, doc="The batch dimension."),
            Attr("sequenceAxis", "i64", default=0, doc="The dimension that is reversed."),
        ),
        assembly=INS,
        layer="addReverseSequence",
        example=example(
            "%x: tensor<4x2xf32>, %l: tensor<2xi64>",
            "%0 = tensorrt.reverse_sequence ins(%x, %l : tensor<4x2xf32>, tensor<2xi64>) -> tensor<4x2xf32>",
            "%0 : tensor<4x2xf32>",
        ),
    ),
)
