"""Builds every engine of an outlined program, for every target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .engine.base import BuildRequest, Engine, Shapes
from .engine.unknown_range import UnknownRange
from .errors import EngineBuildError, TargetError
from .passes.base import PassContext
from .program import Program
from .progress import Progress, part_of
from .targets import builder_for
from .worker import inside

if TYPE_CHECKING:
    from torch_mlir import ir

    from .engine.cache import EngineCache
    from .engine.shape_ranges import FunctionProfiles

__all__ = ["Refusal", "build_engines"]

# What Myelin says of Turing.
_NO_PRODUCT = "FP32 GEMM is not supported"


class Refusal(Exception):
    """A TensorRT builder refused a function. Caught by `compile`, which gives the ops to another backend.

    `function_locations` are the MLIR locations of the function's ops as text; `locations` only those of the
    refused ops, where they are known. `reason` is for the report.
    """

    def __init__(
        self,
        error: EngineBuildError,
        function: ir.OpView | ir.Operation,
        locations: frozenset[str] | None = None,
    ) -> None:
        super().__init__(str(error))
        self.error = error
        said = error.what.removeprefix("TensorRT refuses: ")
        self.reason = f"TensorRT refused it: {said}" if locations is None else error.what
        block = function.regions[0].blocks[0]
        self.function_locations = frozenset(str(op.location) for op in block.operations)
        named = self.function_locations if error.location is None else frozenset({error.location})
        self.locations = locations or named

    def reason_for(self, op: str) -> str:
        """The reason for one of the refused ops: what else a node became beside its matrix product, such as the
        sum with a bias, is not what TensorRT refused."""
        if _NO_PRODUCT not in self.reason or op == "tensorrt.matrix_multiply":
            return self.reason
        return f"it stays with the matrix product of its node, which TensorRT refused: {_NO_PRODUCT}"


@dataclass(frozen=True)
class _Job:
    path: str
    function: ir.OpView
    target: str


def build_engines(
    program: Program,
    context: PassContext,
    *,
    cache: EngineCache | None = None,
    progress: Progress | None = None,
) -> list[Engine]:
    """One engine per function and target: TensorRT functions for each target, host functions for "cpu".

    What ONNX Runtime refuses, for an op or a type that it lacks, is built for ONNX's reference evaluator.
    Sets `tensorrt.shape_profile` on the arguments of functions whose shapes vary.

    Raises:
        Refusal: a TensorRT builder refused a function.
        EngineBuildError: ONNX Runtime and the reference evaluator refused one: nothing else could run it.
        TargetError, MissingDependencyError, Cancelled.
    """
    with program.context:
        profiles = _profiles(program, context)
        jobs = list(_jobs(program, context.targets))
        engines = []
        for number, job in enumerate(jobs):
            report = _reporter(progress, job, number, len(jobs))
            with inside.doing(f"engine {job.path.rpartition('::')[2]!r} for {job.target}"):
                engines.append(_build(program, job, profiles.get(job.path, ()), cache, report))
        return engines


def _profiles(program: Program, context: PassContext) -> dict[str, FunctionProfiles]:
    """The ranges of every function's arguments. Refuses the ops that hang on one without a range."""
    from .engine.shape_ranges import assign_profiles

    try:
        on_device = any(target != "cpu" for target in context.targets)
        return assign_profiles(program, context.profiles, outputs=on_device)
    except UnknownRange as unknown:
        raise _refusal_of(unknown) from unknown


def _refusal_of(unknown: UnknownRange) -> Refusal:
    error = EngineBuildError(unknown.what, hint=unknown.hint)
    return Refusal(error, unknown.function, unknown.dependents)


def _jobs(program: Program, targets: tuple[str, ...]) -> Iterator[_Job]:
    from .ir.symbols import functions

    for path, function in functions(program.module):
        if "::" in path:
            yield from (_Job(path, function, target) for target in targets)
        elif "plan.backend" in function.attributes:
            yield _Job(path, function, "cpu")


def _reporter(progress: Progress | None, job: _Job, number: int, total: int) -> Progress | None:
    """Progress within one engine, labelled with which of how many it is."""
    if progress is None:
        return None
    place = f" ({number + 1}/{total})" if total > 1 else ""
    return part_of(progress, number, total, f"{job.path.rpartition('::')[2]} for {job.target}{place}: ")


def _build(
    program: Program,
    job: _Job,
    profiles: tuple[tuple[Shapes | None, ...], ...],
    cache: EngineCache | None,
    progress: Progress | None,
) -> Engine:
    request = BuildRequest(
        job.path,
        job.function.operation,
        program.weights,
        job.target,
        profiles,
        progress,
        program.text_source,
    )
    builder = builder_for(job.target, compiled=_is_compiled(job.function))
    key = cache.key(request, builder.identity) if cache is not None and job.target != "cpu" else None
    if cache is not None and key is not None:
        found = cache.get(key)
        if found is not None:
            return replace(found, report=replace(found.report, cached=True))
    try:
        engine = builder.build(request)
    except TargetError:
        raise
    except UnknownRange as unknown:
        raise _refusal_of(unknown) from unknown
    except EngineBuildError as error:
        if job.target != "cpu":
            raise Refusal(error, job.function) from error
        if _is_compiled(job.function):
            raise
        engine = _build_reference(request, error)
    if cache is not None and key is not None:
        cache.put(key, engine)
    return engine


def _is_compiled(function: ir.OpView) -> bool:
    """Whether the function is of upstream dialects, which MLIR compiles for the host."""
    attributes = function.attributes
    return "plan.backend" in attributes and attributes["plan.backend"].value == "host"


def _build_reference(request: BuildRequest, refusal: EngineBuildError) -> Engine:
    """The engine for ONNX's reference evaluator; where that refuses too, ONNX Runtime's words are raised."""
    from .engine.reference.builder import ReferenceBuilder

    try:
        return ReferenceBuilder().build(request)
    except EngineBuildError as second:
        raise refusal from second
