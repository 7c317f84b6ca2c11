"""gather, gather_nd, gather_elements, scatter_nd and scatter_elements."""

from __future__ import annotations

from ....ir.builder import Op
from ..scope import Scope
from .dims import rank_of, transpose, unsqueeze
from .registry import emits

__all__: list[str] = []


@emits("gather")
def gather(op: Op, scope: Scope) -> None:
    data, indices, axis = op.operand("data"), op.operand("indices"), op.attr("axis")
    name, where = scope.tensor(data), scope.tensor(indices)
    if not op.attr("numBroadcastDims"):
        scope.set(op.operation.results[0], scope.op("Gather", [name, where], axis=axis))
        return
    # One batch dimension: the gathered axis is moved next to it, and its place is given back afterwards.
    rank, added = rank_of(data), rank_of(indices) - 1
    moved = transpose(scope, name, [0, axis, *(n for n in range(1, rank) if n != axis)])
    points = unsqueeze(scope, scope.cast(where, "i64"), [added + 1])
    made = scope.op("GatherND", [moved, points], batch_dims=1)
    between = axis - 1
    order = [0, *range(1 + added, 1 + added + between), *range(1, 1 + added)]
    order += range(1 + added + between, rank - 1 + added)
    scope.set(op.operation.results[0], transpose(scope, made, order))


@emits("gather_nd")
def gather_nd(op: Op, scope: Scope) -> None:
    points = scope.cast(scope.tensor(op.operand("indices")), "i64")
    scope.set(op.operation.results[0], scope.op("GatherND", [scope.tensor(op.operand("data")), points]))


@emits("gather_elements")
def gather_elements(op: Op, scope: Scope) -> None:
    inputs = [scope.tensor(op.operand(name)) for name in ("data", "indices")]
    scope.set(op.operation.results[0], scope.op("GatherElements", inputs, axis=op.attr("axis")))


@emits("scatter_nd")
def scatter_nd(op: Op, scope: Scope) -> None:
    points = scope.cast(scope.tensor(op.operand("indices")), "i64")
    inputs = [scope.tensor(op.operand("data")), points, scope.tensor(op.operand("updates"))]
    scope.set(op.operation.results[0], scope.op("ScatterND", inputs))


@emits("scatter_elements")
def scatter_elements(op: Op, scope: Scope) -> None:
    inputs = [scope.tensor(op.operand(name)) for name in ("data", "indices", "updates")]
    scope.set(op.operation.results[0], scope.op("ScatterElements", inputs, axis=op.attr("axis") or 0))
