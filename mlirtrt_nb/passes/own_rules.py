"""The rules that ops have in Python, checked on what a pass of the user's own left behind.

The package's own passes make ops that keep them; MLIR's verifier, which runs after every pass, does not know
them. Without this a wrong op would be compiled, or the pass that stumbles over it later would be blamed.
"""

from __future__ import annotations

from ..errors import MlirTrtError, PassError, SourceSpan, VerificationError, span_of_function
from ..program import Program
from .base import Pass
from .script import ScriptPass

__all__ = ["check_rules", "place_of_pass"]


def check_rules(pass_: Pass, program: Program, before: Program) -> None:
    """Raise PassError, at the pass's own line, if `program` breaks a rule that `before` kept."""
    broken = _broken(program)
    if broken:
        known = {(error.what, error.where) for error in _broken(before)}
        broken = [error for error in broken if (error.what, error.where) not in known]
    if not broken:
        return
    first = broken[0]
    more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    raise PassError(
        f"pass {pass_.name} left invalid IR: {first.what}{more}",
        where=first.where,
        hint=first.hint,
        span=place_of_pass(pass_),
    )


def place_of_pass(pass_: Pass) -> SourceSpan | None:
    """Where the user's own pass begins: its function, its `apply`, or its text."""
    if isinstance(pass_, ScriptPass):
        return pass_.span
    return span_of_function(getattr(pass_, "function", type(pass_).apply))


def _broken(program: Program) -> list[MlirTrtError]:
    """What `Program.verify` has against the ops of a program, each with the source nodes of its op."""
    from ..ir.locations import sources_of
    from ..ir.program_checks import run_program_checks
    from ..ir.verifier import broken_rules

    found: list[MlirTrtError] = []
    for operation, error in broken_rules(program.module.operation):
        error.where = ", ".join(sources_of(operation.location)) or None
        found.append(error)
    if not found:
        try:
            with program.context:
                run_program_checks(program.module.operation, program.weights)
        except VerificationError as error:
            found.append(error)
    return found
