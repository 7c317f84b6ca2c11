"""constant, linspace, random_uniform, random_normal and one_hot."""

from __future__ import annotations

from torch_mlir import ir

from ....ir import dtypes
from ....ir.builder import Op
from ....ir.constants import handle_name, value_of
from ..scope import Constant, Scope, element_type
from .dims import dims_of, range_to, rank_of, refuse, reshape, unsqueeze, vector
from .registry import emits

__all__: list[str] = []


@emits("constant")
def constant(op: Op, scope: Scope) -> None:
    attribute = op.raw("weights")
    array = value_of(attribute, scope.writer.weights)  # type: ignore[arg-type]
    scope.set_constant(op.operation.results[0], Constant(array, handle_name(attribute)))


@emits("linspace")
def linspace(op: Op, scope: Scope) -> None:
    """start + sum over dimensions of index * step."""
    result = op.operation.results[0]
    kind, rank = element_type(result), rank_of(result)
    lengths = _lengths(op, scope)
    if op.operand("step") is not None:
        steps = scope.cast(scope.tensor(op.operand("step")), kind)
        parts = (
            [scope.op("Gather", [steps, scope.literal(n)]) for n in range(rank)]
            if rank_of(op.operand("step"))
            else [steps]
        )
    else:
        parts = [scope.literal(op.attr("static_step") or 0.0, kind)]
    if op.operand("start") is not None:
        total = scope.cast(scope.tensor(op.operand("start")), kind)
    else:
        total = scope.literal(op.attr("static_start") or 0.0, kind)
    for axis, (length, step) in enumerate(zip(lengths, parts, strict=True)):
        index = unsqueeze(scope, scope.cast(range_to(scope, length), kind), list(range(1, rank - axis)))
        total = scope.op("Add", [total, scope.op("Mul", [index, step])])
    scope.set(result, total)


def _lengths(op: Op, scope: Scope) -> list[str | int]:
    """The length of each dimension of a fill: numbers, or vectors of one i64."""
    dims = dims_of(op.operation.results[0])
    if -1 not in dims:
        return list(dims)
    if op.operand("shape") is None:
        raise refuse("a dynamic result needs the shape operand")
    shape = vector(scope, op.operand("shape"))
    return [scope.op("Gather", [shape, scope.literal([n])]) for n in range(len(dims))]


@emits("random_uniform", "random_normal")
def random(op: Op, scope: Scope) -> None:
    result = op.operation.results[0]
    kind = element_type(result)
    uniform = op.name == "tensorrt.random_uniform"
    names = ("low", "high") if uniform else ("mean", "std")
    node = "RandomUniform" if uniform else "RandomNormal"
    draw = _draw(op, scope, node)
    first, second = (_parameter(op, scope, n, d) for n, d in zip(names, (0.0, 1.0), strict=True))
    # Numbers are drawn at unit scale, since parameters may be tensors.
    width = scope.op("Sub", [second, first]) if uniform else second
    scope.set(result, scope.cast(scope.op("Add", [scope.op("Mul", [draw, width]), first]), kind))


def _draw(op: Op, scope: Scope, node: str) -> str:
    dims = dims_of(op.operation.results[0])
    if -1 not in dims:
        return scope.ops(node, [], 1, results=["f32"], shape=dims, dtype=dtypes.by_mlir("f32").onnx)[0]
    if op.operand("shape") is None:
        raise refuse("a dynamic result needs the shape operand")
    zeros = scope.op("Expand", [scope.literal(0.0, "f32"), vector(scope, op.operand("shape"))])
    return scope.op(f"{node}Like", [zeros], result="f32", dtype=dtypes.by_mlir("f32").onnx)


def _parameter(op: Op, scope: Scope, name: str, default: float) -> str:
    value: ir.Value | None = op.operand(name)
    if value is not None:
        return scope.cast(scope.tensor(value), "f32")
    static = op.attr(f"static_{name}")
    return scope.literal(default if static is None else static, "f32")


@emits("one_hot")
def one_hot(op: Op, scope: Scope) -> None:
    """By comparison: ONNX's own op takes few types and counts negative indices from the end."""
    indices, depth = op.operand("indices"), op.operand("depth")
    rank = rank_of(indices)
    axis = op.attr("axis")
    axis += rank + 1 if axis < 0 else 0
    known = scope.constant(depth)
    length = int(known.array) if known else reshape(scope, vector(scope, depth), [1])
    places = unsqueeze(scope, range_to(scope, length), list(range(1, rank + 1 - axis)))
    wanted = unsqueeze(scope, scope.cast(scope.tensor(indices), "i64"), [axis])
    hit = scope.op("Equal", [wanted, places])
    values = scope.tensor(op.operand("values"))
    off, on = (scope.op("Gather", [values, scope.literal(n)]) for n in (0, 1))
    scope.set(op.operation.results[0], scope.op("Where", [hit, on, off]))
