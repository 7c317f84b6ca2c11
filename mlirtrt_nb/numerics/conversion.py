"""The program as its engines will have it: after every pass that comes before clustering."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..compilation import before_clustering
from ..passes.base import PassContext
from ..passes.pipeline import Pipeline
from ..precision import Precision, check_supported
from ..program import Program
from ..targets import parse_targets
from .samples import Samples

__all__ = ["at_precision", "converted", "is_calibrated_on", "placement", "resolved"]


def resolved(
    program: Program, precision: Precision | str, shapes: Any = None, samples: Samples | None = None
) -> Precision:
    """The precision with the activation ranges that it needs, so that they are found once.

    Where it comes without any, they are found on `samples`, if those are the user's, else on synthetic inputs.
    Raises PrecisionError, CalibrationError.
    """
    chosen = Precision.of(precision)
    if not chosen.needs_ranges:
        return chosen
    from ..calibration.collect import ranges_for

    if is_calibrated_on(chosen, samples):
        assert samples is not None
        chosen = replace(chosen, calibration=list(samples.values))
    return replace(chosen, calibration=ranges_for(chosen, program, shapes))


def is_calibrated_on(precision: Precision, samples: Samples | None) -> bool:
    """Whether a precision's ranges are found on the samples that errors are computed on."""
    given = samples is not None and not samples.synthetic
    return given and precision.needs_ranges and precision.calibration is None


def placement(precision: Precision, targets: tuple[str, ...]) -> str:
    """In words: the targets, and beside what is quantized the type of the rest ("sm89, the rest in fp16")."""
    names = ", ".join(targets)
    return f"{names}, the rest in {precision.rest_for(targets)}" if precision.is_quantized else names


def converted(
    program: Program,
    precision: Precision | str = "fp32",
    target: str | tuple[str, ...] = "cpu",
    shapes: Any = None,
) -> Program:
    """`program` in tensorrt ops at a precision, unclustered: one `@main`, typed as the engines will be.

    Raises ShapeError, TargetError, PrecisionError, PassError.
    """
    targets = parse_targets(target)
    exact = before_clustering(program, targets, shapes)
    return at_precision(exact, resolved(program, precision, shapes), targets)


def at_precision(exact: Program, precision: Precision, target: str | tuple[str, ...]) -> Program:
    """The precision passes alone, on what `converted` gives for fp32. Raises PrecisionError, PassError.

    `precision` has the ranges that it needs.
    """
    targets = parse_targets(target)
    check_supported(precision, targets)
    steps = Pipeline.default(targets, precision)
    chosen = Pipeline([entry for entry in steps if entry.pass_.phase == "precision"])
    if not chosen.entries:
        return exact
    # In this process: a search tries many precisions, and these are the package's own passes.
    return chosen.run(exact, PassContext(targets), keep_snapshots=False, isolate=False).program
