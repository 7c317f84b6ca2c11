"""The program as its engines will have it: after every pass that comes before clustering."""

from __future__ import annotations

from typing import Any

from ..passes.base import PassContext
from ..passes.pipeline import Pipeline
from ..profiles import parse_profiles
from ..program import Program

__all__ = ["before_clustering", "converted"]


def before_clustering(steps: Pipeline) -> Pipeline:
    """The entries of a pipeline up to `plan-clustering`; all of them if it has none."""
    names = [entry.name for entry in steps]
    cut = names.index("plan-clustering") if "plan-clustering" in names else len(names)
    return Pipeline(steps.entries[:cut])


def converted(
    program: Program, precision: Any = "fp32", target: str | tuple[str, ...] = "cpu", shapes: Any = None
) -> Program:
    """`program` in tensorrt ops at a precision, unclustered: one `@main`, typed as the engines will be."""
    targets = (target,) if isinstance(target, str) else tuple(target)
    context = PassContext(targets, parse_profiles(program.inputs, shapes))
    steps = before_clustering(Pipeline.default(targets, precision))
    return steps.run(program, context, keep_snapshots=False).program
