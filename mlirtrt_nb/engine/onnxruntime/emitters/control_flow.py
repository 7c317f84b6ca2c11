"""if, while, for, iterator and assertion."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import GraphProto, ValueInfoProto, helper
from torch_mlir import ir

from ....ir import dtypes
from ....ir.builder import Op
from ..failures import ASSERTION
from ..scope import Scope, element_type
from .dims import reshape, size_of, transpose
from .registry import emits

__all__: list[str] = []


def _body(scope: Scope, block: ir.Block) -> list[str]:
    """Emit a region's ops; the names of what its terminator gives."""
    from ..emit import emit_operation

    operations = list(block.operations)
    for operation in operations[:-1]:
        emit_operation(scope, operation.operation)
    return [scope.tensor(value) for value in operations[-1].operands]


def _info(name: str, kind: str, dims: Sequence[int | None] | None = None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtypes.by_mlir(kind).onnx, dims)


def _graph(
    scope: Scope,
    name: str,
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[str],
    shapes: Sequence[Sequence[int | None]] = (),
) -> GraphProto:
    """The finished body. Each output gets a node of its own, so that none is an input or from outside.

    `shapes` are of the last outputs: what is collected in a loop without any turn gets its rank from there.
    """
    listed = []
    first = len(outputs) - len(shapes)
    for n, output in enumerate(outputs):
        dims = shapes[n - first] if n >= first else None
        listed.append(_info(scope.writer.unique(f"{name}_out"), scope.dtype(output), dims))
        scope.node("Identity", [output], [listed[-1].name])
    return scope.proto(name, inputs, listed)


@emits("if")
def if_op(op: Op, scope: Scope) -> None:
    label = scope.label
    graphs = []
    for region, name in zip(op.operation.regions, ("then_branch", "else_branch"), strict=True):
        child = Scope(scope.writer, scope)
        graphs.append(_graph(child, name, [], _body(child, region.blocks[0])))
    scope.label = label
    condition = reshape(scope, scope.tensor(op.operand("condition")), [])
    kinds = [element_type(result) for result in op.operation.results]
    names = scope.block("If", [condition], kinds, then_branch=graphs[0], else_branch=graphs[1])
    for result, name in zip(op.operation.results, names, strict=True):
        scope.set(result, name)


class _Loop:
    """An ONNX Loop being written: the scope of its body and the names of its first two inputs."""

    def __init__(self, outer: Scope) -> None:
        self.outer = outer
        self.label = outer.label
        self.scope = Scope(outer.writer, outer)
        self.number = self._input("number", "i64")
        self.going = self._input("going", "i1")
        self.scope.iteration = self.number
        self.inputs = [_info(self.number, "i64", []), _info(self.going, "i1", [])]

    def _input(self, hint: str, kind: str) -> str:
        return self.scope.note(self.scope.writer.unique(hint), kind)

    def carry(self, arguments: Sequence[ir.Value]) -> None:
        """The block arguments are the loop's carried values."""
        for argument in arguments:
            name = self.scope.argument(argument, "carried")
            self.inputs.append(_info(name, element_type(argument)))

    def finish(
        self, op: Op, limit: str | None, start: str | None, init: Sequence[str], ends: Sequence[str]
    ) -> None:
        """Write the Loop. `ends` are the condition, the carried values, then what is collected."""
        results = list(op.operation.results)
        kinds = [element_type(result) for result in results]
        collected, axes = op.attr("collected") or [], op.attr("collect_axes") or []
        parts = [_part(result, axis) for result, axis in zip(results[len(init) :], axes, strict=True)]
        graph = _graph(self.scope, "body", self.inputs, ends, parts)
        self.outer.label = self.label
        names = self.outer.block("Loop", [limit, start, *init], kinds, body=graph)
        for n, (result, name) in enumerate(zip(results, names, strict=True)):
            if n >= len(init):
                name = _arranged(self.outer, op, n - len(init), collected, name, result)
            self.outer.set(result, name)


def _part(result: ir.Value, axis: int) -> list[int | None]:
    """The dimensions of what one turn adds to a collected result; None where they vary."""
    kind = ir.RankedTensorType(result.type)
    return [None if kind.is_dynamic_dim(n) else kind.get_dim_size(n) for n in range(kind.rank) if n != axis]


