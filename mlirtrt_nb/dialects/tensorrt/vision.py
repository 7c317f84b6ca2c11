"""Layers of vision models: non-maximum suppression and grid sampling."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand, ResultDef
from .common import FLOATS, INS, example

__all__ = ["OPS"]

OPS = (
    OpDef(
        "tensorrt.nms",
        "Non-maximum suppression. A row of selectedIndices is (batch, class, box).",
        operands=(
            Operand("boxes", "f16 f32", doc="B x N x 4, or B x N x classes x 4."),
            Operand("scores", "f16 f32", doc="B x N x classes."),
            Operand("maxOutputBoxesPerClass", "i32", doc="Rank 0."),
            Operand("iouThreshold", "f32", optional=True, doc="Rank 0; 0 where absent."),
            Operand("scoreThreshold", "f32", optional=True, doc="Rank 0; 0 where absent."),
        ),
        attrs=(
            Attr(
                "boundingBoxFormat",
                "enum:bounding_box_format",
                default="kCORNER_PAIRS",
                doc="What a box's values are.",
            ),
            Attr(
                "topKBoxLimit", "i64", optional=True, doc="Boxes considered per batch item; 5000 where absent."
            ),
        ),
        results=(ResultDef("selectedIndices", "i32 i64"), ResultDef("numOutputBoxes", "i32")),
        assembly="attr-dict `ins` `(` $boxes `,` $scores `,` $maxOutputBoxesPerClass `:` type($boxes) `,` "
        "type($scores) `,` type($maxOutputBoxesPerClass) `)` "
        "(`iou` `(` $iouThreshold^ `:` type($iouThreshold) `)`)? "
        "(`score` `(` $scoreThreshold^ `:` type($scoreThreshold) `)`)? `->` type(results)",
        layer="addNMS",
        example=example(
            "%b: tensor<1x10x4xf32>, %s: tensor<1x10x3xf32>, %m: tensor<i32>",
            "%i, %n = tensorrt.nms ins(%b, %s, %m : tensor<1x10x4xf32>, tensor<1x10x3xf32>, tensor<i32>) "
            "-> tensor<?x3xi32>, tensor<i32>",
            "%i, %n : tensor<?x3xi32>, tensor<i32>",
        ),
    ),
    OpDef(
        "tensorrt.grid_sample",
        "Samples an image or volume at positions from -1 to 1.",
        operands=(
            Operand("input", FLOATS, doc="N x C x two or three spatial dimensions."),
            Operand("grid", FLOATS, doc="N x the result's spatial dimensions x one coordinate per dimension."),
        ),
        attrs=(
            Attr(
                "interpolationMode", "enum:resize_mode", default="kLINEAR", doc="How values are interpolated."
            ),
            Attr(
                "alignCorners", "i1", default=False, doc="Whether -1 and 1 are centres of the corner elements."
            ),
            Attr("sampleMode", "enum:slice_mode", default="kFILL", doc="What stands outside the input."),
        ),
        assembly=INS,
        layer="addGridSample",
        example=example(
            "%x: tensor<1x3x8x8xf32>, %g: tensor<1x4x4x2xf32>",
            "%0 = tensorrt.grid_sample ins(%x, %g : tensor<1x3x8x8xf32>, tensor<1x4x4x2xf32>) -> tensor<1x3x4x4xf32>",
            "%0 : tensor<1x3x4x4xf32>",
        ),
    ),
)
