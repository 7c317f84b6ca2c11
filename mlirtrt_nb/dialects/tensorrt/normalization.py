"""Normalizations: softmax and its ragged form, layer, group, instance and batch norm, local response."""

from __future__ import annotations

import numpy as np

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand
from ...ir.verifier import reject
from .common import FLOATS, INS, SAME, check_axes, check_rank, check_same_element, example, front_axis, same_as

__all__ = ["OPS"]


def _verify_softmax(op: Op) -> None:
    front_axis(op, op.type("input").rank)


def _verify_ragged_softmax(op: Op) -> None:
    check_rank(op, "input", 3)
    check_rank(op, "bounds", 3)
    data, bounds = op.type("input"), op.type("bounds")
    if not shapes.compatible(bounds.shape, [*data.shape[:2], 1]):
        reject(
            op,
            f"bounds is {bounds}; it must be {shapes.text([*data.shape[:2], 1])}, one length per row of {data}",
        )


def _verify_normalization(op: Op) -> None:
    data, scale, bias = op.type("input"), op.type("scale"), op.type("bias")
    check_same_element(op, "input", "scale")
    check_same_element(op, "input", "bias")
    if not data.rank == scale.rank == bias.rank:
        reject(op, f"input {data}, scale {scale} and bias {bias} must have one rank")
    if not shapes.compatible(scale.shape, bias.shape):
        reject(op, f"scale is {scale} and bias is {bias}; their shapes must be equal")
    if not _within(scale.shape, data.shape, _groups(op)):
        reject(op, f"scale is {scale}; it must broadcast to the input, {data}")
    check_axes(op, "axis", data.rank)
    _verify_normalization_form(op)


def _groups(op: Op) -> int:
    groups = op.attr("num_groups")
    return 1 if groups is None else groups


def _within(small: list[int], large: list[int], groups: int) -> bool:
    """Whether each dimension of `small` is 1, or that of `large`; `groups` may stand for channels."""
    return all(
        a in (1, b) or shapes.DYNAMIC in (a, b) or (i == 1 and a == groups)
        for i, (a, b) in enumerate(zip(small, large, strict=True))
    )


def _verify_normalization_form(op: Op) -> None:
    """Group, instance and batch norm have fixed axes; which one it is shows in num_groups and the scale."""
    data, scale, axis, groups = op.type("input"), op.type("scale"), op.attr("axis"), _groups(op)
    inner = list(range(2, data.rank))
    per_channel = data.rank >= 2 and all(d == 1 for i, d in enumerate(scale.shape) if i != 1)
    if groups < 1:
        reject(op, f"num_groups = {groups} must be 1 or more")
    if groups > 1:
        channels = data.shape[1] if data.rank >= 2 else 0
        if channels != shapes.DYNAMIC and (channels == 0 or channels % groups):
            reject(op, f"num_groups = {groups} does not divide the channels of input, {data}")
        if axis != inner:
            reject(op, f"axis = {axis} must be {inner} where num_groups is {groups}, for {data}")
        if not per_channel:
            reject(
                op, f"scale is {scale}; with num_groups it has one value per group or channel, in dimension 1"
            )
    elif axis == [0] and data.rank > 1:
        if not per_channel:
            reject(
                op, f"scale is {scale}; with axis [0], batch norm, it has one value per channel, in dimension 1"
            )
    elif len(axis) > 1 and per_channel and scale.shape[1] != 1 and axis != inner:
        reject(op, f"axis = {axis} must be {inner} where the scale, {scale}, has one value per channel")


def _verify_lrn(op: Op) -> None:
    kind, window = op.type("input"), op.attr("windowSize")
    if kind.rank < 3:
        reject(op, f"input is {kind}; it must have rank 3 or more")
    if window % 2 == 0 or not 1 <= window <= 15:
        reject(op, f"windowSize = {window} must be odd, from 1 to 15")
    for name, low, high in (("alpha", -1e20, 1e20), ("beta", 0.01, 1e5), ("k", 1e-5, 1e10)):
        # Compared as f32, as which the bounds themselves are stored.
        if not _f32(low) <= op.attr(name) <= _f32(high):
            reject(op, f"{name} = {op.attr(name)} must be from {low} to {high}")


