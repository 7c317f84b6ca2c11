"""Reductions over axes."""

from __future__ import annotations

from torch_mlir import ir

from .emitter import Emitter
from .node import Node, Refused, converter, element, rank_of

__all__ = ["axes_of"]

_PLAIN = {
    "ReduceSum": "kSUM",
    "ReduceMean": "kAVG",
    "ReduceMax": "kMAX",
    "ReduceMin": "kMIN",
    "ReduceProd": "kPROD",
}


def axes_of(node: Node) -> list[int]:
    """The axes, sorted and from the front: an attribute in old opsets, an input in new ones."""
    rank = rank_of(node[0])
    given = node.attr("axes")
    axes = list(given) if given is not None else node.ints(1, "axes")
    if not axes:
        return [] if node.attr("noop_with_empty_axes") else list(range(rank))
    return sorted({node.axis(axis) for axis in axes})


def _reduced(node: Node, emit: Emitter, kind: str, x: ir.Value) -> ir.Value:
    return emit.reduce(kind, x, axes_of(node), bool(node.attr("keepdims", 1)))


@converter(*_PLAIN)
def _plain(node: Node, emit: Emitter) -> ir.Value:
    x, kind = node[0], _PLAIN[node.name]
    if element(x) == "i1":  # opset 20: the maximum of booleans is "any", the minimum "all"
        made = _reduced(node, emit, kind, emit.cast(x, "i32"))
        return emit.with_number("kGREATER", made, 0)  # of nothing, the maximum is the lowest integer
    return _reduced(node, emit, kind, x)


@converter("ReduceL1")
def _l1(node: Node, emit: Emitter) -> ir.Value:
    return _reduced(node, emit, "kSUM", emit.unary("kABS", node[0]))


@converter("ReduceSumSquare")
def _sum_square(node: Node, emit: Emitter) -> ir.Value:
    return _reduced(node, emit, "kSUM", emit.binary("kPROD", node[0], node[0]))


@converter("ReduceL2")
def _l2(node: Node, emit: Emitter) -> ir.Value:
    kind = element(node[0])
    total = _sum_square(node, emit)
    if kind in ("i32", "i64"):
        return emit.cast(emit.unary("kSQRT", emit.cast(total, "f32")), kind)
    return emit.unary("kSQRT", total)


@converter("ReduceLogSum")
def _log_sum(node: Node, emit: Emitter) -> ir.Value:
    return emit.unary("kLOG", _reduced(node, emit, "kSUM", node[0]))


@converter("ReduceLogSumExp")
def _log_sum_exp(node: Node, emit: Emitter) -> ir.Value:
    """The largest value is taken out first, so that no exponential overflows."""
    axes, keep = axes_of(node), bool(node.attr("keepdims", 1))
    if element(node[0]) not in ("f32", "f16", "bf16"):
        raise Refused(f"element type {element(node[0])} in ReduceLogSumExp")
    largest = emit.reduce("kMAX", node[0], axes)
    total = emit.reduce("kSUM", emit.unary("kEXP", emit.binary("kSUB", node[0], largest)), axes)
    made = emit.binary("kSUM", emit.unary("kLOG", total), largest)
    return made if keep else emit.squeeze(made, axes)
