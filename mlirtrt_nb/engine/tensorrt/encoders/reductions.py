"""Reductions, sorting and normalisation."""

from __future__ import annotations

from typing import Any

from ....ir.builder import Op
from ..scope import Scope
from .registry import axes_mask, encodes, member


@encodes("reduce")
def reduce(s: Scope, op: Op) -> Any:
    mask = axes_mask(op.attr("reduceAxes"), op.type("input").rank)
    operation = member(s.trt.ReduceOperation, op.attr("reduceOperation"))
    return s.out(s.net.add_reduce(s.input(op, "input"), operation, mask, bool(op.attr("keepDimensions"))))


def _top_k(s: Scope, op: Op, operation: str, k: int, dynamic: Any = None) -> list[Any]:
    mask = axes_mask([op.attr("axis")], op.type("input").rank)
    layer = s.made(
        s.net.add_topk(
            s.input(op, "input"), member(s.trt.TopKOperation, operation), k, mask, s.result_dtype(op, 1)
        )
    )
    if dynamic is not None:
        layer.set_input(1, dynamic)
    return [layer.get_output(0), layer.get_output(1)]


@encodes("top_k")
def top_k(s: Scope, op: Op) -> list[Any]:
    return _top_k(s, op, op.attr("topkOperation"), op.attr("k") or 1, s.input(op, "dynamicK"))


@encodes("argmin")
def argmin(s: Scope, op: Op) -> list[Any]:
    return _top_k(s, op, "kMIN", 1)


@encodes("argmax")
def argmax(s: Scope, op: Op) -> list[Any]:
    return _top_k(s, op, "kMAX", 1)


@encodes("softmax")
def softmax(s: Scope, op: Op) -> Any:
    layer = s.made(s.net.add_softmax(s.input(op, "input")))
    layer.axes = axes_mask([op.attr("axis")], op.type("input").rank)
    return layer.get_output(0)


@encodes("ragged_softmax")
def ragged_softmax(s: Scope, op: Op) -> Any:
    return s.out(s.net.add_ragged_softmax(s.input(op, "input"), s.input(op, "bounds")))


@encodes("cumulative")
def cumulative(s: Scope, op: Op) -> Any:
    axis = s.constant_tensor([], s.bank.integers([op.attr("axis")], "i32"))
    operation = member(s.trt.CumulativeOperation, op.attr("cumulativeOperation"))
    exclusive, reverse = bool(op.attr("exclusive")), bool(op.attr("reverse"))
    return s.out(s.net.add_cumulative(s.input(op, "input"), axis, operation, exclusive, reverse))


@encodes("lrn")
def lrn(s: Scope, op: Op) -> Any:
    numbers = (op.attr(name) for name in ("windowSize", "alpha", "beta", "k"))
    return s.out(s.net.add_lrn(s.input(op, "input"), *numbers))


@encodes("non_zero")
def non_zero(s: Scope, op: Op) -> Any:
    return s.out(s.net.add_non_zero(s.input(op, "input"), s.result_dtype(op)))


@encodes("normalization")
def normalization(s: Scope, op: Op) -> Any:
    mask = axes_mask(op.attr("axis"), op.type("input").rank)
    layer = s.made(
        s.net.add_normalization_v2(s.input(op, "input"), s.input(op, "scale"), s.input(op, "bias"), mask)
    )
    if op.attr("eps") is not None:
        layer.epsilon = op.attr("eps")
    if op.attr("num_groups") is not None:
        layer.num_groups = op.attr("num_groups")
    return layer.get_output(0)
