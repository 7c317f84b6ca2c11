"""Layers of vision models: non-maximum suppression and grid sampling."""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand, ResultDef
from ...ir.verifier import reject
from .common import FLOATS, INS, check_rank, check_same_element, example

__all__ = ["OPS"]

_MOST_BOXES = 5000


def _infer_nms(op: Op) -> list[ir.Type]:
    index = ir.IntegerType.get_signless(32, op.type("boxes").context)
    return [shapes.tensor([shapes.DYNAMIC, 3], index), shapes.tensor([], index)]


def _verify_nms(op: Op) -> None:
    boxes, scores = op.type("boxes"), op.type("scores")
    check_same_element(op, "boxes", "scores")
    check_rank(op, "boxes", 3, 4)
    check_rank(op, "scores", 3)
    for name in ("maxOutputBoxesPerClass", "iouThreshold", "scoreThreshold"):
        check_rank(op, name, 0)
    wanted = [*scores.shape[: boxes.rank - 1], 4]
    if not shapes.compatible(boxes.shape, wanted):
        reject(op, f"boxes is {boxes}; for scores {scores} it must be {shapes.text(wanted)}")
    limit = op.attr("topKBoxLimit")
    if limit is not None and not 0 < limit <= _MOST_BOXES:
        reject(op, f"topKBoxLimit = {limit} must be from 1 to {_MOST_BOXES}")


def _infer_grid_sample(op: Op) -> list[ir.Type]:
    data, grid = op.type("input"), op.type("grid")
    if data.rank not in (4, 5) or grid.rank != data.rank:
        reject(op, f"input is {data} and grid is {grid}; both must have rank 4, or both 5")
    batch = shapes.broadcast(data.shape[:1], grid.shape[:1])
    if batch is None or not shapes.compatible(grid.shape[-1:], [data.rank - 2]):
        reject(op, f"grid is {grid}; it needs the input's batch and {data.rank - 2} coordinates, for {data}")
    return [shapes.tensor([*batch, data.shape[1], *grid.shape[1:-1]], data.element_type)]


def _verify_grid_sample(op: Op) -> None:
    check_same_element(op, "input", "grid")
    if op.attr("sampleMode") not in ("kCLAMP", "kFILL", "kREFLECT"):
        reject(op, f"sampleMode = {op.attr('sampleMode')} must be kCLAMP, kFILL or kREFLECT")


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
        infer=_infer_nms,
        verify=_verify_nms,
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
        infer=_infer_grid_sample,
        verify=_verify_grid_sample,
        layer="addGridSample",
        example=example(
            "%x: tensor<1x3x8x8xf32>, %g: tensor<1x4x4x2xf32>",
            "%0 = tensorrt.grid_sample ins(%x, %g : tensor<1x3x8x8xf32>, tensor<1x4x4x2xf32>) -> "
            "tensor<1x3x4x4xf32>",
            "%0 : tensor<1x3x4x4xf32>",
        ),
    ),
)
