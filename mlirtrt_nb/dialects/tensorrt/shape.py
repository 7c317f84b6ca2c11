"""Ops that change a tensor's shape and keep its elements, and the op that reads a shape."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand, ResultDef
from .common import ALL_TYPES, INS, example

__all__ = ["OPS"]

_TO = "attr-dict $input `:` type($input) `to` type($result)"


def _rank(mnemonic: str, summary: str, before: str, after: str) -> OpDef:
    return OpDef(
        f"tensorrt.{mnemonic}",
        summary,
        operands=(Operand("input", ALL_TYPES),),
        assembly=_TO,
        example=example(
            f"%x: tensor<{before}>",
            f"%0 = tensorrt.{mnemonic} %x : tensor<{before}> to tensor<{after}>",
            f"%0 : tensor<{after}>",
        ),
    )


def _squeeze(mnemonic: str, summary: str, doc: str, layer: str, before: str, after: str) -> OpDef:
    return OpDef(
        f"tensorrt.{mnemonic}",
        summary,
        operands=(Operand("input", ALL_TYPES),),
        attrs=(Attr("axes", "array<i64>", doc=doc),),
        assembly=_TO,
        layer=layer,
        example=example(
            f"%x: tensor<{before}>",
            f"%0 = tensorrt.{mnemonic} {{axes = array<i64: 0, -1>}} %x : tensor<{before}> to tensor<{after}>",
            f"%0 : tensor<{after}>",
        ),
    )


OPS = (
    OpDef(
        "tensorrt.shuffle",
        "Transpose, reshape, transpose.",
        operands=(
            Operand("input", ALL_TYPES),
            Operand(
                "dynamic_reshape",
                "i32 i64",
                optional=True,
                doc="The shape in between; one value per dimension.",
            ),
        ),
        attrs=(
            Attr("first_transpose", "array<i64>", doc="A permutation of the input's dimensions."),
            Attr("reshape", "array<i64>", optional=True, doc="The shape in between; at most one -1."),
            Attr("second_transpose", "array<i64>", doc="A permutation of the reshaped dimensions."),
            Attr("zero_is_placeholder", "i1", default=True, doc="Whether 0 copies the input's dimension."),
        ),
        assembly=INS,
        layer="addShuffle",
        example=example(
            "%x: tensor<2x3x4xf32>",
            "%0 = tensorrt.shuffle {first_transpose = array<i64: 1, 0, 2>, reshape = array<i64: 3, 8>, "
            "second_transpose = array<i64: 1, 0>} ins(%x : tensor<2x3x4xf32>) -> tensor<8x3xf32>",
            "%0 : tensor<8x3xf32>",
        ),
    ),
    OpDef(
        "tensorrt.transpose",
        "Permutes the dimensions.",
        operands=(Operand("input", ALL_TYPES),),
        attrs=(Attr("permutation", "affine_map", doc="Result dimension i is input dimension permutation(i)."),),
        assembly=_TO,
        example=example(
            "%x: tensor<2x3xf32>",
            "%0 = tensorrt.transpose {permutation = affine_map<(d0, d1) -> (d1, d0)>} %x : tensor<2x3xf32> "
            "to tensor<3x2xf32>",
            "%0 : tensor<3x2xf32>",
        ),
    ),
    _rank("expand_rank", "Inserts dimensions of length 1.", "2x3xf32", "1x2x1x3xf32"),
    _rank("collapse_rank", "Drops dimensions of length 1.", "1x2x1x3xf32", "2x3xf32"),
    OpDef(
        "tensorrt.reshape",
        "Gives a tensor another shape of the same volume.",
        operands=(
            Operand("input", ALL_TYPES),
            Operand(
                "shape", "i32 i64", optional=True, doc="The shape, where more than one dimension is dynamic."
            ),
        ),
        assembly="$input (`shape` `(` $shape^ `` `:` type($shape) `)`)? attr-dict `:` type($input) `to` type($result)",
        example=example(
            "%x: tensor<2x3xf32>",
            "%0 = tensorrt.reshape %x : tensor<2x3xf32> to tensor<6xf32>",
            "%0 : tensor<6xf32>",
        ),
    ),
    _squeeze(
        "squeeze",
        "Drops the named dimensions of length 1.",
        "The input's dimensions to drop; negative counts from the end.",
        "addSqueeze",
        "1x2x3x1xf32",
        "2x3xf32",
    ),
    _squeeze(
        "unsqueeze",
        "Inserts dimensions of length 1 at named places.",
        "The result's dimensions to insert; negative counts from the end.",
        "addUnsqueeze",
        "2x3xf32",
        "1x2x3x1xf32",
    ),
    OpDef(
        "tensorrt.shape",
        "The shape of a tensor, as a tensor.",
        operands=(Operand("input", f"{ALL_TYPES} ui8 f4E2M1FN"),),
        results=(ResultDef("result", "i32 i64"),),
        assembly="attr-dict $input `:` type($input) `->` type($result)",
        layer="addShape",
        example=example(
            "%x: tensor<?x3xf32>",
            "%0 = tensorrt.shape %x : tensor<?x3xf32> -> tensor<2xi32>",
            "%0 : tensor<2xi32>",
        ),
    ),
)
