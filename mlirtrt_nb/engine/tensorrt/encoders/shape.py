"""Ops that change a tensor's shape and keep its values, and the op that reads a shape."""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from ....ir.builder import Op
from ..scope import Scope
from .registry import encodes


def result_type(op: Op) -> ir.RankedTensorType:
    return ir.RankedTensorType(op.operation.results[0].type)  # type: ignore[union-attr]


def dims_of(kind: ir.RankedTensorType) -> list[int]:
    """The shape with -1 where a dimension varies."""
    return [-1 if kind.is_dynamic_dim(n) else kind.get_dim_size(n) for n in range(kind.rank)]


def reshaped(s: Scope, tensor: Any, dims: list[int]) -> Any:
    """`tensor` in another shape. A zero means an empty dimension."""
    layer = s.made(s.net.add_shuffle(tensor))
    if 0 in dims:
        layer.zero_is_placeholder = False
    layer.reshape_dims = tuple(dims)
    return layer.get_output(0)


@encodes("shuffle")
def shuffle(s: Scope, op: Op) -> Any:
    layer = s.made(s.net.add_shuffle(s.input(op, "input")))
    layer.zero_is_placeholder = bool(op.attr("zero_is_placeholder"))
    for name in ("first_transpose", "second_transpose"):
        order = op.attr(name)
        if order is not None and list(order) != list(range(len(order))):
            setattr(layer, name, s.trt.Permutation(list(order)))
    shape = s.input(op, "dynamic_reshape")
    if op.attr("reshape") is not None:
        layer.reshape_dims = tuple(op.attr("reshape"))
    elif shape is not None:
        layer.set_input(1, shape)
    return layer.get_output(0)


@encodes("transpose")
def transpose(s: Scope, op: Op) -> Any:
    layer = s.made(s.net.add_shuffle(s.input(op, "input")))
    order = [ir.AffineDimExpr(expr).position for expr in op.attr("permutation").results]
    layer.first_transpose = s.trt.Permutation(order)
    return layer.get_output(0)


@encodes("reshape")
def reshape(s: Scope, op: Op) -> Any:
    shape = s.input(op, "shape")
    if shape is None:
        return reshaped(s, s.input(op, "input"), dims_of(result_type(op)))
    layer = s.made(s.net.add_shuffle(s.input(op, "input")))
    layer.zero_is_placeholder = False
    layer.set_input(1, shape)
    return layer.get_output(0)


@encodes("expand_rank")
def expand_rank(s: Scope, op: Op) -> Any:
    wide, narrow = dims_of(result_type(op)), dims_of(op.type("input"))
    if wide.count(-1) <= 1:
        return reshaped(s, s.input(op, "input"), wide)
    axes = s.index_tensor(_unit_axes(wide, narrow))
    return s.out(s.net.add_unsqueeze(s.input(op, "input"), axes))


@encodes("collapse_rank")
def collapse_rank(s: Scope, op: Op) -> Any:
    wide, narrow = dims_of(op.type("input")), dims_of(result_type(op))
    if narrow.count(-1) <= 1:
        return reshaped(s, s.input(op, "input"), narrow)
    axes = s.index_tensor(_unit_axes(wide, narrow))
    return s.out(s.net.add_squeeze(s.input(op, "input"), axes))


@encodes("unsqueeze")
def unsqueeze(s: Scope, op: Op) -> Any:
    return s.out(s.net.add_unsqueeze(s.input(op, "input"), s.index_tensor(op.attr("axes"))))


@encodes("squeeze")
def squeeze(s: Scope, op: Op) -> Any:
    return s.out(s.net.add_squeeze(s.input(op, "input"), s.index_tensor(op.attr("axes"))))


def _unit_axes(wide: list[int], narrow: list[int]) -> list[int]:
    """The axes of `wide` that `narrow` lacks, all of them units."""
    axes: list[int] = []
    rest = list(narrow)
    for axis, size in enumerate(wide):
        if rest and rest[0] == size and (size != 1 or len(wide) - axis == len(rest)):
            rest.pop(0)
        elif size == 1:
            axes.append(axis)
        else:
            rest.pop(0)
    return axes


@encodes("shape")
def shape(s: Scope, op: Op) -> Any:
    tensor = s.out(s.net.add_shape(s.input(op, "input")))
    dtype = s.result_dtype(op)
    return tensor if tensor.dtype == dtype else s.out(s.net.add_cast(tensor, dtype))
