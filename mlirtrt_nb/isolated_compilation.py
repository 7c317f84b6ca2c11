"""Compiling in the worker process: a Program goes there, a Plan comes back, the weights stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .errors import PlanFileError, WorkerCrashed
from .passes.remote import place_of_user
from .passes.reproducer import compile_command, write_reproducer
from .passes.sending import by_value, is_own, why_unsendable
from .worker import Isolation, Outcome, Unsendable, call, inside

if TYPE_CHECKING:
    from .passes.base import Pass, PassContext
    from .passes.pipeline import Pipeline
    from .plan import Plan
    from .program import Program

__all__ = ["compile_isolated"]

Progress = Callable[[str, int, int], bool]
# The same work in any process: (source, steps, context, cache, metadata, progress) to a Plan.
Work = Callable[..., "Plan"]

_OUTPUT_STEPS = 50  # of which the Plan keeps what was written
_OUTPUT_CHARACTERS = 4_000  # of each


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
    raises; WorkerCrashed with a reproducer; Cancelled; PassError for a pass that cannot be sent.
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
    except Unsendable as error:
        raise why_unsendable(passes, error) from error.__cause__
    except WorkerCrashed as error:
        _add_reproducer(source, passes, context, error)
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


def _add_reproducer(
    source: Program, passes: Sequence[Pass], context: PassContext, error: WorkerCrashed
) -> None:
    """The passes up to the one that crashed; for an engine the whole compilation."""
    last = max((n for n, pass_ in enumerate(passes) if error.doing == f"pass {pass_.name}"), default=None)
    command = compile_command(passes, context) if last is None else None
    ran = passes if last is None else passes[: last + 1]
    error.reproducer = write_reproducer(source, ran, context, error, command)


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
