"""shuffle, transpose, reshape, expand_rank, collapse_rank, squeeze, unsqueeze and shape."""

from __future__ import annotations

from torch_mlir import ir

from ....ir.builder import Op
from ..scope import Scope, element_type
from .dims import dims_of, refuse, reshape, shape_i64, transpose, vector
from .registry import emits

__all__: list[str] = []


def _static_view(scope: Scope, value: ir.Value, result: ir.Value) -> bool:
    """A constant in another static shape stays a constant: nothing is emitted."""
    found = scope.constant(value)
    if found is None or -1 in dims_of(result):
        return False
    scope.set_constant(result, found.reshaped(dims_of(result)))
    return True


@emits("shuffle")
def shuffle(op: Op, scope: Scope) -> None:
    value, result = op.operand("input"), op.operation.results[0]
    before, after = list(op.attr("first_transpose")), list(op.attr("second_transpose"))
    moves = before != sorted(before) or after != sorted(after)
    if not moves and _static_view(scope, value, result):
        return
    name = transpose(scope, scope.tensor(value), before)
    shape = op.attr("reshape")
    zero = not op.attr("zero_is_placeholder")
    if shape is not None:
        unchanged = list(shape) == [dims_of(value)[n] for n in before] and -1 not in shape
        name = name if unchanged else reshape(scope, name, list(shape), literal_zero=zero)
    elif op.operand("dynamic_reshape") is not None:
        name = reshape(scope, name, vector(scope, op.operand("dynamic_reshape")), literal_zero=zero)
    scope.set(result, transpose(scope, name, after))


@emits("transpose")
def permute(op: Op, scope: Scope) -> None:
    order = [expr.position for expr in map(ir.AffineDimExpr, op.attr("permutation").results)]
    scope.set(op.operation.results[0], transpose(scope, scope.tensor(op.operand("input")), order))


@emits("reshape")
def reshape_op(op: Op, scope: Scope) -> None:
    value, result = op.operand("input"), op.operation.results[0]
    if op.operand("shape") is not None:
        scope.set(
            result, reshape(scope, scope.tensor(value), vector(scope, op.operand("shape")), literal_zero=True)
        )
    elif not _static_view(scope, value, result):
        scope.set(result, reshape(scope, scope.tensor(value), dims_of(result), literal_zero=True))


@emits("expand_rank")
def expand_rank(op: Op, scope: Scope) -> None:
    value, result = op.operand("input"), op.operation.results[0]
    if not _static_view(scope, value, result):
        axes = _inserted(dims_of(value), dims_of(result))
        scope.set(result, scope.op("Unsqueeze", [scope.tensor(value), scope.literal(axes)]))


@emits("collapse_rank")
def collapse_rank(op: Op, scope: Scope) -> None:
    value, result = op.operand("input"), op.operation.results[0]
    if not _static_view(scope, value, result):
        axes = _inserted(dims_of(result), dims_of(value))
        scope.set(result, scope.op("Squeeze", [scope.tensor(value), scope.literal(axes)]))


def _inserted(short: list[int], long: list[int]) -> list[int]:
    """Where dimensions of length 1 were put into `short` to give `long`; the last places if several fit."""
    axes: list[int] = []
    n = len(short) - 1
    for axis in range(len(long) - 1, -1, -1):
        left = axis + 1  # places from here to the front
        if n >= 0 and _same(short[n], long[axis]) and not (long[axis] == 1 and left > n + 1 and short[n] != 1):
            n -= 1
        elif long[axis] in (1, -1):
            axes.append(axis)
        else:
            raise refuse(f"cannot tell which dimensions of {long} were inserted into {short}")
    if n >= 0:
        raise refuse(f"cannot tell which dimensions of {long} were inserted into {short}")
    return axes[::-1]


def _same(one: int, two: int) -> bool:
    return one == two or -1 in (one, two)


@emits("squeeze", "unsqueeze")
def squeeze(op: Op, scope: Scope) -> None:
    value, result = op.operand("input"), op.operation.results[0]
    if _static_view(scope, value, result):
        return
    kind = "Squeeze" if op.name == "tensorrt.squeeze" else "Unsqueeze"
    axes = list(op.attr("axes"))
    name = scope.tensor(value)
    scope.set(result, scope.op(kind, [name, scope.literal(axes)]) if axes else name)


@emits("shape")
def shape(op: Op, scope: Scope) -> None:
    result = op.operation.results[0]
    scope.set(result, scope.cast(shape_i64(scope, scope.tensor(op.operand("input"))), element_type(result)))
