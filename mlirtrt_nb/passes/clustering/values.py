"""Which values a group of ops reads and gives, nested regions included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torch_mlir import ir

__all__ = [
    "CONTROL_FLOW",
    "READ",
    "captured_values",
    "is_constant",
    "is_inside",
    "nested",
    "replace_operands",
    "results_used_outside",
]

# What the Plan runs itself, with clusters in its regions.
CONTROL_FLOW = frozenset({"plan.if", "plan.loop"})
# Marks the reading of a number from a tensor, which is repeated wherever the number is wanted.
READ = "plan.read"
_CONSTANTS = frozenset(
    {
        *("onnx.constant", "onnx.novalue", "tensorrt.constant", "arith.constant", "stablehlo.constant"),
        *("tosa.const", "tosa.const_shape", "index.constant", "complex.constant"),
        *("torch.constant.int", "torch.constant.float", "torch.constant.bool", "torch.constant.none"),
    }
)


def is_constant(operation: ir.Operation) -> bool:
    """Whether the op is copied to wherever it is read: a constant, or the reading of a number."""
    return operation.name in _CONSTANTS or READ in operation.attributes


def nested(operation: ir.Operation) -> Iterator[ir.Operation]:
    """The op itself, then every op in its regions."""
    yield operation
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from nested(inner.operation)


def captured_values(operation: ir.Operation) -> list[ir.Value]:
    """The values that the op or its regions read and that are defined outside it, each once, in order."""
    if not len(operation.regions):
        return list(dict.fromkeys(operation.operands))
    inside = {result for op in nested(operation) for result in op.results}
    for op in nested(operation):
        for region in op.regions:
            for block in region.blocks:
                inside.update(block.arguments)
    read = (value for op in nested(operation) for value in op.operands)
    return list(dict.fromkeys(value for value in read if value not in inside))


def is_inside(operation: ir.Operation, group: set[ir.Operation]) -> bool:
    """Whether the op is in `group` or nested in an op of it."""
    current: ir.Operation | None = operation
    while current is not None:
        if current in group:
            return True
        parent = current.parent
        current = parent.operation if parent is not None else None
    return False


def results_used_outside(group: Iterable[ir.Operation]) -> list[ir.Value]:
    """The results of `group` that something outside it reads, in order."""
    members = list(group)
    inside = set(members)
    return [
        result
        for op in members
        for result in op.results
        if any(not is_inside(use.owner.operation, inside) for use in result.uses)
    ]


def replace_operands(operations: Iterable[ir.Operation], mapping: dict[ir.Value, ir.Value]) -> None:
    """In `operations` and all nested in them, read `mapping[v]` instead of `v`."""
    for root in operations:
        for op in nested(root):
            operands = op.operands
            for n, value in enumerate(operands):
                if value in mapping:
                    operands[n] = mapping[value]
