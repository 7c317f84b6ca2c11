"""Reductions, sorting and scans along an axis."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand, ResultDef
from .common import INS_ONE, TENSOR, example

__all__ = ["OPS"]

_SORTABLE = "i32 i64 f16 bf16 f32"
_PAIR = (ResultDef("values", _SORTABLE), ResultDef("indices", "i32 i64"))


def _arg(which: str, word: str) -> OpDef:
    return OpDef(
        f"tensorrt.arg{which}",
        f"The {word} value along an axis and where it is; the axis stays, with length 1.",
        operands=(Operand("input", _SORTABLE),),
        attrs=(Attr("axis", "i64", doc="The axis."),),
        results=_PAIR,
        assembly=INS_ONE,
        example=example(
            "%x: tensor<2x8xf32>",
            f"%v, %i = tensorrt.arg{which} {{axis = 1 : i64}} %x : tensor<2x8xf32> -> tensor<2x1xf32>, tensor<2x1xi32>",
            "%v, %i : tensor<2x1xf32>, tensor<2x1xi32>",
        ),
    )


OPS = (
    OpDef(
        "tensorrt.reduce",
        "Reduces over some axes.",
        operands=(Operand("input", "i8 i32 i64 f16 bf16 f32"),),
        attrs=(
            Attr("reduceAxes", "array<i64>", doc="Strictly increasing, not negative."),
            Attr("keepDimensions", "i1", default=False, doc="Whether reduced axes stay, with length 1."),
            Attr("reduceOperation", "enum:reduce_operation", doc="How."),
        ),
        assembly="$reduceOperation $input attr-dict `:` type($input) `->` type($result)",
        layer="addReduce",
        example=example(
            "%x: tensor<2x8xf32>",
            "%0 = tensorrt.reduce <kSUM> %x {keepDimensions = true, reduceAxes = array<i64: 1>} : tensor<2x8xf32> "
            "-> tensor<2x1xf32>",
            "%0 : tensor<2x1xf32>",
        ),
    ),
    OpDef(
        "tensorrt.top_k",
        "The k largest or smallest values along an axis, sorted, and where they are.",
        operands=(
            Operand("input", _SORTABLE),
            Operand("dynamicK", "i32 i64", optional=True, doc="Rank 0; in place of the attribute k."),
        ),
        attrs=(
            Attr("k", "i64", optional=True, doc="How many; at most 3840."),
            Attr("axis", "i64", doc="The axis; one of the last four."),
            Attr("topkOperation", "enum:top_k_operation", doc="Which end."),
        ),
        results=_PAIR,
        assembly="$topkOperation attr-dict $input (`k` `(` $dynamicK^ `:` type($dynamicK) `)`)? "
        "`:` type($input) `->` type(results)",
        layer="addTopK",
        example=example(
            "%x: tensor<2x8xf32>",
            "%v, %i = tensorrt.top_k <kMAX> {axis = 1 : i64, k = 3 : i64} %x : tensor<2x8xf32> "
            "-> tensor<2x3xf32>, tensor<2x3xi32>",
            "%v, %i : tensor<2x3xf32>, tensor<2x3xi32>",
        ),
    ),
    _arg("min", "smallest"),
    _arg("max", "largest"),
    OpDef(
        "tensorrt.non_zero",
        "Where the elements are that are not zero: one row per dimension, one column per element.",
        operands=(Operand("input", TENSOR),),
        results=(ResultDef("result", "i32 i64"),),
        assembly="attr-dict $input `:` type($input) `->` type($result)",
        layer="addNonZero",
        example=example(
            "%x: tensor<2x8xf32>",
            "%0 = tensorrt.non_zero %x : tensor<2x8xf32> -> tensor<2x?xi32>",
            "%0 : tensor<2x?xi32>",
        ),
    ),
    OpDef(
        "tensorrt.cumulative",
        "Running sums along an axis.",
        operands=(Operand("input", _SORTABLE),),
        attrs=(
            Attr("cumulativeOperation", "enum:cumulative_operation", doc="How."),
            Attr("axis", "i64", doc="The axis."),
            Attr("exclusive", "i1", default=False, doc="Whether an element's own value is left out."),
            Attr("reverse", "i1", default=False, doc="Whether it runs from the end."),
        ),
        assembly="$cumulativeOperation $input attr-dict `:` type($input)",
        layer="addCumulative",
        example=example(
            "%x: tensor<2x8xf32>",
            "%0 = tensorrt.cumulative <kSUM> %x {axis = 1 : i64} : tensor<2x8xf32>",
            "%0 : tensor<2x8xf32>",
        ),
    ),
)
