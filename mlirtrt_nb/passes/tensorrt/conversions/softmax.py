"""Softmax and its relatives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch_mlir import ir

from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of, shape_of
from .selection import arg_extreme

__all__ = ["log_softmax"]


def _axes(node: Node) -> list[int]:
    """What is normalised together: one axis since opset 13, before that all from `axis` on."""
    rank = rank_of(node[0])
    if node.opset >= 13:
        return [node.axis(node.attr("axis", -1))]
    first = node.axis(node.attr("axis", 1)) if rank > 1 or node.attr("axis") is not None else 0
    dims = shape_of(node[0])
    axes = [n for n in range(first, rank) if dims[n] != 1]
    return axes or [first]


@converter("Softmax")
def _softmax(node: Node, emit: Emitter) -> ir.Value:
    if rank_of(node[0]) == 0:
        raise Refused("rank 0")
    axes = _axes(node)
    if len(axes) == 1:
        return emit.softmax(node[0], axes[0])
    shifted = _shifted(emit, node[0], axes)
    raised = emit.unary("kEXP", shifted)
    return emit.binary("kDIV", raised, emit.reduce("kSUM", raised, axes))


@converter("LogSoftmax")
def _log_softmax(node: Node, emit: Emitter) -> ir.Value:
    return log_softmax(emit, node[0], _axes(node))


def log_softmax(emit: Emitter, x: ir.Value, axes: Sequence[int]) -> ir.Value:
    """Not the logarithm of a softmax, which loses what is far below the largest value."""
    shifted = _shifted(emit, x, axes)
    return emit.binary(
        "kSUB", shifted, emit.unary("kLOG", emit.reduce("kSUM", emit.unary("kEXP", shifted), axes))
    )


def _shifted(emit: Emitter, x: ir.Value, axes: Sequence[int]) -> ir.Value:
    return emit.binary("kSUB", x, emit.reduce("kMAX", x, axes))


@converter("Hardmax")
def _hardmax(node: Node, emit: Emitter) -> ir.Value:
    """One where the first largest value along the axis is, else zero."""
    axes = _axes(node)
    size = shape_of(node[0])[axes[0]]
    if len(axes) != 1 or size is None:
        raise Refused("more than one axis" if len(axes) != 1 else "a dynamic axis")
    index = arg_extreme(emit, node[0], "kMAX", axes[0])
    shape = [1] * rank_of(node[0])
    shape[axes[0]] = size
    positions = emit.constant(np.arange(size, dtype=np.int64).reshape(shape), "positions")
    kind = element(node[0])
    ones, zeros = (emit.filled(n, kind, (1,) * rank_of(node[0])) for n in (1, 0))
    return emit.select(emit.binary("kEQUAL", index, positions), ones, zeros)
