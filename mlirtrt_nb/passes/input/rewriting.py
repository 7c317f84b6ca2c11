"""Small edits that the passes of this phase share: walking functions, replacing values, dropping dead ops."""

from __future__ import annotations

from collections.abc import Iterator

from torch_mlir import ir

from ...ir.values import has_uses, is_read
from ...program import Program
from ..firing import report

__all__ = ["erase_dead", "functions", "fused", "has_uses", "only_user", "replace"]

# Ops that may go when nobody reads them. Random ops too: what they draw is read or it is nothing.
_KEPT = ("onnx.yield",)


def functions(program: Program) -> Iterator[ir.Operation]:
    """The functions of the module that have a body."""
    for op in program.module.body.operations:
        operation = op.operation
        if operation.name == "func.func" and len(operation.regions[0].blocks):
            yield operation


def only_user(value: ir.Value) -> ir.Operation | None:
    """The one op that reads `value`, once; None if there are none or several."""
    uses = iter(value.uses)
    first = next(uses, None)
    if first is None or next(uses, None) is not None:
        return None
    return first.owner.operation


def replace(operation: ir.Operation, values: list[ir.Value]) -> None:
    """Let readers of the op's first results read `values`. The op stays, dead."""
    report(operation)
    for result, value in zip(operation.results, values, strict=False):
        result.replace_all_uses_with(value)


def fused(*operations: ir.Operation) -> ir.Location:
    """One location for an op made of several."""
    return ir.Location.fused([operation.location for operation in operations])


def erase_dead(function: ir.Operation) -> int:
    """Erase onnx ops whose results nobody reads, in regions too; return how many went."""
    return sum(_erase_in(block) for region in function.regions for block in region.blocks)


def _erase_in(block: ir.Block) -> int:
    count = 0
    for op in reversed(list(block.operations)):
        operation = op.operation
        if not operation.name.startswith("onnx.") or operation.name in _KEPT:
            continue
        if not is_read(operation):
            operation.erase()
            count += 1
        elif len(operation.regions):
            count += erase_dead(operation)
    return count
