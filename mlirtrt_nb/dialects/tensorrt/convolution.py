"""Convolution, deconvolution, pooling and padding."""

from __future__ import annotations

from ...ir.opdef import Attr, OpDef, Operand
from .common import FLOATS, INS, example

__all__ = ["OPS"]

_WINDOW = (
    Attr("stride", "array<i64>", doc="One value per spatial dimension."),
    Attr("pre_padding", "array<i64>", doc="One value per spatial dimension."),
    Attr("post_padding", "array<i64>", doc="One value per spatial dimension."),
    Attr("num_groups", "ui32", default=1, doc="Groups of channels that do not mix."),
    Attr("dilation", "array<i64>", optional=True, doc="1 where absent."),
    Attr("padding_mode", "enum:padding_mode", optional=True, doc="kEXPLICIT_ROUND_DOWN where absent."),
)


def _convolution(mnemonic: str, summary: str, types: str, suffix: str, layer: str, sample: str) -> OpDef:
    """convolution and deconvolution; the latter's weights are named `kernelWeights` and `biasWeights`."""
    kernel, bias = f"kernel{suffix}", f"bias{suffix}"
    return OpDef(
        f"tensorrt.{mnemonic}",
        summary,
        operands=(
            Operand("input", types, doc="N x C x two or three spatial dimensions."),
            Operand(kernel, f"{types} i8 f8E4M3FN", optional=True, doc="Where the weights are not constant."),
            Operand(bias, types, optional=True, doc="Rank 1, one value per output channel."),
        ),
        attrs=(
            Attr(f"{kernel}Static", "elements", optional=True, doc="Constant weights."),
            Attr(f"{bias}Static", "elements", optional=True, doc="Constant bias."),
            *_WINDOW,
        ),
        assembly="attr-dict `in` `(` $input `:` type($input) `)` "
        f"(`{kernel}` `(` ${kernel}^ `:` type(${kernel}) `)`)? "
        f"(`{bias}` `(` ${bias}^ `:` type(${bias}) `)`)? `->` type($result)",
        layer=layer,
        example=sample,
    )


_SQUARE = "post_padding = array<i64: 1, 1>, pre_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>"

OPS = (
    _convolution(
        "convolution",
        "Convolution over two or three spatial dimensions. Weights are M x C/groups x window.",
        FLOATS,
        "",
        "addConvolutionNd",
        example(
            "%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>",
            f"%0 = tensorrt.convolution {{{_SQUARE}}} in(%x : tensor<1x3x8x8xf32>) kernel(%w : tensor<4x3x3x3xf32>) "
            "-> tensor<1x4x8x8xf32>",
            "%0 : tensor<1x4x8x8xf32>",
        ),
    ),
    _convolution(
        "deconvolution",
        "Transposed convolution over two or three spatial dimensions. Weights are C x M/groups x window.",
        "i8 f16 bf16 f32",
        "Weights",
        "addDeconvolutionNd",
        example(
            "%x: tensor<1x4x8x8xf32>",
            f"%0 = tensorrt.deconvolution {{kernelWeightsStatic = dense<1.0> : tensor<4x3x3x3xf32>, {_SQUARE}}} "
            "in(%x : tensor<1x4x8x8xf32>) -> tensor<1x3x8x8xf32>",
            "%0 : tensor<1x3x8x8xf32>",
        ),
    ),
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
        layer="addPoolingNd",
        example=example(
            "%x: tensor<1x3x8x8xf32>",
            "%0 = tensorrt.pooling {poolingType = #tensorrt.pooling_type<kMAX>, postPadding = array<i64: 0, 0>, "
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
        layer="addPaddingNd",
        example=example(
            "%x: tensor<1x3x8x8xf32>",
            "%0 = tensorrt.padding {postPadding = array<i64: 1, 1>, prePadding = array<i64: 0, -1>} "
            "ins(%x : tensor<1x3x8x8xf32>) -> tensor<1x3x9x8xf32>",
            "%0 : tensor<1x3x9x8xf32>",
        ),
    ),
)
