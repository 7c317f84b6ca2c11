"""Finding ops before changing them: a walk must not meet what it has changed."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

__all__ = ["ops_where"]


def ops_where(root: ir.Operation, wanted: Callable[[ir.Operation], bool]) -> list[ir.Operation]:
    """The ops of `root` and its regions for which `wanted` is true, inner ones first."""
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if wanted(operation):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found
