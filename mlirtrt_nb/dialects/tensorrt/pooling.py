"""Pooling and padding."""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand
from ...ir.verifier import reject
from .common import INS, check_rank, example
from .windows import DEFAULT_PADDING, placed, spatial_lists

__all__ = ["OPS"]


def _infer_pooling(op: Op) -> list[ir.Type]:
    data = op.type("input")
    check_rank(op, "input", 4, 5)
    names = ("windowSize", "stride", "prePadding", "postPadding")
    window, stride, before, after = spatial_lists(op, data.rank - 2, *names)
    mode = op.attr("paddingMode") or DEFAULT_PADDING
    sizes = data.shape
    spatial = [
        shapes.windowed(sizes[i + 2], window[i], stride[i], before[i], after[i], 1, mode)
        for i in range(data.rank - 2)
    ]
    return [placed(op, sizes[:2], spatial)]


def _verify_pooling(op: Op) -> None:
    kind = op.attr("poolingType")
    if (op.raw("blendFactor") is not None) != (kind == "kMAX_AVERAGE_BLEND"):
        reject(
            op, f"blendFactor belongs to poolingType kMAX_AVERAGE_BLEND, and only to it; poolingType is {kind}"
        )
    if kind == "kMAX" and op.raw("averageCountExcludesPadding") is not None:
        reject(op, "averageCountExcludesPadding does not belong to poolingType kMAX")
    for name in ("windowSize", "stride"):
        if any(v < 1 for v in op.attr(name)):
            reject(op, f"{name} = {op.attr(name)} must be 1 or more")
    if any(v < 0 for name in ("prePadding", "postPadding") for v in op.attr(name)):
        reject(
            op,
            f"prePadding = {op.attr('prePadding')} and postPadding = {op.attr('postPadding')} must not be "
            "negative",
        )


def _infer_padding(op: Op) -> list[ir.Type]:
    data, before, after = op.type("input"), op.attr("prePadding"), op.attr("postPadding")
    if data.rank < 4:
        reject(op, f"input is {data}; it must have rank 4 or more")
    for name, values in (("prePadding", before), ("postPadding", after)):
        if len(values) != 2:
            reject(op, f"{name} = {values} must have two values")
    shape = data.shape
    for i in (0, 1):
        place = data.rank - 2 + i
        if shape[place] != shapes.DYNAMIC:
            shape[place] += before[i] + after[i]
    return [placed(op, shape[:-2], shape[-2:], least=0)]


OPS = (
    OpDef(
        "tensorrt.pooling",
        "The maximum or average of each window.",
        operands=(Operand("input", "i8 f16 bf16 f32", doc="Rank 4 or 5."),),
        attrs=(
            Attr("windowSize", "array<i64>", doc="One value per spatial dimension."),
            Attr("stride", "array<i64>", doc="One value per spatial dimension."),
            Attr("prePadding", "array<i64>", doc="One value per spatial dimension."),
            Attr("postPadding", "array<i64>", doc="One value per spatial dimension."),
            Attr("poolingType", "enum:pooling_type", doc="How."),
            Attr("blendFactor", "f32", optional=True, doc="The average's share in kMAX_AVERAGE_BLEND."),
            Attr("averageCountExcludesPadding", "i1", optional=True, doc="Not for kMAX; true where absent."),
            Attr("paddingMode", "enum:padding_mode", optional=True, doc="kEXPLICIT_ROUND_DOWN where absent."),
        ),
        assembly="attr-dict `ins` `(` $input `:` type($input) `)` `->` type($result)",
        infer=_infer_pooling,
        verify=_verify_pooling,
        layer="addPoolingNd",
        example=example(
            "%x: tensor<1x3x8x8xf32>",
            "%0 = tensorrt.pooling {poolingType = #tensorrt.pooling_type<kMAX>, postPadding = array<i64: 0, "
            "0>, "
            "prePadding = array<i64: 0, 0>, stride = array<i64: 2, 2>, windowSize = array<i64: 2, 2>} "
            "ins(%x : tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>",
            "%0 : tensor<1x3x4x4xf32>",
        ),
    ),
    OpDef(
        "tensorrt.padding",
        "Zero padding of the last two dimensions; negative amounts trim.",
        operands=(Operand("input", "i8 i32 f16 f32", doc="Rank 4 or more."),),
        attrs=(
            Attr("prePadding", "array<i64>", doc="Two values."),
            Attr("postPadding", "array<i64>", doc="Two values."),
        ),
        assembly=INS,
        infer=_infer_padding,
        layer="addPaddingNd",
        example=example(
            "%x: tensor<1x3x8x8xf32>",
            "%0 = tensorrt.padding {postPadding = array<i64: 1, 1>, prePadding = array<i64: 0, -1>} "
            "ins(%x : tensor<1x3x8x8xf32>) -> tensor<1x3x9x8xf32>",
            "%0 : tensor<1x3x9x8xf32>",
        ),
    ),
)
