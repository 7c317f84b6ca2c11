"""The program as its engines will have it: after every pass that comes before clustering."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..compilation import before_clustering
from ..passes.pipeline import Pipeline
from ..precision import Precision, check_supported
from ..program import Program
from ..targets import parse_targets

__all__ = ["converted", "resolved"]


def resolved(program: Program, precision: Precision | str, shapes: Any = None) -> Precision:
    """The precision with the activation ranges that it needs, so that they are found once.

    Raises PrecisionError, CalibrationError.
    """
    chosen = Precision.of(precision)
    if not chosen.needs_ranges:
        return chosen
    from ..calibration.collect import ranges_for

    return replace(chosen, calibration=ranges_for(chosen, program, shapes))


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
    chosen = resolved(program, precision, shapes)
    check_supported(chosen, targets)
    return before_clustering(program, targets, shapes, Pipeline.default(targets, chosen))
