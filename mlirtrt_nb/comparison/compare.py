"""`compare`: one program in several precisions, each built, measured, and checked against the reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError, Executor, Future, as_completed
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import Cancelled, OptionError, PrecisionError
from ..frontends.load import load
from ..kind_name import kind_name
from ..numerics.conversion import at_precision, converted, placement
from ..numerics.error_curve import ErrorCurve, curve_of
from ..numerics.interpreter import Interpreter
from ..numerics.output_errors import OutputErrors, compared
from ..numerics.samples import Samples, samples_of, shapes_for
from ..precision import PRECISIONS, Precision
from ..program import Program
from ..progress import Progress, part_of
from ..runtime.devices import check_device
from ..targets import default_targets, parse_targets
from .comparison import Comparison
from .engines import engine_numbers
from .latency import differing_conditions, measure
from .notes import Facts, is_bad
from .variant import Task, Variant, make_variant

__all__ = ["compare"]


_DEFAULT_PRECISIONS = ("fp32", "fp16", "int8")


def compare(
    program: Program | Any,
    precisions: Iterable[Precision | str] | Mapping[str, Precision | str] = _DEFAULT_PRECISIONS,
    inputs: Any = None,
    reference: str | Precision = "fp32",
    executor: Executor | None = None,
    *,
    target: str | Iterable[str] | None = None,
    shapes: Any = None,
    device: str = "auto",
    duration_ms: float = 1000,
    cache: bool = True,
    progress: Progress | None = None,
) -> Comparison:
    """Build a program in several precisions and say how fast, how large and how right each one is, and why.

    Latency is measured on the real engines, in turns and in this process; errors come from a reference
    execution that rounds after every op as its type does, and are the worst of the floating-point outputs over
    all samples (`max_abs_error` of all outputs); layers and bytes are the builder's own. The table says of each
    column which it is. A variant that fails is a row that says so.

    Args:
        program: a Program, or anything that `mt.load` takes.
        precisions: names and `Precision` values, or a mapping from a name of your own to them.
        inputs: one sample (a mapping from input to array, or an array where there is one input), or a list
            of them; None makes seeded synthetic ones. The first one is what latency is measured on. A precision
            that needs ranges of activations and has none gets them from these, and its note says so.
        reference: what errors and ratios are against; it gets a row of its own if it is not in `precisions`.
        executor: any `concurrent.futures.Executor` for building the variants and running the reference
            execution; None does one after the other.
        target: as for `mt.compile`; None is the CPU and, where TensorRT-RTX is installed, sm89. Layers and
            bytes are those of the first target that is not the CPU.
        shapes: of dynamic inputs, as for `mt.compile`; None takes those of `inputs`.
        device: where latency is measured: "cpu", "cuda", or "auto" for the GPU if one fits the engines.
        duration_ms: how long each variant is measured.
        cache: reuse engines built before.
        progress: called as `progress(phase, done, total)`; returning False cancels.

    Raises:
        OptionError, SourceError, InputError, ShapeError, TargetError, Cancelled. PrecisionError for an unknown
        precision, or if the reference itself fails.
    """
    _check_duration(duration_ms)
    check_device(device)
    if executor is not None and not isinstance(executor, Executor):
        raise OptionError(
            f"executor= is {kind_name(executor)}", hint="give a concurrent.futures.Executor, or None"
        )
    source = program if isinstance(program, Program) else load(program)
    targets = parse_targets(default_targets() if target is None else target)
    base, chosen = _chosen(precisions, reference)
    samples = samples_of(source, inputs, shapes)
    known = shapes_for(source, samples, shapes)
    step = _stepper(progress)
    step("passes", 0, 1)
    converted_once = converted(source, "fp32", targets, known)
    tasks = [
        Task(name, precision, source, converted_once, targets, known, samples, cache)
        for name, precision in chosen.items()
    ]
    variants = _made(tasks, executor, progress)
    exact = variants[base]
    if exact.outputs is None:
        others = [variant for variant in variants.values() if variant.outputs is not None]
        hint = f"{others[0].name} can be run: reference={others[0].name!r}" if others else None
        raise PrecisionError(f"the reference, {base}, failed: {exact.error}", hint=hint)
    for variant in variants.values():
        if variant.outputs is not None:
            variant.errors = _errors(exact, variant)
    plans = {name: variant.plan for name, variant in variants.items() if variant.plan is not None}
    reports, failed = measure(plans, samples.values[0], duration_ms, device, step)
    facts = [
        Facts(
            variant,
            _numbers(variant, targets),
            None if variant.plan is None else engine_numbers(variant.plan, "cpu"),
            reports.get(name),
            _curve(variant, tasks[0], samples, step),
            failed.get(name, ""),
        )
        for name, variant in variants.items()
    ]
    warnings = [f"{name} is not the same for all rows" for name in differing_conditions(reports)]
    return Comparison(source, targets, base, samples, facts, tuple(warnings), known)


def _check_duration(duration_ms: Any) -> None:
    if (
        isinstance(duration_ms, bool)
        or not isinstance(duration_ms, int | float | np.integer | np.floating)
        or not 0 < duration_ms < math.inf
    ):
        raise OptionError(f"duration_ms must be a number above 0, got {duration_ms!r}")


def _chosen(precisions: Any, reference: Any) -> tuple[str, dict[str, Precision]]:
    """The reference's name, and every variant by name, the reference first."""
    if isinstance(precisions, str | Precision):
        precisions = (precisions,)
    if not isinstance(precisions, Iterable):
        raise OptionError(
            f"precisions= is {kind_name(precisions)}", hint="give names, such as ('fp32', 'fp16', 'int8')"
        )
    chosen: dict[str, Precision] = {}
    if isinstance(precisions, Mapping):
        chosen = _named(precisions)
    else:
        for value in precisions:
            precision = Precision.of(value)
            if precision not in chosen.values() or precision.calibration is not None:
                chosen[_free(precision.label, chosen)] = precision
    if isinstance(reference, str) and reference in chosen:
        _check_name_of_reference(reference, chosen[reference])
        return reference, {reference: chosen[reference], **chosen}
    wanted = Precision.of(reference)
    name = next((name for name, precision in chosen.items() if precision == wanted), None)
    if name is None:
        name = _free(wanted.label, chosen)
    if not chosen:
        raise OptionError("precisions= is empty", hint="give names, such as ('fp32', 'fp16', 'int8')")
    return name, {name: wanted, **chosen}


