"""Convolution, deconvolution, pooling and padding."""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from ....ir.builder import Op
from ..scope import Scope
from .registry import encodes, member


def _weights(s: Scope, op: Op, operand: str, static: str) -> tuple[Any, Any, ir.RankedTensorType | None]:
    """A kernel or bias: (weights, None, type) where its values are known, else (empty, tensor, type).

    Constant operands go in as weights, as NVIDIA's own importer does it: they then fuse into the layer.
    """
    attribute = op.raw(static)
    value = op.operand(operand)
    if attribute is None:
        attribute = s.constant(value)
    if attribute is not None:
        kind = ir.RankedTensorType(attribute.type)  # type: ignore[attr-defined]
        return s.bank.weights(attribute), None, kind
    if value is None:
        return s.trt.Weights(), None, None
    kind = ir.RankedTensorType(value.type)
    return s.trt.Weights(s.dtype(kind.element_type)), s.tensor(value), kind


def _convolve(s: Scope, op: Op, add: Any, names: tuple[str, str, str, str], transposed: bool) -> Any:
    kernel, kernel_tensor, kind = _weights(s, op, names[0], names[1])
    bias, bias_tensor, _ = _weights(s, op, names[2], names[3])
    assert kind is not None
    shape = kind.shape
    groups = op.attr("num_groups") or 1
    maps = shape[1] * groups if transposed else shape[0]
    layer = s.made(add(s.input(op, "input"), maps, tuple(shape[2:]), kernel, bias))
    layer.stride_nd = tuple(op.attr("stride"))
    layer.pre_padding = tuple(op.attr("pre_padding"))
    layer.post_padding = tuple(op.attr("post_padding"))
    layer.num_groups = groups
    if op.attr("dilation") is not None:
        layer.dilation_nd = tuple(op.attr("dilation"))
    if op.attr("padding_mode") is not None:
        layer.padding_mode = member(s.trt.PaddingMode, op.attr("padding_mode"))
    for index, tensor in ((1, kernel_tensor), (2, bias_tensor)):
        if tensor is not None:
            layer.set_input(index, tensor)
    return layer.get_output(0)


@encodes("convolution")
def convolution(s: Scope, op: Op) -> Any:
    names = ("kernel", "kernelStatic", "bias", "biasStatic")
    return _convolve(s, op, s.net.add_convolution_nd, names, transposed=False)


@encodes("deconvolution")
def deconvolution(s: Scope, op: Op) -> Any:
    names = ("kernelWeights", "kernelWeightsStatic", "biasWeights", "biasWeightsStatic")
    return _convolve(s, op, s.net.add_deconvolution_nd, names, transposed=True)


@encodes("pooling")
def pooling(s: Scope, op: Op) -> Any:
    kind = member(s.trt.PoolingType, op.attr("poolingType"))
    layer = s.made(s.net.add_pooling_nd(s.input(op, "input"), kind, tuple(op.attr("windowSize"))))
    layer.stride_nd = tuple(op.attr("stride"))
    layer.pre_padding = tuple(op.attr("prePadding"))
    layer.post_padding = tuple(op.attr("postPadding"))
    if op.attr("blendFactor") is not None:
        layer.blend_factor = op.attr("blendFactor")
    if op.attr("averageCountExcludesPadding") is not None:
        layer.average_count_excludes_padding = bool(op.attr("averageCountExcludesPadding"))
    if op.attr("paddingMode") is not None:
        layer.padding_mode = member(s.trt.PaddingMode, op.attr("paddingMode"))
    return layer.get_output(0)


@encodes("padding")
def padding(s: Scope, op: Op) -> Any:
    return s.out(
        s.net.add_padding_nd(s.input(op, "input"), tuple(op.attr("prePadding")), tuple(op.attr("postPadding")))
    )
