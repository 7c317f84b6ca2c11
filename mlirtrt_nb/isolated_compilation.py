"""Compiling in the worker process: a Program goes there, a Plan comes back, the weights stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .errors import MlirTrtError, PlanFileError, WorkerCrashed
from .passes.remote import place_of_user
from .passes.reproducer import write_reproducer
from .passes.sending import by_value, is_own
from .program import Program
from .progress import Progress
from .worker import Isolation, Outcome, call, inside, one_limit, seconds_left, unheard

if TYPE_CHECKING:
    from .passes.base import Pass, PassContext
    from .passes.pipeline import Pipeline
    from .plan import Plan

__all__ = ["compile_isolated"]

# The same work in any process: (source, steps, context, cache, metadata, progress) to a Plan.
Work = Callable[..., "Plan"]

_OUTPUT_STEPS = 50  # of which the Plan keeps what was written
_OUTPUT_CHARACTERS = 4_000  # of each
_SHARE_AFTER_CRASH = 0.1  # of the limit of time


def compile_isolated(
    work: Work,
    source: Program,
    steps: Pipeline,
    context: PassContext,
    cache: bool,
    metadata: dict[str, Any],
    progress: Progress | None,
    isolation: Isolation,
) -> Plan:
    """`work(...)` in the worker process.

    What was written to standard output and error is put into the Plan's metadata, by step. Raises what `work`
    raises; WorkerCrashed with a reproducer and the last good program; Cancelled; PassError for a pass that
    cannot be sent.
    """
    passes = [entry.pass_ for entry in steps if entry.enabled]
    arguments = (source, steps, context, cache, metadata)
    try:
        with by_value(passes), place_of_user():
            outcome = call(
                _serve,
                work,
                *arguments,
                what="the compilation",
                isolation=isolation,
                progress=progress,
                foreign=any(map(is_own, passes)),
            )
    except WorkerCrashed as error:
        crashed = _pass_of(error, passes)
        _add_last_good(source, passes[:crashed], context, isolation, error)
        _add_reproducer(source, passes, crashed, context, error)
        raise
    return _received(outcome, source)


def _received(outcome: Outcome, source: Program) -> Plan:
    from .ir.rejoin import Rejoiner

    plan, handles = outcome.value
    written = [[step, text[:_OUTPUT_CHARACTERS]] for step, text in outcome.outputs[:_OUTPUT_STEPS]]
    if written:
        plan.metadata["output"] = written
    bytecode = plan.bytecode
    rejoiner = Rejoiner(lambda: source.module, source.handles)
    plan.read_by(lambda: rejoiner.read_exactly(bytecode, handles, PlanFileError))
    return plan  # type: ignore[no-any-return]


def _pass_of(error: WorkerCrashed, passes: Sequence[Pass]) -> int | None:
    """Which of the passes crashed; None for an engine."""
    steps = [f"pass {pass_.name}" for pass_ in passes]
    begun = [step for step in error.begun if step in steps]
    if error.doing not in steps:
        return None
    if len(begun) <= len(steps):
        return len(begun) - 1
    # The last passes ran again, as an engine's builder had refused an op.
    return max(number for number, step in enumerate(steps) if step == error.doing)


def _add_reproducer(
    source: Program, passes: Sequence[Pass], crashed: int | None, context: PassContext, error: WorkerCrashed
) -> None:
    """The pass that crashed on the program before it; for an engine the whole compilation."""
    if crashed is None:
        error.reproducer = write_reproducer(source, passes, context, error, compiling=True)
        return
    good = error.last_good
    start, first = (good, crashed) if isinstance(good, Program) else (source, 0)
    error.reproducer = write_reproducer(start, passes[first : crashed + 1], context, error)


def _add_last_good(
    source: Program, passes: Sequence[Pass], context: PassContext, isolation: Isolation, error: WorkerCrashed
) -> None:
    """Run once more the passes before the crash: a compilation keeps no snapshots, which would cost each one
    something that few need. A limit of time leaves what is left of it for that, but at least a little."""
    from .passes.pipeline import Entry, Pipeline

    left = seconds_left(isolation)
    if left is not None:
        isolation = replace(isolation, timeout=max(left, (isolation.seconds or 0.0) * _SHARE_AFTER_CRASH))
    with suppress(MlirTrtError), unheard(), one_limit():
        run = Pipeline(map(Entry, passes)).copy().run(source, context, isolate=isolation)
        error.partial_run, error.last_good = run, run.program


def _serve(work: Work, *arguments: Any) -> tuple[Plan, list[str]]:
    """In the worker: the Plan, and the names of its handles."""
    from .ir.context import give_back
    from .ir.rejoin import HandleReader

    def report(phase: str, done: int, total: int) -> bool:
        inside.tell("progress", (phase, done, total))
        return True  # who waits ends this process to cancel

    source, steps, *_ = arguments
    plan = work(*arguments, report)
    handles = HandleReader().names(plan.module)
    foreign = any(is_own(entry.pass_) for entry in steps)
    if not (handles or foreign or source.weights or plan.weights):
        give_back(source.context)
    return plan, handles
