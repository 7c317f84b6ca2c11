"""Ops that draw random numbers, and what depends on them: of neither can an error be told."""

from __future__ import annotations

from torch_mlir import ir

from ..errors import PrecisionError
from .interpreter import Interpreter, Step, read_values

__all__ = ["depends_on_random", "named", "refuse_random", "returns_random"]


def named(step: Step) -> str:
    """The op that draws, for people: "onnx.RandomNormalLike 'noise'"."""
    return f"{step.op} '{step.source}'"


def refuse_random(program: Interpreter, hint: str) -> None:
    """Raise PrecisionError if no two runs of a program agree."""
    if program.random_ops:
        raise PrecisionError(
            "the program draws random numbers: no two runs of it agree",
            where=named(program.random_ops[0]),
            hint=hint,
        )


def depends_on_random(program: Interpreter) -> set[int]:
    """The indices of the steps whose results differ from run to run."""
    drawn = _drawn(program)
    return {step.index for step in program.steps if drawn.intersection(step.operation.results)}


def returns_random(program: Interpreter) -> bool:
    """Whether an output of the program differs from run to run."""
    return bool(_drawn(program).intersection(program.returned))


def _drawn(program: Interpreter) -> set[ir.Value]:
    drawing = {step.index for step in program.random_ops}
    found: set[ir.Value] = set()
    if not drawing:
        return found
    for step in program.steps:
        if step.index in drawing or found.intersection(read_values(step.operation)):
            found.update(step.operation.results)
    return found
