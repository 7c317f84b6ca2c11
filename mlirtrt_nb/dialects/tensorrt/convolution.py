"""Convolution and deconvolution."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand
from ...ir.verifier import reject
from .common import FLOATS, elements_type, example
from .windows import DEFAULT_PADDING, placed, spatial_lists

__all__ = ["OPS"]


def _weights(op: Op, name: str) -> ir.RankedTensorType | None:
    """The type of weights that are an operand or, under `<name>Static`, an attribute."""
    return op.type(name) if op.operand(name) is not None else elements_type(op, f"{name}Static")


def _needed_kernel(op: Op, name: str) -> ir.RankedTensorType:
    kernel, data = _weights(op, name), op.type("input")
    if kernel is None:
        reject(op, f"needs {name} or {name}Static")
    if data.rank not in (4, 5) or kernel.rank != data.rank:
        reject(op, f"input is {data} and {name} is {kernel}; both must have rank 4, or both 5")
    return kernel


def _infer_convolution(op: Op) -> list[ir.Type]:
    kernel = _needed_kernel(op, "kernel")
    data = op.type("input")
    stride, before, after, dilation = spatial_lists(
        op, data.rank - 2, "stride", "pre_padding", "post_padding", "dilation"
    )
    mode = op.attr("padding_mode") or DEFAULT_PADDING
    sizes, window = data.shape, kernel.shape
    spatial = [
        shapes.windowed(sizes[i + 2], window[i + 2], stride[i], before[i], after[i], dilation[i], mode)
        for i in range(data.rank - 2)
    ]
    return [placed(op, [sizes[0], window[0]], spatial)]


def _infer_deconvolution(op: Op) -> list[ir.Type]:
    kernel = _needed_kernel(op, "kernelWeights")
    data = op.type("input")
    stride, before, after, dilation = spatial_lists(
        op, data.rank - 2, "stride", "pre_padding", "post_padding", "dilation"
    )
    same = (op.attr("padding_mode") or DEFAULT_PADDING).startswith("kSAME")
    sizes, window = data.shape, kernel.shape
    spatial = []
    for i in range(data.rank - 2):
        size, extent = sizes[i + 2], window[i + 2]
        if shapes.DYNAMIC in (size, extent):
            spatial.append(shapes.DYNAMIC)
        elif same:
            spatial.append(size * stride[i])
        else:
            spatial.append((size - 1) * stride[i] - before[i] - after[i] + dilation[i] * (extent - 1) + 1)
    channels = window[1] if window[1] == shapes.DYNAMIC else window[1] * op.attr("num_groups")
    return [placed(op, [sizes[0], channels], spatial)]


def _verify_convolution(op: Op) -> None:
    _verify_weights(op, "kernel", "bias")
    kernel = _needed_kernel(op, "kernel")
    _verify_channels(op, kernel, inputs=kernel.shape[1], outputs=kernel.shape[0], bias="bias")


def _verify_deconvolution(op: Op) -> None:
    _verify_weights(op, "kernelWeights", "biasWeights")
    kernel = _needed_kernel(op, "kernelWeights")
    groups, (channels, maps) = op.attr("num_groups"), kernel.shape[:2]
    known = shapes.DYNAMIC not in (channels, maps)
    outputs = maps * groups if known else shapes.DYNAMIC
    inputs = channels // groups if known and groups and channels % groups == 0 else channels
    _verify_channels(op, kernel, inputs=inputs, outputs=outputs, bias="biasWeights")


def _verify_weights(op: Op, kernel: str, bias: str) -> None:
    for name in (kernel, bias):
        if op.operand(name) is not None and op.raw(f"{name}Static") is not None:
            reject(op, f"{name} is given both as an operand and as {name}Static")
    data, weights = op.type("input"), _needed_kernel(op, kernel)
    if op.raw(f"{kernel}Static") is not None and not shapes.same_element(data, weights):
        reject(op, f"{kernel}Static is {weights}; its element type must be that of input, {data}")
    for name in ("stride", "dilation"):
        if any(v < 1 for v in op.attr(name) or ()):
            reject(op, f"{name} = {op.attr(name)} must be 1 or more")
    if any(v < 0 for name in ("pre_padding", "post_padding") for v in op.attr(name)):
        reject(
            op,
            f"pre_padding = {op.attr('pre_padding')} and post_padding = {op.attr('post_padding')} must not be "
            "negative",
        )


def _verify_channels(op: Op, kernel: ir.RankedTensorType, *, inputs: int, outputs: int, bias: str) -> None:
    """`inputs` are the channels that one group reads, `outputs` the result's channels."""
    data, groups = op.type("input"), op.attr("num_groups")
    channels = data.shape[1]
    if groups < 1 or (outputs != shapes.DYNAMIC and outputs % groups):
        reject(op, f"num_groups = {groups} does not divide the {outputs} output channels of kernel {kernel}")
    if channels != shapes.DYNAMIC and inputs != shapes.DYNAMIC and channels != inputs * groups:
        reject(
            op,
            f"input {data} has {channels} channels; kernel {kernel} with num_groups = {groups} needs "
            f"{inputs * groups}",
        )
    kind = _weights(op, bias)
    if kind is None:
        return
    if kind.rank != 1 or not shapes.compatible(kind.shape, [outputs]):
        reject(op, f"{bias} is {kind}; it must have rank 1 and {outputs} values")
    if not shapes.same_element(kind, data):
        reject(op, f"{bias} is {kind}; its element type must be that of input, {data}")


_WINDOW = (
    Attr("stride", "array<i64>", doc="One value per spatial dimension."),
    Attr("pre_padding", "array<i64>", doc="One value per spatial dimension."),
    Attr("post_padding", "array<i64>", doc="One value per spatial dimension."),
    Attr("num_groups", "ui32", default=1, doc="Groups of channels that do not mix."),
    Attr("dilation", "array<i64>", optional=True, doc="1 where absent."),
    Attr("padding_mode", "enum:padding_mode", optional=True, doc="kEXPLICIT_ROUND_DOWN where absent."),
)


def _convolution(
    mnemonic: str,
    summary: str,
    types: str,
    suffix: str,
    layer: str,
    rules: tuple[Callable[[Op], list[ir.Type]], Callable[[Op], None]],
    sample: str,
) -> OpDef:
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
        infer=rules[0],
        verify=rules[1],
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
        (_infer_convolution, _verify_convolution),
        example(
            "%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>",
            f"%0 = tensorrt.convolution {{{_SQUARE}}} in(%x : tensor<1x3x8x8xf32>) kernel(%w : "
            f"tensor<4x3x3x3xf32>) "
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
        (_infer_deconvolution, _verify_deconvolution),
        example(
            "%x: tensor<1x4x8x8xf32>",
            f"%0 = tensorrt.deconvolution {{kernelWeightsStatic = dense<1.0> : tensor<4x3x3x3xf32>, "
            f"{_SQUARE}}} "
            "in(%x : tensor<1x4x8x8xf32>) -> tensor<1x3x8x8xf32>",
            "%0 : tensor<1x3x8x8xf32>",
        ),
    ),
)