def _named(precisions: Mapping[Any, Any]) -> dict[str, Precision]:
    """Variants by the user's own names."""
    chosen: dict[str, Precision] = {}
    for given, value in precisions.items():
        name = str(given)
        if not name.strip() or name in chosen:
            what = f"two variants are called {name!r}" if name in chosen else "a variant has an empty name"
            raise OptionError(what, hint="give each a name of its own: a row is known by it")
        chosen[name] = Precision.of(value)
    return chosen


def _check_name_of_reference(name: str, variant: Precision) -> None:
    """Refuse a reference that is a precision's name where a variant of another precision is called so."""
    if name in PRECISIONS and variant.base != name:
        raise OptionError(
            f"a variant in {variant.base} is called {name!r}, like the reference",
            hint=f"call it otherwise, or give reference={variant.base!r} if it is to be that",
        )


def _free(name: str, taken: Mapping[str, Any]) -> str:
    count = 1
    while (made := name if count == 1 else f"{name} ({count})") in taken:
        count += 1
    return made


def _stepper(progress: Progress | None) -> Callable[[str, int, int], None]:
    def step(phase: str, done: int, total: int) -> None:
        if progress is not None and progress(phase, done, total) is False:
            raise Cancelled("the comparison was cancelled")

    return step


def _made(tasks: list[Task], executor: Executor | None, progress: Progress | None) -> dict[str, Variant]:
    if executor is not None:
        return _made_on(executor, tasks, _stepper(progress))
    made = {}
    for number, task in enumerate(tasks):
        labelled = None if progress is None else part_of(progress, number, len(tasks), f"{task.name}: ")
        made[task.name] = make_variant(replace(task, progress=labelled))
        _stepper(progress)(f"{task.name}: done", len(made), len(tasks))
    return made


def _made_on(
    executor: Executor, tasks: list[Task], step: Callable[[str, int, int], None]
) -> dict[str, Variant]:
    """The variants in the order of the tasks; what an executor cannot run is a variant that failed."""
    futures = _submitted(executor, tasks)
    found: dict[str, Variant] = {}
    try:
        step("variants", 0, len(tasks))
        for future in as_completed(futures):
            task = futures[future]
            error = CancelledError("it was shut down") if future.cancelled() else future.exception()
            if error is not None:
                reason = f"the executor could not run it: {type(error).__name__}: {error}"
                found[task.name] = Variant(task.name, task.precision, error=" ".join(reason.split())[:300])
            else:
                found[task.name] = future.result()
            step("variants", len(found), len(tasks))
    finally:
        for future in futures:
            future.cancel()
    return {task.name: found[task.name] for task in tasks}


def _submitted(executor: Executor, tasks: list[Task]) -> dict[Future[Variant], Task]:
    """A future per task. Raises OptionError if the executor takes none."""
    futures: dict[Future[Variant], Task] = {}
    try:
        for task in tasks:
            futures[executor.submit(make_variant, task)] = task
    except RuntimeError as error:  # shut down, or broken
        for future in futures:
            future.cancel()
        raise OptionError(
            f"executor= takes no work: {error}", hint="give one that is open, or None for one after the other"
        ) from None
    return futures


def _errors(exact: Variant, variant: Variant) -> OutputErrors:
    errors = OutputErrors()
    for one, two in zip(exact.outputs or (), variant.outputs or (), strict=True):
        errors = errors.merged(compared(dict(one), dict(two)))
    return errors


def _numbers(variant: Variant, targets: tuple[str, ...]) -> Any:
    first = next((target for target in targets if target != "cpu"), "cpu")
    return None if variant.plan is None else engine_numbers(variant.plan, first)


def _curve(
    variant: Variant, task: Task, samples: Samples, step: Callable[[str, int, int], None]
) -> ErrorCurve | None:
    """Where a variant goes wrong against fp32, on the first sample; only for one whose outputs are bad."""
    if not is_bad(variant):
        return None
    step(f"{variant.name}: error curve", 0, 1)
    other = at_precision(task.exact, variant.precision, task.targets)
    first = Samples(samples.values[:1], samples.origin)
    place = placement(variant.precision, task.targets)
    return curve_of(Interpreter(task.exact), Interpreter(other), first, precision=variant.name, place=place)
