"""Losses: negative log likelihood and softmax cross entropy."""

from __future__ import annotations

from torch_mlir import ir

from .emitter import Emitter
from .node import Node, converter, element, rank_of, shape_of
from .softmax import log_softmax

__all__: list[str] = []


@converter("NegativeLogLikelihoodLoss")
def _nll(node: Node, emit: Emitter) -> ir.Value:
    return _loss(node, emit, node[0])


@converter("SoftmaxCrossEntropyLoss")
def _cross_entropy(node: Node, emit: Emitter) -> list[ir.Value]:
    likelihood = log_softmax(emit, node[0], [1])
    return [_loss(node, emit, likelihood), likelihood]


def _loss(node: Node, emit: Emitter, likelihood: ir.Value) -> ir.Value:
    """-weight[target] * likelihood[target], without the ignored targets, then reduced."""
    target, weight, kind = node[1], node.input(2), element(likelihood)
    ignored = node.attr("ignore_index")
    skipped = None
    if ignored is not None:
        skipped = emit.with_number("kEQUAL", target, ignored)
        target = emit.select(skipped, emit.filled(0, element(target), (1,) * rank_of(target)), target)
    picked = _picked(emit, likelihood, target)
    share: ir.Value | None = None
    if weight is not None:
        share = emit.op("gather", [weight, target], {"axis": 0}, emit.type(shape_of(target), kind))
    if skipped is not None:
        zero, one = (emit.filled(n, kind, (1,) * rank_of(target)) for n in (0, 1))
        share = emit.select(skipped, zero, one if share is None else share)
    loss = emit.unary("kNEG", picked if share is None else emit.binary("kPROD", picked, share))
    reduction = node.attr("reduction", "mean")
    axes = list(range(rank_of(loss)))
    if reduction == "none":
        return loss
    if reduction == "mean" and share is None:
        return emit.reduce("kAVG", loss, axes, keep=False)
    total = emit.reduce("kSUM", loss, axes, keep=False)
    if reduction == "sum" or share is None:
        return total
    return emit.binary("kDIV", total, emit.reduce("kSUM", share, axes, keep=False))


def _picked(emit: Emitter, likelihood: ir.Value, target: ir.Value) -> ir.Value:
    """likelihood[n, target[n, ...], ...]."""
    index = emit.unsqueeze(target, [1])
    kind = emit.type(shape_of(index), element(likelihood))
    return emit.squeeze(emit.op("gather_elements", [likelihood, index], {"axis": 1}, kind), [1])
