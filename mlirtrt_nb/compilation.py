"""`compile`: a Program and options in, a Plan out. A pure function of values that can be pickled."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .entry_point import with_main
from .errors import Cancelled, OptionError
from .kind_name import kind_name
from .precision import Precision, check_supported
from .profiles import parse_profiles
from .program import Program
from .progress import Progress
from .targets import device_kind, parse_targets
from .worker import Isolation, isolation_of, one_limit

if TYPE_CHECKING:
    from torch_mlir import ir

    from .build import Refusal
    from .engine.base import Engine
    from .engine.cache import EngineCache
    from .passes.base import PassContext
    from .passes.pipeline import Pipeline
    from .plan import Plan

__all__ = ["before_clustering", "compile", "finish"]


# A builder names one refused op at a time; more rounds than this and its whole function moves.
_ROUNDS = 8
# What computes nothing, and so has no precision, among the ops of that dialect.
_UNTYPED = frozenset({"tensorrt.constant", "tensorrt.call_alloc", "tensorrt.module"})


def compile(
    program: Program | str | os.PathLike[str] | Any,
    target: str | Iterable[str] = "cpu",
    precision: Precision | str = "fp32",
    shapes: Any = None,
    pipeline: Pipeline | str | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    isolate: bool | Isolation | None = None,
) -> Plan:
    """Compile `program` for one or several targets.

    Args:
        program: a Program, or anything that `mt.load` takes.
        target: "cpu", a TensorRT-RTX target built ahead of time with no GPU ("sm75" ... "sm121"), "cuda"
            for the GPU that is present, or several of them.
        precision: "fp32" (a model's own types are kept), "fp16", "bf16", "int8", "fp8", "int4", or a
            `Precision` with exceptions and calibration data.
        shapes: shapes of dynamic inputs: `{"x": (1, 3, 224, 224)}`, `{"x": "1x3x224x224"}`,
            `{"x": (min, opt, max)}`, or a list of such mappings, one per optimization profile. They also say
            the rank of an input where the model does not.
        pipeline: a Pipeline or its text, instead of `Pipeline.default(...)`.
        cache: reuse engines built before from the same IR, weights, target and profiles.
        progress: called as `progress(phase, done, total)`; returning False cancels.
        isolate: passes and engine builds run in the worker process, so that a crash there is an error here;
            `mt.Isolation` sets its limits, that of time for the whole compilation. False stays in this process.
            None follows `$MLIRTRT_NB_ISOLATE`, which is on unless it says otherwise.

    Raises:
        SourceError, ShapeError, TargetError, PrecisionError, CalibrationError, OptionError, PassError,
        EngineBuildError, VerificationError (of weights), WorkerCrashed, Cancelled.
    """
    from .frontends.load import load
    from .passes.base import PassContext

    if progress is not None and not callable(progress):
        raise OptionError(
            f"progress= is {kind_name(progress)}", hint="give a function of phase, done and total"
        )
    targets = parse_targets(target)
    chosen = Precision.of(precision)
    check_supported(chosen, targets)
    source = with_main(program if isinstance(program, Program) else load(program))
    context = PassContext(targets, parse_profiles(source.inputs, shapes))
    source.check_weights()
    limits = isolation_of(isolate)
    _tell(progress, "passes", 0, 1)
    with one_limit():
        if pipeline is None:
            chosen = _with_ranges(chosen, source, shapes, progress, limits or False)
        steps = _pipeline(pipeline, targets, chosen)
        if limits is None:
            return _compiled(source, steps, context, cache, _described(chosen), progress)
        from .isolated_compilation import compile_isolated

        return compile_isolated(_compiled, source, steps, context, cache, _described(chosen), progress, limits)


def _compiled(
    source: Program,
    steps: Pipeline,
    context: PassContext,
    cache: bool,
    metadata: dict[str, Any],
    progress: Progress | None,
) -> Plan:
    """What `compile` does once its options are read, in whichever process."""
    from .engine.cache import EngineCache

    kept = EngineCache.default() if cache else None
    outlined, engines = _partition_and_build(source, steps, context, kept, progress)
    return _plan(source, outlined, engines, context, steps, metadata)


def _with_ranges(
    precision: Precision, source: Program, shapes: Any, progress: Progress | None, isolate: bool | Isolation
) -> Precision:
    """The precision with the ranges that it needs: those it has, if they are of this program, or new ones."""
    if not precision.needs_ranges:
        return precision
    from .calibration.collect import ranges_for

    return replace(precision, calibration=ranges_for(precision, source, shapes, progress, isolate))


def _described(precision: Precision) -> dict[str, Any]:
    """What a Plan's metadata says of its precision."""
    found: dict[str, Any] = {"precision": precision.base}
    if precision.needs_ranges:
        ranges = precision.calibration
        found["calibration"] = f"{ranges.method}, {ranges.inputs}"
        found["synthetic_calibration"] = ranges.synthetic
    return found


def before_clustering(
    program: Program,
    target: str | Iterable[str] = "cpu",
    shapes: Any = None,
    pipeline: Pipeline | str | None = None,
    isolate: bool | Isolation | None = None,
) -> Program:
    """`program` after the passes that stand before "plan-clustering"; options as those of `compile`.

    Dynamic inputs may go without shapes. Raises ShapeError, TargetError, OptionError, PassError.
    """
    from .passes.base import PassContext

    program = with_main(program)
    targets = parse_targets(target)
    profiles = parse_profiles(program.inputs, shapes) if shapes else ()
    head, _ = _split_before_clustering(_pipeline(pipeline, targets, Precision("fp32")))
    context = PassContext(targets, profiles)
    return head.run(program, context, keep_snapshots=False, isolate=isolate).program


def finish(converted: Program, context: PassContext) -> Plan:
    """The Plan of a program that has been through the passes before clustering; its engines are not cached."""
    from .passes.pipeline import Pipeline

    tail = Pipeline.parse("plan-clustering,plan-outline-clusters")
    outlined, engines = _cluster_and_build(converted, tail, context, None, None)
    return _plan(converted, outlined, engines, context, tail, {})


def _pipeline(given: Pipeline | str | None, targets: tuple[str, ...], precision: Precision) -> Pipeline:
    from .passes.pipeline import Pipeline

    if given is not None and precision.base != "fp32":
        raise OptionError(
            f"pipeline= says which passes run, so that precision={precision.base!r} has no effect",
            hint="give pipeline=mt.Pipeline.default(target, precision), changed as you like",
        )
    return Pipeline.of(given, targets, precision)


def _tell(progress: Progress | None, phase: str, done: int, total: int) -> None:
    if progress is not None and progress(phase, done, total) is False:
        raise Cancelled("the compilation was cancelled")


def _partition_and_build(
    source: Program,
    steps: Pipeline,
    context: PassContext,
    cache: EngineCache | None,
    progress: Progress | None,
) -> tuple[Program, list[Engine]]:
    """Run the passes and build the engines; an op that a builder refuses goes to another backend.

    A branch or loop that was opened for engines, of which then none could be built, is closed again.
    """
    from .passes.clustering.hollow import hollow_constructs

    head, tail = _split_before_clustering(steps)
    while True:
        converted = head.run(source, context, keep_snapshots=False, isolate=False).program
        outlined, engines = _cluster_and_build(converted, tail, context, cache, progress)
        hollow = hollow_constructs(outlined) - context.whole
        if not hollow:
            return outlined, engines
        context = replace(context, whole=context.whole | hollow)


def _cluster_and_build(
    converted: Program,
    tail: Pipeline,
    context: PassContext,
    cache: EngineCache | None,
    progress: Progress | None,
) -> tuple[Program, list[Engine]]:
    from .build import Refusal, build_engines

    rounds = 0
    while True:
        outlined = tail.run(converted, context, keep_snapshots=False, isolate=False).program
        try:
            return outlined, build_engines(outlined, context, cache=cache, progress=progress)
        except Refusal as refusal:
            rounds += 1
            named = rounds <= _ROUNDS and _give_away(converted, refusal, whole_function=False)
            if not named and not _give_away(converted, refusal, whole_function=True):
                raise refusal.error from None


def _split_before_clustering(steps: Pipeline) -> tuple[Pipeline, Pipeline]:
    from .passes.pipeline import Pipeline

    names = [entry.name for entry in steps]
    cut = names.index("plan-clustering") if "plan-clustering" in names else len(names)
    return Pipeline(steps.entries[:cut]), Pipeline(steps.entries[cut:])


def _give_away(program: Program, refusal: Refusal, *, whole_function: bool) -> bool:
    """Mark the refused ops `plan.fallback` so that clustering leaves them out. False if there are none left."""
    from torch_mlir import ir

    locations = refusal.function_locations if whole_function else refusal.locations
    marked = 0
    with program.context:

        def visit(operation: ir.Operation) -> ir.WalkResult:
            nonlocal marked
            if _is_open(operation) and str(operation.location) in locations:
                operation.attributes["plan.fallback"] = ir.StringAttr.get(refusal.reason_for(operation.name))
                marked += 1
            return ir.WalkResult.ADVANCE

        program.module.operation.walk(visit)
    return marked > 0


def _is_open(operation: ir.Operation) -> bool:
    """Whether the op is TensorRT's to run, as things stand."""
    if not operation.name.startswith("tensorrt.") or operation.name == "tensorrt.constant":
        return False
    return "plan.fallback" not in operation.attributes


def _plan(
    source: Program,
    outlined: Program,
    engines: list[Engine],
    context: PassContext,
    steps: Pipeline,
    described: dict[str, Any],
) -> Plan:
    """Schedule the outlined program for each kind of device, and put everything into a Plan."""
    from .fallbacks import fallbacks_of
    from .passes.plan.plan_schedule import schedule
    from .plan import Plan

    kinds: dict[str, list[str]] = {}
    for target in context.targets:
        kinds.setdefault(device_kind(target), []).append(target)
    workspaces: dict[str, int] = {}
    for engine in engines:
        scratch = engine.report.activation_bytes or 0
        workspaces[engine.name] = max(scratch, workspaces.get(engine.name, 0))
    for device, targets in kinds.items():
        schedule(outlined, device, targets, workspaces=workspaces, profiles=context.profiles)
    metadata = {
        "source": source.source,
        "pipeline": str(steps),
        "targets": list(context.targets),
        **described,
    }
    if described.get("precision", "fp32") != "fp32" and not _has_typed_ops(outlined):
        metadata["precision_unused"] = True
    return Plan(
        outlined.module,
        engines,
        outlined.weights,
        fallbacks=fallbacks_of(outlined, engines),
        metadata=metadata,
        name=source.name,
    )


def _has_typed_ops(program: Program) -> bool:
    """Whether there is an op of TensorRT's: those are the ones that a precision changes."""
    return any(op.startswith("tensorrt.") and op not in _UNTYPED for op in program.ops["op"])
