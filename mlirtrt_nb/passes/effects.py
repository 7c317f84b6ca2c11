"""Which passes would change a program: each one tried on a copy of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import MlirTrtError
from ..program import Program
from .base import PassContext, available

__all__ = ["Effect", "effects"]

# Passes of the other phases need what a program does not say: a precision, or the shapes of a target.
_PHASES = ("input", "tensorrt", "clustering")
# Of MLIR's registered passes, those of general use.
_OF_MLIR = ("canonicalize", "cse", "inline", "sccp", "symbol-dce", "loop-invariant-code-motion")


@dataclass(frozen=True)
class Effect:
    """What one pass with its default options would do. `op_delta` as a Step's; `error` where it fails."""

    name: str
    changed: bool
    op_delta: dict[str, int]
    seconds: float
    error: str = ""


def effects(
    program: Program, context: PassContext | None = None, names: Iterable[str] | None = None
) -> list[Effect]:
    """The effect of each pass (if `names` is None, the package's up to clustering and MLIR's general ones) on
    `program`, which stays as it is. Those that would change it come first."""
    usual = [name for name, cls in available().items() if cls.phase in _PHASES]
    wanted = [*usual, *_OF_MLIR] if names is None else list(names)
    tried = [_effect(program, context, name) for name in wanted]
    return sorted(tried, key=lambda effect: not effect.changed)


def _effect(program: Program, context: PassContext | None, name: str) -> Effect:
    from .pipeline import Pipeline

    try:
        # In this process: the package's passes are tried, a dozen or two, and each takes milliseconds.
        step = Pipeline.parse(name).run(program, context, isolate=False).steps[0]
    except MlirTrtError as error:
        return Effect(name, False, {}, 0.0, error.what)
    return Effect(name, step.changed, step.op_delta, step.seconds)