def _arranged(scope: Scope, op: Op, n: int, collected: Sequence[str], name: str, result: ir.Value) -> str:
    """A collected value with its new axis in place, reversed if so asked; ONNX puts the axis in front."""
    if collected[n] == "kREVERSE":
        lowest = scope.literal([-(2**62)])
        name = scope.op("Slice", [name, scope.literal([-1]), lowest, scope.literal([0]), scope.literal([-1])])
    rank = ir.RankedTensorType(result.type).rank
    axes = op.attr("collect_axes")
    axis = axes[n] % rank if axes else 0
    order = [*range(1, axis + 1), 0, *range(axis + 1, rank)]
    return transpose(scope, name, order)


@emits("while")
def while_op(op: Op, scope: Scope) -> None:
    """The condition's region runs once before the loop, then at the end of each round."""
    condition, body = (region.blocks[0] for region in op.operation.regions)
    init = [scope.tensor(value) for value in op.group("operands")]
    going, *values = _inlined(scope, condition, init)
    limit = op.operand("maxIterations")
    bound = None if limit is None else reshape(scope, scope.cast(scope.tensor(limit), "i64"), [])
    loop = _Loop(scope)
    loop.carry(body.arguments)
    given = _body(loop.scope, body)
    carried, collected = given[: len(values)], given[len(values) :]
    again, *nexts = _inlined(loop.scope, condition, carried)
    ends = [reshape(loop.scope, again, []), *nexts, *collected]
    loop.finish(op, bound, reshape(scope, going, []), values, ends)


def _inlined(scope: Scope, block: ir.Block, arguments: Sequence[str]) -> list[str]:
    """A region's ops written into `scope` with its arguments bound to names."""
    for argument, name in zip(block.arguments, arguments, strict=True):
        scope.bind(argument, name)
    return _body(scope, block)


@emits("for")
def for_op(op: Op, scope: Scope) -> None:
    first, last, step = (scope.tensor(op.operand(n)) for n in ("lowerBound", "upperBound", "step"))
    # Rounded up: one more than the last whole step before the end.
    wide = [reshape(scope, scope.cast(n, "i64"), []) for n in (first, last, step)]
    one = scope.literal(1)
    distance = scope.op("Sub", [scope.op("Sub", [wide[1], wide[0]]), one])
    rounds = scope.op("Add", [scope.op("Div", [distance, wide[2]]), one])
    # Div truncates, which is one too many for an empty range.
    empty = scope.op("Less", [distance, scope.literal(0)])
    trips = scope.op("Where", [empty, scope.literal(0), rounds])
    loop = _Loop(scope)
    block = op.operation.regions[0].blocks[0]
    number, *carried = block.arguments
    loop.carry(carried)
    inner = loop.scope
    counted = inner.op("Add", [wide[0], inner.op("Mul", [loop.number, wide[2]])])
    inner.set(number, counted)
    init = [scope.tensor(value) for value in op.group("init")]
    loop.finish(op, trips, None, init, [loop.going, *_body(inner, block)])


@emits("iterator")
def iterator(op: Op, scope: Scope) -> None:
    value, axis = op.operand("input"), op.attr("axis")
    name, index = scope.tensor(value), scope.iteration
    if index is None:
        raise KeyError("the loop around tensorrt.iterator")
    if op.attr("reverse"):
        last = scope.op("Sub", [reshape(scope, size_of(scope, name, axis), []), scope.literal(1)])
        index = scope.op("Sub", [last, index])
    scope.set(op.operation.results[0], scope.op("Gather", [name, index], axis=axis))


@emits("assertion")
def assertion(op: Op, scope: Scope) -> None:
    """A gather that is out of bounds where the condition does not hold: ONNX has no op that fails."""
    condition = scope.tensor(op.operand("condition"))
    holds = scope.op("ReduceMin", [scope.cast(condition, "i32")], keepdims=0)
    index = scope.op("Where", [scope.cast(holds, "i1"), scope.literal(0), scope.literal(1)])
    scope.label = ASSERTION + op.attr("message")
    scope.op("Gather", [scope.literal([0]), index])
