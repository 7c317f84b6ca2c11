"""Resizing of images and volumes."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand
from .common import example

__all__ = ["OPS"]


def _resize(kind: str, summary: str, types: str, extra: tuple[Attr, ...], sample: str) -> OpDef:
    return OpDef(
        f"tensorrt.resize_{kind}",
        summary,
        operands=(
            Operand("input", types),
            Operand(
                "output_shape", "i32 i64", optional=True, doc="The result's shape, where scales is absent."
            ),
        ),
        attrs=(
            Attr("scales", "array<f32>", optional=True, doc="One factor per dimension."),
            Attr(
                "coordinateTransformation",
                "enum:resize_coordinate_transformation",
                doc="How a result position maps to the input.",
            ),
            Attr(
                "selectorForSinglePixel", "enum:resize_selector", doc="Which pixel a result of length 1 takes."
            ),
            *extra,
        ),
        assembly="attr-dict $input (`,` $output_shape^)? `:` functional-type(operands, results)",
        layer="addResize",
        example=example(
            "%x: tensor<1x3x4x4xf32>",
            f"%0 = tensorrt.resize_{kind} {{coordinateTransformation = "
            f"#tensorrt.resize_coordinate_transformation<kHALF_PIXEL>, {sample}scales = array<f32: 1.0, 1.0, 2.0, 2.0>, "
            "selectorForSinglePixel = #tensorrt.resize_selector<kFORMULA>} %x : (tensor<1x3x4x4xf32>) "
            "-> tensor<1x3x8x8xf32>",
            "%0 : tensor<1x3x8x8xf32>",
        ),
    )


_EXCLUDE = Attr("excludeOutside", "i1", default=False, doc="Whether weights outside the input are dropped.")

OPS = (
    _resize(
        "nearest",
        "Resizes by the nearest element, over at most the three innermost dimensions.",
        "i8 f16 bf16 f32",
        (Attr("nearestRounding", "enum:resize_round_mode", doc="How a position is rounded."),),
        "nearestRounding = #tensorrt.resize_round_mode<kFLOOR>, ",
    ),
    _resize(
        "linear",
        "Resizes by linear interpolation, over at most the three innermost dimensions.",
        "i8 f16 bf16 f32",
        (_EXCLUDE,),
        "",
    ),
    _resize(
        "cubic",
        "Resizes by cubic interpolation, over the two innermost dimensions.",
        "i8 f16 bf16 f32",
        (Attr("cubicCoeff", "f32", doc="The cubic's coefficient; -0.75 is usual."), _EXCLUDE),
        "cubicCoeff = -7.5e-01 : f32, ",
    ),
)
