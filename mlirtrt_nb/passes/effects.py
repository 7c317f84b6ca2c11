"""Which passes would change a program: each one tried on a copy of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import MlirTrtError, WorkerCrashed
from ..program import Program
from ..worker import Isolation, Outcome, call, inside, isolation_of, unheard
from .base import PassContext, available
from .pipeline import Pipeline
from .sending import by_value, is_own

__all__ = ["Effect", "effects"]

# Passes of the other phases need what a program does not say: a precision, or the shapes of a target.
_PHASES = ("input", "tensorrt", "clustering")
# Of MLIR's registered passes, those of general use.
_OF_MLIR = ("canonicalize", "cse", "inline", "sccp", "symbol-dce", "loop-invariant-code-motion")
_SECONDS = 30.0  # for all of them, or those that are left


@dataclass(frozen=True)
class Effect:
    """What one pass with its default options would do. `op_delta` as a Step's; `error` where it fails."""

    name: str
    changed: bool
    op_delta: dict[str, int]
    seconds: float
    error: str = ""


def effects(
    program: Program,
    context: PassContext | None = None,
    names: Iterable[str] | None = None,
    *,
    isolate: bool | Isolation | None = None,
) -> list[Effect]:
    """The effect of each pass (if `names` is None, the package's up to clustering and MLIR's general ones) on
    `program`, which stays as it is. Those that would change it come first.

    They run in the worker process, as `available` has passes of the user too: one that crashes, or takes long,
    is one that fails. `isolate` as for `Pipeline.run`; without limits of one's own all may take half a minute,
    and as long again those that are left after one that was stopped.
    """
    usual = [name for name, cls in available().items() if cls.phase in _PHASES]
    wanted = [*usual, *_OF_MLIR] if names is None else list(names)
    limits = isolation_of(isolate)
    pipelines = [Pipeline.parse(name) for name in wanted]
    given = context or PassContext()
    if limits is None:
        tried = [_effect(pipeline, program, given) for pipeline in pipelines]
    else:
        tried = _tried_remotely(pipelines, program, given, replace(limits, timeout=limits.seconds or _SECONDS))
    return sorted(tried, key=lambda effect: not effect.changed)


def _effect(pipeline: Pipeline, program: Program, context: PassContext) -> Effect:
    (entry,) = pipeline
    try:
        step = pipeline.run(program, context, isolate=False).steps[0]
    except MlirTrtError as error:
        return Effect(entry.name, False, {}, 0.0, error.what)
    return Effect(entry.name, step.changed, step.op_delta, step.seconds)


def _tried_remotely(
    pipelines: list[Pipeline], program: Program, context: PassContext, isolation: Isolation
) -> list[Effect]:
    """All in one call; after a crash those that are left in another."""
    found: list[Effect] = []

    def take(kind: str, value: Any, _: Outcome) -> None:
        if kind == "effect":
            found.append(value)

    while len(found) < len(pipelines):
        left = pipelines[len(found) :]
        passes = [pipeline.entries[0].pass_ for pipeline in left]
        try:
            with by_value(passes), unheard():
                call(
                    _serve,
                    left,
                    program,
                    context,
                    what="trying passes",
                    isolation=isolation,
                    take=take,
                    foreign=any(map(is_own, passes)),
                )
        except WorkerCrashed as error:
            if not error.begun:
                raise
            found.append(Effect(pipelines[len(found)].entries[0].name, False, {}, 0.0, error.what))
    return found


def _serve(pipelines: list[Pipeline], program: Program, context: PassContext) -> None:
    """In the worker: try each, telling of it."""
    for pipeline in pipelines:
        inside.tell("effect", _effect(pipeline, program, context))
