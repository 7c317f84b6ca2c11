"""Quantization: to and from small types, with given or computed scales."""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand, ResultDef
from ...ir.verifier import reject
from ..scales import constant_scale, scale_problem
from .common import FLOATS, check_rank, example, front_axis, result_type

__all__ = ["OPS"]

_BLOCKED = frozenset({"i4", "f4E2M1FN", "f8E4M3FN"})


def _verify_quantization(op: Op, small: ir.RankedTensorType) -> None:
    """Rules that quantize and dequantize share; `small` is the type of the quantized side."""
    data, scale = op.type("input"), op.type("scale")
    target = result_type(op)
    if data.rank == 0:
        reject(op, f"input is {data}; it must have rank 1 or more")
    if not shapes.compatible(data.shape, target.shape):
        reject(op, f"input is {data} and result is {target}; their shapes must be equal")
    axis = op.attr("axis")
    value = op.operand("scale")
    array = None if value is None else constant_scale(value, {})
    problem = None if array is None else scale_problem(array, axis)
    if problem:
        reject(op, f"{problem}; it must be positive and finite")
    if scale.rank == 0:
        if axis is not None:
            reject(op, f"axis = {axis} needs a scale of rank 1; scale is {scale}, one for the whole tensor")
    elif scale.rank == 1 and (data.rank > 1 or axis is not None):
        _verify_per_channel(op, data, scale)
    elif scale.rank == data.rank:
        _verify_blocked(op, data, scale, small)
    else:
        reject(op, f"scale is {scale}; it must have rank 0, 1, or that of the input, {data}")


def _verify_per_channel(op: Op, data: ir.RankedTensorType, scale: ir.RankedTensorType) -> None:
    if op.attr("axis") is None:
        reject(op, f"scale is {scale}, one per channel: the attribute axis must name the dimension of {data}")
    axis = front_axis(op, data.rank)
    if not shapes.compatible(scale.shape, [data.shape[axis]]):
        reject(op, f"scale is {scale}; it must hold a value for each of dimension {axis} of {data}")


def _verify_blocked(
    op: Op, data: ir.RankedTensorType, scale: ir.RankedTensorType, small: ir.RankedTensorType
) -> None:
    if op.attr("axis") is not None:
        reject(op, f"axis = {op.attr('axis')} does not belong to a scale per block, {scale}")
    if shapes.element_name(small.element_type) not in _BLOCKED:
        reject(op, f"scale is {scale}, one per block; {small} is not of i4, f4E2M1FN or f8E4M3FN")
    shape = data.shape
    blocked = [
        i for i, (d, s) in enumerate(zip(shape, scale.shape, strict=True)) if not shapes.compatible([d], [s])
    ]
    if op.attr("blockShape") is not None:
        return
    if len(blocked) > 1 or any(i < data.rank - 2 for i in blocked):
        reject(op, f"scale is {scale}; only one of the last two dimensions of {data} may be cut into blocks")
    for i in blocked:
        if scale.shape[i] == 0 or shape[i] % scale.shape[i]:
            reject(
                op, f"scale is {scale}; dimension {i} of {data} does not divide into {scale.shape[i]} blocks"
            )


def _verify_quantize(op: Op) -> None:
    _verify_quantization(op, result_type(op))  # type: ignore[union-attr]


def _verify_dequantize(op: Op) -> None:
    _verify_quantization(op, op.type("input"))


def _infer_dynamic_quantize(op: Op) -> list[ir.Type]:
    kind, block = op.type("input"), op.attr("block_size")
    axis, context = front_axis(op, kind.rank), kind.context
    scales = kind.shape
    if scales[axis] != shapes.DYNAMIC:
        if block < 1 or scales[axis] % block:
            reject(op, f"block_size = {block} does not divide dimension {axis} of {kind}")
        scales[axis] //= block
    f8 = ir.Float8E4M3FNType.get(context)
    small, exponent = (
        (f8, ir.Float8E8M0FNUType.get(context)) if block == 32 else (ir.Float4E2M1FNType.get(context), f8)
    )
    return [shapes.tensor(kind.shape, small), shapes.tensor(scales, exponent)]


