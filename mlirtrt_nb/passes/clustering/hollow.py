"""Branches and loops of the Plan in which no engine is left, since the builder refused what was to be in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...program import Program

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["hollow_constructs"]


def hollow_constructs(program: Program) -> frozenset[str]:
    """The locations, as text, of the outermost such constructs in an outlined program.

    Only those that a pass opened, which have `plan.fallback`, not those that a user wrote.
    """
    from torch_mlir.dialects import func

    found: set[str] = set()
    with program.context:
        for operation in program.module.body.operations:
            if isinstance(operation, func.FuncOp) and not operation.is_external:
                _collect(operation.regions[0].blocks[0], found)
    return frozenset(found)


def _collect(block: ir.Block, found: set[str]) -> None:
    from .values import CONTROL_FLOW, nested

    for view in block.operations:
        operation = view.operation
        if operation.name not in CONTROL_FLOW:
            continue
        engines = any(inner.name == "tensorrt.call_alloc" for inner in nested(operation))
        if not engines and "plan.fallback" in operation.attributes:
            found.add(str(operation.location))
        else:
            for region in operation.regions:
                _collect(region.blocks[0], found)
