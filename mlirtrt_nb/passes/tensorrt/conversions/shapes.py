"""Shapes as values, and tensors made from a shape."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from ....ir import dtypes
from .emitter import Emitter
from .entries import Entry, entries_of, floor_divide, maximum, multiply, subtract
from .node import Node, Refused, converter, element, rank_of, shape_of
from .reshaping import target_of
from .shape_values import Dim

__all__ = ["broadcast_to"]


@converter("Shape")
def _shape(node: Node, emit: Emitter) -> ir.Value:
    rank = rank_of(node[0])
    start, end, _ = slice(node.attr("start", 0), node.attr("end")).indices(rank)
    sizes = emit.sizes(node[0])[start:end]
    if all(isinstance(entry, int) for entry in sizes):
        return emit.constant(np.array(sizes, np.int64), "shape")
    if (start, end) == (0, rank):
        return emit.shape(node[0])
    return emit.slice(emit.shape(node[0]), [start], [max(end - start, 0)])


@converter("Size")
def _size(node: Node, emit: Emitter) -> ir.Value:
    sizes = emit.sizes(node[0])
    if all(isinstance(entry, int) for entry in sizes):
        return emit.constant(np.array(np.prod(np.array(sizes, np.int64)), np.int64), "size")
    return emit.reduce("kPROD", emit.shape(node[0]), [0], keep=False)


@converter("ConstantOfShape")
def _constant_of_shape(node: Node, emit: Emitter) -> ir.Value:
    attribute = node.operation.attributes.get("value", None)
    number = 0.0
    if attribute is not None:
        from ....ir.constants import value_of

        number = value_of(attribute, node.weights).reshape(-1)[0].item()
    target = target_of(node, emit, 0, "shape")
    kind = element(node.result)
    if not target:
        return emit.filled(number, kind)
    return broadcast_to(emit, emit.filled(number, kind, (1,) * len(target)), target)


@converter("Expand")
def _expand(node: Node, emit: Emitter) -> ir.Value:
    """ONNX broadcasts both ways: a 1 in the shape keeps the input's dimension."""
    target = target_of(node, emit, 1, "shape")
    rank = max(len(target), rank_of(node[0]))
    x = emit.expanded(node[0], rank)
    target = [1] * (rank - len(target)) + target
    sizes = emit.sizes(x)
    merged: list[Entry] = []
    for size, entry in zip(sizes, target, strict=True):
        if size == 1:
            merged.append(entry)
        elif (
            isinstance(size, int)
            or (entry == 1 and isinstance(entry, int))
            or (
                isinstance(entry, Dim)
                and node.dims.origin(node[0], size.axis - rank + rank_of(node[0])) == entry
            )
        ):
            merged.append(size)
        else:
            merged.append(emit.binary("kMAX", emit.scalar(size), emit.scalar(entry)))
    if all(entry == size for entry, size in zip(merged, sizes, strict=True)):
        return x
    return broadcast_to(emit, x, merged)


def broadcast_to(emit: Emitter, x: ir.Value, target: list[Entry]) -> ir.Value:
    """`x`, of the target's rank, with its unit dimensions repeated."""
    dims = [entry if isinstance(entry, int) else None for entry in target]
    shape = None if None not in dims else emit.vector(target)
    attributes = {"broadcast_dims": list(range(len(target)))}
    return emit.op("broadcast", [x, shape], attributes, emit.type(dims, element(x)))


@converter("Tile")
def _tile(node: Node, emit: Emitter) -> ir.Value:
    """Indices past the end start again at the beginning."""
    repeats = entries_of(node, emit, 1, "repeats")
    if len(repeats) != rank_of(node[0]):
        raise Refused("repeats does not have one number per dimension")
    size = [multiply(emit, d, r) for d, r in zip(emit.sizes(node[0]), repeats, strict=True)]
    return emit.slice(node[0], [0] * len(size), size, mode="kWRAP")


@converter("Range")
def _range(node: Node, emit: Emitter) -> ir.Value:
    """Bounds that are constant, or integers that are computed from shapes."""
    arrays = [node.array(n) for n in range(3)]
    kind = element(node.result)
    if all(array is not None for array in arrays):
        start, limit, step = (array.reshape(-1)[0].item() for array in arrays if array is not None)
        return emit.constant(np.arange(start, limit, step).astype(dtypes.by_mlir(kind).np), "range")
    if kind not in ("i32", "i64"):
        raise Refused("bounds that are not integers and are computed at run time")
    begin, end, stride = (entries_of(node, emit, n, "a bound")[0] for n in range(3))
    # The number of steps, rounded up whatever the sign of the step.
    steps = subtract(emit, 0, floor_divide(emit, subtract(emit, begin, end), stride))
    count = steps if isinstance(steps, Dim) else maximum(emit, steps, 0)
    result = emit.type([count if isinstance(count, int) else None], kind)
    operands: list[ir.Value | None] = [None if isinstance(count, int) else emit.scalar(count), None, None]
    if isinstance(begin, int) and isinstance(stride, int):
        return emit.op(
            "linspace", operands, {"static_start": float(begin), "static_step": float(stride)}, result
        )
    operands[1] = emit.squeeze(emit.cast(emit.scalar(begin), kind), [0])
    operands[2] = emit.cast(emit.scalar(stride), kind)
    return emit.op("linspace", operands, None, result)


@converter("EyeLike")
def _eye_like(node: Node, emit: Emitter) -> ir.Value:
    rows, columns = shape_of(node.result)
    if rows is None or columns is None:
        raise Refused("dynamic rows or columns")
    kind = dtypes.by_mlir(element(node.result)).np
    return emit.constant(np.eye(rows, columns, node.attr("k", 0)).astype(kind), "eye")
