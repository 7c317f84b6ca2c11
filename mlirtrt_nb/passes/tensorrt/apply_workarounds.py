"""apply-workarounds: ops that the builder refuses are spelled as it takes them, or left to another backend."""

from __future__ import annotations

from torch_mlir import ir

from ...dialects.tensorrt.limits import refusal
from ...program import Program
from ..base import Pass, PassContext, register
from .conversions import FALLBACK
from .workarounds import worked_around

__all__ = ["ApplyWorkarounds"]


@register
class ApplyWorkarounds(Pass):
    """Spell `tensorrt` ops that the builder refuses as ops that it takes, with the same results: vectors as
    rows of a matrix, i8 and bf16 through wider types, constants of 8 bits as casts, attention as decomposable
    or with zeros added, scales of groups once per channel, padding as a slice. An op for which there is no
    such way is marked `plan.fallback` with the reason, so that another backend runs it."""

    name = "apply-workarounds"
    phase = "tensorrt"

    def apply(self, program: Program, context: PassContext) -> None:
        with program.context, ir.Location.unknown():
            for operation, reason in _refused(program):
                if not worked_around(operation, program.weights):
                    _outermost(operation).attributes[FALLBACK] = ir.StringAttr.get(reason)


def _refused(program: Program) -> list[tuple[ir.Operation, str]]:
    """The ops that the builder refuses and why, in program order, those in regions included."""
    found: list[tuple[ir.Operation, str]] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        reason = refusal(operation)
        if reason is not None and FALLBACK not in operation.attributes:
            found.append((operation, reason))
        return ir.WalkResult.ADVANCE

    program.module.operation.walk(visit)
    return found


def _outermost(operation: ir.Operation) -> ir.Operation:
    """The op of the function's body that holds the op: a part of a loop cannot run elsewhere."""
    while operation.parent is not None and operation.parent.operation.name != "func.func":
        operation = operation.parent.operation
    return operation
