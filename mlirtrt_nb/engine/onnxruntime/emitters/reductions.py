"""reduce, top_k, argmin, argmax, non_zero and cumulative."""

from __future__ import annotations

from typing import Any

from ....ir.builder import Op
from ..scope import Scope, element_type
from .dims import rank_of, reshape, vector
from .registry import emits

__all__: list[str] = []

_REDUCE = {
    "kSUM": "ReduceSum",
    "kPROD": "ReduceProd",
    "kMAX": "ReduceMax",
    "kMIN": "ReduceMin",
    "kAVG": "ReduceMean",
}
_GLOBAL = {"kAVG": "GlobalAveragePool", "kMAX": "GlobalMaxPool"}


@emits("reduce")
def reduce(op: Op, scope: Scope) -> None:
    value, result = op.operand("input"), op.operation.results[0]
    axes, kind = list(op.attr("reduceAxes")), op.attr("reduceOperation")
    name, rank = scope.tensor(value), rank_of(value)
    keep = bool(op.attr("keepDimensions"))
    floating = scope.dtype(name).startswith(("f", "bf"))
    if not axes:
        scope.set(result, name)
    elif kind in _GLOBAL and keep and floating and rank in (4, 5) and axes == list(range(2, rank)):
        # Pooling kernels read the blocked layout that convolutions write; reductions do not.
        scope.set(result, scope.op(_GLOBAL[kind], [name]))
    else:
        scope.set(result, scope.op(_REDUCE[kind], [name, scope.literal(axes)], keepdims=int(keep)))


@emits("top_k")
def top_k(op: Op, scope: Scope) -> None:
    if op.operand("dynamicK") is not None:
        count = reshape(scope, vector(scope, op.operand("dynamicK")), [1])
    else:
        count = scope.literal([op.attr("k")])
    _top(op, scope, count, op.attr("topkOperation") == "kMAX")


@emits("argmin", "argmax")
def arg_extreme(op: Op, scope: Scope) -> None:
    _top(op, scope, scope.literal([1]), op.name == "tensorrt.argmax")


def _top(op: Op, scope: Scope, count: str, largest: bool) -> None:
    values, indices = op.operation.results
    inputs = [scope.tensor(op.operand("input")), count]
    names = scope.ops("TopK", inputs, 2, axis=op.attr("axis"), largest=int(largest), sorted=1)
    scope.set(values, names[0])
    scope.set(indices, scope.cast(names[1], element_type(indices)))


@emits("non_zero")
def non_zero(op: Op, scope: Scope) -> None:
    name = scope.tensor(op.operand("input"))
    result = op.operation.results[0]
    scope.set(result, scope.cast(scope.op("NonZero", [name]), element_type(result)))


@emits("cumulative")
def cumulative(op: Op, scope: Scope) -> None:
    name = scope.tensor(op.operand("input"))
    flags: dict[str, Any] = {key: 1 for key in ("exclusive", "reverse") if op.attr(key)}
    axis = scope.literal(op.attr("axis"))
    scope.set(op.operation.results[0], scope.op("CumSum", [name, axis], **flags))
