"""Resizing of images and volumes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand
from ...ir.verifier import reject
from .common import check_shape_tensor, example, result_type

__all__ = ["OPS"]


def _infer(op: Op) -> list[ir.Type]:
    kind, scales = op.type("input"), op.attr("scales")
    shape = [shapes.DYNAMIC] * kind.rank
    if scales is not None and len(scales) == kind.rank and op.operand("output_shape") is None:
        shape = [_scaled(d, s) for d, s in zip(kind.shape, scales, strict=True)]
    return [shapes.tensor(shape, kind.element_type)]


def _scaled(dim: int, scale: float) -> int:
    # In f32, as the factors are stored: 3 * f32(7/3) must give 7.
    return dim if dim == shapes.DYNAMIC else int(np.float32(dim) * np.float32(scale))


def _verifier(innermost: int, exactly: bool) -> Callable[[Op], None]:
    """The rules of a resize that changes at most, or exactly, the `innermost` dimensions."""

    def verify(op: Op) -> None:
        kind, scales = op.type("input"), op.attr("scales")
        target = result_type(op)
        check_shape_tensor(op, "output_shape", kind.rank)
        if target.rank != kind.rank or not shapes.same_element(kind, target):
            reject(op, f"result is {target}; it must have the rank and element type of the input, {kind}")
        if exactly and kind.rank < innermost:
            reject(op, f"input is {kind}; it must have rank {innermost} or more")
        outer = max(0, kind.rank - innermost)
        _verify_sizes(op, kind, scales, outer)
        if not shapes.compatible(kind.shape[:outer], target.shape[:outer]):
            reject(
                op,
                f"input is {kind} and result is {target}; only the {innermost} innermost dimensions may change",
            )

    return verify


def _verify_sizes(op: Op, kind: ir.RankedTensorType, scales: list[float] | None, outer: int) -> None:
    if scales is None:
        if op.operand("output_shape") is None and not shapes.is_static(kind.shape[outer:]):
            reject(op, f"input is {kind}; dynamic innermost dimensions need output_shape or scales")
        return
    if len(scales) != kind.rank:
        reject(op, f"scales = {scales} must have {kind.rank} values, one per dimension of {kind}")
    if any(s <= 0 for s in scales):
        reject(op, f"scales = {scales} must be positive")
    if any(s != 1 for s in scales[:outer]):
        reject(
            op, f"scales = {scales} must be 1 outside the innermost {kind.rank - outer} dimensions of {kind}"
        )


def _resize(
    kind: str, summary: str, verify: Callable[[Op], None], extra: tuple[Attr, ...], sample: str
) -> OpDef:
    return OpDef(
        f"tensorrt.resize_{kind}",
        summary,
        operands=(
            Operand("input", "i8 f16 bf16 f32"),
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
        infer=_infer,
        verify=verify,
        layer="addResize",
        example=example(
            "%x: tensor<1x3x4x4xf32>",
            f"%0 = tensorrt.resize_{kind} {{coordinateTransformation = "
            f"#tensorrt.resize_coordinate_transformation<kHALF_PIXEL>, {sample}scales = array<f32: 1.0, "
            f"1.0, 2.0, 2.0>, "
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
        _verifier(3, exactly=False),
        (Attr("nearestRounding", "enum:resize_round_mode", doc="How a position is rounded."),),
        "nearestRounding = #tensorrt.resize_round_mode<kFLOOR>, ",
    ),
    _resize(
        "linear",
        "Resizes by linear interpolation, over at most the three innermost dimensions.",
        _verifier(3, exactly=False),
        (_EXCLUDE,),
        "",
    ),
    _resize(
        "cubic",
        "Resizes by cubic interpolation, over the two innermost dimensions.",
        _verifier(2, exactly=True),
        (Attr("cubicCoeff", "f32", doc="The cubic's coefficient; -0.75 is usual."), _EXCLUDE),
        "cubicCoeff = -7.5e-01 : f32, ",
    ),
)
