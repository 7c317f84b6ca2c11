"""Gathers and scatters."""

from __future__ import annotations

from torch_mlir import ir

from ...ir import shapes
from ...ir.builder import Op
from ...ir.opdef import Attr, OpDef, Operand
from ...ir.verifier import reject
from .common import INS, TENSOR, check_same_element, example, front_axis, same_as

__all__ = ["OPS"]


def _infer_gather(op: Op) -> list[ir.Type]:
    data, indices, shared = op.type("data"), op.type("indices"), op.attr("numBroadcastDims")
    axis = front_axis(op, data.rank)
    shape = data.shape
    if shared not in (0, 1) or shared > axis or shared > indices.rank:
        reject(op, f"numBroadcastDims = {shared} must be 0 or 1, and at most axis = {axis}")
    return [shapes.tensor([*shape[:axis], *indices.shape[shared:], *shape[axis + 1 :]], data.element_type)]


def _verify_gather(op: Op) -> None:
    if op.attr("axis") < 0:
        reject(op, f"axis = {op.attr('axis')} must not be negative")
    data, indices = op.type("data"), op.type("indices")
    if op.attr("numBroadcastDims") and shapes.broadcast(data.shape[:1], indices.shape[:1]) is None:
        reject(
            op, f"numBroadcastDims = 1: the first dimensions of data, {data}, and indices, {indices}, differ"
        )


def _position_length(op: Op) -> int:
    """How many dimensions of data a row of indices names."""
    data, indices = op.type("data"), op.type("indices")
    length = indices.shape[-1] if indices.rank else shapes.DYNAMIC
    if length == shapes.DYNAMIC or not 0 < length <= data.rank:
        reject(
            op, f"indices is {indices}; its last dimension must be static, from 1 to the rank of data, {data}"
        )
    return length


def _infer_gather_nd(op: Op) -> list[ir.Type]:
    data = op.type("data")
    shape = [*op.type("indices").shape[:-1], *data.shape[_position_length(op) :]]
    return [shapes.tensor(shape, data.element_type)]


def _infer_gather_elements(op: Op) -> list[ir.Type]:
    return [shapes.tensor(op.type("indices").shape, op.type("data").element_type)]


def _verify_gather_elements(op: Op) -> None:
    data, indices = op.type("data"), op.type("indices")
    if data.rank != indices.rank:
        reject(op, f"data {data} and indices {indices} must have one rank")
    front_axis(op, data.rank)


def _verify_scatter_nd(op: Op) -> None:
    data, indices, updates = op.type("data"), op.type("indices"), op.type("updates")
    check_same_element(op, "data", "updates")
    wanted = [*indices.shape[:-1], *data.shape[_position_length(op) :]]
    if not shapes.compatible(updates.shape, wanted):
        reject(
            op, f"updates is {updates}; for data {data} and indices {indices} it must be {shapes.text(wanted)}"
        )


def _verify_scatter_elements(op: Op) -> None:
    data, indices, updates = op.type("data"), op.type("indices"), op.type("updates")
    check_same_element(op, "data", "updates")
    if data.rank != indices.rank:
        reject(op, f"data {data} and indices {indices} must have one rank")
    if not shapes.compatible(indices.shape, updates.shape):
        reject(op, f"indices is {indices} and updates is {updates}; their shapes must be equal")
    if op.attr("axis") is not None:
        front_axis(op, data.rank)


_SCATTER = (
    "attr-dict `data` `(` $data `:` type($data) `)` `indices` `(` $indices `:` type($indices) `)` "
    "`updates` `(` $updates `:` type($updates) `)`"
)
_SCATTER_OPERANDS = (
    Operand("data", TENSOR),
    Operand("indices", "i32 i64"),
    Operand("updates", TENSOR, doc="Of the data's element type."),
)
_GATHER_OPERANDS = (Operand("data", TENSOR), Operand("indices", "i32 i64"))

OPS = (
    OpDef(
        "tensorrt.gather",
        "Takes slices along an axis.",
        operands=_GATHER_OPERANDS,
        attrs=(
            Attr("axis", "i64", doc="The data's dimension that the indices count along."),
            Attr(
                "numBroadcastDims",
                "i64",
                default=0,
                doc="Leading dimensions shared by data and indices; 0 or 1.",
            ),
        ),
        assembly=INS,
        infer=_infer_gather,
        verify=_verify_gather,
        layer="addGatherV2",
        example=example(
            "%x: tensor<4x8xf32>, %i: tensor<3xi32>",
            "%0 = tensorrt.gather {axis = 0 : i64} ins(%x, %i : tensor<4x8xf32>, tensor<3xi32>) -> "
            "tensor<3x8xf32>",
            "%0 : tensor<3x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.gather_nd",
        "Takes slices at positions of several dimensions; the last dimension of indices is a position.",
        operands=_GATHER_OPERANDS,
        assembly="attr-dict `data` `(` $data `)` `indices` `(` $indices `)` `:` functional-type(operands, "
        "results)",
        infer=_infer_gather_nd,
        layer="addGatherV2",
        example=example(
            "%x: tensor<4x8xf32>, %i: tensor<3x1xi32>",
            "%0 = tensorrt.gather_nd data(%x) indices(%i) : (tensor<4x8xf32>, tensor<3x1xi32>) -> "
            "tensor<3x8xf32>",
            "%0 : tensor<3x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.gather_elements",
        "Takes single elements along an axis; indices has the result's shape.",
        operands=_GATHER_OPERANDS,
        attrs=(Attr("axis", "i64", doc="The axis."),),
        assembly=INS,
        infer=_infer_gather_elements,
        verify=_verify_gather_elements,
        layer="addGatherV2",
        example=example(
            "%x: tensor<4x8xf32>, %i: tensor<2x8xi32>",
            "%0 = tensorrt.gather_elements {axis = 0 : i64} ins(%x, %i : tensor<4x8xf32>, tensor<2x8xi32>) "
            "-> tensor<2x8xf32>",
            "%0 : tensor<2x8xf32>",
        ),
    ),
    OpDef(
        "tensorrt.scatter_nd",
        "A copy of data with slices replaced; the last dimension of indices is a position.",
        operands=_SCATTER_OPERANDS,
        assembly=_SCATTER,
        infer=same_as("data"),
        verify=_verify_scatter_nd,
        layer="addScatter",
        example=example(
            "%x: tensor<4x4xf32>, %i: tensor<2x1xi32>, %u: tensor<2x4xf32>",
            "%0 = tensorrt.scatter_nd data(%x : tensor<4x4xf32>) indices(%i : tensor<2x1xi32>) "
            "updates(%u : tensor<2x4xf32>)",
            "%0 : tensor<4x4xf32>",
        ),
    ),
    OpDef(
        "tensorrt.scatter_elements",
        "A copy of data with single elements replaced along an axis.",
        operands=_SCATTER_OPERANDS,
        attrs=(Attr("axis", "i64", optional=True, doc="The axis; 0 where absent."),),
        assembly=_SCATTER,
        infer=same_as("data"),
        verify=_verify_scatter_elements,
        layer="addScatter",
        example=example(
            "%x: tensor<4x4xf32>, %i: tensor<2x4xi32>, %u: tensor<2x4xf32>",
            "%0 = tensorrt.scatter_elements {axis = 0 : i64} data(%x : tensor<4x4xf32>) indices(%i : "
            "tensor<2x4xi32>) "
            "updates(%u : tensor<2x4xf32>)",
            "%0 : tensor<4x4xf32>",
        ),
    ),
)