def _f32(value: float) -> float:
    return float(np.float32(value))


OPS = (
    OpDef(
        "tensorrt.softmax",
        "Softmax along an axis.",
        operands=(Operand("input", FLOATS),),
        attrs=(Attr("axis", "i64", doc="The axis."),),
        assembly=SAME,
        infer=same_as("input"),
        verify=_verify_softmax,
        layer="addSoftMax",
        example=example(
            "%x: tensor<2x8xf32>",
            "%0 = tensorrt.softmax {axis = 1 : i64} %x : tensor<2x8xf32>",
            "%0 : tensor<2x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.ragged_softmax",
        "Softmax along the last axis of sequences of different lengths.",
        operands=(
            Operand("input", "f16 f32", doc="Rank 3."),
            Operand("bounds", "i32", doc="Rank 3, last dimension 1: the length of each sequence."),
        ),
        assembly=INS,
        infer=same_as("input"),
        verify=_verify_ragged_softmax,
        layer="addRaggedSoftMax",
        example=example(
            "%x: tensor<1x2x8xf32>, %b: tensor<1x2x1xi32>",
            "%0 = tensorrt.ragged_softmax ins(%x, %b : tensor<1x2x8xf32>, tensor<1x2x1xi32>) -> "
            "tensor<1x2x8xf32>",
            "%0 : tensor<1x2x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.normalization",
        "(input - mean) / sqrt(variance + eps) * scale + bias, mean and variance taken over some axes.",
        operands=(
            Operand("input", FLOATS),
            Operand("scale", FLOATS, doc="Of the input's rank; broadcast to it."),
            Operand("bias", FLOATS, doc="Of the scale's shape."),
        ),
        attrs=(
            Attr("axis", "array<i64>", doc="Strictly increasing, not negative."),
            Attr("eps", "f32", optional=True, doc="1e-5 where absent."),
            Attr("num_groups", "i32", optional=True, doc="Channel groups; 1 where absent."),
        ),
        assembly="attr-dict `(` $input `:` type($input) `,` $scale `:` type($scale) `,` $bias `:` "
        "type($bias) `)` "
        "`->` type($result)",
        infer=same_as("input"),
        verify=_verify_normalization,
        layer="addNormalizationV2",
        example=example(
            "%x: tensor<2x4x8xf32>, %s: tensor<1x1x8xf32>, %b: tensor<1x1x8xf32>",
            "%0 = tensorrt.normalization {axis = array<i64: 2>, eps = 1.0e-05 : f32} (%x : tensor<2x4x8xf32>, "
            "%s : tensor<1x1x8xf32>, %b : tensor<1x1x8xf32>) -> tensor<2x4x8xf32>",
            "%0 : tensor<2x4x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.lrn",
        "Local response normalization across channels.",
        operands=(Operand("input", FLOATS),),
        attrs=(
            Attr("windowSize", "i64", doc="Odd, 1 to 15."),
            Attr("alpha", "f32", doc="-1e20 to 1e20."),
            Attr("beta", "f32", doc="0.01 to 1e5."),
            Attr("k", "f32", doc="1e-5 to 1e10."),
        ),
        assembly=SAME,
        infer=same_as("input"),
        verify=_verify_lrn,
        layer="addLRN",
        example=example(
            "%x: tensor<1x8x4x4xf32>",
            "%0 = tensorrt.lrn {alpha = 1.0e-04 : f32, beta = 0.75 : f32, k = 1.0 : f32, windowSize = 5 : i64} "
            "%x : tensor<1x8x4x4xf32>",
            "%0 : tensor<1x8x4x4xf32>",
        ),
    ),
)
