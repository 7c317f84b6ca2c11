"""The rules that ops have in Python, checked on what a pass of the user's own left behind.

The package's own passes make ops that keep them; MLIR's verifier, which runs after every pass, does not know
them. Without this a wrong op would be compiled, or the pass that stumbles over it later would be blamed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import MlirTrtError, PassError, SourceSpan, VerificationError, span_of_function, span_of_line
from ..program import Program
from .base import Pass
from .script import ScriptPass

if TYPE_CHECKING:
    from torch_mlir import ir

    from ..ir.made import Made

__all__ = ["check_rules", "place_of_invalid", "place_of_pass"]


def check_rules(pass_: Pass, program: Program, before: Program, made: Made) -> None:
    """Raise PassError if `program` breaks a rule that `before` kept: at the line that made the op, if `made`
    knows it, else at the pass's own."""
    broken = _broken(program)
    if broken:
        known = {(error.what, error.where) for _, error in _broken(before)}
        broken = [(op, error) for op, error in broken if (error.what, error.where) not in known]
    if not broken:
        return
    operation, first = broken[0]
    more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    raise PassError(
        f"pass {pass_.name} left invalid IR: {first.what}{more}",
        where=first.where,
        hint=first.hint,
        span=_place(operation, made) or place_of_pass(pass_),
    )


def _place(operation: ir.Operation | None, made: Made) -> SourceSpan | None:
    place = made.place(operation) if operation is not None else None
    return span_of_line(*place) if place is not None else None


def place_of_invalid(module: ir.Operation, made: Made) -> SourceSpan | None:
    """The line that made the first op that MLIR's verifier refuses by itself; None if `made` knows of none."""
    from torch_mlir import ir

    found: list[SourceSpan] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        place = _place(operation, made)
        if place is None or _is_valid(operation):
            return ir.WalkResult.ADVANCE
        found.append(place)
        return ir.WalkResult.INTERRUPT

    module.walk(visit)
    return found[0] if found else None


def _is_valid(operation: ir.Operation) -> bool:
    from torch_mlir import ir

    try:
        return operation.verify()
    except ir.MLIRError:
        return False


def place_of_pass(pass_: Pass) -> SourceSpan | None:
    """Where the user's own pass begins: its function, its `apply`, or its text."""
    if isinstance(pass_, ScriptPass):
        return pass_.span
    return span_of_function(getattr(pass_, "function", type(pass_).apply))


def _broken(program: Program) -> list[tuple[ir.Operation | None, MlirTrtError]]:
    """What `Program.verify` has against the ops of a program, each with its op and the source nodes of that."""
    from ..ir.locations import sources_of
    from ..ir.program_checks import run_program_checks
    from ..ir.verifier import broken_rules
    from ..ir.weight_types import broken_weights

    found: list[tuple[ir.Operation | None, MlirTrtError]] = []
    for operation, error in broken_rules(program.module.operation):
        error.where = ", ".join(sources_of(operation.location)) or None
        found.append((operation, error))
    with program.context:
        found += broken_weights(program.module.operation, program.weights)
    if not found:
        try:
            with program.context:
                run_program_checks(program.module.operation, program.weights)
        except VerificationError as error:
            found.append((None, error))
    return found