def _verify_dynamic_quantize(op: Op) -> None:
    kind, axis = op.type("input"), op.attr("axis")
    check_rank(op, "double_quant_scale", 0)
    check_rank(op, "input", 2, 3)
    if front_axis(op, kind.rank) < kind.rank - 2:
        reject(op, f"axis = {axis} must be one of the last two dimensions of {kind}")
    if op.attr("block_size") not in (16, 32):
        reject(op, f"block_size = {op.attr('block_size')} must be 16 (f4) or 32 (f8)")


_SMALL = "i8 f8E4M3FN i4 f4E2M1FN"
_SYNTAX = (
    "attr-dict `in` `(` $input `:` type($input) `)` `scale` `(` $scale `:` type($scale) `)` `->` type($result)"
)
_ATTRS = (
    Attr("axis", "i32", optional=True, doc="The dimension with a scale of its own for each position."),
    Attr("blockShape", "array<i64>", optional=True, doc="Elements that share a scale, per dimension."),
)

OPS = (
    OpDef(
        "tensorrt.quantize",
        "round(input / scale), clamped: per tensor, per channel or in blocks.",
        operands=(
            Operand("input", FLOATS, doc="Rank 1 or more."),
            Operand("scale", f"{FLOATS} f8E4M3FN f8E8M0FNU", doc="Rank 0, 1, or the input's."),
        ),
        attrs=_ATTRS,
        results=(ResultDef("result", _SMALL),),
        assembly=_SYNTAX,
        verify=_verify_quantize,
        layer="addQuantize",
        example=example(
            "%x: tensor<2x8xf32>, %s: tensor<8xf32>",
            "%0 = tensorrt.quantize {axis = 1 : i32} in(%x : tensor<2x8xf32>) scale(%s : tensor<8xf32>) "
            "-> tensor<2x8xi8>",
            "%0 : tensor<2x8xi8>",
        ),
    ),
    OpDef(
        "tensorrt.dequantize",
        "input * scale: per tensor, per channel or in blocks.",
        operands=(
            Operand("input", _SMALL, doc="Rank 1 or more."),
            Operand("scale", f"{FLOATS} f8E4M3FN f8E8M0FNU", doc="Rank 0, 1, or the input's."),
        ),
        attrs=_ATTRS,
        results=(ResultDef("result", FLOATS),),
        assembly=_SYNTAX,
        verify=_verify_dequantize,
        layer="addDequantize",
        example=example(
            "%x: tensor<2x8xi8>, %s: tensor<f32>",
            "%0 = tensorrt.dequantize in(%x : tensor<2x8xi8>) scale(%s : tensor<f32>) -> tensor<2x8xf32>",
            "%0 : tensor<2x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.dynamic_quantize",
        "Quantizes in blocks, and gives the scales that it computed.",
        operands=(
            Operand("input", FLOATS, doc="Rank 2 or 3."),
            Operand("double_quant_scale", FLOATS, doc="Rank 0; scales the scales."),
        ),
        attrs=(
            Attr("axis", "i32", doc="The dimension that is cut into blocks; one of the last two."),
            Attr("block_size", "i32", default=16, doc="Elements per block: 16 for f4, 32 for f8."),
        ),
        results=(ResultDef("result", "f4E2M1FN f8E4M3FN"), ResultDef("scales", "f8E4M3FN f8E8M0FNU")),
        assembly="attr-dict `in` `(` $input `:` type($input) `)` "
        "`double_quant_scale` `(` $double_quant_scale `:` type($double_quant_scale) `)` `->` type(results)",
        infer=_infer_dynamic_quantize,
        verify=_verify_dynamic_quantize,
        layer="addDynamicQuantize",
        example=example(
            "%x: tensor<2x32xf32>, %s: tensor<f32>",
            "%q, %c = tensorrt.dynamic_quantize {axis = 1 : i32} in(%x : tensor<2x32xf32>) "
            "double_quant_scale(%s : tensor<f32>) -> tensor<2x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>",
            "%q, %c : tensor<2x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>",
        ),
    ),
)
