"""Gathers and scatters."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of, shape_of

__all__: list[str] = []


def _from_front(node: Node, emit: Emitter, axis: int) -> ir.Value:
    """Indices along `axis` with negative ones counted from the front, as the layers want them."""
    indices = node[1]
    array = node.array(1)
    size = shape_of(node[0])[axis]
    if array is not None:
        if not (array < 0).any():
            return indices
        if size is not None:
            return emit.constant(np.where(array < 0, array + size, array).astype(array.dtype), "indices")
    return _wrapped(node, emit, indices, axis, size)


def _wrapped(node: Node, emit: Emitter, indices: ir.Value, axis: int, size: int | None) -> ir.Value:
    negative = emit.with_number("kLESS", indices, 0)
    if size is not None:
        return emit.select(negative, emit.with_number("kSUM", indices, size), indices)
    length = emit.cast(emit.dim(node[0], axis), element(indices))
    if rank_of(indices) == 0:
        length = emit.squeeze(length, [0])
    return emit.select(negative, emit.binary("kSUM", indices, length), indices)


@converter("Gather")
def _gather(node: Node, emit: Emitter) -> ir.Value:
    x = node[0]
    axis = node.axis(node.attr("axis", 0))
    indices = _from_front(node, emit, axis)
    dims = shape_of(x)
    result = emit.type([*dims[:axis], *shape_of(indices), *dims[axis + 1 :]], element(x))
    return emit.op("gather", [x, indices], {"axis": axis}, result)


@converter("GatherElements")
def _gather_elements(node: Node, emit: Emitter) -> ir.Value:
    axis = node.axis(node.attr("axis", 0))
    indices = _from_front(node, emit, axis)
    result = emit.type(shape_of(indices), element(node[0]))
    return emit.op("gather_elements", [node[0], indices], {"axis": axis}, result)


def _positions(node: Node, emit: Emitter, batch: int = 0) -> ir.Value:
    """The positions of gather_nd and scatter_nd, negative coordinates counted from the front."""
    indices = node[1]
    depth = shape_of(indices)[-1]
    if depth is None:
        raise Refused("positions of dynamic length")
    sizes = shape_of(node[0])[batch : batch + depth]
    array = node.array(1)
    if array is not None and not (array < 0).any():
        return indices
    if None in sizes:
        vector = emit.slice(emit.shape(node[0]), [batch], [depth])
        lengths = emit.expanded(emit.cast(vector, element(indices)), rank_of(indices))
    else:
        kind = np.int64 if element(indices) == "i64" else np.int32
        known = np.array([d for d in sizes if d is not None], kind)
        if array is not None:
            return emit.constant(np.where(array < 0, array + known, array).astype(array.dtype), "indices")
        lengths = emit.constant(known.reshape((1,) * (rank_of(indices) - 1) + known.shape), "lengths")
    return emit.select(emit.with_number("kLESS", indices, 0), emit.binary("kSUM", indices, lengths), indices)


@converter("GatherND")
def _gather_nd(node: Node, emit: Emitter) -> ir.Value:
    if node.attr("batch_dims"):
        raise Refused(f"batch_dims = {node.attr('batch_dims')}")
    x, indices = node[0], _positions(node, emit)
    depth = shape_of(indices)[-1] or 0
    dims = [*shape_of(indices)[:-1], *shape_of(x)[depth:]]
    return emit.op("gather_nd", [x, indices], None, emit.type(dims, element(x)))


def _refuse_reduction(node: Node) -> None:
    reduction = node.attr("reduction", "none")
    if reduction != "none":
        raise Refused(f"reduction = {reduction!r}")


@converter("ScatterND")
def _scatter_nd(node: Node, emit: Emitter) -> ir.Value:
    _refuse_reduction(node)
    return emit.op("scatter_nd", [node[0], _positions(node, emit), node[2]], None, node[0].type)


@converter("ScatterElements", "Scatter")
def _scatter_elements(node: Node, emit: Emitter) -> ir.Value:
    _refuse_reduction(node)
    axis = node.axis(node.attr("axis", 0))
    indices = _from_front(node, emit, axis)
    return emit.op("scatter_elements", [node[0], indices, node[2]], {"axis": axis}, node[0].type)
