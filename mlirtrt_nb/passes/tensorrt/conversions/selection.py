"""The largest and smallest elements, one-hot vectors, and triangles."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of, shape_of

__all__ = ["arg_extreme", "top_k"]

_FAR = 2**40  # further than any column is from its row


def top_k(
    emit: Emitter, x: ir.Value, kind: str, axis: int, k: int | ir.Value, length: int | None = None
) -> tuple[ir.Value, ir.Value]:
    """Values and i64 indices; `k` is a number, or an i64 tensor of rank 0 with result length `length`."""
    flat = rank_of(x) == 1
    if flat:  # the layer takes two dimensions or more
        x, axis = emit.unsqueeze(x, [0]), 1
    dims = list(shape_of(x))
    dims[axis] = k if isinstance(k, int) else length
    attributes = {"k": k if isinstance(k, int) else None, "axis": axis, "topkOperation": kind}
    types = [emit.type(dims, element(x)), emit.type(dims, "i64")]
    values, indices = emit.ops("top_k", [x, None if isinstance(k, int) else k], attributes, types)
    return (emit.squeeze(values, [0]), emit.squeeze(indices, [0])) if flat else (values, indices)


def arg_extreme(emit: Emitter, x: ir.Value, kind: str, axis: int) -> ir.Value:
    """The index of the first extreme along `axis`, which stays with length 1."""
    return top_k(emit, x, kind, axis, 1)[1]


@converter("TopK")
def _top_k(node: Node, emit: Emitter) -> list[ir.Value]:
    axis = node.axis(node.attr("axis", -1))
    kind = "kMAX" if node.attr("largest", 1) else "kMIN"
    known = [node.attr("k")] if node.opset < 10 else node.ints(1, "k")
    if not known or known[0] is None:
        raise Refused("k is absent")
    size = shape_of(node[0])[axis]
    if size is not None and known[0] > size:
        raise Refused(f"k = {known[0]} of {size} elements")
    if known[0] == 0:
        raise Refused("k = 0")
    return list(top_k(emit, node[0], kind, axis, known[0]))


@converter("ArgMax", "ArgMin")
def _arg(node: Node, emit: Emitter) -> ir.Value:
    axis = node.axis(node.attr("axis", 0))
    kind = "kMAX" if node.name == "ArgMax" else "kMIN"
    made = (
        _last_extreme(emit, node[0], kind, axis)
        if node.attr("select_last_index")
        else arg_extreme(emit, node[0], kind, axis)
    )
    return made if node.attr("keepdims", 1) else emit.squeeze(made, [axis])


def _last_extreme(emit: Emitter, x: ir.Value, kind: str, axis: int) -> ir.Value:
    """The index of the last extreme: of the first one in reverse."""
    size = shape_of(x)[axis]
    if size is None:
        raise Refused("select_last_index on a dynamic dimension")
    start, stride = [0] * rank_of(x), [1] * rank_of(x)
    start[axis], stride[axis] = size - 1, -1
    index = arg_extreme(emit, emit.slice(x, start, emit.sizes(x), stride), kind, axis)
    return emit.binary("kSUB", emit.filled(size - 1, "i64", (1,) * rank_of(x)), index)


@converter("OneHot")
def _one_hot(node: Node, emit: Emitter) -> ir.Value:
    """on where the position equals the index; negative indices count from the end."""
    depth = node.ints(1, "depth")
    if not depth:
        raise Refused("depth is absent")
    indices = node[0]
    rank = rank_of(indices) + 1
    axis = node.axis(node.attr("axis", -1), rank)
    if element(indices) not in ("i32", "i64"):
        if element(indices) not in ("f32", "f16", "bf16", "i8", "ui8"):
            raise Refused(f"indices of element type {element(indices)}")
        indices = emit.cast(indices, "i64")
    kind = element(indices)
    wrapped = emit.select(
        emit.with_number("kLESS", indices, 0), emit.with_number("kSUM", indices, depth[0]), indices
    )
    positions = np.arange(depth[0], dtype=np.int64 if kind == "i64" else np.int32)
    shape = [1] * rank
    shape[axis] = depth[0]
    hot = emit.binary(
        "kEQUAL", emit.unsqueeze(wrapped, [axis]), emit.constant(positions.reshape(shape), "positions")
    )
    values = [emit.reshape(emit.slice(node[2], [n], [1]), [1] * rank) for n in (0, 1)]
    return emit.select(hot, values[1], values[0])


@converter("Trilu")
def _trilu(node: Node, emit: Emitter) -> ir.Value:
    """Columns that are at least, or at most, `k` ahead of their row; the others are zero."""
    x, upper = node[0], bool(node.attr("upper", 1))
    rank, (offset,) = rank_of(x), node.ints(1, "k") or [0]
    offset = min(max(offset, -_FAR), _FAR)
    rows, columns = emit.sizes(x)[-2:]
    if isinstance(rows, int) and isinstance(columns, int):
        ones = np.ones((1,) * (rank - 2) + (rows, columns), bool)
        mask = emit.constant(np.triu(ones, offset) if upper else np.tril(ones, offset), "triangle")
    else:
        ahead = emit.binary(
            "kSUB", emit.positions(columns, rank - 1, rank), emit.positions(rows, rank - 2, rank)
        )
        mask = emit.with_number("kGREATER" if upper else "kLESS", ahead, offset - 1 if upper else offset + 1)
    return emit.select(mask, x, emit.filled(0, element(x), (1,) * rank))
