"""convolution, deconvolution, pooling and padding."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch_mlir import ir

from ....dialects.onnx.ceil_windows import ceil_span
from ....ir.builder import Op
from ....ir.constants import handle_name, value_of
from ..scope import Constant, Scope
from .dims import dims_of, refuse
from .integer_kernels import integer_bias, is_rounded_again
from .quantization import dequantized_kernel
from .registry import emits

__all__: list[str] = []

_AUTO_PAD = {"kSAME_UPPER": "SAME_UPPER", "kSAME_LOWER": "SAME_LOWER"}


def _weights(op: Op, scope: Scope, name: str) -> str | None:
    """An operand, or the attribute that stands in its place."""
    attribute = op.raw(f"{name}Static")
    if attribute is not None:
        array = value_of(attribute, scope.writer.weights)  # type: ignore[arg-type]
        return scope.initializer(Constant(array, handle_name(attribute)))
    value = op.operand(name)
    return None if value is None else scope.tensor(value)


@emits("convolution")
def convolution(op: Op, scope: Scope) -> None:
    bias = integer_bias(op, scope, ("kernel", "bias")) or _weights(op, scope, "bias")
    source, value = op.operand("input"), op.operand("kernel")
    kernel = None if value is None else dequantized_kernel(value, source, scope)
    inputs = [scope.tensor(source), kernel or _weights(op, scope, "kernel"), bias]
    post = list(op.attr("post_padding"))
    if op.attr("padding_mode") == "kEXPLICIT_ROUND_UP":
        post = _rounded_up(op, post, _window(op, "kernel"))
    scope.set(op.operation.results[0], scope.op("Conv", inputs, **_common(op, post)))


@emits("deconvolution")
def deconvolution(op: Op, scope: Scope) -> None:
    names = ("kernelWeights", "biasWeights")
    inputs = [scope.tensor(op.operand("input")), *(_weights(op, scope, name) for name in names)]
    scope.set(
        op.operation.results[0], scope.op("ConvTranspose", inputs, **_common(op, list(op.attr("post_padding"))))
    )


def _common(op: Op, post: list[int]) -> dict[str, Any]:
    auto = _AUTO_PAD.get(op.attr("padding_mode"))
    dilation = op.attr("dilation")
    return {
        "strides": list(op.attr("stride")),
        "pads": None if auto else [*op.attr("pre_padding"), *post],
        "auto_pad": auto,
        "dilations": None if dilation is None else list(dilation),
        "group": int(op.attr("num_groups")),
    }


def _window(op: Op, name: str) -> list[int]:
    """The extent of a kernel, dilation included."""
    attribute = op.raw(f"{name}Static")
    kind = op.type(name) if attribute is None else ir.RankedTensorType(attribute.type)
    sizes = [kind.get_dim_size(n) for n in range(2, kind.rank)]
    dilation = op.attr("dilation") or [1] * len(sizes)
    return [(size - 1) * step + 1 for size, step in zip(sizes, dilation, strict=True)]


def _rounded_up(op: Op, post: list[int], window: list[int]) -> list[int]:
    """End padding with which a result that is rounded down has the length that was asked for, rounded up."""
    dims = dims_of(op.operand("input"))[2:]
    if -1 in dims:
        raise refuse("kEXPLICIT_ROUND_UP over a dynamic dimension has no ONNX form")
    rows = zip(dims, op.attr("pre_padding"), post, window, op.attr("stride"), strict=True)
    return [end + -(size + pre + end - extent) % stride for size, pre, end, extent, stride in rows]


@emits("pooling")
def pooling(op: Op, scope: Scope) -> None:
    name = scope.tensor(op.operand("input"))
    mode = op.attr("paddingMode")
    auto = _AUTO_PAD.get(mode)
    if mode == "kEXPLICIT_ROUND_UP":
        _check_last_windows(op)
    window: dict[str, Any] = {
        "kernel_shape": list(op.attr("windowSize")),
        "strides": list(op.attr("stride")),
        "pads": None if auto else [*op.attr("prePadding"), *op.attr("postPadding")],
        "auto_pad": auto,
        "ceil_mode": 1 if mode == "kEXPLICIT_ROUND_UP" else None,
    }
    excludes = op.attr("averageCountExcludesPadding")
    counted = 1 if excludes is False else None
    kind = op.attr("poolingType")
    if kind == "kMAX":
        made = scope.op("MaxPool", [name], **window)
        if _is_pooled_before_rounding(op.operand("input"), scope):
            # Else ONNX Runtime moves the rounding in front of the pooling again.
            made = scope.op("Max", [made, scope.like(-np.inf, made)])
    elif kind == "kAVERAGE":
        made = scope.op("AveragePool", [name], count_include_pad=counted, **window)
    else:
        made = _blend(scope, name, window, counted, op.attr("blendFactor"))
    scope.set(op.operation.results[0], made)


def _check_last_windows(op: Op) -> None:
    """Refuse a window that starts in the padding at the end: TensorRT counts it, ONNX does not."""
    names = ("prePadding", "postPadding", "windowSize", "stride")
    sizes = dims_of(op.operand("input"))[2:]
    for size, pre, post, extent, stride in zip(sizes, *map(op.attr, names), strict=True):
        known = size >= 0
        if ceil_span(size, pre, post, extent, stride) < size + pre + post if known else post + stride > extent:
            may = "starts" if known else "may start"
            raise refuse(f"a window of kEXPLICIT_ROUND_UP that {may} in the padding has no ONNX form")


def _is_pooled_before_rounding(value: ir.Value, scope: Scope) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "tensorrt.dequantize":
        return False
    return is_rounded_again(owner.operation.operands[0], scope)


def _blend(scope: Scope, name: str, window: dict[str, Any], counted: int | None, share: float) -> str:
    """(1 - share) * maximum + share * average."""
    largest = scope.op("MaxPool", [name], **window)
    average = scope.op("AveragePool", [name], count_include_pad=counted, **window)
    parts = [(largest, 1.0 - share), (average, share)]
    return scope.op("Add", [scope.op("Mul", [part, scope.like(factor, part)]) for part, factor in parts])


@emits("padding")
def padding(op: Op, scope: Scope) -> None:
    name = scope.tensor(op.operand("input"))
    before, after = list(op.attr("prePadding")), list(op.attr("postPadding"))
    axes = scope.literal([op.type("input").rank - 2, op.type("input").rank - 1])
    scope.set(op.operation.results[0], scope.op("Pad", [name, scope.literal(before + after), None, axes]))
